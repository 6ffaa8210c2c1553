// How many prompts, and how long, would it take? What smaller designs cut from the data at hand would have shown, and a marked guess beyond it. Pure
// functions of shares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/shares.h"

namespace atlas {

struct PlanOptions {
  std::vector<std::uint32_t> prompt_counts;  // a topic; those above the smallest topic's number are extrapolated
  std::vector<double> token_shares{1};       // of each prompt's selections, in (0, 1]
  std::size_t subsamples = 20;               // of each design
  std::size_t pairings = 5;                  // of the held-out test
  std::size_t relabelings = 199;             // of the held-out test; 0: no significant_share
  std::size_t specialist_relabelings = 0;    // of the tests of experts (999, say; slow); 0: no specialist_count
  std::uint64_t min_count = 30;              // floor of an expert; not scaled with the design
  std::uint64_t seed = 0;
};

// One design: so many prompts a topic, so much of each.
struct PlanPoint {
  std::uint32_t prompt_count = 0;
  double token_share = 1;
  bool is_extrapolated = false;
  double accuracy = 0;                      // of test_cosine, mean over subsamples; extrapolated: see there
  double accuracy_deviation = 0;            // standard deviation over subsamples; 0 if extrapolated. Subsamples overlap, so it is too small for
                                            // designs near the whole data
  std::optional<double> significant_share;  // of subsamples, with p <= 0.05: the chance that such a design would have shown the topics
  std::optional<double> specialist_count;   // mean over subsamples; the rule of expert_tests.h
  double smallest_p_value = 1;              // that the design can reach with any number of relabelings: 1 / (number of distinct ones)
};

struct Plan {
  std::string not_computed;                // why, or empty
  std::string extrapolation_not_computed;  // fewer than three prompt counts of 2 or more to go by
  double chance = 0;                       // 1 / topic_count
  std::vector<PlanPoint> points;           // by token share as given, then prompt count; without those that cannot be
};

// Needs selections, and shares that are theirs. Not computed where why_not_testable(shares, 2) says so, without selections, subsamples or pairings,
// or with a token share outside (0, 1].
Plan plan(const Shares& shares, const PlanOptions& options);

// prompt_count random runs of each topic, in the order given, each selection kept with the chance token_share. The latter is what shorter prompts
// would be if selections were independent within a prompt; they are not, so truly shorter prompts vary more. Runs without a selection left have
// shares 0. index: which subsample.
Shares subsample(const Shares& shares, std::uint32_t prompt_count, double token_share, std::uint64_t seed, std::uint64_t index);

// The straight line, by least squares, of ln(a / (1 - a)) in ln(prompt_count), a = (accuracy - chance) / (1 - chance) kept within 0.005 and 0.995,
// through points with prompt_count of 2 or more; read off at prompt_count. In (chance, 1). points: at least two different prompt counts.
double extrapolate_accuracy(const std::vector<PlanPoint>& points, double chance, std::uint32_t prompt_count);

// What it takes for Benjamini-Hochberg to find `found` of family_size experts at level q if they sit at the smallest p: p <= q * found / family_size.
struct ReachOfQ {
  std::size_t found = 0;
  double needed_p_value = 0;
  double needed_relabelings = 0;          // random ones
  std::uint32_t needed_prompt_count = 0;  // of each topic, so that there are that many distinct relabelings; 0: not with 1000 prompts
};
ReachOfQ reach_of_q(double q, std::size_t found, std::size_t family_size, std::size_t topic_count);

}  // namespace atlas
