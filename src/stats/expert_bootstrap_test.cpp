// Intervals and stability against a plain recomputation with the same draws.
#include "stats/expert_bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stats/eta_squared.h"
#include "stats/expert_test_data.h"

namespace atlas {
namespace {

struct Setting {
  Shares shares;
  std::vector<std::uint32_t> features;
  Deals truth, resamples;
  ProfileList observed;
};

Setting setting_of(Shares shares, std::size_t draws) {
  Setting setting{std::move(shares), {}, {}, {}, {}};
  setting.features = features_at_floor(setting.shares, 0);
  setting.truth = no_deals(setting.shares);
  add_true_deal(setting.truth, setting.shares);
  setting.resamples = bootstrap_deals(setting.truth, 0, draws, 3, random_purpose::bootstrap, 0);
  setting.observed = profile_features(setting.shares, setting.features, setting.truth, 0);
  return setting;
}

TEST(ProfileFeatures, FollowTheDefinitionsForUnequalTopics) {
  const Setting s = setting_of(random_shares({2, 5, 3}, 70, 1, 12, 15), 1);
  for (std::size_t e = 0; e < 70; e++) {
    const NaiveProfile expected = naive_profile(s.shares, e, s.truth.at(0), s.truth.topic_begin);
    EXPECT_NEAR(s.observed.specialisation[e], expected.specialisation, 1e-12);
    EXPECT_NEAR(s.observed.lift[e], expected.lift, 1e-12);
    EXPECT_EQ(s.observed.top_topic[e], expected.top_topic);
  }
}

TEST(BootstrapFeatures, AgreeWithAPlainRecomputationFromTheSameDraws) {
  const Setting s = setting_of(random_shares({5, 7, 6}, 40, 2, 12, 8), 201);
  const BootstrapList list = bootstrap_features(s.shares, s.features, s.observed, s.resamples);
  for (std::size_t e = 0; e < 40; e++) {
    std::vector<double> specialisation, lift;
    std::uint32_t stable = 0;
    for (std::size_t draw = 0; draw < 201; draw++) {
      const NaiveProfile profile = naive_profile(s.shares, e, s.resamples.at(draw), s.resamples.topic_begin);
      specialisation.push_back(profile.specialisation);
      lift.push_back(profile.lift);
      stable += profile.top_topic == s.observed.top_topic[e] ? 1 : 0;
    }
    std::sort(specialisation.begin(), specialisation.end());
    std::sort(lift.begin(), lift.end());
    EXPECT_NEAR(list.specialisation_95[e][0], std::clamp(2 * s.observed.specialisation[e] - specialisation[195], 0.0, 1.0), 1e-12);
    EXPECT_NEAR(list.specialisation_95[e][1], std::clamp(2 * s.observed.specialisation[e] - specialisation[5], 0.0, 1.0), 1e-12);
    EXPECT_NEAR(list.lift_95[e][0], std::clamp(2 * s.observed.lift[e] - lift[195], 1.0, 3.0), 1e-12);
    EXPECT_NEAR(list.lift_95[e][1], std::clamp(2 * s.observed.lift[e] - lift[5], 1.0, 3.0), 1e-12);
    EXPECT_EQ(list.stable_count[e], stable);
  }
  EXPECT_EQ(count_stable(s.shares, s.features, s.observed.top_topic, s.resamples), list.stable_count);
}

TEST(BootstrapFeatures, HaveNoWidthWhereAllPromptsAreAlike) {
  const Setting s = setting_of(shares_of_counts({2, 2}, 100, {{4}, {4}, {4}, {4}}), 50);
  const BootstrapList list = bootstrap_features(s.shares, s.features, s.observed, s.resamples);
  EXPECT_NEAR(list.specialisation_95[0][0], list.specialisation_95[0][1], 1e-12);
  EXPECT_EQ(list.stable_count[0], 50U);  // the first of equals each time
}

TEST(BootstrapFeatures, CountAResampleWithoutTheOnlyRunThatFiresAsUnstable) {
  const Setting s = setting_of(shares_of_counts({3, 3}, 100, {{40}, {0}, {0}, {0}, {0}, {0}}), 300);
  std::uint32_t with_it = 0;
  for (std::size_t draw = 0; draw < 300; draw++) with_it += std::count(s.resamples.at(draw), s.resamples.at(draw) + 3, 0U) > 0 ? 1 : 0;
  const BootstrapList list = bootstrap_features(s.shares, s.features, s.observed, s.resamples);
  EXPECT_EQ(list.stable_count[0], with_it);
  EXPECT_NEAR(with_it, 300 * (1 - 8.0 / 27), 30);
}

TEST(MeanSpecialisation, IsTheMeanOverTheDeals) {
  const Setting s = setting_of(random_shares({5, 7, 6}, 33, 2, 12, 8), 20);
  const std::vector<double> mean = mean_specialisation(s.shares, s.features, s.resamples);
  for (std::size_t e = 0; e < 33; e++) {
    double expected = 0;
    for (std::size_t draw = 0; draw < 20; draw++)
      expected += naive_profile(s.shares, e, s.resamples.at(draw), s.resamples.topic_begin).specialisation / 20;
    EXPECT_NEAR(mean[e], expected, 1e-12);
  }
}

}  // namespace
}  // namespace atlas
