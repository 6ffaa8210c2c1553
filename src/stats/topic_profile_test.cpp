// Specialisation, lift and top topic from topic sums, worked by hand and from the definition; the logarithm against the C library's.
#include "stats/topic_profile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/expert_test_data.h"

namespace atlas {
namespace {

// Of a single feature with one run of this many selections (of 1,024) in each topic.
struct Single {
  double total, specialisation, lift;
  std::uint32_t top_topic;
};
Single profile_of(const std::vector<std::uint32_t>& sizes, const std::vector<std::vector<std::uint32_t>>& counts) {
  const Shares shares = shares_of_counts(sizes, 1024, counts);
  Deals deals = no_deals(shares);
  add_true_deal(deals, shares);
  const std::uint32_t feature = 0;
  std::vector<Lanes> sums(sizes.size());
  add_up(pack_block(shares, &feature, 1, deals), deals, 0, sums.data());
  TopicProfile profile;
  profile_topics(sums.data(), deals, profile);
  return {profile.total[0], profile.specialisation[0], profile.lift[0], profile.top_topic[0]};
}

TEST(TopicProfile, IsZeroForEvenSharesAndOneForASingleTopic) {
  const Single even = profile_of({1, 1, 1}, {{9}, {9}, {9}}), single = profile_of({1, 1, 1}, {{0}, {0}, {9}});
  EXPECT_NEAR(even.specialisation, 0, 1e-15);
  EXPECT_NEAR(even.lift, 1, 1e-15);
  EXPECT_EQ(even.top_topic, 0U);
  EXPECT_EQ(single.specialisation, 1);
  EXPECT_EQ(single.lift, 3);
  EXPECT_EQ(single.top_topic, 2U);
}

TEST(TopicProfile, FollowsAnExampleWorkedByHand) {
  // p = 1/2, 1/4, 1/4: H = 1.5 ln 2 of ln 3.
  const Single profile = profile_of({1, 1, 1}, {{5}, {10}, {5}});
  EXPECT_NEAR(profile.specialisation, 1 - 1.5 * std::log(2) / std::log(3), 1e-15);
  EXPECT_EQ(profile.lift, 1.5);
  EXPECT_EQ(profile.top_topic, 1U);
}

TEST(TopicProfile, ComparesMeansNotSums) {
  const Single profile = profile_of({3, 1}, {{4}, {4}, {4}, {6}});  // sums 12 and 6, means 4 and 6
  EXPECT_EQ(profile.top_topic, 1U);
  EXPECT_NEAR(profile.lift, 1.2, 1e-15);
  EXPECT_EQ(profile_of({3, 1}, {{4}, {5}, {3}, {4}}).top_topic, 0U);  // equal means: the first
}

TEST(TopicProfile, HasNoTotalWithoutShares) {
  const Single profile = profile_of({1, 1}, {{0}, {0}});
  EXPECT_EQ(profile.total, 0);
  EXPECT_EQ(profile.specialisation, 0);
  EXPECT_EQ(profile.lift, 1);
}

TEST(PortableLog, AgreesWithTheLibraryWithinTwoUnits) {
  Random random(3, 0, 0);
  for (int i = 0; i < 200000; i++) {
    double value = std::ldexp(1 + random.unit(), static_cast<int>(random.below(2000)) - 1000);
    if (i % 4 == 0) value = 1 + (random.unit() - 0.5) * 0.01;
    if (i % 4 == 1) value = 1 + i;
    const double expected = std::log(value);
    EXPECT_LE(std::abs(portable_log(value) - expected), 3 * (std::nextafter(std::abs(expected), 1e9) - std::abs(expected))) << value;
  }
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_EQ(portable_log(2), std::log(2));
}

TEST(Rounded, GoesHalfUpAtSixDecimals) {
  EXPECT_EQ(rounded(0.4999994), 0.499999);
  EXPECT_EQ(rounded(0.4999996), 0.5);
  EXPECT_EQ(rounded(1), 1);
}

}  // namespace
}  // namespace atlas
