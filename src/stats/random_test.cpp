// Tests of the seeded random numbers: published outputs of SplitMix64, uniformity, streams that differ.
#include "stats/random.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace atlas {
namespace {

// Pearson's statistic against equal frequencies.
double chi_squared(const std::vector<std::size_t>& seen) {
  double total = 0, sum = 0;
  for (const std::size_t count : seen) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(seen.size());
  for (const std::size_t count : seen) sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) / expected;
  return sum;
}

TEST(Random, Gives_the_published_outputs_of_split_mix_64) {
  Random random(0, 0, 0);  // mix(0) = 0, so this stream starts at the state 0 of the published list
  EXPECT_EQ(random.next(), 0xE220A8397B1DCDAFULL);
  EXPECT_EQ(random.next(), 0x6E789E6AA1B965F4ULL);
  EXPECT_EQ(random.next(), 0x06C45D188009454FULL);
  EXPECT_EQ(random.next(), 0xF88BB8A8724C81ECULL);
}

TEST(Random, Streams_of_other_seeds_purposes_and_indices_start_elsewhere) {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 10; seed++)
    for (std::uint64_t purpose = 0; purpose < 10; purpose++)
      for (std::uint64_t index = 0; index < 10; index++) first.insert(Random(seed, purpose, index).next());
  EXPECT_EQ(first.size(), 1000U);
}

TEST(Random, Below_covers_every_value_equally_often) {
  Random random(1, 2, 3);
  std::vector<std::size_t> seen(7);
  for (std::size_t i = 0; i < 70000; i++) seen.at(random.below(7))++;
  EXPECT_LT(chi_squared(seen), 22.5);  // 99.9 % point at 6 degrees of freedom
  for (std::size_t i = 0; i < 100; i++) EXPECT_EQ(random.below(1), 0U);
}

TEST(Random, Unit_stays_below_one_and_has_the_mean_of_a_half) {
  Random random(4, 5, 6);
  double sum = 0;
  for (std::size_t i = 0; i < 100000; i++) {
    const double value = random.unit();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.004);  // four standard errors
}

TEST(Random, Shuffle_gives_every_order_equally_often) {
  std::map<std::vector<int>, std::size_t> orders;
  for (std::uint64_t index = 0; index < 24000; index++) {
    Random random(7, 8, index);
    std::vector<int> values{0, 1, 2, 3};
    random.shuffle(values);
    orders[values]++;
  }
  std::vector<std::size_t> seen;
  for (const auto& [order, count] : orders) seen.push_back(count);
  ASSERT_EQ(seen.size(), 24U);
  EXPECT_LT(chi_squared(seen), 49.8);  // 99.9 % point at 23 degrees of freedom
}

TEST(Random, Shuffle_leaves_nothing_and_one_value_as_they_are) {
  Random random(0, 0, 1);
  std::vector<int> none, one{5};
  random.shuffle(none);
  random.shuffle(one);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(one, std::vector<int>{5});
}

}  // namespace
}  // namespace atlas
