// The top_k features by score = share / sum of shares: a topic's expert set. Used by both held-out tests that score by sets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace atlas {

// Chooses again and again for nearly equal input (one fold after another): the k-th score of one fold is nearly that of the next, so a little
// less than it picks out few candidates, and only those are divided; if they are too few, all are. Ties go to the lower index.
class TopSet {
 public:
  explicit TopSet(std::size_t top_k) : top_k_(top_k) {}

  // share, sum: [count], not negative. Features with share 0 or an infinite sum are in no set.
  const std::vector<std::uint32_t>& choose(const double* share, const double* sum, std::size_t count) {
    collect(share, sum, count, guess_);
    if (candidates_.size() < top_k_ && guess_ > 0) collect(share, sum, count, 0);
    guess_ = 0;
    if (candidates_.size() > top_k_) {
      const auto kth = candidates_.begin() + static_cast<std::ptrdiff_t>(top_k_ - 1);
      std::nth_element(candidates_.begin(), kth, candidates_.end(), [](const Candidate& left, const Candidate& right) {
        return left.score != right.score ? left.score > right.score : left.feature < right.feature;
      });
      candidates_.resize(top_k_);
      guess_ = candidates_.back().score * 0.98;
    }
    members_.clear();
    for (const Candidate& candidate : candidates_) members_.push_back(candidate.feature);
    return members_;
  }

 private:
  struct Candidate {
    double score = 0;
    std::uint32_t feature = 0;
  };

  void collect(const double* share, const double* sum, std::size_t count, double least) {
    candidates_.clear();
    const double cut = least * (1 - 1e-9);  // so that rounding cannot lose a feature whose score is just `least`
    for (std::uint32_t e = 0; e < count; e++) {
      if (!(share[e] > cut * sum[e])) continue;
      const double score = share[e] / sum[e];
      if (score > 0 && score >= least) candidates_.push_back({score, e});
    }
  }

  std::size_t top_k_;
  double guess_ = 0;  // no member is expected to score less
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> members_;
};

}  // namespace atlas
