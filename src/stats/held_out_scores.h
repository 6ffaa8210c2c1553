// How a held-out run is scored against each topic, in one fold: one class for each score. Internal to the tests on held-out runs (held_out.cpp,
// crossed.cpp), which share run_held_out().
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "stats/held_out.h"

namespace atlas {

// Called in this order: begin_labels, then for each draw begin_draw, then for each of its folds score_fold. One thread each.
class FoldScorer {
 public:
  virtual ~FoldScorer() = default;
  virtual void begin_labels(const std::uint16_t* labels) = 0;  // [run_count]
  virtual void begin_draw(const Draw& draw) = 0;               // outlives its folds
  // held: [topic_count], the run dropped from each topic. scores: [topic_count, topic_count], the held run of topic t against topic c.
  virtual void score_fold(const std::uint32_t* held, double* scores) = 0;
};

using ScorerMaker = std::function<std::unique_ptr<FoldScorer>()>;
// Draws under these labels; index: which relabeling, all ones for the true labels. Draws of one labeling have equally many folds, of all too.
using DrawMaker = std::function<std::vector<Draw>(const std::uint16_t* labels, std::uint64_t index)>;

// The frame: the true labels, then all relabelings. Says why not if there are no pairings or a topic has fewer than two runs.
HeldOutResult run_held_out(const Shares& shares, const Relabelings& relabelings, const HeldOutOptions& options, const ScorerMaker& make_scorer,
                           const DrawMaker& draws_of);

std::unique_ptr<FoldScorer> cosine_scorer(const Gram& gram, std::size_t topic_count);
std::unique_ptr<FoldScorer> set_scorer(const Shares& shares, std::size_t top_k, std::uint64_t min_count);
std::unique_ptr<FoldScorer> number_scorer(const std::vector<double>& values, std::size_t topic_count);

}  // namespace atlas
