// Tests of the share of variance per axis: by hand, against scikit-learn (testdata/stats/axis_variance.py), and what labels at random give.
#include "stats/axis_variance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/json.h"

namespace atlas {
namespace {

Shares shares_of(const std::vector<std::vector<std::uint32_t>>& counts) {
  Shares shares;
  shares.feature_count = counts.front().size();
  shares.topics = {"a"};
  for (const auto& row : counts) {
    shares.probe.push_back(static_cast<std::uint32_t>(shares.topic.size()));
    shares.topic.push_back(0);
    std::uint64_t total = 0;
    for (const std::uint32_t count : row) total += count;
    for (const std::uint32_t count : row) shares.values.push_back(fixed_share(count, total));
  }
  return shares;
}

TEST(AxisVariance, Of_a_balanced_design_is_the_sums_of_squares_between_levels) {
  // One prompt a cell, share of the first expert 0.5 +- 0.2 by topic +- 0.1 by language: sums of squares 4 and 1 of 5.
  const Shares shares = shares_of({{20, 80}, {40, 60}, {60, 40}, {80, 20}});
  const AxisVariance result = share_variance(shares, {{"t", "t", "u", "u"}, {"en", "zh", "en", "zh"}});
  ASSERT_EQ(result.not_computed, "");
  EXPECT_NEAR(result.share[0], 0.8, 1e-7);
  EXPECT_NEAR(result.share[1], 0.2, 1e-7);
  EXPECT_NEAR(result.all_axes, 1, 1e-7);
  EXPECT_NEAR(result.by_chance[0], 1.0 / 3, 1e-12);
}

TEST(AxisVariance, Of_two_axes_that_say_the_same_is_halved) {
  const Shares shares = shares_of({{10, 90}, {20, 80}, {60, 40}, {70, 30}});
  const AxisVariance result = share_variance(shares, {{"t", "t", "u", "u"}, {"x", "x", "y", "y"}});
  EXPECT_NEAR(result.all_axes, 100.0 / 104, 1e-6);  // shares -30 -20 20 30 about 40: 2500 between of 2600
  EXPECT_NEAR(result.share[0], 50.0 / 104, 1e-6);
  EXPECT_NEAR(result.share[1], 50.0 / 104, 1e-6);
  EXPECT_NEAR(result.by_chance[0], 1.0 / 6, 1e-12);
}

TEST(AxisVariance, Equals_all_orders_of_scikit_learns_regressions) {
  const Json file = read_json_file(std::string(ATLAS_TESTDATA_DIR) + "/stats/axis_variance.json");
  for (const Json& json : file["cases"]) {
    const Shares shares = shares_of(json["counts"].get<std::vector<std::vector<std::uint32_t>>>());
    std::vector<std::vector<std::string>> labels(json["share"].size());
    for (const Json& row : json["labels"])
      for (std::size_t axis = 0; axis < labels.size(); axis++) labels[axis].push_back("level " + std::to_string(row[axis].get<int>()));
    const AxisVariance result = share_variance(shares, labels);
    EXPECT_NEAR(result.all_axes, json["all_axes"].get<double>(), 1e-6);
    double sum = 0;
    for (std::size_t axis = 0; axis < labels.size(); axis++) {
      EXPECT_NEAR(result.share[axis], json["share"][axis].get<double>(), 1e-6);
      sum += result.share[axis];
    }
    EXPECT_NEAR(sum, result.all_axes, 1e-9);
  }
}

TEST(AxisVariance, By_chance_is_the_mean_under_labels_dealt_at_random) {
  std::mt19937 random(1);
  std::vector<std::vector<std::uint32_t>> counts;
  std::vector<std::vector<std::string>> labels(2);
  for (std::uint32_t run = 0; run < 14; run++) {
    counts.emplace_back();
    for (int e = 0; e < 6; e++) counts.back().push_back(static_cast<std::uint32_t>(random() % 50 + 1));
    labels[0].push_back(std::to_string(run % 3));
    labels[1].push_back(std::to_string(run % 7 < 3));
  }
  std::vector<double> mean(2), by_chance;
  constexpr int repeats = 1000;
  for (int i = 0; i < repeats; i++) {
    std::shuffle(counts.begin(), counts.end(), random);
    const AxisVariance result = share_variance(shares_of(counts), labels);
    for (std::size_t axis = 0; axis < 2; axis++) mean[axis] += result.share[axis] / repeats;
    by_chance = result.by_chance;
  }
  EXPECT_NEAR(by_chance[0] + by_chance[1], 3.0 / 13, 1e-12);
  EXPECT_NEAR(mean[0], by_chance[0], 0.012);
  EXPECT_NEAR(mean[1], by_chance[1], 0.012);
}

TEST(AxisVariance, Leaves_out_runs_without_a_label) {
  const Shares shares = shares_of({{20, 80}, {40, 60}, {1, 99}, {60, 40}, {80, 20}});
  const AxisVariance result = share_variance(shares, {{"t", "t", "t", "u", "u"}, {"en", "zh", "", "en", "zh"}});
  EXPECT_EQ(result.run_count, 4U);
  EXPECT_NEAR(result.share[0], 0.8, 1e-7);
}

TEST(AxisVariance, Of_an_axis_with_one_level_is_nothing) {
  const AxisVariance result = share_variance(shares_of({{20, 80}, {40, 60}, {50, 50}}), {{"t", "t", "t"}});
  EXPECT_EQ(result.not_computed, "");
  EXPECT_EQ(result.share[0], 0);
  EXPECT_EQ(result.by_chance[0], 0);
}

TEST(AxisVariance, Says_why_it_computed_nothing) {
  const Shares shares = shares_of({{20, 80}, {40, 60}});
  EXPECT_EQ(share_variance(shares, {}).not_computed, "no axis of labels");
  EXPECT_EQ(share_variance(shares, std::vector<std::vector<std::string>>(9, {"t", "u"})).not_computed, "more than 8 axes of labels");
  EXPECT_EQ(share_variance(shares, {{"t", ""}}).not_computed, "fewer than two prompts with a label on every axis");
  EXPECT_EQ(share_variance(shares_of({{1, 2}, {10, 20}}), {{"t", "u"}}).not_computed, "all prompts have the same shares");
  Shares nearly = shares_of({{1, 2}, {10, 20}});
  nearly.values[0]++;
  EXPECT_EQ(share_variance(nearly, {{"t", "u"}}).not_computed, "all prompts have the same shares");
}

}  // namespace
}  // namespace atlas
