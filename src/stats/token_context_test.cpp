// Similarity of prompts beyond their tokens: against the mean over every way to deal sides (testdata/stats/controls.py), and its purpose on
// simulated routing: chance where only words differ, more where the topic matters.
#include "stats/token_context.h"

#include <cmath>
#include <random>

#include "base/parallel.h"
#include "stats/controls_test_data.h"
#include "stats/held_out.h"
#include "stats/token_control.h"
#include "stats/token_simulation_test_data.h"

namespace atlas {
namespace {

TokenContext context_of(const TestTrace& test, std::size_t draws) {
  return token_context(test.trace(), test.counts(), phase_shares(test.counts(), std::nullopt), std::nullopt, draws, 1);
}

double product(const Shares& shares, std::size_t left, std::size_t right) {
  double sum = 0;
  for (std::size_t e = 0; e < shares.feature_count; e++) sum += static_cast<double>(shares.row(left)[e]) * shares.row(right)[e];
  return sum;
}

TEST(TokenContext, similarities_are_the_mean_over_all_sides) {
  const auto test = controls_trace();
  const Json& expected = controls_json()["expected"]["context"];
  const TokenContext result = context_of(*test, 2500);
  ASSERT_EQ(result.not_computed, "");
  EXPECT_NEAR(result.coverage, expected["coverage"].get<double>(), 0.003);
  ASSERT_EQ(result.shares.feature_count, 12U);
  // Coordinates have a unit of their own, that of the diagonal; what was added to it counts, too.
  double own = 0, wanted = 0, greatest = 0;
  for (std::size_t i = 0; i < 12; i++) own += product(result.shares, i, i);
  for (std::size_t i = 0; i < 12; i++) wanted += expected["similarity"][i][i].get<double>() * (1 + result.diagonal_added);
  for (std::size_t i = 0; i < 12; i++)
    for (std::size_t j = 0; j < i; j++) {
      const double similarity = expected["similarity"][i][j];
      EXPECT_NEAR(product(result.shares, i, j) * wanted / own, similarity, 0.03 * wanted / 12) << i << " " << j;
      greatest = std::max(greatest, std::abs(similarity));
    }
  EXPECT_GT(greatest, 0.3 * wanted / 12);  // so the comparison above can fail
}

TEST(TokenContext, test_is_at_chance_for_words_alone_and_finds_context_on_simulated_routing) {
  double words = 0, context = 0, residuals = 0;
  constexpr unsigned sets = 10;
  const Relabelings none;
  for (unsigned seed = 0; seed < sets; seed++) {
    const TestTrace only_words = simulated_trace({.vocabulary = 1, .context = 0, .prompt = 0.7}, seed);
    const TestTrace both = simulated_trace({.vocabulary = 1, .context = 0.4, .prompt = 0.7}, seed);
    words += test_cosine(context_of(only_words, 12).shares, none, {}).accuracy / sets;
    context += test_cosine(context_of(both, 12).shares, none, {}).accuracy / sets;
    const PhaseShares shares = phase_shares(only_words.counts(), std::nullopt);
    residuals += test_cosine(match_tokens(only_words.trace(), only_words.counts(), shares, std::nullopt).shares, none, {}).accuracy / sets;
  }
  EXPECT_NEAR(words, 1.0 / 3, 0.13);  // of one set the deviation is about 0.13
  EXPECT_GT(context, 0.7);
  EXPECT_LT(residuals, 0.15);  // why match_tokens() is not tested this way
}

// The table of docs/statistics_controls.md, too long for every run: core_tests --gtest_also_run_disabled_tests --gtest_filter=*error_rates*
// --gtest_output=xml:rates.xml.
TEST(TokenContext, DISABLED_error_rates_that_the_docs_print) {
  const std::vector<Simulation> cases{{0, 0, 0}, {1, 0, 0}, {0, 0, 0.7}, {1, 0, 0.7}, {2, 0, 0.7}, {1, 0.2, 0.7}, {1, 0.4, 0.7}};
  constexpr unsigned sets = 400;
  for (std::size_t i = 0; i < cases.size(); i++) {
    std::vector<double> accuracy(3), rejected(3);  // shares, leave-one-out residuals, this
    for (unsigned seed = 0; seed < sets; seed++) {
      const TestTrace test = simulated_trace(cases[i], 1000 + seed);
      const PhaseShares shares = phase_shares(test.counts(), std::nullopt);
      const Relabelings relabelings = make_relabelings(shares.shares.topic, 3, 199, seed);
      const Shares residuals = match_tokens(test.trace(), test.counts(), shares, std::nullopt).shares, context = context_of(test, 12).shares;
      const std::vector<const Shares*> tested{&shares.shares, &residuals, &context};
      for (std::size_t k = 0; k < 3; k++) {
        const HeldOutResult result = test_cosine(*tested[k], relabelings, {.pairings = 5, .interval_draws = 0});
        accuracy[k] += result.accuracy / sets;
        rejected[k] += result.p_value <= 0.05 ? 1.0 / sets : 0;
      }
    }
    const char* names[] = {"shares", "residuals", "context"};
    for (std::size_t k = 0; k < 3; k++)
      RecordProperty("case_" + std::to_string(i) + "_" + names[k],
                     std::to_string(accuracy[k]) + " accuracy, " + std::to_string(rejected[k]) + " rejected");
  }
}

TEST(TokenContext, does_not_depend_on_the_number_of_threads) {
  const TestTrace test = simulated_trace({.vocabulary = 1, .context = 0.5, .prompt = 0.5}, 3);
  set_thread_count(1);
  const TokenContext one = context_of(test, 5);
  set_thread_count(3);
  const TokenContext three = context_of(test, 5);
  set_thread_count(0);
  EXPECT_EQ(one.shares.values, three.shares.values);
  EXPECT_EQ(one.coverage, three.coverage);
}

TestRow row(std::int32_t token, std::uint32_t expert) { return {token, Phase::prompt, {{expert}}, {}}; }

TEST(TokenContext, says_why_it_cannot_and_whom_it_leaves_out) {
  const TestTrace without({{"a", {row(1, 0)}}, {"b", {row(1, 1)}}}, {0}, 2, false);
  EXPECT_EQ(context_of(without, 4).not_computed, "the trace has no token ids");
  const TestTrace apart({{"a", {row(1, 0)}}, {"b", {row(2, 1)}}}, {0}, 2);
  EXPECT_EQ(context_of(apart, 4).not_computed, "no token occurs in two prompts of one side");
  EXPECT_EQ(context_of(apart, 0).not_computed, "no draws asked for");
  const std::vector<TestPrompt> alike{{"a", {row(1, 0)}}, {"a", {row(1, 0)}}, {"b", {row(1, 0)}}, {"b", {row(1, 0)}}};
  EXPECT_EQ(context_of(TestTrace(alike, {0}, 2), 4).not_computed, "every token is routed alike in all prompts");
  const TestTrace one_apart({{"a", {row(1, 0)}}, {"a", {row(1, 1)}}, {"b", {row(1, 0)}}, {"b", {row(1, 1)}}, {"c", {row(9, 1)}}}, {0}, 2);
  const TokenContext result = context_of(one_apart, 8);
  EXPECT_EQ(result.not_computed, "");
  EXPECT_EQ(result.probes_left_out, (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(result.shares.topics, (std::vector<std::string>{"a", "b"}));  // c has no prompt left
}

}  // namespace
}  // namespace atlas
