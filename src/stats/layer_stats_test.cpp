// Per-layer statistics: by hand, against scipy with every relabeling enumerated (testdata/stats/controls.py), and input that lacks something.
#include "stats/layer_stats.h"

#include <cmath>
#include <set>

#include "base/parallel.h"
#include "stats/controls_test_data.h"

namespace atlas {
namespace {

Relabelings relabelings_of(const PhaseShares& shares, std::size_t count) {
  return make_relabelings(shares.shares.topic, shares.shares.topic_count(), count, 0);
}

TestRow row(std::vector<std::uint32_t> layers) {
  TestRow result{1, Phase::prompt, {}, {}};
  for (const std::uint32_t expert : layers) result.experts.push_back({expert});
  return result;
}

// In layer 3 the topics have experts of their own, in layer 7 none has; 4 experts of which layer 3 uses 2 and layer 7 three.
TestTrace by_hand() {
  return TestTrace({{"a", {row({0, 0}), row({0, 0})}},
                    {"a", {row({0, 0}), row({0, 1})}},
                    {"b", {row({1, 0}), row({1, 0})}},
                    {"b", {row({1, 0}), row({1, 2})}}},
                   {3, 7}, 4);
}

TEST(LayerStats, by_hand) {
  const TestTrace test = by_hand();
  const PhaseShares shares = phase_shares(test.counts(), std::nullopt);
  const auto layers = layer_stats(test.counts(), shares, relabelings_of(shares, 100), {.min_count = 4});
  ASSERT_EQ(layers.size(), 2U);
  const LayerStats &first = layers[0], &second = layers[1];
  EXPECT_EQ(first.layer, 3U);
  EXPECT_NEAR(first.information.value, 1, 1e-9);
  EXPECT_NEAR(first.specialisation.value, 1, 1e-9);
  EXPECT_EQ(first.specialisation_expert_count, 2U);
  // Three distinct relabelings: the true one with 1 bit, and two that mix the topics, with none.
  EXPECT_NEAR(first.information.null_mean, 1.0 / 3, 1e-9);
  EXPECT_NEAR(first.information.p_value, 1.0 / 3, 1e-12);
  EXPECT_NEAR(first.specialisation.null_mean, 1.0 / 3, 1e-9);
  EXPECT_EQ(first.held_out.accuracy, 1);
  EXPECT_TRUE(first.held_out.trials.empty());
  EXPECT_EQ(first.load.dead_expert_count, 2U);
  EXPECT_DOUBLE_EQ(first.load.max_over_mean, 2);
  EXPECT_DOUBLE_EQ(first.load.coefficient_of_variation, 1);  // loads 4 4 0 0
  EXPECT_NEAR(first.load.effective_expert_count, 2, 1e-12);
  // Layer 7: both topics give expert 0 three quarters, the rest to 1 and to 2. Mean (6, 1, 1) / 8.
  const double of_mean = -0.75 * std::log2(0.75) - 0.25 * std::log2(0.125), of_topic = -0.75 * std::log2(0.75) - 0.25 * std::log2(0.25);
  EXPECT_NEAR(second.information.value, of_mean - of_topic, 1e-8);
  EXPECT_EQ(second.specialisation_expert_count, 1U);  // the others have 1 selection
  EXPECT_NEAR(second.specialisation.value, 0, 1e-9);
  EXPECT_EQ(second.load.dead_expert_count, 1U);
  EXPECT_DOUBLE_EQ(second.load.max_over_mean, 3);
}

TEST(LayerStats, agree_with_scipy_over_all_relabelings) {
  const auto test = controls_trace();
  const PhaseShares shares = phase_shares(test->counts(), Phase::prompt);
  const Relabelings all = relabelings_of(shares, 6000);
  ASSERT_TRUE(all.enumerated);
  LayerOptions options{.min_count = controls_json()["floor"].get<std::uint64_t>(), .relabeling_count = 6000};
  options.held_out.pairings = 1;
  const auto layers = layer_stats(test->counts(), shares, all, options);
  const Json& expected = controls_json()["expected"]["layers"];
  ASSERT_EQ(layers.size(), expected.size());
  for (std::size_t i = 0; i < layers.size(); i++) {
    const LayerStats& stats = layers[i];
    const Json& layer = expected[i];
    EXPECT_EQ(stats.not_computed, "");
    EXPECT_EQ(stats.layer, layer["layer"].get<std::uint32_t>());
    EXPECT_EQ(stats.load.dead_expert_count, layer["dead"].get<std::uint32_t>());
    EXPECT_NEAR(stats.load.max_over_mean, layer["max_over_mean"].get<double>(), 1e-12);
    EXPECT_NEAR(stats.load.coefficient_of_variation, layer["variation"].get<double>(), 1e-12);
    EXPECT_NEAR(stats.load.effective_expert_count, layer["effective"].get<double>(), 1e-12);
    EXPECT_EQ(all.count(), layer["relabelings"].get<std::size_t>());
    EXPECT_NEAR(stats.information.value, layer["information"].get<double>(), 1e-7);
    EXPECT_NEAR(stats.information.null_mean, layer["information_null_mean"].get<double>(), 1e-7);
    EXPECT_NEAR(stats.information.p_value, layer["information_p"].get<double>(), 1e-12);
    EXPECT_EQ(stats.specialisation_expert_count, layer["kept"].get<std::size_t>());
    EXPECT_NEAR(stats.specialisation.value, layer["specialisation"].get<double>(), 1e-7);
    EXPECT_NEAR(stats.specialisation.null_mean, layer["specialisation_null_mean"].get<double>(), 1e-7);
  }
}

TEST(LayerStats, a_layers_shares_are_renormalised_and_tested_alone) {
  const auto test = controls_trace();
  const PhaseShares shares = phase_shares(test->counts(), std::nullopt);
  const std::vector<LayerColumns> columns = layer_columns(test->counts(), shares);
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[1].layer, 4U);
  EXPECT_EQ(columns[1].end, shares.shares.feature_count);
  const Shares alone = layer_shares(shares.shares, columns[1]);
  for (std::size_t run = 0; run < alone.run_count(); run++) {
    std::int64_t sum = 0;
    for (std::size_t e = 0; e < alone.feature_count; e++) {
      sum += alone.row(run)[e];
      EXPECT_NEAR(alone.row(run)[e], 2.0 * shares.shares.row(run)[columns[1].begin + e], 4);  // two layers of equal weight
    }
    EXPECT_NEAR(static_cast<double>(sum), share_one, 8);
  }
  const Relabelings sampled = relabelings_of(shares, 150);
  const auto layers = layer_stats(test->counts(), shares, sampled, {.min_count = 1});
  const HeldOutResult direct = test_cosine(alone, sampled, LayerOptions().held_out);
  EXPECT_EQ(layers[1].held_out.accuracy, direct.accuracy);
  EXPECT_EQ(layers[1].held_out.p_value, direct.p_value);
  EXPECT_EQ(layers[1].held_out.relabeling_count, 150U);
}

TEST(LayerStats, say_what_is_missing) {
  const TestTrace test = by_hand();
  Counts counts = test.counts();
  counts.manifest.missing = {{1, 7, 1, "lost"}};
  const PhaseShares shares = phase_shares(counts, std::nullopt);
  const auto layers = layer_stats(counts, shares, {}, {.min_count = 100});
  EXPECT_EQ(layers[1].not_computed, "rows of a prompt are missing in this layer");
  EXPECT_EQ(layers[0].not_computed, "");
  EXPECT_EQ(layers[0].specialisation_expert_count, 0U);
  EXPECT_EQ(layers[0].specialisation.value, 0);
  EXPECT_EQ(layers[0].information.p_value, 1);  // no relabelings
  const auto none = layer_stats(test.counts(), phase_shares(test.counts(), Phase::answer), {}, {});
  EXPECT_EQ(none[0].not_computed, "no selections in this layer");
  const TestTrace one_topic({{"a", {row({0})}}, {"a", {row({1})}}}, {0}, 2);
  const auto alone = layer_stats(one_topic.counts(), phase_shares(one_topic.counts(), std::nullopt), {}, {});
  EXPECT_EQ(alone[0].topics_not_computed, "fewer than two topics");
  EXPECT_EQ(alone[0].held_out.not_computed, "fewer than two topics");
  EXPECT_EQ(alone[0].load.max_over_mean, 1);
  const TestTrace one_each({{"a", {row({0})}}, {"b", {row({1})}}}, {0}, 2);
  const auto small = layer_stats(one_each.counts(), phase_shares(one_each.counts(), std::nullopt), {}, {.min_count = 1});
  EXPECT_NEAR(small[0].information.value, 1, 1e-9);
  EXPECT_EQ(small[0].held_out.not_computed, "the topic a has 1 prompt; this needs 2");
}

TEST(LayerStats, do_not_depend_on_the_number_of_threads) {
  const auto test = controls_trace();
  const PhaseShares shares = phase_shares(test->counts(), std::nullopt);
  const Relabelings relabelings = relabelings_of(shares, 100);
  set_thread_count(1);
  const auto one = layer_stats(test->counts(), shares, relabelings, {});
  set_thread_count(3);
  const auto three = layer_stats(test->counts(), shares, relabelings, {});
  set_thread_count(0);
  for (std::size_t i = 0; i < one.size(); i++) {
    EXPECT_EQ(one[i].information.null_mean, three[i].information.null_mean);
    EXPECT_EQ(one[i].specialisation.null_mean, three[i].specialisation.null_mean);
    EXPECT_EQ(one[i].held_out.null_mean, three[i].held_out.null_mean);
  }
}

TEST(FewerRelabelings, are_the_first_sampled_or_random_ones_of_an_enumeration) {
  const std::vector<std::uint32_t> topic{0, 0, 0, 1, 1, 1, 2, 2, 2};
  const Relabelings all = make_relabelings(topic, 3, 1000, 0), sampled = make_relabelings(topic, 3, 250, 0);
  ASSERT_EQ(all.count(), 280U);
  EXPECT_EQ(fewer_relabelings(all, 280, 0).count(), 280U);
  EXPECT_TRUE(fewer_relabelings(all, 280, 0).enumerated);
  const Relabelings some = fewer_relabelings(all, 200, 0), first = fewer_relabelings(sampled, 200, 0);
  EXPECT_FALSE(some.enumerated);
  std::set<std::vector<std::uint16_t>> distinct, known;
  for (std::size_t b = 0; b < 280; b++) known.insert({all.at(b), all.at(b) + 9});
  for (std::size_t b = 0; b < 200; b++) distinct.insert({some.at(b), some.at(b) + 9});
  EXPECT_EQ(distinct.size(), 200U);
  for (const auto& labels : distinct) EXPECT_TRUE(known.contains(labels));
  EXPECT_TRUE(std::equal(first.labels.begin(), first.labels.end(), sampled.labels.begin()));
  EXPECT_EQ(fewer_relabelings(Relabelings(), 200, 0).count(), 0U);
}

}  // namespace
}  // namespace atlas
