// Small data sets for the tests of the per-expert statistics. Included by tests only.
#pragma once

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
inline Shares random_shares(const std::vector<std::uint32_t>& sizes, std::size_t features, std::uint64_t seed, int total_bits = 12, std::uint32_t effect = 0) {
  Shares shares = empty_shares(sizes, features);
  Random random(seed, 99, 0);
  for (std::size_t run = 0; run < shares.run_count(); run++)
    for (std::size_t e = 0; e < features; e++) {
      std::uint32_t count = random.below(total_bits > 5 ? 20 : 2) + (e < sizes.size() && shares.topic[run] == e ? effect : 0);
      shares.selections.push_back(count);
      shares.values.push_back(fixed_share(count, std::uint64_t{1} << total_bits));
    }
  return shares;
}

}  // namespace atlas
