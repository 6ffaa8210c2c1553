// See multiple_tests.h.
#include "stats/multiple_tests.h"

#include <algorithm>
#include <numeric>

namespace atlas {

std::vector<double> benjamini_hochberg(const std::vector<std::uint32_t>& at_least, std::size_t denominator) {
  std::vector<std::uint32_t> order(at_least.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return at_least[left] != at_least[right] ? at_least[left] < at_least[right] : left < right;
  });
  std::vector<double> q(at_least.size());
  double least = 1;
  for (std::size_t rank = order.size(); rank > 0; rank--) {
    const std::uint32_t test = order[rank - 1];
    least = std::min(least, static_cast<double>(at_least.size() * at_least[test]) / static_cast<double>(denominator * rank));
    q[test] = least;
  }
  return q;
}

std::size_t needed_at_smallest_p(std::size_t test_count, std::size_t denominator) {
  return (20 * test_count + denominator - 1) / denominator;  // the least k with test_count * (1 / denominator) / k <= 1/20
}

std::uint32_t StepDown::add(const std::uint16_t* ranks, std::uint16_t rank) {
  std::uint32_t count = 0;
  for (std::size_t b = 0; b < least_.size(); b++) {
    least_[b] = std::min(least_[b], ranks[b]);
    count += least_[b] <= rank ? 1 : 0;
  }
  return count;
}

}  // namespace atlas
