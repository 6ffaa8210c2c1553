// What the evidence is computed on: every run's shares as fixed-point integers, with its topic. Made by shares_of() from counts, by the token
// controls from other features; read by the held-out tests and the per-expert tests.
//
// Integers, because sums of them are the same in any order: no number of threads and no machine changes a comparison.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace atlas {

inline constexpr int share_bits = 30;
inline constexpr std::int32_t share_one = std::int32_t{1} << share_bits;  // a share of 1

// The unit of observation is the run: one prompt. A feature is an expert, or a token id in the control by tokens.
struct Shares {
  std::size_t feature_count = 0;
  std::vector<std::string> topics;        // [topic_count], code-unit order
  std::vector<std::uint32_t> topic;       // [run_count], index into topics
  std::vector<std::uint32_t> probe;       // [run_count], index of the probe that this run is
  std::vector<std::int32_t> values;       // [run_count, feature_count], unit 1 / share_one; a run's sum is about share_one (0 for residuals)
  std::vector<std::uint32_t> selections;  // [run_count, feature_count], or empty where floors do not apply

  std::size_t run_count() const { return topic.size(); }
  std::size_t topic_count() const { return topics.size(); }
  const std::int32_t* row(std::size_t run) const { return values.data() + run * feature_count; }
};

std::vector<std::uint32_t> topic_sizes(const Shares& shares);  // [topic_count], runs of each topic

// round(count / total * share_one), halves upward. Exact integer arithmetic; total > 0, count <= total.
std::int32_t fixed_share(std::uint64_t count, std::uint64_t total);
// The same for a real value in [-1, 1] (residuals, weights).
std::int32_t fixed_share(double value);

// "" if the shares can be tested at all, else why not, for people: a topic with fewer than `least` runs, or fewer than two topics.
std::string why_not_testable(const Shares& shares, std::uint32_t least);

// Inner products of all pairs of runs' shares, exact but for one final rounding to `unit_bits`; sums over all pairs fit 64 bits.
struct Gram {
  std::size_t run_count = 0;
  int unit_bits = 0;                 // values are in units of 2^-unit_bits
  std::vector<std::int64_t> values;  // [run_count, run_count], symmetric

  std::int64_t at(std::size_t left, std::size_t right) const { return values[left * run_count + right]; }
};

Gram gram_of(const Shares& shares);

}  // namespace atlas
