// Tests of planning: thinning and choosing against what chance says, points against the tests they are made of, the extrapolation by hand and
// against data that was held back.
#include "stats/planning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "base/parallel.h"
#include "stats/expert_tests.h"
#include "stats/held_out.h"

namespace atlas {
namespace {

// Counts of about `scale` with prompts that differ and a topic effect in every feature.
Shares random_shares(const std::vector<std::uint32_t>& sizes, std::size_t feature_count, double effect, double scale, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Shares shares;
  shares.feature_count = feature_count;
  std::vector<std::vector<double>> taste(sizes.size());
  for (std::uint32_t c = 0; c < sizes.size(); c++) {
    shares.topics.push_back("t" + std::to_string(c));
    shares.topic.insert(shares.topic.end(), sizes[c], c);
    for (std::size_t e = 0; e < feature_count; e++) taste[c].push_back(effect * normal(random));
  }
  for (std::uint32_t run = 0; run < shares.run_count(); run++) {
    shares.probe.push_back(run);
    std::uint64_t total = 0;
    for (std::size_t e = 0; e < feature_count; e++) {
      std::poisson_distribution<std::uint32_t> poisson(scale * std::exp(taste[shares.topic[run]][e] + 0.5 * normal(random)));
      shares.selections.push_back(poisson(random) + 1);
      total += shares.selections.back();
    }
    for (std::size_t e = 0; e < feature_count; e++) shares.values.push_back(fixed_share(shares.selections[run * feature_count + e], total));
  }
  return shares;
}

PlanOptions small_options(std::vector<std::uint32_t> prompt_counts) {
  PlanOptions options;
  options.prompt_counts = std::move(prompt_counts);
  options.subsamples = 6;
  options.pairings = 3;
  options.relabelings = 19;
  options.seed = 4;
  return options;
}

TEST(Subsample, Of_everything_is_the_same_shares) {
  const Shares shares = random_shares({4, 4}, 10, 0.3, 20, 1);
  const Shares all = subsample(shares, 4, 1, 0, 0);
  EXPECT_EQ(all.topic, shares.topic);
  EXPECT_EQ(all.values, shares.values);
  EXPECT_EQ(all.selections, shares.selections);
}

TEST(Subsample, Takes_so_many_prompts_of_each_topic_all_equally_often) {
  const Shares shares = random_shares({3, 5}, 4, 0, 20, 1);
  std::map<std::uint32_t, int> seen;
  for (std::uint64_t index = 0; index < 3000; index++) {
    const Shares part = subsample(shares, 2, 1, 7, index);
    ASSERT_EQ(topic_sizes(part), (std::vector<std::uint32_t>{2, 2}));
    for (std::size_t run = 0; run < 4; run++) {
      seen[part.probe[run]]++;
      ASSERT_TRUE(std::equal(part.row(run), part.row(run) + 4, shares.row(part.probe[run])));
    }
  }
  for (const auto& [probe, count] : seen) EXPECT_NEAR(count, probe < 3 ? 2000 : 1200, 110);  // four standard errors
}

TEST(Subsample, Thins_each_count_binomially) {
  Shares shares = random_shares({2, 2}, 3, 0, 1, 1);
  for (std::size_t i = 0; i < shares.selections.size(); i++) shares.selections[i] = i % 3 == 0 ? 41 : i % 3 == 1 ? 7 : 0;
  double sum = 0, squares = 0, small = 0;
  constexpr int repeats = 4000;
  for (std::uint64_t index = 0; index < repeats; index++) {
    const Shares part = subsample(shares, 2, 0.3, 1, index);
    sum += part.selections[0];
    squares += part.selections[0] * part.selections[0];
    small += part.selections[1];
    ASSERT_EQ(part.selections[2], 0U);
    const std::uint64_t total = part.selections[0] + part.selections[1];
    if (total > 0) {
      ASSERT_EQ(part.values[0], fixed_share(part.selections[0], total));
    }
  }
  const double mean = sum / repeats;
  EXPECT_NEAR(mean, 12.3, 0.19);                            // 41 * 0.3, four standard errors
  EXPECT_NEAR(squares / repeats - mean * mean, 8.61, 0.8);  // 41 * 0.3 * 0.7
  EXPECT_NEAR(small / repeats, 2.1, 0.08);
}

TEST(Subsample, Of_a_run_that_loses_every_selection_has_shares_of_zero) {
  Shares shares = random_shares({2, 2}, 3, 0, 1, 1);
  std::fill(shares.selections.begin(), shares.selections.end(), 1);
  const Shares part = subsample(shares, 2, 1e-6, 1, 0);
  EXPECT_EQ(part.values, std::vector<std::int32_t>(12));
  PlanOptions options = small_options({2});
  options.token_shares = {1e-6};
  EXPECT_DOUBLE_EQ(plan(shares, options).points.front().accuracy, 0.5);
}

TEST(Plan, Points_are_the_means_of_the_tests_of_their_subsamples) {
  const Shares shares = random_shares({6, 6, 8}, 30, 0.25, 10, 2);
  PlanOptions options = small_options({2, 4, 6});
  options.token_shares = {0.5, 1};
  options.specialist_relabelings = 99;
  options.min_count = 10;
  const Plan result = plan(shares, options);
  ASSERT_EQ(result.not_computed, "");
  ASSERT_EQ(result.points.size(), 6U);
  for (const PlanPoint& point : result.points) {
    double accuracy = 0, squares = 0, significant = 0, specialists = 0;
    for (std::uint64_t i = 0; i < 6; i++) {
      const Shares part = subsample(shares, point.prompt_count, point.token_share, 4, i);
      const HeldOutResult test = test_cosine(part, make_relabelings(part.topic, 3, 19, 4 + i), {3, 0, 4 + i});
      accuracy += test.accuracy / 6;
      squares += test.accuracy * test.accuracy / 6;
      significant += test.p_value <= 0.05 ? 1.0 / 6 : 0;
      ExpertOptions experts;
      experts.min_count = 10;
      experts.bootstrap_draws = 200;
      experts.seed = 4 + i;
      specialists += static_cast<double>(test_experts(part, make_relabelings(part.topic, 3, 99, 4 + i), experts).specialists.count) / 6;
    }
    EXPECT_FALSE(point.is_extrapolated);
    EXPECT_NEAR(point.accuracy, accuracy, 1e-12);
    EXPECT_NEAR(point.accuracy_deviation, std::sqrt(std::max(0.0, squares - accuracy * accuracy) * 6 / 5), 1e-6);
    EXPECT_NEAR(*point.significant_share, significant, 1e-12);
    EXPECT_NEAR(*point.specialist_count, specialists, 1e-12);
  }
  EXPECT_EQ(result.points[0].token_share, 0.5);
  EXPECT_NEAR(result.points[0].smallest_p_value, 1.0 / 15, 1e-15);  // 6! / 2^3 / 3!
}

TEST(Plan, More_prompts_and_more_tokens_raise_accuracy_where_topics_differ) {
  const Shares shares = random_shares({12, 12, 12, 12}, 60, 0.2, 4, 3);
  PlanOptions options = small_options({2, 6, 12});
  options.subsamples = 20;
  options.token_shares = {0.1, 1};
  const Plan result = plan(shares, options);
  EXPECT_LT(result.points[0].accuracy, result.points[2].accuracy);
  EXPECT_LT(result.points[3].accuracy, result.points[5].accuracy);
  for (int i = 0; i < 3; i++) EXPECT_LT(result.points[i].accuracy, result.points[i + 3].accuracy);
}

TEST(Plan, Marks_what_it_extrapolates_and_comes_near_what_was_held_back) {
  const Shares shares = random_shares({20, 20, 20, 20, 20}, 60, 0.15, 4, 5);
  const Shares part = subsample(shares, 10, 1, 1, 0);
  PlanOptions options = small_options({2, 3, 5, 7, 10, 20});
  options.subsamples = 20;
  const Plan guess = plan(part, options);
  ASSERT_EQ(guess.points.size(), 6U);
  EXPECT_TRUE(guess.points.back().is_extrapolated);
  EXPECT_EQ(guess.points.back().prompt_count, 20U);
  EXPECT_FALSE(guess.points.back().significant_share.has_value());
  const double truth = test_cosine(shares, {}, {20, 0, 0}).accuracy;
  EXPECT_NEAR(guess.points.back().accuracy, truth, 0.1);
}

TEST(Plan, Extrapolates_along_the_line_it_says) {
  std::vector<PlanPoint> points(3);
  for (std::size_t i = 0; i < 3; i++) {
    points[i].prompt_count = static_cast<std::uint32_t>(2) << i;
    const double odds = std::exp(-1 + 0.7 * std::log(points[i].prompt_count));
    points[i].accuracy = 0.1 + 0.9 * odds / (1 + odds);
  }
  const double odds = std::exp(-1 + 0.7 * std::log(40.0));
  EXPECT_NEAR(extrapolate_accuracy(points, 0.1, 40), 0.1 + 0.9 * odds / (1 + odds), 1e-12);
  for (PlanPoint& point : points) point.accuracy = 1;
  EXPECT_NEAR(extrapolate_accuracy(points, 0.1, 40), 0.1 + 0.9 * 0.995, 1e-12);
  for (PlanPoint& point : points) point.accuracy = 0.02;  // below chance
  EXPECT_NEAR(extrapolate_accuracy(points, 0.1, 40), 0.1 + 0.9 * 0.005, 1e-12);
}

TEST(Plan, Says_what_it_did_not_compute) {
  const Shares shares = random_shares({4, 4}, 10, 0.3, 20, 1);
  const Plan short_of_points = plan(shares, small_options({1, 2, 4, 9}));
  EXPECT_EQ(short_of_points.extrapolation_not_computed, "fewer than three numbers of prompts to go by");
  EXPECT_EQ(short_of_points.points.size(), 2U);
  PlanOptions options = small_options({2});
  options.token_shares = {1.5};
  EXPECT_EQ(plan(shares, options).not_computed, "a share of the tokens that is not in (0, 1]");
  options = small_options({2});
  options.subsamples = 0;
  EXPECT_EQ(plan(shares, options).not_computed, "no subsamples asked for");
  Shares without = shares;
  without.selections.clear();
  EXPECT_EQ(plan(without, small_options({2})).not_computed, "no counts to draw from");
  EXPECT_EQ(plan(random_shares({4, 1}, 10, 0, 20, 1), small_options({2})).not_computed, "the topic t1 has 1 prompt; this needs 2");
}

TEST(Plan, Is_the_same_for_one_thread_and_three) {
  const Shares shares = random_shares({5, 5}, 20, 0.2, 10, 1);
  std::vector<Plan> plans;
  for (const unsigned threads : {1U, 3U}) {
    set_thread_count(threads);
    PlanOptions options = small_options({2, 3, 4});
    options.token_shares = {0.3};
    plans.push_back(plan(shares, options));
  }
  set_thread_count(0);
  for (std::size_t i = 0; i < 3; i++) {
    EXPECT_EQ(plans[0].points[i].accuracy, plans[1].points[i].accuracy);
    EXPECT_EQ(plans[0].points[i].significant_share, plans[1].points[i].significant_share);
  }
}

TEST(ReachOfQ, Names_the_relabelings_and_prompts_that_a_claim_needs) {
  const ReachOfQ one = reach_of_q(0.05, 1, 1000, 3);  // p <= 0.00005: 20,000 relabelings; 3 topics of 5 have 126,126, of 4 have 5,775
  EXPECT_NEAR(one.needed_p_value, 5e-5, 1e-18);
  EXPECT_EQ(one.needed_relabelings, 19999);
  EXPECT_EQ(one.needed_prompt_count, 5U);
  const ReachOfQ all = reach_of_q(0.05, 1000, 1000, 2);  // p <= 0.05: 20; 2 topics of 4 have 35, of 3 have 10
  EXPECT_EQ(all.needed_relabelings, 19);
  EXPECT_EQ(all.needed_prompt_count, 4U);
  EXPECT_EQ(reach_of_q(0.05, 1, 1000, 1).needed_prompt_count, 0U);  // one topic has one relabeling
}

}  // namespace
}  // namespace atlas
