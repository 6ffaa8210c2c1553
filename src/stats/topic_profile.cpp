// See topic_profile.h.
#include "stats/topic_profile.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace atlas {

// value = 2^exponent * m with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh(z) with z = (m - 1) / (m + 1), |z| < 0.1716, by its series in z^2.
double portable_log(double value) {
  constexpr std::uint64_t mantissa_bits = (std::uint64_t{1} << 52) - 1;
  constexpr std::uint64_t root_half = 0x3FE6A09E667F3BCDULL;                       // the bits of sqrt(1/2)
  constexpr double ln2_high = 0x1.62E42FEFA38p-1, ln2_low = 0x1.EF35793C7673p-45;  // their sum is ln 2 to 90 bits; exponent * ln2_high is exact
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t above = bits - root_half;
  const auto exponent = static_cast<double>(static_cast<std::int32_t>(static_cast<std::int64_t>(above) >> 52));
  const double m = std::bit_cast<double>((above & mantissa_bits) + root_half);
  const double z = (m - 1) / (m + 1), w = z * z;
  double series = 1.0 / 21;
  series = series * w + 1.0 / 19;
  series = series * w + 1.0 / 17;
  series = series * w + 1.0 / 15;
  series = series * w + 1.0 / 13;
  series = series * w + 1.0 / 11;
  series = series * w + 1.0 / 9;
  series = series * w + 1.0 / 7;
  series = series * w + 1.0 / 5;
  series = series * w + 1.0 / 3;
  return exponent * ln2_high + (2 * z + (2 * z * w * series + exponent * ln2_low));
}

double rounded(double value) { return std::floor(value * 1e6 + 0.5) / 1e6; }

namespace {

// Sum and first greatest of the means. Means are compared as sum * (the other's size), products of two 32-bit numbers.
void find_top(const Lanes* sums, const Deals& deals, TopicProfile& profile) {
  profile.total.fill(0);
  profile.top_topic.fill(0);
  std::array<std::uint64_t, block_width> top_sum{}, top_size{};
  top_size.fill(deals.size(0));
  for (std::uint32_t c = 0; c < deals.topic_count(); c++) {
    const std::uint64_t size = deals.size(c);
    const double inverse = 1 / static_cast<double>(size);
    for (std::size_t lane = 0; lane < block_width; lane++) {
      const std::uint64_t sum = sums[c].at[lane];
      const bool greater = sum * top_size[lane] > top_sum[lane] * size;
      top_sum[lane] = greater ? sum : top_sum[lane];
      top_size[lane] = greater ? size : top_size[lane];
      profile.top_topic[lane] = greater ? c : profile.top_topic[lane];
      profile.total[lane] += static_cast<double>(sum) * inverse;
    }
  }
}

}  // namespace

void profile_topics(const Lanes* sums, const Deals& deals, TopicProfile& profile) {
  find_top(sums, deals, profile);
  const auto topics = static_cast<double>(deals.topic_count());
  std::array<double, block_width> information{}, greatest{}, inverse_total{};  // sum of p ln p; max p
  for (std::size_t lane = 0; lane < block_width; lane++) inverse_total[lane] = profile.total[lane] > 0 ? 1 / profile.total[lane] : 0;
  for (std::size_t c = 0; c < deals.topic_count(); c++) {
    const double inverse_size = 1.0 / deals.size(c);
    for (std::size_t lane = 0; lane < block_width; lane++) {
      const double p = static_cast<double>(sums[c].at[lane]) * inverse_size * inverse_total[lane];
      information[lane] += p * portable_log(std::max(p, 0x1p-900));  // p ln p is 0 where p is
      greatest[lane] = std::max(greatest[lane], p);
    }
  }
  const double most = portable_log(topics);
  for (std::size_t lane = 0; lane < block_width; lane++) {
    const bool any = profile.total[lane] > 0;
    profile.specialisation[lane] = any ? std::clamp(1 + information[lane] / most, 0.0, 1.0) : 0;
    profile.lift[lane] = any ? std::clamp(greatest[lane] * topics, 1.0, topics) : 1;
  }
}

}  // namespace atlas
