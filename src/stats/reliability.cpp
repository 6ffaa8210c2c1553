// See reliability.h.
#include "stats/reliability.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "stats/affinity.h"
#include "stats/random.h"

namespace atlas {

namespace {

struct Halves {
  std::vector<std::uint32_t> left, right;  // runs
};

Halves split(const Shares& shares, Random& random) {
  std::vector<std::vector<std::uint32_t>> members(shares.topic_count());
  for (std::uint32_t run = 0; run < shares.run_count(); run++) members[shares.topic[run]].push_back(run);
  Halves halves;
  for (auto& runs : members) {
    random.shuffle(runs);
    const std::size_t half = runs.size() / 2;
    for (std::size_t i = 0; i < half; i++) halves.left.push_back(runs[i]);
    for (std::size_t i = half; i < 2 * half; i++) halves.right.push_back(runs[i]);
  }
  return halves;
}

std::optional<double> half_correlation(const Shares& shares, const Halves& halves, const std::vector<std::size_t>& features) {
  const Affinity left = affinity_of(shares, halves.left), right = affinity_of(shares, halves.right);
  const auto selected = [](const double* affinity, std::size_t count) {
    return std::any_of(affinity, affinity + count, [](double a) { return a > 0; });
  };
  std::vector<double> left_values, right_values;
  for (const std::size_t e : features) {
    if (!selected(left.at(e), left.topic_count) || !selected(right.at(e), right.topic_count)) continue;
    left_values.insert(left_values.end(), left.at(e), left.at(e) + left.topic_count);
    right_values.insert(right_values.end(), right.at(e), right.at(e) + right.topic_count);
  }
  return correlation(left_values, right_values);
}

}  // namespace

Reliability split_half(const Shares& shares, std::uint64_t min_count, std::size_t draws, std::uint64_t seed) {
  Reliability result;
  result.not_computed = why_not_testable(shares, 4);
  if (!result.not_computed.empty()) return result;
  std::vector<std::size_t> features;
  const std::vector<std::uint64_t> totals = selection_totals(shares);
  for (std::size_t e = 0; e < totals.size(); e++)
    if (totals[e] >= min_count) features.push_back(e);
  result.feature_count = features.size();
  std::vector<std::optional<double>> correlations(draws);
  parallel_for(draws, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i++) {
      Random random(seed, random_purpose::split_half, i);
      correlations[i] = half_correlation(shares, split(shares, random), features);
    }
  });
  std::vector<double> defined;
  for (const auto& r : correlations)
    if (r) defined.push_back(*r);
  result.draw_count = defined.size();
  if (features.empty()) result.not_computed = "no expert reaches " + std::to_string(min_count) + " selections";
  else if (defined.empty()) result.not_computed = draws == 0 ? "no draws asked for" : "the affinities do not vary";
  if (!result.not_computed.empty()) return result;
  for (const double r : defined) result.correlation += r / static_cast<double>(defined.size());
  double square = 0;
  for (const double r : defined) square += (r - result.correlation) * (r - result.correlation);
  if (defined.size() > 1) result.standard_deviation = std::sqrt(square / static_cast<double>(defined.size() - 1));
  result.corrected = 2 * result.correlation / (1 + std::abs(result.correlation));
  return result;
}

std::optional<double> disattenuated(double correlation, double left_reliability, double right_reliability) {
  if (!(left_reliability > 0) || !(right_reliability > 0)) return std::nullopt;
  return std::clamp(correlation / std::sqrt(left_reliability * right_reliability), -1.0, 1.0);
}

}  // namespace atlas
