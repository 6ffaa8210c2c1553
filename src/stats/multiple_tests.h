// From many tests' p-values to decisions. Null hypothesis of each: prompts are exchangeable between topics for that feature. p-values come as
// whole numbers (at_least / denominator), so that ties and the comparison with 0.05 are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace atlas {

// Benjamini and Hochberg 1995: q_i = min over p_j >= p_i of (m p_j / number of p <= p_j), at most 1; in (0, 1]. Rejecting q <= 0.05 keeps the
// expected false share of the rejected at or below 5 % for independent or positively dependent tests. q <= 0.05 in doubles is exact: the
// fraction is one division of whole numbers below 2^53.
std::vector<double> benjamini_hochberg(const std::vector<std::uint32_t>& at_least, std::size_t denominator);

// How many of test_count tests must sit at the smallest p, 1 / denominator, for Benjamini-Hochberg to find any of them at level 0.05. More
// than test_count: this design can find none.
std::size_t needed_at_smallest_p(std::size_t test_count, std::size_t denominator);

// Step-down min-P (Westfall and Young 1993; the algorithm of Ge, Dudoit and Speed 2003, box 4): the chance under the null that the smallest p
// of this test and all with a greater p gets as small as this one's. In (0, 1]; rejecting those <= 0.05 keeps the chance of any false
// rejection at 5 %, whatever the dependence, since all tests share their relabelings.
//
// Tests are given one by one from the greatest p to the smallest; only one row is kept.
class StepDown {
 public:
  explicit StepDown(std::size_t relabeling_count) : least_(relabeling_count, static_cast<std::uint16_t>(~0U)) {}

  // ranks: [relabeling_count], in how many relabelings the statistic is at least as great as in this one: its p there, times relabeling_count.
  // rank: the same under the true labels. Returns how many relabelings have a smallest p up to now of at most this one's.
  std::uint32_t add(const std::uint16_t* ranks, std::uint16_t rank);

 private:
  std::vector<std::uint16_t> least_;  // [relabeling_count]
};

}  // namespace atlas
