// Sums of shares over the runs of each topic, for many ways to deal the runs to topics at once: relabelings (each run in one topic) and
// bootstrap resamples (runs drawn with replacement). Everything that is computed per expert starts from these sums.
//
// A block of features is packed so that one run's values are two cache lines, and all its rows stay in the first or second level of cache
// while thousands of deals go over them. Sums are integers: they do not depend on order, threads or machine.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "stats/relabel.h"
#include "stats/shares.h"

namespace atlas {

inline constexpr std::size_t block_width = 32;  // features in a block

struct alignas(64) Lanes {
  std::array<std::uint32_t, block_width> at;  // [block_width]
};

// Ways to deal runs to topics. Topic sizes are those of the true labels in every deal.
struct Deals {
  std::size_t count = 0;
  std::size_t run_count = 0;
  std::vector<std::uint32_t> topic_begin;  // [topic_count + 1], where each topic's runs begin in a deal
  std::vector<std::uint32_t> runs;         // [count, run_count], grouped by topic

  std::size_t topic_count() const { return topic_begin.size() - 1; }
  std::uint32_t size(std::size_t topic) const { return topic_begin[topic + 1] - topic_begin[topic]; }
  const std::uint32_t* at(std::size_t deal) const { return runs.data() + deal * run_count; }
};

Deals no_deals(const Shares& shares);                      // none yet
void add_deal(Deals& deals, const std::uint16_t* labels);  // labels: [run_count]
void add_true_deal(Deals& deals, const Shares& shares);
// Resamples runs within the topics of one deal, with replacement; the streams are those of `purpose` from first_stream on.
Deals bootstrap_deals(const Deals& deals, std::size_t deal, std::size_t draws, std::uint64_t seed, std::uint64_t purpose, std::uint64_t first_stream);

// Weights that make sum over topics of weight * (topic sum)^2 a whole number in proportion to sum of (topic sum)^2 / size: the common multiple
// of the sizes divided by each, so all 1 for equal sizes. Where one would pass 2^16, they are round(2^16 * least size / size) instead, each
// wrong by less than (greatest size / least size) / 2^17 of itself: another statistic than eta squared by that much, and still the same for
// all relabelings, so the test stays valid.
std::vector<std::uint32_t> square_weights(const Deals& deals);  // [topic_count]

// Some features' shares of all runs, as unsigned numbers small enough for the sums: minus the feature's least share if that is negative
// (no statistic here depends on it), then rounded to a multiple of 2^shift. The shift is the least with which the feature's total over runs,
// squared, times the greatest weight fits 64 bits, and any topic's sum fits 32 bits however often a run is drawn. It is 0, no loss,
// while shares add up to less than 4 / sqrt(greatest weight) over all runs (an expert of a model with many layers has far less).
struct FeatureBlock {
  std::size_t feature_count = 0;  // lanes in use, the others are 0
  std::vector<Lanes> rows;        // [run_count]
};

FeatureBlock pack_block(const Shares& shares, const std::uint32_t* features, std::size_t feature_count, const Deals& deals);

void add_up(const FeatureBlock& block, const Deals& deals, std::size_t deal, Lanes* sums);  // sums: [topic_count]

// Sum over topics of weight * (topic sum)^2: what grows with eta squared and nothing else does under a relabeling.
void add_squares(const Lanes* sums, const std::vector<std::uint32_t>& weights, std::uint64_t* statistic);  // statistic: [block_width]

}  // namespace atlas
