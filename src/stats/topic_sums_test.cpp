// Deals, packing and sums, against the same sums made run by run.
#include "stats/topic_sums.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stats/expert_test_data.h"
#include "stats/random.h"

namespace atlas {
namespace {

TEST(TopicSums, AreTheSumsOfEachTopicsRunsForEveryRelabeling) {
  const Shares shares = random_shares({2, 5, 3}, 40, 1);
  const Relabelings relabelings = make_relabelings(shares.topic, 3, 20, 0);
  Deals deals = no_deals(shares);
  for (std::size_t b = 0; b < 20; b++) add_deal(deals, relabelings.at(b));
  const std::vector<std::uint32_t> features = {39, 0, 7};
  const FeatureBlock block = pack_block(shares, features.data(), 3, deals);
  std::vector<Lanes> sums(3);
  for (std::size_t b = 0; b < 20; b++) {
    add_up(block, deals, b, sums.data());
    for (std::size_t lane = 0; lane < block_width; lane++) {
      std::uint64_t expected[3] = {};
      for (std::size_t run = 0; run < 10 && lane < 3; run++)
        expected[relabelings.at(b)[run]] += static_cast<std::uint64_t>(shares.row(run)[features[lane]]);
      for (std::size_t c = 0; c < 3; c++) EXPECT_EQ(sums[c].at[lane], expected[c]);
    }
  }
}

TEST(TopicSums, SquareToTheBetweenTopicSumOfSquaresTimesTheCommonMultiple) {
  const Shares shares = shares_of_counts({2, 3}, 16, {{1}, {2}, {3}, {4}, {8}});
  Deals deals = no_deals(shares);
  add_true_deal(deals, shares);
  EXPECT_EQ(square_weights(deals), (std::vector<std::uint32_t>{3, 2}));  // 6 / 2 and 6 / 3
  const std::uint32_t feature = 0;
  std::vector<Lanes> sums(2);
  std::uint64_t statistic[block_width];
  add_up(pack_block(shares, &feature, 1, deals), deals, 0, sums.data());
  add_squares(sums.data(), square_weights(deals), statistic);
  const std::uint64_t unit = static_cast<std::uint64_t>(share_one) / 16;
  EXPECT_EQ(statistic[0], unit * unit * (3 * 9 + 2 * 225));
}

TEST(SquareWeights, AreOneForEqualTopicsAndStayBelow2To16ForManyDifferentOnes) {
  EXPECT_EQ(square_weights(no_deals(random_shares({4, 4, 4}, 1, 0))), (std::vector<std::uint32_t>{1, 1, 1}));
  const std::vector<std::uint32_t> sizes = {2, 3, 5, 7, 11, 13, 17, 19, 23};
  const std::vector<std::uint32_t> weights = square_weights(no_deals(random_shares(sizes, 1, 0)));
  for (std::size_t c = 0; c < sizes.size(); c++) EXPECT_NEAR(weights[c], 65536.0 * 2 / sizes[c], 0.5);
}

TEST(PackBlock, LosesNothingForSmallSharesAndRoundsGreatOnes) {
  const std::uint32_t feature = 0;
  Shares shares = shares_of_counts({2, 2}, 4, {{4}, {4}, {2}, {1}});  // add up to 2.75, less than 4
  EXPECT_EQ(pack_block(shares, &feature, 1, no_deals(shares)).rows[3].at[0], std::uint32_t{1} << 28);
  shares = shares_of_counts({2, 3}, 4, {{4}, {4}, {1}, {1}, {0}});  // 2.5 is more than 4 / sqrt(3): one bit goes
  EXPECT_EQ(pack_block(shares, &feature, 1, no_deals(shares)).rows[3].at[0], std::uint32_t{1} << 27);
}

TEST(PackBlock, TakesTheLeastShareOffWhereItIsNegative) {
  Shares shares = shares_of_counts({1, 1}, 4, {{0}, {0}});
  shares.values = {-5, 7};
  const std::uint32_t feature = 0;
  const FeatureBlock block = pack_block(shares, &feature, 1, no_deals(shares));
  EXPECT_EQ(block.rows[0].at[0], 0U);
  EXPECT_EQ(block.rows[1].at[0], 12U);
}

TEST(PackBlock, LeavesRoomForOneRunDrawnForAWholeTopic) {
  std::vector<std::vector<std::uint32_t>> counts(43, {0});
  counts[7] = {1};  // a share of 1, once
  const Shares shares = shares_of_counts({40, 3}, 1, counts);
  const std::uint32_t feature = 0;
  EXPECT_EQ(pack_block(shares, &feature, 1, no_deals(shares)).rows[7].at[0], std::uint32_t{1} << 26);  // 40 * 2^26 < 2^32 < 40 * 2^27
}

TEST(BootstrapDeals, DrawEveryTopicFromItsOwnRunsAndReachThemAll) {
  const Shares shares = random_shares({2, 3}, 1, 0);
  Deals deals = no_deals(shares);
  add_true_deal(deals, shares);
  const Deals draws = bootstrap_deals(deals, 0, 200, 1, random_purpose::bootstrap, 0);
  std::vector<int> seen(5);
  for (std::size_t draw = 0; draw < draws.count; draw++)
    for (std::size_t i = 0; i < 5; i++) {
      seen[draws.at(draw)[i]]++;
      EXPECT_EQ(draws.at(draw)[i] < 2, i < 2);
    }
  for (const int count : seen) EXPECT_NEAR(count, 200, 60);
}

}  // namespace
}  // namespace atlas
