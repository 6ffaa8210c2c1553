// Affinity of every expert to every topic, and how far two sets of affinities agree: by selections against by router weight, prompt phase
// against answer phase. Pure functions of Shares; read by the controls, the per-layer statistics and the atlas.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stats/phase_shares.h"

namespace atlas {

// Sums of shares by topic over some runs. runs: indices; labels: [run_count], a topic for every run of `shares`.
// Returns [topic_count, feature_count], unit 1 / share_one. Exact.
std::vector<std::int64_t> sums_by_topic(const Shares& shares, std::span<const std::uint32_t> runs, std::span<const std::uint16_t> labels);

struct Affinity {
  std::size_t topic_count = 0;
  std::vector<double> values;            // [feature_count, topic_count]: mean share in the topic / sum of these means; sums to 1, or all 0
  std::vector<std::uint32_t> top_topic;  // [feature_count], the first of equals

  const double* at(std::size_t feature) const { return values.data() + feature * topic_count; }
};

// a(e, c) = mean over the topic's runs of share(p, e) / sum over topics of these means. In [0, 1]. A feature that none of the runs selected
// has 0 everywhere. Source: the reference document; here from fixed-point shares, so without its last bits.
Affinity affinity_of(const Shares& shares);
Affinity affinity_of(const Shares& shares, std::span<const std::uint32_t> runs);  // over these runs only

// 1 - H(affinity) / ln(topic_count), in [0, 1]; 0 for an affinity that is 0 everywhere. topic_count >= 2.
double specialisation_of(const double* affinity, std::size_t topic_count);

// Pearson's correlation, in [-1, 1]; nothing where a side does not vary or there are fewer than two values.
std::optional<double> correlation(std::span<const double> left, std::span<const double> right);

// [feature_count]: selections over all runs. Floors look at these, so they never look at labels.
std::vector<std::uint64_t> selection_totals(const Shares& shares);

// Two affinities of the same experts, over those whose selections reach the floor on both sides.
struct AffinityComparison {
  std::string not_computed;              // why, or empty
  std::vector<std::size_t> expert;       // [compared], index into counts.experts, rising
  std::vector<double> distance;          // [compared]: half the sum over topics of |left - right|, in [0, 1]: 0 alike, 1 disjoint
  std::vector<std::uint32_t> left_top;   // [compared], top topic
  std::vector<std::uint32_t> right_top;  // [compared]
  std::vector<std::size_t> by_distance;  // [compared], indices into the above: the greatest distance first, the lower expert of equals
  std::size_t differing_top_count = 0;   // experts whose top topic differs
  double mean_distance = 0;
  std::optional<double> correlation;  // Pearson over experts x topics
};

AffinityComparison compare_affinity(const PhaseShares& left, const PhaseShares& right, std::uint64_t min_count);

// One topic's expert sets on two sides: the top_k experts by affinity among those at or above the floor on that side.
struct TopSetOverlap {
  std::size_t left_size = 0;
  std::size_t right_size = 0;
  std::size_t common = 0;
  double jaccard = 0;           // common / all that are in either, in [0, 1]; 0 where both are empty
  double overlap = 0;           // common / the smaller set, in [0, 1]; 0 where one is empty
  double expected_overlap = 0;  // the same if both sets were drawn at random from the experts at or above their floor
};

struct TopSetComparison {
  std::string not_computed;           // why, or empty
  std::vector<TopSetOverlap> topics;  // [topic_count]
  double mean_jaccard = 0;            // over topics
  double mean_overlap = 0;
  double mean_expected_overlap = 0;
};

TopSetComparison compare_top_sets(const PhaseShares& left, const PhaseShares& right, std::size_t top_k, std::uint64_t min_count);

}  // namespace atlas
