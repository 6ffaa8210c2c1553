// Tests of fixed-point shares and of the Gram matrix, against wider integers.
#include "stats/shares.h"

#include <gtest/gtest.h>

#include <random>

#include "base/parallel.h"

namespace atlas {
namespace {

__extension__ using Wide = __int128;

Shares random_shares(std::size_t run_count, std::size_t feature_count, unsigned seed) {
  std::mt19937 random(seed);
  Shares shares;
  shares.feature_count = feature_count;
  shares.topics = {"a", "b"};
  for (std::uint32_t run = 0; run < run_count; run++) {
    shares.topic.push_back(run % 2);
    shares.probe.push_back(run);
    std::vector<std::uint64_t> counts;
    std::uint64_t total = 0;
    for (std::size_t e = 0; e < feature_count; e++) total += counts.emplace_back(random() % 50);
    for (const std::uint64_t count : counts) shares.values.push_back(fixed_share(count, total));
  }
  return shares;
}

TEST(FixedShare, Rounds_halves_upward_and_keeps_the_ends) {
  EXPECT_EQ(fixed_share(0, 5), 0);
  EXPECT_EQ(fixed_share(5, 5), share_one);
  EXPECT_EQ(fixed_share(1, 2), share_one / 2);
  EXPECT_EQ(fixed_share(1, std::uint64_t{1} << 31), 1);  // half a unit
  EXPECT_EQ(fixed_share(1, (std::uint64_t{1} << 31) + 1), 0);
  EXPECT_EQ(fixed_share(1, 3), 357913941);  // 2^30 / 3 = 357913941.33
  EXPECT_EQ(fixed_share(2, 3), 715827883);  // 715827882.67
}

TEST(FixedShare, Of_large_counts_equals_long_division) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; i++) {
    const std::uint64_t total = random() >> (random() % 40), count = total == 0 ? 0 : random() % total;
    if (total == 0) continue;
    const Wide doubled = (static_cast<Wide>(count) * share_one * 2 + static_cast<Wide>(total)) / (2 * static_cast<Wide>(total));
    ASSERT_EQ(fixed_share(count, total), static_cast<std::int32_t>(doubled)) << count << " of " << total;
  }
}

TEST(FixedShare, Of_real_values_is_symmetric_but_for_halves) {
  EXPECT_EQ(fixed_share(-1.0), -share_one);
  EXPECT_EQ(fixed_share(1.0), share_one);
  EXPECT_EQ(fixed_share(-0.25), -share_one / 4);
  EXPECT_EQ(fixed_share(0.5 / share_one), 1);
  EXPECT_EQ(fixed_share(-0.5 / share_one), 0);
}

void expect_exact_gram(const Shares& shares) {
  const Gram gram = gram_of(shares);
  ASSERT_EQ(gram.values.size(), shares.run_count() * shares.run_count());
  const int shift = 2 * share_bits - gram.unit_bits;
  for (std::size_t i = 0; i < shares.run_count(); i++)
    for (std::size_t j = 0; j < shares.run_count(); j++) {
      Wide sum = 0;
      for (std::size_t e = 0; e < shares.feature_count; e++) sum += static_cast<Wide>(shares.row(i)[e]) * shares.row(j)[e];
      const Wide unit = static_cast<Wide>(1) << shift;
      Wide rounded = (2 * sum + unit) / (2 * unit);
      if (2 * sum + unit < 0 && rounded * 2 * unit != 2 * sum + unit) rounded--;  // C++ divides towards zero; halves go upward
      ASSERT_EQ(gram.at(i, j), static_cast<std::int64_t>(rounded)) << i << ", " << j;
    }
}

TEST(Gram, Equals_inner_products_in_wide_integers) {
  expect_exact_gram(random_shares(13, 40, 1));
  expect_exact_gram(random_shares(3, 5000, 2));  // more features than a stretch
  expect_exact_gram(random_shares(1, 1, 3));
}

TEST(Gram, Of_residuals_with_both_signs_is_exact_too) {
  Shares shares = random_shares(9, 33, 4);
  std::mt19937 random(5);
  for (std::int32_t& value : shares.values)
    if (random() % 2 == 0) value = -value;
  expect_exact_gram(shares);
}

TEST(Gram, Of_the_largest_shares_does_not_overflow_when_all_pairs_are_added) {
  Shares shares;
  shares.feature_count = 1;
  shares.topics = {"a", "b"};
  shares.topic.assign(1500, 0);
  shares.values.assign(1500, share_one);
  const Gram gram = gram_of(shares);
  Wide sum = 0;
  for (const std::int64_t value : gram.values) sum += value;
  EXPECT_EQ(gram.at(7, 1400), std::int64_t{1} << gram.unit_bits);
  EXPECT_LE(sum, static_cast<Wide>(INT64_MAX));
}

TEST(Gram, Is_the_same_for_one_thread_and_three) {
  const Shares shares = random_shares(31, 100, 6);
  set_thread_count(1);
  const Gram one = gram_of(shares);
  set_thread_count(3);
  const Gram three = gram_of(shares);
  set_thread_count(0);
  EXPECT_EQ(one.values, three.values);
}

TEST(Shares, Say_why_they_cannot_be_tested) {
  Shares shares = random_shares(5, 4, 7);
  EXPECT_EQ(why_not_testable(shares, 2), "");
  EXPECT_EQ(why_not_testable(shares, 3), "the topic b has 2 prompts; this needs 3");
  EXPECT_EQ(topic_sizes(shares), (std::vector<std::uint32_t>{3, 2}));
  shares.topic = {0, 0, 0, 0, 1};
  EXPECT_EQ(why_not_testable(shares, 2), "the topic b has 1 prompt; this needs 2");
  shares.topics = {"a"};
  EXPECT_EQ(why_not_testable(shares, 2), "fewer than two topics");
}

}  // namespace
}  // namespace atlas
