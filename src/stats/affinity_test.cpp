// Affinities and their comparisons, by hand and against numpy, scipy and scikit-learn (testdata/stats/controls.py).
#include "stats/affinity.h"

#include <cmath>

#include "stats/controls_test_data.h"

namespace atlas {
namespace {

// Two topics of two runs; rows are selections of the features.
PhaseShares by_hand(const std::vector<std::vector<std::uint32_t>>& rows, std::vector<std::size_t> expert) {
  PhaseShares result;
  Shares& shares = result.shares;
  shares.feature_count = rows[0].size();
  shares.topics = {"a", "b"};
  shares.topic = {0, 0, 1, 1};
  shares.probe = {0, 1, 2, 3};
  for (const auto& row : rows) {
    std::uint64_t total = 0;
    for (const std::uint32_t count : row) total += count;
    for (const std::uint32_t count : row) shares.values.push_back(fixed_share(count, total));
    shares.selections.insert(shares.selections.end(), row.begin(), row.end());
  }
  result.expert = std::move(expert);
  return result;
}

TEST(Affinity, is_the_mean_share_of_a_topic_over_the_sum_of_the_topics_means) {
  // Shares of feature 0: 1/2 and 1/4 in a (mean 3/8), 1/8 and 1/8 in b (mean 1/8).
  const Affinity affinity = affinity_of(by_hand({{4, 4, 0}, {1, 3, 0}, {1, 7, 0}, {2, 14, 0}}, {0, 1, 2}).shares);
  EXPECT_NEAR(affinity.at(0)[0], 0.75, 1e-8);
  EXPECT_NEAR(affinity.at(0)[1], 0.25, 1e-8);
  EXPECT_NEAR(affinity.at(1)[0], 0.625 / (0.625 + 0.875), 1e-8);
  EXPECT_EQ(affinity.at(2)[0], 0);  // never selected
  EXPECT_EQ(affinity.at(2)[1], 0);
  EXPECT_EQ(affinity.top_topic, (std::vector<std::uint32_t>{0, 1, 0}));
}

TEST(Affinity, over_some_runs_knows_only_those) {
  const PhaseShares shares = by_hand({{4, 4}, {1, 3}, {1, 7}, {2, 14}}, {0, 1});
  const std::vector<std::uint32_t> runs{1, 3};
  EXPECT_NEAR(affinity_of(shares.shares, runs).at(0)[0], 2.0 / 3, 1e-8);  // 1/4 against 1/8
}

TEST(Affinity, specialisation_is_0_for_even_1_for_one_topic_and_0_for_none) {
  const std::vector<double> even{0.25, 0.25, 0.25, 0.25}, one{0, 1, 0, 0}, none{0, 0, 0, 0}, two{0.5, 0.5, 0, 0};
  EXPECT_NEAR(specialisation_of(even.data(), 4), 0, 1e-15);
  EXPECT_EQ(specialisation_of(one.data(), 4), 1);
  EXPECT_EQ(specialisation_of(none.data(), 4), 0);
  EXPECT_NEAR(specialisation_of(two.data(), 4), 0.5, 1e-15);
}

TEST(Affinity, correlation_of_constant_or_too_few_values_is_nothing) {
  const std::vector<double> constant{0.1, 0.1, 0.1}, values{1, 2, 4}, opposite{-1, -2, -4}, one{1};
  EXPECT_FALSE(correlation(constant, values));
  EXPECT_FALSE(correlation(one, one));
  EXPECT_DOUBLE_EQ(*correlation(values, values), 1);
  EXPECT_DOUBLE_EQ(*correlation(values, opposite), -1);
}

TEST(CompareAffinity, by_hand_over_common_experts_at_the_floor) {
  // Experts 3 and 5 are on both sides, 4 and 9 on one; expert 8 is below the floor on the right.
  const PhaseShares left = by_hand({{6, 2, 1, 1}, {6, 2, 1, 1}, {2, 6, 1, 1}, {2, 6, 1, 1}}, {3, 5, 8, 9});
  const PhaseShares right = by_hand({{5, 2, 2, 1}, {5, 2, 2, 1}, {5, 3, 1, 1}, {5, 3, 1, 1}}, {3, 4, 5, 8});
  const AffinityComparison result = compare_affinity(left, right, 5);
  ASSERT_EQ(result.not_computed, "");
  EXPECT_EQ(result.expert, (std::vector<std::size_t>{3, 5}));
  EXPECT_NEAR(result.distance[0], 0.25, 1e-8);               // (3/4, 1/4) against (1/2, 1/2)
  EXPECT_NEAR(result.distance[1], 2.0 / 3 - 1.0 / 4, 1e-8);  // (1/4, 3/4) against (2/3, 1/3)
  EXPECT_EQ(result.differing_top_count, 1U);                 // of expert 3 the tie on the right goes to the first topic
  EXPECT_EQ(result.by_distance, (std::vector<std::size_t>{1, 0}));
  EXPECT_NEAR(result.mean_distance, (0.25 + 2.0 / 3 - 0.25) / 2, 1e-8);
}

TEST(CompareAffinity, says_why_it_cannot) {
  PhaseShares left = by_hand({{1}, {1}, {1}, {1}}, {0}), right = left;
  EXPECT_EQ(compare_affinity(left, right, 5).not_computed, "no expert reaches 5 selections on both sides");
  EXPECT_EQ(compare_top_sets(left, right, 3, 5).not_computed, "no expert reaches 5 selections on both sides");
  right.shares.topics = {"a", "c"};
  EXPECT_EQ(compare_affinity(left, right, 1).not_computed,
            "the two sides have different topics, because some topic's prompts have selections on one side only");
  EXPECT_EQ(compare_affinity(PhaseShares(), PhaseShares(), 1).not_computed, "fewer than two topics");
  EXPECT_FALSE(compare_affinity(left, left, 1).correlation);  // one expert without preference: nothing varies
}

TEST(CompareTopSets, by_hand) {
  // Left, topic a by affinity: 10 (1), 11 (3/4), then 12 and 13. Right, topic a: 11 (1), 13 (3/4), then 10 and 12.
  const PhaseShares left = by_hand({{4, 3, 1, 2}, {4, 3, 1, 2}, {0, 1, 5, 4}, {0, 1, 5, 4}}, {10, 11, 12, 13});
  const PhaseShares right = by_hand({{1, 4, 2, 3}, {1, 4, 2, 3}, {4, 0, 5, 1}, {4, 0, 5, 1}}, {10, 11, 12, 13});
  const TopSetComparison result = compare_top_sets(left, right, 2, 1);
  ASSERT_EQ(result.not_computed, "");
  EXPECT_EQ(result.topics[0].common, 1U);
  EXPECT_DOUBLE_EQ(result.topics[0].jaccard, 1.0 / 3);
  EXPECT_DOUBLE_EQ(result.topics[0].overlap, 0.5);
  EXPECT_DOUBLE_EQ(result.topics[0].expected_overlap, 0.5);  // 2 of 4 experts on either side
  EXPECT_EQ(result.topics[1].common, 1U);                    // left 12, 13; right 10, 12
  EXPECT_DOUBLE_EQ(result.mean_jaccard, 1.0 / 3);
}

TEST(CompareTopSets, expected_overlap_is_that_of_random_sets) {
  // Experts 0 to 3 on the left and 2 to 5 on the right: of two random pairs, expert 2 is in both with 1/2 * 1/2, so is 3.
  const std::vector<std::vector<std::uint32_t>> rows(4, {5, 5, 5, 5});
  const TopSetComparison result = compare_top_sets(by_hand(rows, {0, 1, 2, 3}), by_hand(rows, {2, 3, 4, 5}), 2, 1);
  EXPECT_DOUBLE_EQ(result.topics[0].expected_overlap * 2, 2 * 0.25);
}

void expect_comparison(const AffinityComparison& result, const Json& expected, const Counts& counts) {
  ASSERT_EQ(result.not_computed, "");
  EXPECT_EQ(experts_json(counts, result.expert), expected["experts"]);
  EXPECT_EQ(result.differing_top_count, expected["differing"].get<std::size_t>());
  EXPECT_NEAR(*result.correlation, expected["correlation"].get<double>(), 1e-7);
  for (std::size_t i = 0; i < result.expert.size(); i++) EXPECT_NEAR(result.distance[i], expected["distance"][i].get<double>(), 1e-7);
}

TEST(CompareAffinity, by_router_weight_and_by_phase_agree_with_scipy_and_scikit_learn) {
  const auto test = controls_trace();
  const Json &json = controls_json(), &expected = json["expected"];
  const std::uint64_t floor = json["floor"];
  const PhaseShares by_count = phase_shares(test->counts(), std::nullopt);
  const PhaseShares by_weight = phase_shares(test->counts(), std::nullopt, ShareBasis::router_weights);
  expect_comparison(compare_affinity(by_count, by_weight, floor), expected["weights_against_selections"], test->counts());
  const PhaseShares prompt = phase_shares(test->counts(), Phase::prompt), answer = phase_shares(test->counts(), Phase::answer);
  expect_comparison(compare_affinity(prompt, answer, floor), expected["prompt_against_answer"], test->counts());
  const TopSetComparison sets = compare_top_sets(prompt, answer, json["set_size"].get<std::size_t>(), floor);
  for (std::size_t c = 0; c < 3; c++) EXPECT_NEAR(sets.topics[c].jaccard, expected["prompt_against_answer"]["jaccard"][c].get<double>(), 1e-12);
}

}  // namespace
}  // namespace atlas
