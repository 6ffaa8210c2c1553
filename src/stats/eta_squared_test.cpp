// The per-feature test against brute force: every relabeling, statistics from their definition in doubles. Against scipy:
// expert_tests_golden_test.cpp.
#include "stats/eta_squared.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/parallel.h"
#include "stats/expert_test_data.h"

namespace atlas {
namespace {

std::vector<std::uint16_t> labels_of(const std::uint16_t* labels, std::size_t count) { return {labels, labels + count}; }
std::vector<std::uint16_t> labels_of(const Shares& shares) { return {shares.topic.begin(), shares.topic.end()}; }

std::vector<std::uint32_t> every_feature(const Shares& shares) { return features_at_floor(shares, 0); }

Deals true_deal(const Shares& shares) {
  Deals deals = no_deals(shares);
  add_true_deal(deals, shares);
  return deals;
}

Deals whole_set(const Shares& shares, const Relabelings& relabelings) {
  return reference_set(shares, relabelings, choose_relabelings(relabelings, relabelings.count(), 0));
}

TEST(EtaSquared, IsTheBetweenTopicPartOfTheSumOfSquares) {
  const Shares shares = random_shares({3, 4, 2}, 30, 5, 12, 9);
  const std::vector<double> eta = eta_squared(shares);
  for (std::size_t e = 0; e < 30; e++) {
    double mean = 0, all = 0;
    for (std::size_t run = 0; run < 9; run++) mean += shares.row(run)[e] / 9.0;
    for (std::size_t run = 0; run < 9; run++) all += std::pow(shares.row(run)[e] - mean, 2);
    EXPECT_NEAR(eta[e], naive_between(shares, e, labels_of(shares)) / all, 1e-12);
  }
}

TEST(EtaSquared, IsZeroWithoutVarianceAndOneIfOnlyTopicsDiffer) {
  const Shares shares = shares_of_counts({2, 3}, 100, {{7, 0, 5}, {7, 0, 5}, {7, 0, 9}, {7, 0, 9}, {7, 0, 9}});
  EXPECT_EQ(eta_squared(shares), (std::vector<double>{0, 0, 1}));
}

TEST(FeaturesAtFloor, CountSelectionsOfAllRunsAndNoLabels) {
  Shares shares = shares_of_counts({1, 1}, 100, {{10, 20, 0}, {19, 10, 0}});
  EXPECT_EQ(features_at_floor(shares, 30), std::vector<std::uint32_t>{1});
  EXPECT_EQ(features_at_floor(shares, 29), (std::vector<std::uint32_t>{0, 1}));
  shares.selections.clear();
  EXPECT_EQ(features_at_floor(shares, 30).size(), 3U);
}

void expect_brute_force(const Shares& shares, const Relabelings& relabelings) {
  const std::vector<std::uint32_t> counts = count_at_least(shares, every_feature(shares), whole_set(shares, relabelings), true_deal(shares));
  for (std::size_t e = 0; e < shares.feature_count; e++) {
    const double observed = naive_between(shares, e, labels_of(shares));
    std::size_t at_least = 0;
    for (std::size_t b = 0; b < relabelings.count(); b++)
      at_least += naive_at_least(naive_between(shares, e, labels_of(relabelings.at(b), shares.run_count())), observed) ? 1 : 0;
    EXPECT_EQ(counts[e], at_least + (relabelings.enumerated ? 0 : 1)) << "feature " << e;
    const Deals all = whole_set(shares, relabelings);
    EXPECT_EQ(static_cast<double>(counts[e]) / static_cast<double>(all.count), relabelings.p_value(at_least));
  }
}

TEST(CountAtLeast, AgreesWithBruteForceOverAllRelabelingsOfEqualTopics) {
  const Shares shares = random_shares({3, 3, 2 + 1}, 50, 1, 12, 12);
  const Relabelings relabelings = make_relabelings(shares.topic, 3, 1000, 0);
  ASSERT_TRUE(relabelings.enumerated);
  ASSERT_EQ(relabelings.count(), 280U);
  expect_brute_force(shares, relabelings);
}

TEST(CountAtLeast, AgreesWithBruteForceOverAllRelabelingsOfUnequalTopics) {
  const Shares shares = random_shares({2, 3, 4}, 50, 2, 12, 12);
  const Relabelings relabelings = make_relabelings(shares.topic, 3, 2000, 0);
  ASSERT_EQ(relabelings.count(), 1260U);
  expect_brute_force(shares, relabelings);
}

TEST(CountAtLeast, AgreesWithBruteForceOverSampledRelabelings) {
  const Shares shares = random_shares({4, 6, 5}, 40, 3, 12, 10);
  const Relabelings relabelings = make_relabelings(shares.topic, 3, 500, 7);
  ASSERT_FALSE(relabelings.enumerated);
  expect_brute_force(shares, relabelings);
}

TEST(CountAtLeast, AgreesWithBruteForceForResiduals) {
  Shares shares = random_shares({2, 3, 3}, 33, 4, 12, 10);
  for (std::size_t i = 0; i < shares.values.size(); i++) shares.values[i] -= fixed_share(10, 1 << 12);
  expect_brute_force(shares, make_relabelings(shares.topic, 3, 5000, 0));
}

TEST(CountAtLeast, CountsEveryRelabelingWhereNothingVaries) {
  const Shares shares = shares_of_counts({2, 2}, 10, {{3, 0}, {3, 0}, {3, 0}, {3, 0}});
  const Relabelings relabelings = make_relabelings(shares.topic, 2, 100, 0);
  EXPECT_EQ(count_at_least(shares, {0, 1}, whole_set(shares, relabelings), true_deal(shares)), (std::vector<std::uint32_t>{3, 3}));
}

TEST(CountAtLeast, GivesManyLabelingsInOnePassWhatItGivesEachAlone) {
  const Shares shares = random_shares({3, 4}, 35, 6, 12, 5);
  const Relabelings relabelings = make_relabelings(shares.topic, 2, 20, 3);
  const Deals all = whole_set(shares, relabelings);
  const std::vector<std::uint32_t> together = count_at_least(shares, every_feature(shares), all, all);
  for (std::size_t j = 0; j < all.count; j++) {
    Deals one = no_deals(shares);
    one.count = 1;
    one.runs.assign(all.at(j), all.at(j) + all.run_count);
    const std::vector<std::uint32_t> alone = count_at_least(shares, every_feature(shares), all, one);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + static_cast<std::ptrdiff_t>(j * shares.feature_count)));
  }
}

TEST(CountAtLeast, DoesNotDependOnTheNamesOfTopicsOrTheNumberOfThreads) {
  Shares shares = random_shares({3, 3, 4}, 200, 8, 12, 5);
  Relabelings relabelings = make_relabelings(shares.topic, 3, 300, 3);
  set_thread_count(1);
  const std::vector<std::uint32_t> before = count_at_least(shares, every_feature(shares), whole_set(shares, relabelings), true_deal(shares));
  for (std::uint32_t& topic : shares.topic) topic = 2 - topic;
  for (std::uint16_t& label : relabelings.labels) label = static_cast<std::uint16_t>(2 - label);
  set_thread_count(3);
  EXPECT_EQ(count_at_least(shares, every_feature(shares), whole_set(shares, relabelings), true_deal(shares)), before);
  set_thread_count(0);
}

TEST(ChooseRelabelings, TakesTheFirstOfASampleAndRandomOnesOfAnEnumeration) {
  Relabelings relabelings;
  relabelings.run_count = 1;
  relabelings.labels.resize(100);
  EXPECT_EQ(choose_relabelings(relabelings, 3, 1), (std::vector<std::uint32_t>{0, 1, 2}));
  relabelings.enumerated = true;
  const std::vector<std::uint32_t> few = choose_relabelings(relabelings, 50, 1);
  EXPECT_EQ(std::set<std::uint32_t>(few.begin(), few.end()).size(), 50U);
  EXPECT_GT(*std::max_element(few.begin(), few.end()), 80U);
  EXPECT_EQ(choose_relabelings(relabelings, 100, 1).back(), 99U);
}

// p of every feature in every labeling of the set, its ranks among them; then, feature after feature in order of p, the least p of it and all
// behind it.
std::vector<double> naive_min_p(const Shares& shares, const std::vector<std::vector<std::uint16_t>>& set, std::size_t truth) {
  const std::size_t features = shares.feature_count;
  std::vector<std::vector<double>> p(features, std::vector<double>(set.size()));
  for (std::size_t e = 0; e < features; e++) {
    std::vector<double> statistic;
    for (const auto& labels : set) statistic.push_back(naive_between(shares, e, labels));
    for (std::size_t b = 0; b < set.size(); b++)
      p[e][b] = static_cast<double>(std::count_if(statistic.begin(), statistic.end(), [&](double s) { return naive_at_least(s, statistic[b]); }));
  }
  std::vector<std::size_t> order(features);
  for (std::size_t e = 0; e < features; e++) order[e] = e;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) { return p[left][truth] < p[right][truth]; });
  std::vector<double> adjusted(features);
  for (std::size_t i = 0; i < features; i++) {
    std::size_t count = 0;
    for (std::size_t b = 0; b < set.size(); b++) {
      double least = p[order[i]][b];
      for (std::size_t j = i; j < features; j++) least = std::min(least, p[order[j]][b]);
      count += least <= p[order[i]][truth] ? 1 : 0;
    }
    adjusted[order[i]] = std::max(static_cast<double>(count), i > 0 ? adjusted[order[i - 1]] : 0);
  }
  return adjusted;
}

TEST(StepDownMinP, AgreesWithTheDefinitionOverAllAndOverSampledRelabelings) {
  for (const std::size_t most : {5000U, 40U}) {
    const Shares shares = random_shares({2, 3, 3}, 40, 12, 12, 25);
    const Relabelings relabelings = make_relabelings(shares.topic, 3, most, 2);
    ASSERT_EQ(relabelings.enumerated, most == 5000);
    std::vector<std::vector<std::uint16_t>> set;
    if (!relabelings.enumerated) set.push_back(labels_of(shares));
    for (std::size_t b = 0; b < relabelings.count(); b++) set.push_back(labels_of(relabelings.at(b), 8));
    const auto truth = static_cast<std::size_t>(std::find(set.begin(), set.end(), labels_of(shares)) - set.begin());
    const Deals all = whole_set(shares, relabelings);
    ASSERT_EQ(all.count, set.size());
    const std::vector<std::uint32_t> at_least = count_at_least(shares, every_feature(shares), all, true_deal(shares));
    const std::vector<std::uint32_t> adjusted = step_down_min_p(shares, every_feature(shares), all, at_least);
    const std::vector<double> expected = naive_min_p(shares, set, truth);
    for (std::size_t e = 0; e < shares.feature_count; e++) EXPECT_EQ(adjusted[e], expected[e]) << e;
  }
}

TEST(StepDownMinP, GivesTheSameInStretches) {  // 2,500 features are two stretches
  const Shares shares = random_shares({4, 4}, 2500, 13, 12, 30);
  const Relabelings relabelings = make_relabelings(shares.topic, 2, 30, 2);
  std::vector<std::vector<std::uint16_t>> set;
  if (!relabelings.enumerated) set.push_back(labels_of(shares));
  for (std::size_t b = 0; b < relabelings.count(); b++) set.push_back(labels_of(relabelings.at(b), 8));
  const Deals all = whole_set(shares, relabelings);
  const std::vector<std::uint32_t> adjusted =
      step_down_min_p(shares, every_feature(shares), all, count_at_least(shares, every_feature(shares), all, true_deal(shares)));
  const std::vector<double> expected = naive_min_p(shares, set, 0);
  for (std::size_t e = 0; e < shares.feature_count; e++) ASSERT_EQ(adjusted[e], expected[e]) << e;
}

}  // namespace
}  // namespace atlas
