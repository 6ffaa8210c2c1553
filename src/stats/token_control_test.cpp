// The controls for vocabulary and length: by hand, row by row in Python (testdata/stats/controls.py), and on simulated routing.
#include "stats/token_control.h"

#include <cmath>

#include "base/parallel.h"
#include "stats/controls_test_data.h"
#include "stats/held_out.h"
#include "stats/token_simulation_test_data.h"

namespace atlas {
namespace {

TestRow row(std::int32_t token, std::vector<std::uint32_t> experts) { return {token, Phase::prompt, {std::move(experts)}, {}}; }

// Token 1 is in three prompts; tokens 2 and 3 in one each.
TestTrace small_trace(bool with_tokens = true) {
  return TestTrace({{"a", {row(1, {0, 1}), row(2, {2, 3})}},
                    {"a", {row(1, {0, 2})}},
                    {"b", {row(1, {0, 1}), row(1, {1, 3})}},
                    {"b", {row(3, {0, 1})}}},
                   {2}, 4, with_tokens);
}

TEST(MatchTokens, by_hand) {
  const TestTrace test = small_trace();
  const TokenMatched result = match_tokens(test.trace(), test.counts(), phase_shares(test.counts(), std::nullopt), std::nullopt);
  ASSERT_EQ(result.not_computed, "");
  EXPECT_EQ(result.probes_left_out, (std::vector<std::uint32_t>{3}));  // its only token is in no other prompt
  EXPECT_EQ(result.shares.probe, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(result.shares.topic, (std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_EQ(result.coverage.row_count, 6U);
  EXPECT_EQ(result.coverage.matched_row_count, 4U);
  EXPECT_NEAR(result.coverage.share(), 4.0 / 6, 1e-15);
  // Prompt 0 chose 0 and 1; the three other rows with token 1 chose them 2 times in 3, and 2 and 3 once in 3.
  const std::vector<std::vector<double>> expected{{1.0 / 6, 1.0 / 6, -1.0 / 6, -1.0 / 6},
                                                  {1.0 / 6, -1.0 / 2, 1.0 / 2, -1.0 / 6},
                                                  {-1.0 / 4, 1.0 / 4, -1.0 / 4, 1.0 / 4}};
  for (std::size_t run = 0; run < 3; run++)
    for (std::size_t e = 0; e < 4; e++)
      EXPECT_NEAR(result.shares.row(run)[e] / static_cast<double>(share_one), expected[run][e], 2e-9) << run << " " << e;
  EXPECT_NEAR(*result.token_matched[0], 1.0 / 3, 1e-12);  // observed 1/2, the token elsewhere 1/3
  EXPECT_NEAR(*result.unmatched[0], 0.25, 1e-12);         // other prompts 3/8
  EXPECT_NEAR(*result.token_matched[1], 0.5, 1e-12);
  EXPECT_NEAR(*result.unmatched[1], 0.5, 1e-12);
  EXPECT_EQ(*result.token_matched[3], -1);  // its top topic's matched rows never chose it
}

TEST(MatchTokens, says_why_it_cannot) {
  const TestTrace without = small_trace(false), test = small_trace();
  const PhaseShares shares = phase_shares(test.counts(), std::nullopt);
  EXPECT_EQ(match_tokens(without.trace(), without.counts(), shares, std::nullopt).not_computed, "the trace has no token ids");
  EXPECT_EQ(token_shares(without.trace(), without.counts(), shares, std::nullopt).not_computed, "the trace has no token ids");
  Counts other = test.counts();
  other.manifest.probes[1].id = "a:7";
  EXPECT_EQ(match_tokens(test.trace(), other, shares, std::nullopt).not_computed, "the counts were not made from this trace");
  const PhaseShares none = phase_shares(test.counts(), Phase::answer);
  EXPECT_EQ(match_tokens(test.trace(), test.counts(), none, Phase::answer).not_computed, "no prompt has selections in this phase");
  const TestTrace apart({{"a", {row(1, {0, 1})}}, {"b", {row(2, {0, 1})}}}, {0}, 2);
  const TokenMatched result = match_tokens(apart.trace(), apart.counts(), phase_shares(apart.counts(), std::nullopt), std::nullopt);
  EXPECT_EQ(result.not_computed, "no token occurs in two prompts");
  EXPECT_EQ(result.coverage.share(), 0);
}

TEST(MatchTokens, agrees_with_the_definition_row_by_row) {
  const auto test = controls_trace();
  const std::vector<std::pair<std::string, std::optional<Phase>>> cases{{"all", std::nullopt}, {"prompt", Phase::prompt}};
  for (const auto& [name, phase] : cases) {
    const Json& expected = controls_json()["expected"]["token_control"][name];
    const PhaseShares shares = phase_shares(test->counts(), phase);
    const TokenMatched result = match_tokens(test->trace(), test->counts(), shares, phase);
    ASSERT_EQ(result.not_computed, "");
    EXPECT_EQ(experts_json(test->counts(), shares.expert), expected["experts"]);
    for (std::size_t e = 0; e < shares.shares.feature_count; e++) {
      for (std::size_t run = 0; run < result.shares.run_count(); run++)
        EXPECT_NEAR(result.shares.row(run)[e] / static_cast<double>(share_one), expected["residual_shares"][run][e].get<double>(), 2e-9);
      EXPECT_NEAR(result.unmatched[e].value(), expected["unmatched"][e].get<double>(), 1e-12);
      EXPECT_NEAR(result.token_matched[e].value(), expected["token_matched"][e].get<double>(), 1e-12);
    }
    for (const auto& [number, rows] : expected["coverage"].items()) {
      const Coverage& coverage = result.coverage_by_phase.at(std::stoul(number));
      EXPECT_EQ(coverage.row_count, rows[0].get<std::uint64_t>());
      EXPECT_EQ(coverage.matched_row_count, rows[1].get<std::uint64_t>());
    }
  }
}

TEST(MatchTokens, residuals_of_a_run_add_up_to_0_in_each_layer) {
  const auto test = controls_trace();
  const PhaseShares shares = phase_shares(test->counts(), std::nullopt);
  const TokenMatched result = match_tokens(test->trace(), test->counts(), shares, std::nullopt);
  for (const LayerColumns& layer : layer_columns(test->counts(), shares))
    for (std::size_t run = 0; run < result.shares.run_count(); run++) {
      std::int64_t sum = 0;
      for (std::size_t e = layer.begin; e < layer.end; e++) sum += result.shares.row(run)[e];
      EXPECT_LE(std::abs(sum), static_cast<std::int64_t>(layer.count()));  // one rounding a feature
    }
}

TEST(TokenShares, tell_topics_of_their_own_words_apart_and_no_others) {
  double words = 0, context = 0;
  const Relabelings none;
  const auto accuracy = [&](const Simulation& simulation, unsigned seed) {
    const TestTrace test = simulated_trace(simulation, seed);
    const PhaseShares shares = phase_shares(test.counts(), Phase::prompt);
    return test_cosine(token_shares(test.trace(), test.counts(), shares, Phase::prompt).shares, none, {}).accuracy;
  };
  for (unsigned seed = 0; seed < 8; seed++) {
    words += accuracy({.vocabulary = 1}, seed) / 8;
    context += accuracy({.context = 0.5}, seed) / 8;
  }
  EXPECT_GT(words, 0.9);
  EXPECT_LT(context, 0.5);  // chance is 1/3
}

TEST(MatchTokens, token_matched_is_about_0_for_words_alone_and_keeps_context) {
  const auto means = [](const Simulation& simulation) {
    std::pair<double, double> result;
    for (unsigned seed = 0; seed < 4; seed++) {
      const TestTrace test = simulated_trace(simulation, seed);
      const PhaseShares shares = phase_shares(test.counts(), std::nullopt);
      const TokenMatched matched = match_tokens(test.trace(), test.counts(), shares, std::nullopt);
      for (std::size_t e = 0; e < shares.shares.feature_count; e++) {
        result.first += *matched.unmatched[e] / static_cast<double>(shares.shares.feature_count) / 4;
        result.second += *matched.token_matched[e] / static_cast<double>(shares.shares.feature_count) / 4;
      }
    }
    return result;
  };
  const auto [words, words_matched] = means({.vocabulary = 1});
  const auto [context, context_matched] = means({.context = 1});
  EXPECT_GT(words, 0.2);
  EXPECT_LT(words_matched, 0.05);
  EXPECT_GT(context, 0.3);
  EXPECT_GT(context_matched, 0.3);
}

TEST(MatchTokens, does_not_depend_on_the_number_of_threads) {
  const TestTrace test = simulated_trace({.vocabulary = 1, .context = 0.5}, 3);
  const PhaseShares shares = phase_shares(test.counts(), std::nullopt);
  set_thread_count(1);
  const TokenMatched one = match_tokens(test.trace(), test.counts(), shares, std::nullopt);
  set_thread_count(3);
  const TokenMatched three = match_tokens(test.trace(), test.counts(), shares, std::nullopt);
  set_thread_count(0);
  EXPECT_EQ(one.shares.values, three.shares.values);
  EXPECT_EQ(one.token_matched, three.token_matched);
  EXPECT_EQ(one.unmatched, three.unmatched);
}

TEST(TokenShares, are_each_prompts_counts_of_its_tokens) {
  const TestTrace test = small_trace();
  const PhaseShares shares = phase_shares(test.counts(), std::nullopt);
  const TokenShares result = token_shares(test.trace(), test.counts(), shares, std::nullopt);
  EXPECT_EQ(result.token_ids, (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(result.shares.selections, (std::vector<std::uint32_t>{1, 1, 0, 1, 0, 0, 2, 0, 0, 0, 0, 1}));
  EXPECT_EQ(result.shares.values[0], share_one / 2);
  EXPECT_EQ(result.shares.values[6], share_one);
  EXPECT_EQ(result.shares.topic, shares.shares.topic);
}

TEST(TokenCounts, are_the_tokens_of_the_phase) {
  const auto test = controls_trace();
  const Shares shares = phase_shares(test->counts(), std::nullopt).shares;
  const auto all = token_counts(test->counts(), shares, std::nullopt), prompt = token_counts(test->counts(), shares, Phase::prompt),
             answer = token_counts(test->counts(), shares, Phase::answer), picture = token_counts(test->counts(), shares, Phase::picture);
  std::vector<double> rows(12);
  for (const Json& row_json : controls_json()["rows"]) rows[row_json[2].get<std::size_t>()] += 1;
  EXPECT_EQ(all, rows);
  for (std::size_t run = 0; run < 12; run++) EXPECT_EQ(prompt[run] + answer[run], all[run]);
  EXPECT_EQ(picture, std::vector<double>(12, 0.0));
}

}  // namespace
}  // namespace atlas
