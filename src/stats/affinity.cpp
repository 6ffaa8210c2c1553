// See affinity.h.
#include "stats/affinity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stats/top_set.h"
#include "stats/topic_profile.h"

namespace atlas {

std::vector<std::int64_t> sums_by_topic(const Shares& shares, std::span<const std::uint32_t> runs, std::span<const std::uint16_t> labels) {
  std::vector<std::int64_t> sums(shares.topic_count() * shares.feature_count);
  for (const std::uint32_t run : runs) {
    const std::int32_t* row = shares.row(run);
    std::int64_t* sum = sums.data() + labels[run] * shares.feature_count;
    for (std::size_t e = 0; e < shares.feature_count; e++) sum[e] += row[e];
  }
  return sums;
}

Affinity affinity_of(const Shares& shares, std::span<const std::uint32_t> runs) {
  const std::size_t topics = shares.topic_count(), features = shares.feature_count;
  const std::vector<std::uint16_t> labels(shares.topic.begin(), shares.topic.end());
  const std::vector<std::int64_t> sums = sums_by_topic(shares, runs, labels);
  std::vector<double> sizes(topics);
  for (const std::uint32_t run : runs) sizes[shares.topic[run]] += 1;
  Affinity result{topics, std::vector<double>(features * topics), std::vector<std::uint32_t>(features)};
  for (std::size_t e = 0; e < features; e++) {
    double* affinity = result.values.data() + e * topics;
    for (std::size_t c = 0; c < topics; c++)
      if (sizes[c] > 0) affinity[c] = static_cast<double>(sums[c * features + e]) / sizes[c];
    result.top_topic[e] = static_cast<std::uint32_t>(std::max_element(affinity, affinity + topics) - affinity);
    const double total = std::accumulate(affinity, affinity + topics, 0.0);
    for (std::size_t c = 0; c < topics && total > 0; c++) affinity[c] /= total;
  }
  return result;
}

Affinity affinity_of(const Shares& shares) {
  std::vector<std::uint32_t> runs(shares.run_count());
  std::iota(runs.begin(), runs.end(), 0U);
  return affinity_of(shares, runs);
}

double specialisation_of(const double* affinity, std::size_t topic_count) {
  double entropy = 0;
  bool any = false;
  for (std::size_t c = 0; c < topic_count; c++) {
    if (!(affinity[c] > 0)) continue;
    entropy -= affinity[c] * portable_log(affinity[c]);
    any = true;
  }
  return any ? std::clamp(1 - entropy / portable_log(static_cast<double>(topic_count)), 0.0, 1.0) : 0;
}

std::optional<double> correlation(std::span<const double> left, std::span<const double> right) {
  const std::size_t count = std::min(left.size(), right.size());
  if (count < 2) return std::nullopt;
  const auto mean = [count](std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(count);
  };
  const double left_mean = mean(left), right_mean = mean(right);
  double left_square = 0, right_square = 0, product = 0;
  for (std::size_t i = 0; i < count; i++) {
    const double l = left[i] - left_mean, r = right[i] - right_mean;
    left_square += l * l;
    right_square += r * r;
    product += l * r;
  }
  // Rounding alone makes constant values vary by some 1e-16 of their size: that is no variance.
  const auto varies = [count](double square, double mean_value) { return square > static_cast<double>(count) * 1e-24 * mean_value * mean_value; };
  if (!varies(left_square, left_mean) || !varies(right_square, right_mean)) return std::nullopt;
  return std::clamp(product / std::sqrt(left_square) / std::sqrt(right_square), -1.0, 1.0);
}

std::vector<std::uint64_t> selection_totals(const Shares& shares) {
  std::vector<std::uint64_t> totals(shares.feature_count);
  if (shares.selections.empty()) return totals;
  for (std::size_t run = 0; run < shares.run_count(); run++)
    for (std::size_t e = 0; e < shares.feature_count; e++) totals[e] += shares.selections[run * shares.feature_count + e];
  return totals;
}

namespace {

// What both comparisons need: features of both sides that are one expert.
struct Pair {
  std::size_t left = 0;
  std::size_t right = 0;
};

std::vector<Pair> common_experts(const PhaseShares& left, const PhaseShares& right) {
  std::vector<Pair> pairs;
  for (std::size_t l = 0, r = 0; l < left.expert.size() && r < right.expert.size();) {
    if (left.expert[l] == right.expert[r]) pairs.push_back({l++, r++});
    else if (left.expert[l] < right.expert[r]) l++;
    else r++;
  }
  return pairs;
}

std::string why_not_comparable(const Shares& left, const Shares& right) {
  if (left.topics != right.topics) return "the two sides have different topics, because some topic's prompts have selections on one side only";
  return why_not_testable(left, 1);
}

}  // namespace

AffinityComparison compare_affinity(const PhaseShares& left, const PhaseShares& right, std::uint64_t min_count) {
  AffinityComparison result;
  result.not_computed = why_not_comparable(left.shares, right.shares);
  if (!result.not_computed.empty()) return result;
  const Affinity left_affinity = affinity_of(left.shares), right_affinity = affinity_of(right.shares);
  const auto left_totals = selection_totals(left.shares), right_totals = selection_totals(right.shares);
  const std::size_t topics = left.shares.topic_count();
  std::vector<double> left_values, right_values;
  for (const Pair& pair : common_experts(left, right)) {
    if (left_totals[pair.left] < min_count || right_totals[pair.right] < min_count) continue;
    const double *l = left_affinity.at(pair.left), *r = right_affinity.at(pair.right);
    left_values.insert(left_values.end(), l, l + topics);
    right_values.insert(right_values.end(), r, r + topics);
    double distance = 0;
    for (std::size_t c = 0; c < topics; c++) distance += std::abs(l[c] - r[c]) / 2;
    result.expert.push_back(left.expert[pair.left]);
    result.distance.push_back(distance);
    result.left_top.push_back(left_affinity.top_topic[pair.left]);
    result.right_top.push_back(right_affinity.top_topic[pair.right]);
    result.differing_top_count += result.left_top.back() != result.right_top.back() ? 1 : 0;
    result.mean_distance += distance;
  }
  if (result.expert.empty()) {
    result.not_computed = "no expert reaches " + std::to_string(min_count) + " selections on both sides";
    return result;
  }
  result.mean_distance /= static_cast<double>(result.expert.size());
  result.correlation = correlation(left_values, right_values);
  result.by_distance.resize(result.expert.size());
  std::iota(result.by_distance.begin(), result.by_distance.end(), std::size_t{0});
  std::stable_sort(result.by_distance.begin(), result.by_distance.end(),
                   [&](std::size_t i, std::size_t j) { return result.distance[i] > result.distance[j]; });
  return result;
}

namespace {

// [topic]: the topic's set as indices into counts.experts, rising.
std::vector<std::vector<std::size_t>> top_sets(const PhaseShares& side, const std::vector<bool>& eligible, std::size_t top_k) {
  const Affinity affinity = affinity_of(side.shares);
  const std::size_t features = side.shares.feature_count;
  std::vector<double> share(features), sum(features);
  for (std::size_t e = 0; e < features; e++) sum[e] = eligible[e] ? 1 : std::numeric_limits<double>::infinity();
  std::vector<std::vector<std::size_t>> sets(affinity.topic_count);
  for (std::size_t c = 0; c < sets.size(); c++) {
    for (std::size_t e = 0; e < features; e++) share[e] = affinity.at(e)[c];
    TopSet top(top_k);
    for (const std::uint32_t e : top.choose(share.data(), sum.data(), features)) sets[c].push_back(side.expert[e]);
    std::sort(sets[c].begin(), sets[c].end());
  }
  return sets;
}

std::vector<bool> at_or_above(const std::vector<std::uint64_t>& totals, std::uint64_t min_count) {
  std::vector<bool> result;
  for (const std::uint64_t total : totals) result.push_back(total >= min_count);
  return result;
}

}  // namespace

TopSetComparison compare_top_sets(const PhaseShares& left, const PhaseShares& right, std::size_t top_k, std::uint64_t min_count) {
  TopSetComparison result;
  result.not_computed = why_not_comparable(left.shares, right.shares);
  if (!result.not_computed.empty()) return result;
  const std::vector<bool> left_eligible = at_or_above(selection_totals(left.shares), min_count);
  const std::vector<bool> right_eligible = at_or_above(selection_totals(right.shares), min_count);
  const auto left_count = static_cast<double>(std::count(left_eligible.begin(), left_eligible.end(), true));
  const auto right_count = static_cast<double>(std::count(right_eligible.begin(), right_eligible.end(), true));
  double both = 0;
  for (const Pair& pair : common_experts(left, right)) both += left_eligible[pair.left] && right_eligible[pair.right] ? 1 : 0;
  if (both == 0) {
    result.not_computed = "no expert reaches " + std::to_string(min_count) + " selections on both sides";
    return result;
  }
  const auto left_sets = top_sets(left, left_eligible, top_k), right_sets = top_sets(right, right_eligible, top_k);
  for (std::size_t c = 0; c < left_sets.size(); c++) {
    std::vector<std::size_t> common;
    std::set_intersection(left_sets[c].begin(), left_sets[c].end(), right_sets[c].begin(), right_sets[c].end(), std::back_inserter(common));
    TopSetOverlap overlap{left_sets[c].size(), right_sets[c].size(), common.size()};
    const auto shared = static_cast<double>(common.size());
    const auto smaller = static_cast<double>(std::min(overlap.left_size, overlap.right_size));
    const auto greater = static_cast<double>(std::max(overlap.left_size, overlap.right_size));
    if (greater > 0) overlap.jaccard = shared / (smaller + greater - shared);
    if (smaller > 0) overlap.overlap = shared / smaller;
    if (smaller > 0) overlap.expected_overlap = greater * both / (left_count * right_count);
    result.mean_jaccard += overlap.jaccard / static_cast<double>(left_sets.size());
    result.mean_overlap += overlap.overlap / static_cast<double>(left_sets.size());
    result.mean_expected_overlap += overlap.expected_overlap / static_cast<double>(left_sets.size());
    result.topics.push_back(overlap);
  }
  return result;
}

}  // namespace atlas
