// What can be said of each expert: does it prefer topics more than chance would, how much, how surely; and how many experts a rule would pick
// if labels meant nothing. Pure functions of shares; filled into the atlas per phase.
//
// Null hypothesis of every p: prompts are exchangeable between topics. An expert that answers to something that topics differ in (length,
// language, vocabulary) rejects it, too; the controls stand beside it. docs/statistics.md has formulas and sources.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/relabel.h"
#include "stats/shares.h"

namespace atlas {

struct ExpertOptions {
  std::uint64_t min_count = 30;          // floor of the family: selections over all runs
  std::uint32_t min_runs = 2;            // of `strong` alone: runs of the top topic in which the expert fires
  double strong_threshold = 0.5;         // of `strong`: specialisation, rounded to six decimals
  double specialist_threshold = 0.5;     // of `specialist`: the same
  std::size_t bootstrap_draws = 1000;    // 0: no intervals and no stability
  std::size_t min_p_relabelings = 2000;  // at most 65,534
  std::size_t above_null_relabelings = 200;
  std::size_t rule_relabelings = 50;  // under which both rules are counted
  std::uint64_t seed = 0;
};

inline constexpr std::uint32_t least_bootstrap_runs = 5;  // prompts in each topic, below which resampling says nothing

// A rule's count, and beside it the count of the same whole rule when labels mean nothing.
struct RuleCount {
  std::size_t count = 0;
  std::vector<std::size_t> null_counts;         // [min(rule_relabelings, relabelings)]
  std::optional<double> null_mean;              // none without relabelings
  std::optional<double> false_discovery_share;  // null_mean / count, at most 1; none if count is 0: an estimate of the false share of those found
};

// Arrays hold none where a value does not exist: below the floor, or as the reason says. No value is ever NaN.
struct ExpertResult {
  std::string not_computed;            // why nothing is, or empty
  std::string p_values_not_computed;   // no relabelings
  std::string profiles_not_computed;   // shares may be negative (residuals): no topic's part of them
  std::string intervals_not_computed;  // too few prompts, or switched off

  std::vector<std::uint8_t> in_family;                                 // [feature_count], 1: reaches the floor; decided without labels
  std::vector<double> eta_squared;                                     // [feature_count], in [0, 1], 0 without variance
  std::vector<std::optional<double>> p_value, q_value, p_value_min_p;  // [feature_count], in (0, 1]; of the family
  std::vector<std::optional<double>> specialisation;                   // [feature_count], in [0, 1]; none without shares
  std::vector<std::optional<double>> lift;                             // [feature_count], in [1, topic_count]; of the top topic
  std::vector<std::optional<std::uint32_t>> top_topic;                 // [feature_count], index into topics, the first of equals
  std::vector<std::optional<double>> specialisation_above_null;        // [feature_count], minus its mean under relabelings; of the family
  std::vector<std::optional<std::array<double, 2>>> specialisation_interval_95, lift_interval_95;  // [feature_count]; of the family
  std::vector<std::optional<double>> top_topic_stability;  // [feature_count], share of resamples with the same top topic; of the family
  std::vector<std::uint8_t> is_specialist;                 // [feature_count]
  std::vector<std::uint8_t> is_strong;                     // [feature_count]

  std::size_t family_size = 0;
  std::size_t relabeling_count = 0;
  bool enumerated = false;
  double smallest_p_value = 1;             // that this design and number of relabelings can reach
  std::size_t needed_at_smallest_p = 0;    // experts that must sit there for any q <= 0.05; more than family_size: impossible
  std::size_t min_p_relabeling_count = 0;  // on which p_value_min_p stands
  std::size_t above_null_relabeling_count = 0;
  RuleCount specialists;  // q <= 0.05, stability >= 0.9 where it exists, specialisation >= specialist_threshold; needs p-values
  RuleCount strong;       // the reference's rule: in the family, specialisation >= strong_threshold, fires in min_runs runs of its top topic
};

ExpertResult test_experts(const Shares& shares, const Relabelings& relabelings, const ExpertOptions& options);

}  // namespace atlas
