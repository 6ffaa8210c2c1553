// What each layer does on its own: how much its experts say about the topic, how special they are, how evenly it is loaded, and how well it
// alone tells topics apart. Made from counts and the shares of one phase; read by the atlas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stats/held_out.h"
#include "stats/phase_shares.h"
#include "stats/relabel.h"
#include "stats/token_blocks.h"

namespace atlas {

struct LayerOptions {
  std::uint64_t min_count = 30;        // floor for the mean specialisation: selections of an expert over all runs
  std::size_t relabeling_count = 200;  // permuted labels a layer, at most
  HeldOutOptions held_out{.pairings = 5, .interval_draws = 2000, .seed = 0};
};

// A statistic with its level under permuted labels. Without any relabeling the null fields say nothing.
struct PermutedValue {
  double value = 0;
  double null_mean = 0;
  double p_value = 1;  // how often permuted labels give at least this much, as Relabelings::p_value
};

// Over all expert_count experts of the layer, selections of all runs pooled.
struct LayerLoad {
  std::uint32_t dead_expert_count = 0;  // without a selection in this phase
  double max_over_mean = 0;             // [1, expert_count / expert_top_k]; 1 is even
  double coefficient_of_variation = 0;  // standard deviation (of all experts, not a sample) / mean; [0, sqrt(expert_count - 1)]; 0 is even
  double effective_expert_count = 0;    // 2^(entropy of the load in bits), in [1, expert_count]
};

struct LayerStats {
  std::uint32_t layer = 0;   // absolute index
  std::string not_computed;  // why, or empty; then nothing below is filled
  LayerLoad load;
  std::string topics_not_computed;              // why what follows, which needs topics, is not filled, or empty
  PermutedValue information;                    // I(topic; expert) in bits, in [0, log2 topic_count]
  PermutedValue specialisation;                 // mean over the experts at or above the floor, in [0, 1]
  std::size_t specialisation_expert_count = 0;  // 0: no expert reaches it, and specialisation says nothing
  HeldOutResult held_out;                       // test_cosine of this layer's experts; without trials and null accuracies
};

// One entry for each layer of the manifest. A run's shares are renormalised within the layer.
//
// information = H(mean over topics of P_c) - mean over topics of H(P_c), P_c(e) the topic's mean share of expert e: the mutual information of a
// random selection's expert and its topic when topics are drawn equally often (the Jensen-Shannon divergence of the P_c). Biased upward by
// sampling, so read it against null_mean. Null hypothesis of all parts: prompts are exchangeable between topics.
// relabelings: of shares.shares.topic; fewer_relabelings() of them are used.
std::vector<LayerStats> layer_stats(const Counts& counts, const PhaseShares& shares, const Relabelings& relabelings, const LayerOptions& options);

// All of them if that many are allowed; else the first ones, or, if they were enumerated, a random choice (the first of an enumeration
// resemble one another).
Relabelings fewer_relabelings(const Relabelings& relabelings, std::size_t max_count, std::uint64_t seed);

// One layer's columns, each run's selections divided by its selections in this layer. Runs without one there get zeros.
Shares layer_shares(const Shares& shares, const LayerColumns& layer);

}  // namespace atlas
