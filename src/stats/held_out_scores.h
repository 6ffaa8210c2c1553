// How a held-out run is scored against each topic, in one fold. Internal to held_out.cpp: one class for each score, made by these functions.
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

std::unique_ptr<FoldScorer> cosine_scorer(const Gram& gram, std::size_t topic_count);
std::unique_ptr<FoldScorer> set_scorer(const Shares& shares, std::size_t top_k, std::uint64_t min_count);
std::unique_ptr<FoldScorer> number_scorer(const std::vector<double>& values, std::size_t topic_count);

}  // namespace atlas
