// Tests of shares from counts, worked by hand: phases, missing rows, router weights, prompts and topics that drop out.
#include "stats/phase_shares.h"

#include <gtest/gtest.h>

namespace atlas {
namespace {

// Topics b (two probes) and a (one), layers 3 and 7, phases prompt and answer.
//                       3:0  3:1  7:4  7:9
//   b:0  prompt           3    1    2    2
//        answer           0    2    1    1
//   a:0  prompt           5    0    0    5
//        answer           0    0    0    0
//   b:1  prompt           1    1    1    1
//        answer           4    0    4    0
Counts small_counts() {
  Counts counts;
  counts.manifest.layers = {3, 7};
  counts.manifest.expert_count = 10;
  counts.manifest.expert_top_k = 1;
  counts.manifest.probes = {{"b:0", "b", {}, 0, 6, {}}, {"a:0", "a", {}, 6, 11, {}}, {"b:1", "b", {}, 11, 17, {}}};
  counts.experts = {{3, 0}, {3, 1}, {7, 4}, {7, 9}};
  counts.phases = {Phase::prompt, Phase::answer};
  counts.selections = {3, 1, 2, 2, 0, 2, 1, 1, 5, 0, 0, 5, 0, 0, 0, 0, 1, 1, 1, 1, 4, 0, 4, 0};
  return counts;
}

std::vector<std::int32_t> shares_of(const std::vector<std::pair<int, int>>& fractions) {
  std::vector<std::int32_t> values;
  for (const auto& [count, total] : fractions) values.push_back(fixed_share(static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(total)));
  return values;
}

TEST(PhaseShares, Of_one_phase_divide_by_its_selections) {
  const PhaseShares result = phase_shares(small_counts(), Phase::prompt);
  EXPECT_EQ(result.shares.topics, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(result.shares.topic, (std::vector<std::uint32_t>{1, 0, 1}));
  EXPECT_EQ(result.shares.probe, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(result.expert, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(result.shares.selections, (std::vector<std::uint32_t>{3, 1, 2, 2, 5, 0, 0, 5, 1, 1, 1, 1}));
  EXPECT_EQ(result.shares.values, shares_of({{3, 8}, {1, 8}, {2, 8}, {2, 8}, {1, 2}, {0, 1}, {0, 1}, {1, 2}, {1, 4}, {1, 4}, {1, 4}, {1, 4}}));
  EXPECT_TRUE(result.layers_left_out.empty());
  EXPECT_TRUE(result.probes_left_out.empty());
}

TEST(PhaseShares, Without_a_phase_take_every_row) {
  const PhaseShares result = phase_shares(small_counts(), std::nullopt);
  EXPECT_EQ(result.shares.selections, (std::vector<std::uint32_t>{3, 3, 3, 3, 5, 0, 0, 5, 5, 1, 5, 1}));
  EXPECT_EQ(result.shares.values, shares_of({{1, 4}, {1, 4}, {1, 4}, {1, 4}, {1, 2}, {0, 1}, {0, 1}, {1, 2}, {5, 12}, {1, 12}, {5, 12}, {1, 12}}));
}

TEST(PhaseShares, Leave_out_prompts_and_topics_without_selections_in_the_phase) {
  const PhaseShares result = phase_shares(small_counts(), Phase::answer);
  EXPECT_EQ(result.probes_left_out, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(result.shares.topics, (std::vector<std::string>{"b"}));
  EXPECT_EQ(result.shares.probe, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(result.shares.values, shares_of({{0, 1}, {1, 2}, {1, 4}, {1, 4}, {1, 2}, {0, 1}, {1, 2}, {0, 1}}));
  EXPECT_EQ(why_not_testable(result.shares, 2), "fewer than two topics");
}

TEST(PhaseShares, Of_a_phase_that_nobody_has_are_empty) {
  const PhaseShares result = phase_shares(small_counts(), Phase::picture);
  EXPECT_EQ(result.probes_left_out.size(), 3U);
  EXPECT_EQ(result.shares.run_count(), 0U);
  EXPECT_EQ(result.shares.topic_count(), 0U);
  EXPECT_EQ(why_not_testable(result.shares, 2), "fewer than two topics");
}

TEST(PhaseShares, Leave_out_a_layer_that_lacks_rows_of_some_prompt) {
  Counts counts = small_counts();
  counts.manifest.missing = {{2, 7, 1, "not returned"}};
  const PhaseShares result = phase_shares(counts, Phase::prompt);
  EXPECT_EQ(result.layers_left_out, (std::vector<std::uint32_t>{7}));
  EXPECT_EQ(result.expert, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(result.shares.values, shares_of({{3, 4}, {1, 4}, {1, 1}, {0, 1}, {1, 2}, {1, 2}}));
}

TEST(PhaseShares, Keep_the_layers_that_only_a_wholly_missing_run_lacks) {
  Counts counts = small_counts();
  counts.manifest.probes[1].row_end = counts.manifest.probes[1].row_begin;
  std::fill_n(counts.selections.begin() + 8, 8, 0);
  counts.manifest.missing = {{1, std::nullopt, 0, "the run failed"}, {1, 3, 0, "the run failed"}};
  const PhaseShares result = phase_shares(counts, Phase::prompt);
  EXPECT_TRUE(result.layers_left_out.empty());
  EXPECT_EQ(result.probes_left_out, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(result.shares.run_count(), 2U);
}

TEST(PhaseShares, With_every_layer_incomplete_leave_nothing) {
  Counts counts = small_counts();
  counts.manifest.missing = {{0, 3, 1, "x"}, {2, 7, 1, "x"}};
  const PhaseShares result = phase_shares(counts, std::nullopt);
  EXPECT_EQ(result.layers_left_out, (std::vector<std::uint32_t>{3, 7}));
  EXPECT_EQ(result.shares.run_count(), 0U);
  EXPECT_EQ(result.shares.feature_count, 0U);
}

TEST(PhaseShares, Drop_experts_that_the_phase_never_selected) {
  Counts counts = small_counts();
  counts.selections[1] = counts.selections[17] = 0;  // expert 3:1 in the prompts
  const PhaseShares result = phase_shares(counts, Phase::prompt);
  EXPECT_EQ(result.expert, (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_EQ(result.shares.feature_count, 3U);
  EXPECT_EQ(result.shares.selections, (std::vector<std::uint32_t>{3, 2, 2, 5, 0, 5, 1, 1, 1}));
  EXPECT_EQ(result.shares.values, shares_of({{3, 7}, {2, 7}, {2, 7}, {1, 2}, {0, 1}, {1, 2}, {1, 3}, {1, 3}, {1, 3}}));
}

TEST(PhaseShares, By_router_weight_divide_by_the_prompts_summed_weight) {
  Counts counts = small_counts();
  counts.router_weight_sum = {1.5F, 0.5F, 1.0F, 1.0F, 0, 1, 1, 1, 2.5F, 0, 0, 7.5F, 0, 0, 0, 0, 0.25F, 0.25F, 0.5F, 1.0F, 1, 0, 1, 0};
  const PhaseShares result = phase_shares(counts, Phase::prompt, ShareBasis::router_weights);
  EXPECT_EQ(result.shares.values, shares_of({{3, 8}, {1, 8}, {2, 8}, {2, 8}, {1, 4}, {0, 1}, {0, 1}, {3, 4}, {1, 8}, {1, 8}, {2, 8}, {4, 8}}));
  EXPECT_EQ(result.shares.selections, (std::vector<std::uint32_t>{3, 1, 2, 2, 5, 0, 0, 5, 1, 1, 1, 1}));
}

TEST(PhaseShares, By_router_weight_leave_no_prompt_where_weights_are_unknown) {
  const PhaseShares result = phase_shares(small_counts(), Phase::prompt, ShareBasis::router_weights);
  EXPECT_EQ(result.probes_left_out.size(), 3U);
  EXPECT_EQ(result.shares.run_count(), 0U);
}

}  // namespace
}  // namespace atlas
