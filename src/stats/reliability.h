// Split-half reliability of affinity over prompts: would other prompts of the same topics have given the same chart? Pure functions of
// Shares; read by the atlas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stats/shares.h"

namespace atlas {

struct Reliability {
  std::string not_computed;       // why, or empty
  std::size_t draw_count = 0;     // splits whose correlation is defined
  std::size_t feature_count = 0;  // experts at or above the floor
  double correlation = 0;         // Pearson over experts x topics between the halves' affinities, mean over draws; in [-1, 1]
  double standard_deviation = 0;  // of it over draws: draws share prompts, so this is no standard error
  double corrected = 0;           // Spearman-Brown: 2r / (1 + |r|), what the whole probe set would reach against another of its size
};

// Each draw splits every topic's runs at random into two halves of floor(runs / 2) and correlates the halves' affinities over the experts
// whose selections over all runs reach min_count. An expert that one half never selected is left out of that draw. Needs 4 prompts in every
// topic, 2 a half. Expected 0 where topics make no difference, since the affinities of an expert sum to 1.
// Source: Spearman 1910; Brown 1910. The |r| keeps negative correlations in [-1, 0].
Reliability split_half(const Shares& shares, std::uint64_t min_count, std::size_t draws, std::uint64_t seed);

// The correlation that two measurements would have if both were free of noise: r / sqrt(reliability * reliability), Spearman 1904; in
// [-1, 1], clipped. Nothing where a reliability is not positive. For prompt against answer phase: how much of their difference is noise.
std::optional<double> disattenuated(double correlation, double left_reliability, double right_reliability);

}  // namespace atlas
