// Tests of a topic's expert set against sorting everything, and of ties, floors and features without shares.
#include "stats/top_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace atlas {
namespace {

std::vector<std::uint32_t> sorted_set(const std::vector<double>& share, const std::vector<double>& sum, std::size_t top_k) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t e = 0; e < share.size(); e++)
    if (share[e] > 0 && !std::isinf(sum[e])) order.push_back(e);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t left, std::uint32_t right) { return share[left] / sum[left] > share[right] / sum[right]; });
  order.resize(std::min(order.size(), top_k));
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<std::uint32_t> chosen(TopSet& set, const std::vector<double>& share, const std::vector<double>& sum) {
  std::vector<std::uint32_t> members = set.choose(share.data(), sum.data(), share.size());
  std::sort(members.begin(), members.end());
  return members;
}

TEST(TopSet, Takes_the_greatest_scores_and_of_equals_the_lower_index) {
  TopSet set(3);
  EXPECT_EQ(chosen(set, {1, 2, 1, 3, 1}, {2, 2, 2, 4, 2}), (std::vector<std::uint32_t>{0, 1, 3}));
}

TEST(TopSet, Leaves_out_features_without_share_and_below_the_floor) {
  TopSet set(4);
  const double floor = std::numeric_limits<double>::infinity();
  EXPECT_EQ(chosen(set, {0, 5, 1, 0}, {0, floor, 3, 2}), (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(chosen(set, {0, 0}, {0, 0}), std::vector<std::uint32_t>{});
}

TEST(TopSet, Equals_a_full_sort_from_one_fold_to_the_next) {
  std::mt19937 random(1);
  for (const std::size_t top_k : {1UL, 7UL, 40UL, 100UL, 1000UL}) {
    TopSet set(top_k);
    std::vector<double> share(300), sum(300);
    for (int fold = 0; fold < 200; fold++) {
      const bool leap = fold % 50 == 0;  // else nearly the same input, as folds have it
      for (std::size_t e = 0; e < share.size(); e++) {
        if (!leap && random() % 10 != 0) continue;
        share[e] = random() % 4 == 0 ? 0 : static_cast<double>(random() % 12);  // small whole numbers: many ties
        sum[e] = random() % 20 == 0 ? std::numeric_limits<double>::infinity() : share[e] + static_cast<double>(random() % 30);
      }
      ASSERT_EQ(chosen(set, share, sum), sorted_set(share, sum, top_k)) << "top_k " << top_k << ", fold " << fold;
    }
  }
}

TEST(TopSet, Survives_scores_that_all_fall_at_once) {
  TopSet set(2);
  EXPECT_EQ(chosen(set, {9, 8, 7}, {10, 10, 10}), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(chosen(set, {1, 2, 3}, {1000, 1000, 1000}), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(chosen(set, {0, 0, 3}, {1000, 1000, 1000}), (std::vector<std::uint32_t>{2}));
}

}  // namespace
}  // namespace atlas
