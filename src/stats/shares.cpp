// See shares.h.
#include "stats/shares.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"

namespace atlas {

std::vector<std::uint32_t> topic_sizes(const Shares& shares) {
  std::vector<std::uint32_t> sizes(shares.topic_count());
  for (const std::uint32_t topic : shares.topic) sizes[topic]++;
  return sizes;
}

std::int32_t fixed_share(std::uint64_t count, std::uint64_t total) {
  __extension__ using Wide = unsigned __int128;
  const Wide scaled = (static_cast<Wide>(count) << (share_bits + 1)) / total;  // one bit more, to round by
  return static_cast<std::int32_t>((static_cast<std::uint64_t>(scaled) + 1) >> 1);
}

std::int32_t fixed_share(double value) { return static_cast<std::int32_t>(std::floor(value * share_one + 0.5)); }

std::string why_not_testable(const Shares& shares, std::uint32_t least) {
  if (shares.topic_count() < 2) return "fewer than two topics";
  const std::vector<std::uint32_t> sizes = topic_sizes(shares);
  for (std::size_t c = 0; c < sizes.size(); c++)
    if (sizes[c] < least) {
      return "the topic " + shares.topics[c] + " has " + std::to_string(sizes[c]) + (sizes[c] == 1 ? " prompt" : " prompts") + "; this needs " +
             std::to_string(least);
    }
  return "";
}

static std::int64_t inner_product(const std::int32_t* left, const std::int32_t* right, std::size_t count) {
  std::int64_t sum = 0;
  for (std::size_t e = 0; e < count; e++) sum += static_cast<std::int64_t>(left[e]) * right[e];
  return sum;
}

Gram gram_of(const Shares& shares) {
  Gram gram;
  gram.run_count = shares.run_count();
  int pair_bits = 0;
  while ((std::size_t{1} << pair_bits) < gram.run_count * gram.run_count) pair_bits++;
  gram.unit_bits = std::min(48, 61 - pair_bits);
  const int shift = 2 * share_bits - gram.unit_bits;
  gram.values.resize(gram.run_count * gram.run_count);
  // A stretch of features at a time: two rows of it stay in the first-level cache while a run meets all others.
  constexpr std::size_t stretch = 2048;
  parallel_for(gram.run_count, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i++)
      for (std::size_t from = 0; from < shares.feature_count; from += stretch) {
        const std::size_t count = std::min(stretch, shares.feature_count - from);
        for (std::size_t j = 0; j <= i; j++) gram.values[i * gram.run_count + j] += inner_product(shares.row(i) + from, shares.row(j) + from, count);
      }
  });
  for (std::size_t i = 0; i < gram.run_count; i++)
    for (std::size_t j = 0; j <= i; j++) {
      const std::int64_t rounded = (gram.at(i, j) + (std::int64_t{1} << (shift - 1))) >> shift;
      gram.values[i * gram.run_count + j] = rounded;
      gram.values[j * gram.run_count + i] = rounded;
    }
  return gram;
}

}  // namespace atlas
