// Small data sets for the tests of the per-expert statistics. Included by tests only.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "stats/random.h"
#include "stats/shares.h"

namespace atlas {

inline Shares empty_shares(const std::vector<std::uint32_t>& sizes, std::size_t features) {
  Shares shares;
  shares.feature_count = features;
  for (std::uint32_t c = 0; c < sizes.size(); c++) {
    shares.topics.push_back("topic" + std::to_string(c));
    shares.topic.insert(shares.topic.end(), sizes[c], c);
  }
  for (std::uint32_t run = 0; run < shares.topic.size(); run++) shares.probe.push_back(run);
  return shares;
}

// counts: [run, feature], each run of `total` selections (some may go to features that are not here).
inline Shares shares_of_counts(const std::vector<std::uint32_t>& sizes, std::uint64_t total, const std::vector<std::vector<std::uint32_t>>& counts) {
  Shares shares = empty_shares(sizes, counts.at(0).size());
  for (const auto& row : counts)
    for (const std::uint32_t count : row) {
      shares.selections.push_back(count);
      shares.values.push_back(fixed_share(count, total));
    }
  return shares;
}

// Counts 0 .. 19 of 1 << total_bits; few values, so that statistics tie. The first features prefer a topic by `effect` selections.
inline Shares random_shares(const std::vector<std::uint32_t>& sizes, std::size_t features, std::uint64_t seed, int total_bits = 12,
                            std::uint32_t effect = 0) {
  Shares shares = empty_shares(sizes, features);
  Random random(seed, 99, 0);
  for (std::size_t run = 0; run < shares.run_count(); run++)
    for (std::size_t e = 0; e < features; e++) {
      const std::uint32_t count = random.below(20) + (e < sizes.size() && shares.topic[run] == e ? effect : 0);
      shares.selections.push_back(count);
      shares.values.push_back(fixed_share(count, std::uint64_t{1} << total_bits));
    }
  return shares;
}

// Between-topic sum of squares from its definition, in doubles: sum over topics of size * (mean in the topic - mean)^2.
inline double naive_between(const Shares& shares, std::size_t feature, const std::vector<std::uint16_t>& labels) {
  const std::size_t runs = shares.run_count();
  std::vector<double> sum(shares.topic_count()), size(shares.topic_count());
  double total = 0, between = 0;
  for (std::size_t run = 0; run < runs; run++) {
    sum[labels[run]] += shares.row(run)[feature];
    size[labels[run]]++;
    total += shares.row(run)[feature];
  }
  for (std::size_t c = 0; c < sum.size(); c++) between += size[c] * std::pow(sum[c] / size[c] - total / static_cast<double>(runs), 2);
  return between;
}

// Rounding errors of naive_between are far below this part of it; different statistics of these small data sets are far above.
inline bool naive_at_least(double left, double right) { return left >= right - 1e-9 * (1 + std::abs(right)); }

struct NaiveProfile {
  double specialisation = 0, lift = 1;
  std::uint32_t top_topic = 0;
  bool any = false;
};

// From means over runs (index, topic by position in `begin`), by the definitions.
inline NaiveProfile naive_profile(const Shares& shares, std::size_t feature, const std::uint32_t* runs, const std::vector<std::uint32_t>& begin) {
  std::vector<double> means;
  double sum = 0, entropy = 0;
  for (std::size_t c = 0; c + 1 < begin.size(); c++) {
    double mean = 0;
    for (std::uint32_t i = begin[c]; i < begin[c + 1]; i++) mean += static_cast<double>(shares.row(runs[i])[feature]);
    means.push_back(mean / (begin[c + 1] - begin[c]));
    sum += means.back();
  }
  NaiveProfile profile;
  if (!(sum > 0)) return profile;
  profile.any = true;
  for (std::uint32_t c = 0; c < means.size(); c++) {
    if (means[c] > means[profile.top_topic] * (1 + 1e-12)) profile.top_topic = c;
    if (means[c] > 0) entropy -= means[c] / sum * std::log(means[c] / sum);
  }
  profile.specialisation = 1 - entropy / std::log(static_cast<double>(means.size()));
  profile.lift = means[profile.top_topic] / sum * static_cast<double>(means.size());
  return profile;
}

}  // namespace atlas
