// The whole per-expert analysis: its rules under permuted labels against a plain recomputation, and what it says of data that allow little.
// Against scipy and statsmodels: expert_tests_golden_test.cpp.
#include "stats/expert_tests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "stats/expert_test_data.h"
#include "stats/multiple_tests.h"
#include "stats/topic_profile.h"
#include "stats/topic_sums.h"

namespace atlas {
namespace {

using Labels = std::vector<std::uint16_t>;

ExpertOptions small_options() {
  ExpertOptions options;
  options.min_count = 1;
  options.specialist_threshold = 0.1;
  options.strong_threshold = 0.15;
  options.bootstrap_draws = 100;
  options.rule_relabelings = 15;
  return options;
}

// Rows of features with an effect in their first topics and others without.
Shares planted_shares(const std::vector<std::uint32_t>& sizes, std::size_t features, std::uint64_t seed) {
  return random_shares(sizes, features, seed, 12, 45);
}

Deals deal_of(const Shares& shares, const Labels& labels) {
  Deals deals = no_deals(shares);
  add_deal(deals, labels.data());
  return deals;
}

// What both rules need of one labeling, each from its definition.
struct NaiveCounts {
  std::size_t specialists = 0, strong = 0;
};

NaiveCounts naive_rules(const Shares& shares, const std::vector<Labels>& set, const Labels& labels, const ExpertOptions& options,
                        std::uint64_t purpose, std::uint64_t first_stream) {
  const std::size_t features = shares.feature_count;
  std::vector<std::uint32_t> at_least(features);
  for (std::size_t e = 0; e < features; e++) {
    const double own = naive_between(shares, e, labels);
    for (const Labels& other : set) at_least[e] += naive_at_least(naive_between(shares, e, other), own) ? 1 : 0;
  }
  const std::vector<double> q = benjamini_hochberg(at_least, set.size());
  const Deals deals = deal_of(shares, labels), resamples = bootstrap_deals(deals, 0, options.bootstrap_draws, options.seed, purpose, first_stream);
  NaiveCounts counts;
  for (std::size_t e = 0; e < features; e++) {
    const NaiveProfile profile = naive_profile(shares, e, deals.at(0), deals.topic_begin);
    std::size_t stable = 0, fired = 0;
    for (std::size_t draw = 0; draw < resamples.count; draw++)
      stable += naive_profile(shares, e, resamples.at(draw), resamples.topic_begin).top_topic == profile.top_topic ? 1 : 0;
    for (std::size_t run = 0; run < labels.size(); run++)
      fired += labels[run] == profile.top_topic && shares.selections[run * features + e] > 0 ? 1 : 0;
    counts.specialists += q[e] <= 0.05 && profile.specialisation >= options.specialist_threshold && stable * 10 >= resamples.count * 9 ? 1 : 0;
    counts.strong += profile.specialisation >= options.strong_threshold && fired >= options.min_runs ? 1 : 0;
  }
  return counts;
}

void expect_naive_rules(const Shares& shares, const ExpertOptions& options, std::size_t relabeling_count) {
  const Relabelings relabelings = make_relabelings(shares.topic, shares.topic_count(), relabeling_count, 1);
  ASSERT_FALSE(relabelings.enumerated);
  const ExpertResult result = test_experts(shares, relabelings, options);
  const Labels truth(shares.topic.begin(), shares.topic.end());
  std::vector<Labels> set = {truth};
  for (std::size_t b = 0; b < relabelings.count(); b++) set.emplace_back(relabelings.at(b), relabelings.at(b) + shares.run_count());
  const NaiveCounts observed = naive_rules(shares, set, truth, options, random_purpose::bootstrap, 0);
  EXPECT_EQ(result.specialists.count, observed.specialists);
  EXPECT_EQ(result.strong.count, observed.strong);
  ASSERT_EQ(result.specialists.null_counts.size(), options.rule_relabelings);
  for (std::size_t k = 0; k < options.rule_relabelings; k++) {
    const NaiveCounts null = naive_rules(shares, set, set[k + 1], options, random_purpose::permuted_bootstrap, k * options.bootstrap_draws);
    EXPECT_EQ(result.specialists.null_counts[k], null.specialists) << k;
    EXPECT_EQ(result.strong.null_counts[k], null.strong) << k;
  }
  const auto sum = static_cast<double>(std::accumulate(result.strong.null_counts.begin(), result.strong.null_counts.end(), std::size_t{0}));
  EXPECT_NEAR(*result.strong.null_mean, sum / static_cast<double>(options.rule_relabelings), 1e-12);
}

TEST(ExpertRules, CountTheSameWholeRuleUnderPermutedLabelsAsAPlainRecomputation) {
  expect_naive_rules(planted_shares({5, 5, 6}, 12, 1), small_options(), 60);
}

TEST(ExpertRules, ResampleCandidatesOfPermutedLabels) {
  // A few relabelings whose ranks are all small numbers of a hundred: with three features a rank of 1 passes q, so the null has candidates.
  ExpertOptions options = small_options();
  options.specialist_threshold = 0.02;
  options.rule_relabelings = 60;
  const Shares shares = random_shares({5, 5}, 3, 3, 12, 0);
  const Relabelings relabelings = make_relabelings(shares.topic, 2, 100, 1);
  const ExpertResult result = test_experts(shares, relabelings, options);
  EXPECT_GT(*result.specialists.null_mean, 0);
  expect_naive_rules(shares, options, 100);
}

TEST(ExpertRules, AskStabilityOfCandidatesOfPermutedLabels) {
  // Under the first relabeling the first feature prefers one topic; the second prefers two of them alike, so either may come out on top.
  Shares shares = random_shares({5, 5, 5}, 2, 1);
  const Relabelings relabelings = make_relabelings(shares.topic, 3, 100, 1);
  std::uint32_t seen[3] = {};
  for (std::size_t run = 0; run < 15; run++) {
    const std::uint16_t label = relabelings.at(0)[run];
    const std::uint32_t within = seen[label]++;
    shares.values[run * 2] = fixed_share(label == 0 ? 50 : 5 + within, 1000);
    shares.values[run * 2 + 1] = fixed_share(label < 2 ? 20 + 5 * within : 1, 1000);
  }
  ExpertOptions options = small_options();
  options.rule_relabelings = 1;
  EXPECT_EQ(test_experts(shares, relabelings, options).specialists.null_counts, std::vector<std::size_t>{1});
  options.bootstrap_draws = 0;
  EXPECT_EQ(test_experts(shares, relabelings, options).specialists.null_counts, std::vector<std::size_t>{2});
}

TEST(ExpertRules, AskMinRunsOfStrongAlone) {
  const Shares shares = shares_of_counts({3, 3}, 100, {{40, 20}, {0, 20}, {0, 0}, {0, 0}, {0, 0}, {0, 0}});
  ExpertOptions options = small_options();
  EXPECT_EQ(test_experts(shares, make_relabelings(shares.topic, 2, 0, 1), options).is_strong, (std::vector<std::uint8_t>{0, 1}));
  options.min_runs = 1;
  EXPECT_EQ(test_experts(shares, make_relabelings(shares.topic, 2, 0, 1), options).strong.count, 2U);
}

TEST(ExpertTests, FindPlantedSpecialistsAndFewElse) {
  ExpertOptions options = small_options();
  options.bootstrap_draws = 200;
  const Shares shares = planted_shares({8, 8, 8, 8}, 100, 7);
  const ExpertResult result = test_experts(shares, make_relabelings(shares.topic, 4, 5000, 1), options);
  for (std::uint32_t e = 0; e < 4; e++) {
    EXPECT_EQ(result.is_specialist[e], 1);
    EXPECT_EQ(*result.top_topic[e], e);
    EXPECT_EQ(*result.top_topic_stability[e], 1);
    EXPECT_GT(*result.specialisation_above_null[e], 0.05);
    EXPECT_LE((*result.specialisation_interval_95[e])[0], *result.specialisation[e]);
    EXPECT_GE((*result.lift_interval_95[e])[1], *result.lift[e]);
    EXPECT_LE(*result.p_value_min_p[e], 0.05);
    EXPECT_LE(*result.p_value[e], *result.q_value[e]);
  }
  EXPECT_EQ(result.specialists.count, 4U);
  EXPECT_LT(*result.specialists.false_discovery_share, 0.05);
  EXPECT_EQ(result.smallest_p_value, 1.0 / 5001);
  EXPECT_EQ(result.needed_at_smallest_p, 1U);
}

void expect_same(const ExpertResult& left, const ExpertResult& right) {
  EXPECT_EQ(left.p_value, right.p_value);
  EXPECT_EQ(left.q_value, right.q_value);
  EXPECT_EQ(left.p_value_min_p, right.p_value_min_p);
  EXPECT_EQ(left.eta_squared, right.eta_squared);
  EXPECT_EQ(left.specialisation, right.specialisation);
  EXPECT_EQ(left.specialisation_interval_95, right.specialisation_interval_95);
  EXPECT_EQ(left.specialisation_above_null, right.specialisation_above_null);
  EXPECT_EQ(left.lift, right.lift);
  EXPECT_EQ(left.lift_interval_95, right.lift_interval_95);
  EXPECT_EQ(left.top_topic, right.top_topic);
  EXPECT_EQ(left.top_topic_stability, right.top_topic_stability);
  EXPECT_EQ(left.is_specialist, right.is_specialist);
  EXPECT_EQ(left.specialists.null_counts, right.specialists.null_counts);
  EXPECT_EQ(left.strong.null_counts, right.strong.null_counts);
}

TEST(ExpertTests, GiveTheSameBitsForAnyNumberOfThreads) {
  const Shares shares = planted_shares({6, 5, 7}, 150, 9);
  const Relabelings relabelings = make_relabelings(shares.topic, 3, 300, 1);
  set_thread_count(1);
  const ExpertResult one = test_experts(shares, relabelings, small_options());
  set_thread_count(3);
  const ExpertResult three = test_experts(shares, relabelings, small_options());
  set_thread_count(0);
  expect_same(one, three);
}

TEST(ExpertTests, TestOnlyFeaturesAtTheFloor) {
  Shares shares = planted_shares({5, 5}, 10, 4);
  ExpertOptions options = small_options();
  options.min_count = 101;  // ten runs of 0 .. 19: some features are below
  const ExpertResult result = test_experts(shares, make_relabelings(shares.topic, 2, 100, 1), options);
  std::size_t family = 0;
  for (std::size_t e = 0; e < 10; e++) {
    std::uint64_t total = 0;
    for (std::size_t run = 0; run < 10; run++) total += shares.selections[run * 10 + e];
    const bool inside = total >= 101;
    family += inside ? 1 : 0;
    EXPECT_EQ(result.in_family[e] == 1, inside);
    EXPECT_EQ(result.p_value[e].has_value(), inside);
    EXPECT_EQ(result.q_value[e].has_value(), inside);
    EXPECT_EQ(result.p_value_min_p[e].has_value(), inside);
    EXPECT_EQ(result.top_topic_stability[e].has_value(), inside);
    EXPECT_EQ(result.specialisation_above_null[e].has_value(), inside);
    EXPECT_TRUE(result.specialisation[e].has_value());
  }
  EXPECT_EQ(result.family_size, family);
  EXPECT_GT(family, 0U);
  EXPECT_LT(family, 10U);
}

TEST(ExpertTests, SayThatPromptsAreTooFewForIntervals) {
  const Shares shares = planted_shares({5, 4}, 3, 1);
  const ExpertResult result = test_experts(shares, make_relabelings(shares.topic, 2, 200, 1), small_options());
  EXPECT_EQ(result.intervals_not_computed, "too few prompts: the topic topic1 has 4 prompts; this needs 5");
  EXPECT_FALSE(result.top_topic_stability[0]);
  EXPECT_FALSE(result.lift_interval_95[0]);
  EXPECT_EQ(result.is_specialist[0], 1);  // the rule goes without stability where it does not exist
}

TEST(ExpertTests, SayThatOnePromptATopicAllowsNothing) {
  const Shares shares = planted_shares({1, 3}, 3, 1);
  const ExpertResult result = test_experts(shares, make_relabelings(shares.topic, 2, 200, 1), small_options());
  EXPECT_EQ(result.not_computed, "the topic topic0 has 1 prompt; this needs 2");
  EXPECT_TRUE(result.p_value.empty());
}

TEST(ExpertTests, SayWhenADesignCanFindNothing) {
  const Shares shares = planted_shares({3, 3}, 20, 2);
  const ExpertResult result = test_experts(shares, make_relabelings(shares.topic, 2, 1000, 1), small_options());
  EXPECT_TRUE(result.enumerated);
  EXPECT_EQ(result.smallest_p_value, 0.1);
  EXPECT_EQ(result.needed_at_smallest_p, 40U);  // of 20
  EXPECT_EQ(result.specialists.count, 0U);
  EXPECT_FALSE(result.specialists.false_discovery_share);
}

TEST(ExpertTests, GiveIdenticalPromptsNoEvidenceAndNoNaN) {
  const Shares shares = shares_of_counts({5, 5}, 100, std::vector<std::vector<std::uint32_t>>(10, {7, 0, 93}));
  const ExpertResult result = test_experts(shares, make_relabelings(shares.topic, 2, 500, 1), small_options());
  EXPECT_EQ(result.eta_squared, (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(result.p_value, (std::vector<std::optional<double>>{1.0, std::nullopt, 1.0}));
  EXPECT_EQ(result.q_value, result.p_value);
  EXPECT_EQ(result.p_value_min_p, result.p_value);
  EXPECT_FALSE(result.specialisation[1]);  // no shares
  EXPECT_FALSE(result.top_topic[1]);
  EXPECT_NEAR(*result.specialisation[0], 0, 1e-12);
  EXPECT_NEAR(*result.specialisation_above_null[0], 0, 1e-12);
  EXPECT_EQ(*result.top_topic_stability[0], 1);
  EXPECT_EQ(result.specialists.count, 0U);
}

TEST(ExpertTests, DoWithOneFeatureAndMoreTopicsThanPromptsEach) {
  const Shares shares = planted_shares({2, 2, 2, 2, 2, 2, 2}, 1, 2);
  const ExpertResult result = test_experts(shares, make_relabelings(shares.topic, 7, 500, 1), small_options());
  EXPECT_EQ(result.family_size, 1U);
  EXPECT_EQ(result.p_value, result.q_value);
}

TEST(ExpertTests, DoWithoutRelabelingsAndWithoutBootstrap) {
  ExpertOptions options = small_options();
  options.bootstrap_draws = 0;
  const Shares shares = planted_shares({5, 5}, 4, 2);
  const ExpertResult result = test_experts(shares, make_relabelings(shares.topic, 2, 0, 1), options);
  EXPECT_EQ(result.p_values_not_computed, "no relabelings (permutations are switched off)");
  EXPECT_EQ(result.intervals_not_computed, "the bootstrap is switched off");
  EXPECT_FALSE(result.p_value[0]);
  EXPECT_FALSE(result.specialists.null_mean);
  EXPECT_GT(result.eta_squared[0], 0.5);
  EXPECT_GT(result.strong.count, 0U);
  EXPECT_EQ(result.specialists.count, 0U);
}

TEST(ExpertTests, TestResidualsButSplitThemOverNoTopics) {
  Shares shares = planted_shares({5, 5}, 40, 2);
  for (std::int32_t& value : shares.values) value -= fixed_share(10, 1 << 12);
  shares.selections.clear();
  const ExpertResult result = test_experts(shares, make_relabelings(shares.topic, 2, 500, 1), small_options());
  EXPECT_NE(result.profiles_not_computed, "");
  EXPECT_EQ(result.intervals_not_computed, result.profiles_not_computed);
  EXPECT_EQ(result.family_size, 40U);
  EXPECT_LT(*result.p_value[0], 0.02);
  EXPECT_FALSE(result.specialisation[0]);
}

}  // namespace
}  // namespace atlas
