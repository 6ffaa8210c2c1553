// What the calibration's two tables share: the designs, and means with their Monte-Carlo error. Filled by calibration.cpp from the command line.
#pragma once

#include <cstdint>
#include <vector>

#include "simulated_routing.h"

namespace atlas {

struct Calibration {
  RouterDesign design;
  std::vector<double> topic_effects{0, 0.1, 0.15, 0.3};  // 0 is the null hypothesis
  std::vector<double> prompt_effects{0, 0.7, 1.5};
  std::vector<std::uint32_t> prompt_counts{3, 6, 8};  // a topic
  std::size_t data_set_count = 400;                   // a row
  std::size_t world_count = 4;                        // that a row's data sets come from
  std::size_t permutations = 199;
  std::size_t pairings = 5;
  std::size_t top_k = 50;
  std::uint64_t min_count = 30;
  double specialist_threshold = 0.5;
};

struct Estimate {
  double mean = 0;
  double standard_error = 0;  // Monte-Carlo
};

Estimate estimate(const std::vector<double>& values);
void print_cell(const Estimate& value);

// Calls print_row for every design of the table, with worlds of its own.
template <typename PrintRow>
void for_each_design(const Calibration& settings, PrintRow print_row) {
  std::uint64_t first_world = 1;
  for (const double topic_effect : settings.topic_effects)
    for (const double prompt_effect : settings.prompt_effects)
      for (const std::uint32_t prompt_count : settings.prompt_counts) {
        RouterDesign design = settings.design;
        design.topic_effect = topic_effect;
        design.prompt_effect = prompt_effect;
        design.prompt_count = prompt_count;
        print_row(design, first_world);
        first_world += settings.world_count;
      }
}

void print_held_out_table(const Calibration& settings);
void print_expert_table(const Calibration& settings);  // topics have their effect in the first half of the layers only

}  // namespace atlas
