// Information about the topic given the token: by hand, against scikit-learn with every shuffle enumerated (testdata/stats/controls.py), and
// on routing that knows tokens only.
#include "stats/token_information.h"

#include <cmath>
#include <random>

#include "base/parallel.h"
#include "stats/controls_test_data.h"

namespace atlas {
namespace {

TestRow row(std::int32_t token, std::uint32_t expert) { return {token, Phase::prompt, {{expert}}, {}}; }

TokenInformation information_of(const TestTrace& test, std::size_t shuffles, std::optional<Phase> phase = std::nullopt) {
  return token_information(test.trace(), test.counts(), phase_shares(test.counts(), phase), phase, shuffles, 1);
}

TEST(TokenInformation, by_hand) {
  // Token 1 goes to expert 0 in topic a and to 1 in topic b: one bit. Of the 6 ways to give two of four prompts topic a, 2 keep that bit and
  // 4 have none. Token 2 occurs in topic a only and is left out.
  const TestTrace test({{"a", {row(1, 0), row(2, 2)}}, {"a", {row(1, 0), row(1, 0)}}, {"b", {row(1, 1)}}, {"b", {row(1, 1), row(1, 1)}}}, {5}, 3);
  const TokenInformation result = information_of(test, 4000);
  ASSERT_EQ(result.not_computed, "");
  EXPECT_EQ(result.coverage.row_count, 7U);
  EXPECT_EQ(result.coverage.matched_row_count, 6U);
  ASSERT_EQ(result.layers.size(), 1U);
  EXPECT_EQ(result.layers[0].layer, 5U);
  EXPECT_NEAR(result.layers[0].given_token.bits, 1, 1e-12);
  // Shuffled, a's two prompts hold 1 + 2 rows of either expert in the 4 ways without a bit only if they are one of each pair of lengths; the
  // other two ways give a 1 + 1 or 2 + 2 rows, still half of each expert: 0 bits, too.
  const auto entropy = [](double p) { return -p * std::log2(p) - (1 - p) * std::log2(1 - p); };
  const double uneven = 1 - entropy(1.0 / 3);  // a has rows (1 of expert 0, 2 of expert 1) and b the reverse
  EXPECT_NEAR(result.layers[0].given_token.null_mean, (2 * 1 + 2 * 0 + 2 * uneven) / 6, 0.03);
  EXPECT_NEAR(result.layers[0].any_token.bits, 1, 1e-12);
  EXPECT_NEAR(result.layers[0].any_token.excess(), result.layers[0].given_token.excess(), 0.03);
}

TEST(TokenInformation, says_why_it_cannot) {
  const TestTrace apart({{"a", {row(1, 0)}}, {"b", {row(2, 1)}}}, {0}, 2);
  EXPECT_EQ(information_of(apart, 5).not_computed, "no token occurs in two topics");
  const TestTrace one_topic({{"a", {row(1, 0)}}, {"a", {row(1, 1)}}}, {0}, 2);
  EXPECT_EQ(information_of(one_topic, 5).not_computed, "fewer than two topics");
  const TestTrace without({{"a", {row(1, 0)}}, {"b", {row(1, 1)}}}, {0}, 2, false);
  EXPECT_EQ(information_of(without, 5).not_computed, "the trace has no token ids");
}

void expect_information(const Information& result, const Json& expected) {
  EXPECT_NEAR(result.bits, expected["bits"].get<double>(), 1e-9);
  EXPECT_NEAR(result.null_mean, expected["null_mean"].get<double>(), 0.01);  // 4,000 shuffles, deviation of one about 0.05
}

TEST(TokenInformation, agrees_with_scikit_learn_over_all_shuffles) {
  const auto test = controls_trace();
  const Json& expected = controls_json()["expected"];
  const TokenInformation result = information_of(*test, 4000, Phase::answer);
  ASSERT_EQ(result.layers.size(), 2U);
  EXPECT_EQ(result.coverage.matched_row_count * 2, expected["given_token"][0]["selections"].get<std::uint64_t>());
  for (std::size_t i = 0; i < 2; i++) {
    expect_information(result.layers[i].given_token, expected["given_token"][i]);
    expect_information(result.layers[i].any_token, expected["any_token"][i]);
  }
}

// Topic a has mostly tokens 0 to 4, topic b mostly 5 to 9; a token goes to its own expert, by `context` to one of its topic.
TestTrace simulated(double context, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit;
  std::vector<TestPrompt> prompts;
  for (std::uint32_t p = 0; p < 12; p++) {
    TestPrompt prompt{p % 2 == 0 ? "a" : "b", {}};
    for (int i = 0; i < 80; i++) {
      const auto token = static_cast<std::int32_t>(random() % 5 + 5 * (unit(random) < 0.2 ? 1 - p % 2 : p % 2));
      const std::uint32_t expert = unit(random) < context ? 10 + p % 2
                                   : unit(random) < 0.5   ? static_cast<std::uint32_t>(token)
                                                          : static_cast<std::uint32_t>(random() % 10);
      prompt.rows.push_back(row(token, expert));
    }
    prompts.push_back(std::move(prompt));
  }
  return TestTrace(prompts, {0}, 12);
}

TEST(TokenInformation, is_0_above_shuffles_where_the_token_is_all_there_is) {
  double given = 0, any = 0;
  for (unsigned seed = 0; seed < 20; seed++) {
    const TokenInformation result = information_of(simulated(0, seed), 40);
    given += result.layers[0].given_token.excess() / 20;
    any += result.layers[0].any_token.excess() / 20;
  }
  // A little below, if anything: topics use a token unequally often, shuffled ones less so, and level tables give a higher level.
  EXPECT_NEAR(given, -0.002, 0.006);
  EXPECT_GT(any, 0.05);
  EXPECT_GT(information_of(simulated(0.3, 1), 40).layers[0].given_token.excess(), 0.1);
}

TEST(TokenInformation, does_not_depend_on_the_number_of_threads) {
  const auto test = controls_trace();
  set_thread_count(1);
  const TokenInformation one = information_of(*test, 30);
  set_thread_count(3);
  const TokenInformation three = information_of(*test, 30);
  set_thread_count(0);
  for (std::size_t i = 0; i < 2; i++) {
    EXPECT_EQ(one.layers[i].given_token.null_mean, three.layers[i].given_token.null_mean);
    EXPECT_EQ(one.layers[i].any_token.null_mean, three.layers[i].any_token.null_mean);
  }
}

TEST(TokenInformation, without_shuffles_is_as_counted) {
  const auto test = controls_trace();
  const TokenInformation result = information_of(*test, 0, Phase::answer);
  EXPECT_EQ(result.shuffle_count, 0U);
  EXPECT_EQ(result.layers[0].given_token.null_mean, 0);
}

}  // namespace
}  // namespace atlas
