// Split halves: against the mean over all splits (testdata/stats/controls.py), on simulated data with and without an effect, and what cannot be.
#include "stats/reliability.h"

#include <cmath>
#include <random>

#include "base/parallel.h"
#include "stats/controls_test_data.h"

namespace atlas {
namespace {

TEST(SplitHalf, mean_over_draws_is_that_over_all_splits_as_scipy_has_them) {
  const auto test = controls_trace();
  const Json& expected = controls_json()["expected"]["split_half"];
  const PhaseShares shares = phase_shares(test->counts(), std::nullopt);
  constexpr std::size_t draws = 4000;
  const Reliability result = split_half(shares.shares, controls_json()["floor"].get<std::uint64_t>(), draws, 1);
  ASSERT_EQ(result.not_computed, "");
  EXPECT_EQ(result.draw_count, draws);
  const double deviation = expected["standard_deviation"];
  EXPECT_NEAR(result.correlation, expected["mean"].get<double>(), 4 * deviation / std::sqrt(draws));
  EXPECT_NEAR(result.standard_deviation, deviation, 0.1 * deviation);
  EXPECT_DOUBLE_EQ(result.corrected, 2 * result.correlation / (1 + result.correlation));
}

// Runs with `effect` on the logits of their topic's own features and a prompt effect of 1.
Shares simulated(double effect, unsigned seed, std::size_t topics = 4, std::size_t prompts = 6, std::size_t features = 60) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> taste(topics, std::vector<double>(features));
  for (auto& row : taste)
    for (double& value : row) value = effect * normal(random);
  Shares shares;
  shares.feature_count = features;
  for (std::uint32_t c = 0; c < topics; c++) {
    shares.topics.push_back(std::string(1, static_cast<char>('a' + c)));
    for (std::size_t i = 0; i < prompts; i++) {
      shares.probe.push_back(static_cast<std::uint32_t>(shares.topic.size()));
      shares.topic.push_back(c);
      std::uint64_t total = 0;
      for (std::size_t e = 0; e < features; e++) {
        shares.selections.push_back(static_cast<std::uint32_t>(20 * std::exp(taste[c][e] + 0.5 * normal(random))) + 1);
        total += shares.selections.back();
      }
      for (std::size_t e = 0; e < features; e++)
        shares.values.push_back(fixed_share(shares.selections[shares.selections.size() - features + e], total));
    }
  }
  return shares;
}

TEST(SplitHalf, is_about_0_without_a_topic_effect_and_high_with_one) {
  double without = 0, square = 0;
  constexpr unsigned sets = 40;
  for (unsigned seed = 0; seed < sets; seed++) {
    const double r = split_half(simulated(0, seed), 30, 10, 0).correlation;
    without += r / sets;
    square += r * r / sets;
  }
  EXPECT_LT(std::abs(without), 4 * std::sqrt(square / sets));
  EXPECT_LT(std::abs(without), 0.03);
  EXPECT_GT(split_half(simulated(1, 7), 30, 10, 0).corrected, 0.9);
}

TEST(SplitHalf, corrected_predicts_the_correlation_of_two_whole_sets) {
  // Two sets of the same topics: the first half of 24 prompts and the second are 12 prompts each.
  double predicted = 0, reached = 0;
  for (unsigned seed = 0; seed < 10; seed++) {
    const Shares both = simulated(0.2, 100 + seed, 4, 24, 120);
    Shares one = both;
    one.topic.clear();
    one.values.clear();
    one.selections.clear();
    for (std::size_t run = 0; run < both.run_count(); run++) {
      if (run % 24 >= 12) continue;
      one.topic.push_back(both.topic[run]);
      one.values.insert(one.values.end(), both.row(run), both.row(run) + 120);
      const auto at = both.selections.begin() + static_cast<std::ptrdiff_t>(run * 120);
      one.selections.insert(one.selections.end(), at, at + 120);
    }
    predicted += split_half(one, 30, 20, 0).corrected / 10;
    reached += split_half(both, 30, 20, 0).correlation / 10;
  }
  EXPECT_NEAR(predicted, reached, 0.02);
}

TEST(SplitHalf, says_why_it_cannot) {
  EXPECT_EQ(split_half(simulated(1, 0, 2, 3), 30, 10, 0).not_computed, "the topic a has 3 prompts; this needs 4");
  EXPECT_EQ(split_half(simulated(1, 0, 1, 6), 30, 10, 0).not_computed, "fewer than two topics");
  EXPECT_EQ(split_half(simulated(1, 0), 1'000'000, 10, 0).not_computed, "no expert reaches 1000000 selections");
  EXPECT_EQ(split_half(simulated(1, 0), 30, 0, 0).not_computed, "no draws asked for");
  Shares alike = simulated(1, 0);
  for (std::size_t run = 0; run < alike.run_count(); run++)
    std::copy_n(alike.values.begin(), 60, alike.values.begin() + static_cast<std::ptrdiff_t>(run * 60));
  const Reliability result = split_half(alike, 30, 10, 0);
  EXPECT_EQ(result.not_computed, "the affinities do not vary");
  EXPECT_EQ(result.corrected, 0);
}

TEST(SplitHalf, does_not_depend_on_the_number_of_threads) {
  const Shares shares = simulated(0.3, 3);
  set_thread_count(1);
  const Reliability one = split_half(shares, 30, 25, 5);
  set_thread_count(3);
  const Reliability three = split_half(shares, 30, 25, 5);
  set_thread_count(0);
  EXPECT_EQ(one.correlation, three.correlation);
  EXPECT_EQ(one.standard_deviation, three.standard_deviation);
}

TEST(Disattenuated, divides_by_the_root_of_both_reliabilities) {
  EXPECT_DOUBLE_EQ(*disattenuated(0.3, 0.5, 0.72), 0.5);
  EXPECT_DOUBLE_EQ(*disattenuated(0.9, 0.5, 0.5), 1);  // clipped
  EXPECT_FALSE(disattenuated(0.3, 0, 0.5));
}

}  // namespace
}  // namespace atlas
