// Are the statistics' error rates what they claim? Simulates routing with known effects over many data sets and prints, for each design, how
// often the held-out tests reject, what they score beside the reference's leave-one-out, and how often their interval holds the truth.
// docs/statistics_calibration.md has what it printed. Not a benchmark of speed.
//
// A design's data sets come from a few worlds (popularity and topic effects); the truth that an interval should hold is the mean accuracy over
// its world's data sets.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <functional>

#include "base/parallel.h"
#include "simulated_routing.h"
#include "stats/held_out.h"
#include "stats/phase_shares.h"
#include "stats/reference.h"

namespace atlas {
namespace {

struct Settings {
  RouterDesign design;
  std::vector<double> topic_effects{0, 0.1, 0.15, 0.3};
  std::vector<double> prompt_effects{0, 0.7, 1.5};
  std::vector<std::uint32_t> prompt_counts{3, 6, 8};
  std::size_t data_set_count = 400;
  std::size_t world_count = 4;
  std::size_t permutations = 199;
  std::size_t pairings = 5;
  std::size_t top_k = 50;
  std::uint64_t min_count = 30;
};

// What one data set gave.
struct Outcome {
  std::size_t world = 0;
  double reference_accuracy = 0;
  HeldOutResult cosine, set;
};

struct Estimate {
  double mean = 0;
  double standard_error = 0;  // Monte-Carlo
};

Estimate estimate(const std::vector<Outcome>& outcomes, const std::function<double(const Outcome&)>& value) {
  double sum = 0, squares = 0;
  for (const Outcome& outcome : outcomes) sum += value(outcome);
  const auto count = static_cast<double>(outcomes.size());
  for (const Outcome& outcome : outcomes) squares += (value(outcome) - sum / count) * (value(outcome) - sum / count);
  return {sum / count, std::sqrt(squares / std::max(1.0, count - 1) / count)};
}

Outcome examine(const Settings& settings, const Counts& counts, std::size_t world, std::uint64_t seed) {
  Outcome outcome;
  outcome.world = world;
  outcome.reference_accuracy = validate_reference(counts, static_cast<double>(settings.top_k)).accuracy;
  const Shares shares = phase_shares(counts, std::nullopt).shares;
  const Relabelings relabelings = make_relabelings(shares.topic, shares.topic_count(), settings.permutations, seed);
  const HeldOutOptions options{settings.pairings, 1000, seed};
  outcome.cosine = test_cosine(shares, relabelings, options);
  outcome.set = test_set(shares, settings.top_k, settings.min_count, relabelings, options);
  return outcome;
}

std::vector<Outcome> examine_design(const Settings& settings, const RouterDesign& design, std::uint64_t first_world) {
  std::vector<Outcome> outcomes;
  for (std::size_t world = 0; world < settings.world_count; world++) {
    const SimulatedRouter router(design, first_world + world);
    const std::size_t data_sets = settings.data_set_count / settings.world_count;
    for (std::size_t i = 0; i < data_sets; i++) outcomes.push_back(examine(settings, router.draw(i), world, (first_world + world) * 100000 + i));
  }
  return outcomes;
}

// How often the interval holds the mean accuracy of the world.
Estimate coverage(const std::vector<Outcome>& outcomes, std::size_t world_count, HeldOutResult Outcome::*test) {
  std::vector<double> truth(world_count), seen(world_count);
  for (const Outcome& outcome : outcomes) {
    truth[outcome.world] += (outcome.*test).accuracy;
    seen[outcome.world]++;
  }
  for (std::size_t world = 0; world < world_count; world++) truth[world] /= seen[world];
  return estimate(outcomes, [&](const Outcome& outcome) {
    const auto& interval = (outcome.*test).interval_95;
    return interval[0] <= truth[outcome.world] && truth[outcome.world] <= interval[1] ? 1.0 : 0.0;
  });
}

void print_cell(const Estimate& value) { std::printf(" %.3f (%.3f) |", value.mean, value.standard_error); }

void print_row(const Settings& settings, const RouterDesign& design, const std::vector<Outcome>& outcomes) {
  std::printf("| %g | %g | %u |", design.topic_effect, design.prompt_effect, design.prompt_count);
  print_cell(estimate(outcomes, [](const Outcome& outcome) { return outcome.reference_accuracy; }));
  for (const auto test : {&Outcome::cosine, &Outcome::set}) {
    print_cell(estimate(outcomes, [&](const Outcome& outcome) { return (outcome.*test).accuracy; }));
    print_cell(estimate(outcomes, [&](const Outcome& outcome) { return (outcome.*test).p_value <= 0.05 ? 1.0 : 0.0; }));
    print_cell(coverage(outcomes, settings.world_count, test));
  }
  std::printf("\n");
  std::fflush(stdout);
}

void print_header(const Settings& settings) {
  const RouterDesign& design = settings.design;
  std::
      printf("%zu data sets a row, from %zu worlds; %u topics, %u layers x %u experts, top %u, %u tokens a prompt; %zu permutations, %zu pairings,\n",
             settings.data_set_count, settings.world_count, design.topic_count, design.layer_count, design.expert_count, design.top_k,
             design.token_count, settings.permutations, settings.pairings);
  std::printf("sets of %zu experts with at least %llu selections. In brackets: Monte-Carlo standard error.\n\n", settings.top_k,
              static_cast<unsigned long long>(settings.min_count));
  std::printf(
      "| topic effect | prompt effect | prompts | reference accuracy | cosine accuracy | p <= 0.05 | interval holds |"
      " set accuracy | p <= 0.05 | interval holds |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
}

void run(const Settings& settings) {
  print_header(settings);
  std::uint64_t first_world = 1;
  for (const double topic_effect : settings.topic_effects)
    for (const double prompt_effect : settings.prompt_effects)
      for (const std::uint32_t prompt_count : settings.prompt_counts) {
        RouterDesign design = settings.design;
        design.topic_effect = topic_effect;
        design.prompt_effect = prompt_effect;
        design.prompt_count = prompt_count;
        print_row(settings, design, examine_design(settings, design, first_world));
        first_world += settings.world_count;
      }
}

}  // namespace
}  // namespace atlas

int main(int argc, char** argv) {
  atlas::Settings settings;
  unsigned threads = 1;
  CLI::App app("Simulates routing and prints error rates, power and coverage of the statistics");
  app.add_option("--topic-effects", settings.topic_effects, "0 is the null hypothesis")->capture_default_str();
  app.add_option("--prompt-effects", settings.prompt_effects)->capture_default_str();
  app.add_option("--prompts", settings.prompt_counts, "a topic")->capture_default_str();
  app.add_option("--data-sets", settings.data_set_count, "a row")->capture_default_str();
  app.add_option("--worlds", settings.world_count, "that the data sets of a row come from")->capture_default_str();
  app.add_option("--permutations", settings.permutations)->capture_default_str();
  app.add_option("--pairings", settings.pairings)->capture_default_str();
  app.add_option("--top-k", settings.top_k, "experts in a topic's set")->capture_default_str();
  app.add_option("--min-count", settings.min_count, "floor inside a fold")->capture_default_str();
  app.add_option("--topics", settings.design.topic_count)->capture_default_str();
  app.add_option("--tokens", settings.design.token_count, "a prompt")->capture_default_str();
  app.add_option("--layers", settings.design.layer_count)->capture_default_str();
  app.add_option("--experts", settings.design.expert_count, "a layer")->capture_default_str();
  app.add_option("--threads", threads)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  atlas::set_thread_count(threads);
  atlas::run(settings);
}
