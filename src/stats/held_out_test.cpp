// Tests of the balanced held-out tests by brute force: every fold is rebuilt from scratch in long double, every relabeling is tested again, and
// what cannot be computed is said.
#include "stats/held_out.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "base/parallel.h"

namespace atlas {
namespace {

using Row = std::vector<long double>;
using FoldScores = std::function<std::vector<Row>(const Draw& draw, std::uint32_t fold)>;  // [held topic][topic]

// Runs of topics with these sizes, with counts below `range`; `effect` more for the features of the run's own topic.
Shares random_shares(const std::vector<std::uint32_t>& sizes, std::size_t feature_count, unsigned effect, unsigned seed, unsigned range = 60) {
  std::mt19937 random(seed);
  Shares shares;
  shares.feature_count = feature_count;
  for (std::uint32_t c = 0; c < sizes.size(); c++) {
    shares.topics.push_back(std::string(1, static_cast<char>('a' + c)));
    shares.topic.insert(shares.topic.end(), sizes[c], c);
  }
  std::shuffle(shares.topic.begin(), shares.topic.end(), random);
  for (std::uint32_t run = 0; run < shares.run_count(); run++) {
    shares.probe.push_back(run);
    std::uint64_t total = 0;
    for (std::uint32_t e = 0; e < feature_count; e++) {
      shares.selections.push_back(static_cast<std::uint32_t>(random() % range) + (e % sizes.size() == shares.topic[run] ? effect : 0));
      total += shares.selections.back();
    }
    for (std::size_t e = 0; e < feature_count; e++) shares.values.push_back(fixed_share(shares.selections[run * feature_count + e], total));
  }
  return shares;
}

Row mean_of(const std::vector<Row>& rows) {
  Row mean(rows.front().size());
  for (const Row& row : rows)
    for (std::size_t e = 0; e < mean.size(); e++) mean[e] += row[e] / static_cast<long double>(rows.size());
  return mean;
}

Row minus(Row left, const Row& right) {
  for (std::size_t e = 0; e < left.size(); e++) left[e] -= right[e];
  return left;
}

long double dot(const Row& left, const Row& right) {
  long double sum = 0;
  for (std::size_t e = 0; e < left.size(); e++) sum += left[e] * right[e];
  return sum;
}

Row values_of(const Shares& shares, std::uint32_t run) { return {shares.row(run), shares.row(run) + shares.feature_count}; }

// The runs a fold trains topic c on.
std::vector<std::uint32_t> training_runs(const Draw& draw, std::uint32_t fold, std::size_t topic_count, std::size_t c) {
  std::vector<std::uint32_t> runs;
  for (std::uint32_t other = 0; other < draw.fold_count; other++)
    if (other != fold) runs.push_back(draw.held[other * topic_count + c]);
  return runs;
}

std::vector<Row> brute_cosine(const Shares& shares, const Draw& draw, std::uint32_t fold) {
  const std::size_t topics = shares.topic_count();
  std::vector<Row> means, scores;
  for (std::size_t c = 0; c < topics; c++) {
    std::vector<Row> rows;
    for (const std::uint32_t run : training_runs(draw, fold, topics, c)) rows.push_back(values_of(shares, run));
    means.push_back(mean_of(rows));
  }
  const Row centre = mean_of(means);
  for (std::size_t t = 0; t < topics; t++) {
    const Row own = minus(values_of(shares, draw.held[fold * topics + t]), centre);
    Row row;
    for (std::size_t c = 0; c < topics; c++) {
      const Row topic = minus(means[c], centre);
      const long double topic_norm = std::sqrt(dot(topic, topic)), own_norm = std::sqrt(dot(own, own));
      row.push_back(topic_norm == 0 ? -2 : own_norm == 0 ? 0 : dot(own, topic) / topic_norm / own_norm);
    }
    scores.push_back(row);
  }
  return scores;
}

std::vector<Row> brute_set(const Shares& shares, std::size_t top_k, std::uint64_t min_count, const Draw& draw, std::uint32_t fold) {
  const std::size_t topics = shares.topic_count(), features = shares.feature_count;
  std::vector<std::vector<long double>> affinity(topics, Row(features));
  for (std::size_t e = 0; e < features; e++) {
    std::uint64_t training = 0;
    long double sum = 0;
    for (std::size_t c = 0; c < topics; c++)
      for (const std::uint32_t run : training_runs(draw, fold, topics, c)) {
        training += shares.selections[run * features + e];
        affinity[c][e] += static_cast<long double>(shares.row(run)[e]);
        sum += static_cast<long double>(shares.row(run)[e]);
      }
    for (std::size_t c = 0; c < topics; c++) affinity[c][e] = training < min_count || sum == 0 ? 0 : affinity[c][e] / sum;
  }
  std::vector<Row> scores(topics, Row(topics));
  for (std::size_t c = 0; c < topics; c++) {
    std::vector<std::size_t> order;
    for (std::size_t e = 0; e < features; e++)
      if (affinity[c][e] > 0) order.push_back(e);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) { return affinity[c][left] > affinity[c][right]; });
    order.resize(std::min(order.size(), top_k));
    for (std::size_t t = 0; t < topics; t++) {
      const std::uint32_t* own = shares.selections.data() + draw.held[fold * topics + t] * features;
      long double inside = 0, total = 0;
      for (std::size_t e = 0; e < features; e++) total += own[e];
      for (const std::size_t e : order) inside += own[e];
      scores[t][c] = inside / total;
    }
  }
  return scores;
}

// What brute force says of each run, [run].
struct Brute {
  double accuracy = 0;
  std::vector<double> draw_count, hits, margin;
  std::vector<Row> score_sum;
};

Brute brute_force(const std::vector<Draw>& draws, std::size_t run_count, std::size_t topic_count, const FoldScores& fold_scores) {
  Brute result{0, std::vector<double>(run_count), std::vector<double>(run_count), std::vector<double>(run_count),
               std::vector<Row>(run_count, Row(topic_count))};
  double tests = 0;
  for (const Draw& draw : draws)
    for (std::uint32_t fold = 0; fold < draw.fold_count; fold++) {
      const std::vector<Row> scores = fold_scores(draw, fold);
      for (std::size_t t = 0; t < topic_count; t++, tests++) {
        const std::uint32_t run = draw.held[fold * topic_count + t];
        const auto best = static_cast<std::size_t>(std::max_element(scores[t].begin(), scores[t].end()) - scores[t].begin());
        long double other = -std::numeric_limits<long double>::infinity();
        for (std::size_t c = 0; c < topic_count; c++) other = c == t ? other : std::max(other, scores[t][c]);
        result.accuracy += best == t ? 1 : 0;
        result.hits[run] += best == t ? 1 : 0;
        result.draw_count[run]++;
        result.margin[run] += static_cast<double>(scores[t][t] - other);
        for (std::size_t c = 0; c < topic_count; c++) result.score_sum[run][c] += scores[t][c];
      }
    }
  result.accuracy /= tests;
  return result;
}

std::vector<std::uint16_t> true_labels(const Shares& shares) { return {shares.topic.begin(), shares.topic.end()}; }

std::vector<Draw> true_draws(const Shares& shares, const HeldOutOptions& options) {
  const auto labels = true_labels(shares);
  return make_draws(labels.data(), shares.run_count(), shares.topic_count(), options.pairings, options.seed, ~std::uint64_t{0});
}

void expect_equals_brute_force(const HeldOutResult& result, const Shares& shares, const HeldOutOptions& options, const FoldScores& fold_scores) {
  ASSERT_EQ(result.not_computed, "");
  const Brute brute = brute_force(true_draws(shares, options), shares.run_count(), shares.topic_count(), fold_scores);
  EXPECT_NEAR(result.accuracy, brute.accuracy, 1e-12);
  EXPECT_NEAR(result.hits, brute.accuracy * static_cast<double>(shares.run_count()), 1e-9);
  EXPECT_EQ(result.chance, 1.0 / static_cast<double>(shares.topic_count()));
  ASSERT_EQ(result.trials.size(), shares.run_count());
  for (std::size_t run = 0; run < shares.run_count(); run++) {
    const HeldOutTrial& trial = result.trials[run];
    const double draws = std::max(1.0, brute.draw_count[run]);
    ASSERT_EQ(trial.draw_count, brute.draw_count[run]);
    EXPECT_NEAR(trial.hit_rate, brute.hits[run] / draws, 1e-12) << run;
    EXPECT_NEAR(trial.margin, brute.margin[run] / draws, 1e-9) << run;
    for (std::size_t c = 0; c < shares.topic_count(); c++) EXPECT_NEAR(trial.scores[c], static_cast<double>(brute.score_sum[run][c] / draws), 1e-9);
  }
}

// The accuracies under all relabelings, by brute force.
std::vector<double> brute_null(const Shares& shares, const Relabelings& relabelings, const HeldOutOptions& options, const FoldScores& fold_scores) {
  std::vector<double> accuracies;
  for (std::size_t b = 0; b < relabelings.count(); b++) {
    const std::vector<Draw> draws = make_draws(relabelings.at(b), shares.run_count(), shares.topic_count(), options.pairings, options.seed, b);
    accuracies.push_back(brute_force(draws, shares.run_count(), shares.topic_count(), fold_scores).accuracy);
  }
  return accuracies;
}

const std::vector<std::vector<std::uint32_t>> designs{{3, 3}, {4, 4, 4}, {2, 2, 2, 2, 2}, {3, 5}, {2, 6, 3}, {7, 4, 4, 5}};

TEST(HeldOutCosine, Equals_folds_rebuilt_from_scratch) {
  for (const auto& sizes : designs)
    for (const unsigned effect : {0U, 25U}) {
      const Shares shares = random_shares(sizes, 30, effect, effect + static_cast<unsigned>(sizes.size()));
      const HeldOutOptions options{7, 100, 5};
      expect_equals_brute_force(test_cosine(shares, make_relabelings(shares.topic, sizes.size(), 20, 1), options), shares, options,
                                [&](const Draw& draw, std::uint32_t fold) { return brute_cosine(shares, draw, fold); });
    }
}

TEST(HeldOutCosine, Keeps_its_digits_where_shares_are_small_and_topics_nearly_equal) {
  const Shares shares = random_shares({4, 4, 4}, 3000, 1, 2, 200);
  const HeldOutOptions options{3, 10, 0};
  expect_equals_brute_force(test_cosine(shares, {}, options), shares, options,
                            [&](const Draw& draw, std::uint32_t fold) { return brute_cosine(shares, draw, fold); });
}

TEST(HeldOutSet, Equals_folds_rebuilt_from_scratch_with_the_floor_inside) {
  for (const auto& sizes : designs)
    for (const std::uint64_t floor : {0U, 1U, 90U, 150U, 100000U}) {
      const Shares shares = random_shares(sizes, 40, 6, static_cast<unsigned>(floor) + 1, 20);
      const HeldOutOptions options{4, 50, 9};
      expect_equals_brute_force(test_set(shares, 7, floor, make_relabelings(shares.topic, sizes.size(), 5, 1), options), shares, options,
                                [&](const Draw& draw, std::uint32_t fold) { return brute_set(shares, 7, floor, draw, fold); });
    }
}

TEST(HeldOutNumber, Equals_folds_rebuilt_from_scratch) {
  const Shares shares = random_shares({3, 4, 6}, 5, 0, 3);
  std::vector<double> lengths;
  for (std::size_t run = 0; run < shares.run_count(); run++) lengths.push_back(static_cast<double>((run * 37) % 23 + 10 * shares.topic[run]));
  const HeldOutOptions options{6, 50, 2};
  expect_equals_brute_force(test_number(shares, lengths, {}, options), shares, options, [&](const Draw& draw, std::uint32_t fold) {
    std::vector<Row> scores(3, Row(3));
    for (std::size_t c = 0; c < 3; c++) {
      long double mean = 0;
      for (const std::uint32_t run : training_runs(draw, fold, 3, c)) mean += lengths[run] / (draw.fold_count - 1.0L);
      for (std::size_t t = 0; t < 3; t++) scores[t][c] = -std::abs(lengths[draw.held[fold * 3 + t]] - mean);
    }
    return scores;
  });
}

void expect_null_equals_brute_force(const Shares& shares, std::size_t max_count) {
  const HeldOutOptions options{5, 10, 3};
  const Relabelings relabelings = make_relabelings(shares.topic, shares.topic_count(), max_count, 8);
  const HeldOutResult result = test_cosine(shares, relabelings, options);
  const FoldScores fold_scores = [&](const Draw& draw, std::uint32_t fold) { return brute_cosine(shares, draw, fold); };
  std::vector<double> null = brute_null(shares, relabelings, options, fold_scores);
  ASSERT_EQ(result.null_accuracies.size(), null.size());
  std::size_t at_least = 0, same_as_true = 0;
  double sum = 0;
  for (std::size_t b = 0; b < null.size(); b++) {
    std::set<std::pair<std::uint32_t, std::uint16_t>> pairs;
    for (std::size_t run = 0; run < shares.run_count(); run++) pairs.insert({shares.topic[run], relabelings.at(b)[run]});
    if (relabelings.enumerated && pairs.size() == shares.topic_count()) {  // a renaming of the true labels: as observed
      null[b] = result.accuracy;
      same_as_true++;
    }
    EXPECT_NEAR(result.null_accuracies[b], null[b], 1e-12);
    at_least += null[b] > result.accuracy - 1e-9 ? 1 : 0;
    sum += null[b];
  }
  EXPECT_EQ(result.enumerated, relabelings.enumerated);
  EXPECT_EQ(same_as_true, relabelings.enumerated ? 1U : 0U);
  const auto count = static_cast<double>(null.size()), found = static_cast<double>(at_least);
  EXPECT_NEAR(result.p_value, relabelings.enumerated ? found / count : (1 + found) / (1 + count), 1e-12);
  EXPECT_NEAR(result.null_mean, sum / count, 1e-12);
  std::sort(null.begin(), null.end());
  EXPECT_NEAR(result.null_quantile_95, null[static_cast<std::size_t>(std::ceil(0.95 * count)) - 1], 1e-12);
}

TEST(HeldOutNull, Equals_every_relabeling_tested_from_scratch) {
  for (unsigned seed = 0; seed < 6; seed++) {
    expect_null_equals_brute_force(random_shares({3, 3}, 12, seed * 4, seed), 1000);
    expect_null_equals_brute_force(random_shares({3, 2}, 12, seed * 4, seed), 1000);
    expect_null_equals_brute_force(random_shares({2, 2, 2}, 12, seed * 8, seed), 1000);
    expect_null_equals_brute_force(random_shares({4, 4, 4}, 12, seed * 4, seed), 40);
  }
}

TEST(HeldOutNull, Of_separate_topics_reaches_the_smallest_p_of_the_design) {
  const Shares shares = random_shares({3, 3, 3}, 30, 400, 1);
  const Relabelings relabelings = make_relabelings(shares.topic, 3, 1000, 0);
  const HeldOutResult result = test_cosine(shares, relabelings, {});
  EXPECT_EQ(result.accuracy, 1);
  EXPECT_EQ(relabelings.count(), 280U);
  EXPECT_EQ(result.smallest_p_value, 1.0 / 280);
  EXPECT_EQ(result.p_value, 1.0 / 280);
  EXPECT_EQ(result.confusion, (std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}));
}

TEST(HeldOutNull, P_is_never_below_the_smallest) {
  for (unsigned seed = 0; seed < 40; seed++) {
    const Shares shares = random_shares({3, 3 + seed % 2}, 10, 50 * (seed % 3), seed);
    const Relabelings relabelings = make_relabelings(shares.topic, 2, seed % 4 == 0 ? 5 : 1000, seed);
    for (const HeldOutResult& result : {test_cosine(shares, relabelings, {5, 0, seed}), test_set(shares, 3, 1, relabelings, {5, 0, seed})}) {
      EXPECT_GE(result.p_value, result.smallest_p_value);
      EXPECT_LE(result.p_value, 1);
    }
  }
}

TEST(Draws, Of_equal_topics_hold_every_run_out_once) {
  const Shares shares = random_shares({4, 4, 4}, 2, 0, 1);
  std::set<std::vector<std::uint32_t>> different;
  for (const Draw& draw : true_draws(shares, {10, 0, 0})) {
    EXPECT_EQ(draw.fold_count, 4U);
    different.insert(draw.held);
    for (std::size_t at = 0; at < draw.held.size(); at++) EXPECT_EQ(shares.topic[draw.held[at]], at % 3);
    EXPECT_EQ(std::set<std::uint32_t>(draw.held.begin(), draw.held.end()).size(), 12U);
  }
  EXPECT_GT(different.size(), 5U);
}

TEST(Draws, Of_unequal_topics_give_each_run_its_turn_and_never_twice_in_a_draw) {
  for (unsigned seed = 0; seed < 20; seed++) {
    const std::vector<std::uint32_t> sizes{3, 4, 7, 8};
    const Shares shares = random_shares(sizes, 2, 0, seed);
    std::map<std::uint32_t, std::uint32_t> turns;
    for (const Draw& draw : true_draws(shares, {3, 0, seed})) {  // three draws of three reach all eight
      EXPECT_EQ(draw.fold_count, 3U);
      EXPECT_EQ(std::set<std::uint32_t>(draw.held.begin(), draw.held.end()).size(), 12U);
      for (std::size_t at = 0; at < draw.held.size(); at++) {
        EXPECT_EQ(shares.topic[draw.held[at]], at % 4);
        turns[draw.held[at]]++;
      }
    }
    EXPECT_EQ(turns.size(), shares.run_count());
    std::vector<std::uint32_t> least(4, 99), most(4);
    for (const auto& [run, count] : turns) {
      least[shares.topic[run]] = std::min(least[shares.topic[run]], count);
      most[shares.topic[run]] = std::max(most[shares.topic[run]], count);
    }
    for (std::size_t c = 0; c < 4; c++) EXPECT_LE(most[c] - least[c], 1U);
  }
}

TEST(Draws, Pair_the_runs_of_unequal_topics_at_random) {
  const std::vector<std::uint16_t> labels{0, 0, 1, 1, 1, 1};
  std::map<std::uint32_t, int> first;  // of the larger topic, in the first fold
  for (std::uint64_t seed = 0; seed < 4000; seed++) first[make_draws(labels.data(), 6, 2, 1, seed, 0).front().held[1]]++;
  ASSERT_EQ(first.size(), 4U);
  for (const auto& [run, count] : first) EXPECT_NEAR(count, 1000, 110);  // four standard errors
}

TEST(HeldOut, Accuracy_of_unequal_topics_weighs_topics_alike) {
  const Shares shares = random_shares({3, 9}, 20, 4, 11);
  const HeldOutResult result = test_cosine(shares, {}, {30, 0, 0});
  std::vector<double> hits(2), draws(2);
  for (const HeldOutTrial& trial : result.trials) {
    hits[shares.topic[trial.run]] += trial.hit_rate * trial.draw_count;
    draws[shares.topic[trial.run]] += trial.draw_count;
  }
  EXPECT_EQ(draws[0], draws[1]);
  EXPECT_NEAR(result.accuracy, (hits[0] / draws[0] + hits[1] / draws[1]) / 2, 1e-12);
  EXPECT_NEAR(result.confusion[0] + result.confusion[1], 1, 1e-12);
  EXPECT_NEAR(result.confusion[0], hits[0] / draws[0], 1e-12);
  EXPECT_NEAR(result.confusion[3], hits[1] / draws[1], 1e-12);
}

void expect_finite(const HeldOutResult& result) {
  std::vector<double> values{result.accuracy,  result.hits,    result.chance,           result.interval_95[0],  result.interval_95[1],
                             result.null_mean, result.p_value, result.null_quantile_95, result.smallest_p_value};
  values.insert(values.end(), result.confusion.begin(), result.confusion.end());
  values.insert(values.end(), result.null_accuracies.begin(), result.null_accuracies.end());
  for (const HeldOutTrial& trial : result.trials) {
    values.insert(values.end(), trial.scores.begin(), trial.scores.end());
    values.push_back(trial.margin);
    values.push_back(trial.hit_rate);
  }
  for (const double value : values) EXPECT_TRUE(std::isfinite(value));
}

TEST(HeldOut, Identical_prompts_score_chance_and_say_nothing) {
  Shares shares = random_shares({3, 3, 3}, 10, 0, 1);
  for (std::size_t run = 1; run < 9; run++) {
    std::copy_n(shares.values.begin(), 10, shares.values.begin() + static_cast<std::ptrdiff_t>(run * 10));
    std::copy_n(shares.selections.begin(), 10, shares.selections.begin() + static_cast<std::ptrdiff_t>(run * 10));
  }
  const Relabelings relabelings = make_relabelings(shares.topic, 3, 1000, 0);
  for (const HeldOutResult& result : {test_cosine(shares, relabelings, {}), test_set(shares, 4, 1, relabelings, {}),
                                      test_number(shares, std::vector<double>(9, 5), relabelings, {})}) {
    expect_finite(result);
    EXPECT_DOUBLE_EQ(result.accuracy, 1.0 / 3);
    EXPECT_EQ(result.p_value, 1);
  }
}

TEST(HeldOut, One_feature_alone_has_no_variance) {
  const Shares shares = random_shares({2, 2}, 1, 0, 1);
  const HeldOutResult result = test_cosine(shares, make_relabelings(shares.topic, 2, 100, 0), {});
  expect_finite(result);
  EXPECT_EQ(result.accuracy, 0.5);
  EXPECT_EQ(result.p_value, 1);
}

TEST(HeldOut, Two_prompts_a_topic_train_on_one) {
  const Shares shares = random_shares({2, 2}, 12, 300, 1);
  const HeldOutResult result = test_cosine(shares, make_relabelings(shares.topic, 2, 100, 0), {});
  EXPECT_EQ(result.not_computed, "");
  EXPECT_EQ(result.accuracy, 1);
  EXPECT_EQ(result.smallest_p_value, 1.0 / 3);  // the design cannot claim anything
  EXPECT_EQ(result.p_value, 1.0 / 3);
}

TEST(HeldOut, Says_why_it_computed_nothing) {
  const Shares shares = random_shares({3, 1}, 5, 0, 1);
  EXPECT_EQ(test_cosine(shares, {}, {}).not_computed, "the topic b has 1 prompt; this needs 2");
  EXPECT_EQ(test_set(shares, 2, 1, {}, {}).not_computed, "the topic b has 1 prompt; this needs 2");
  EXPECT_EQ(test_cosine(random_shares({4}, 5, 0, 1), {}, {}).not_computed, "fewer than two topics");
  Shares crowded = random_shares({2, 2}, 5, 0, 1);
  crowded.topics = {"a", "b", "c", "d", "e"};  // more topics than prompts
  EXPECT_EQ(test_cosine(crowded, {}, {}).not_computed, "the topic c has 0 prompts; this needs 2");
  Shares without_counts = random_shares({2, 2}, 5, 0, 1);
  without_counts.selections.clear();
  EXPECT_EQ(test_set(without_counts, 2, 1, {}, {}).not_computed, "no counts to apply the floor to");
  EXPECT_EQ(test_set(random_shares({2, 2}, 5, 0, 1), 0, 1, {}, {}).not_computed, "sets of no experts asked for");
  EXPECT_EQ(test_cosine(random_shares({2, 2}, 5, 0, 1), {}, {0, 0, 0}).not_computed, "no pairings asked for");
  EXPECT_EQ(test_cosine(Shares{}, {}, {}).not_computed, "fewer than two topics");
}

TEST(HeldOut, Without_relabelings_makes_no_claim) {
  const HeldOutResult result = test_cosine(random_shares({3, 3}, 12, 300, 1), {}, {});
  EXPECT_EQ(result.p_value, 1);
  EXPECT_EQ(result.smallest_p_value, 1);
  EXPECT_TRUE(result.null_accuracies.empty());
}

TEST(HeldOut, Is_the_same_for_one_thread_and_three) {
  const Shares shares = random_shares({4, 5, 6}, 50, 5, 1);
  const Relabelings relabelings = make_relabelings(shares.topic, 3, 200, 0);
  std::vector<std::vector<HeldOutResult>> results;
  for (const unsigned threads : {1U, 3U}) {
    set_thread_count(threads);
    results.push_back({test_cosine(shares, relabelings, {}), test_set(shares, 9, 30, relabelings, {})});
  }
  set_thread_count(0);
  for (std::size_t i = 0; i < 2; i++) {
    const HeldOutResult &one = results[0][i], &three = results[1][i];
    EXPECT_EQ(one.null_accuracies, three.null_accuracies);
    EXPECT_EQ(one.accuracy, three.accuracy);
    EXPECT_EQ(one.interval_95, three.interval_95);
    EXPECT_EQ(one.confusion, three.confusion);
    for (std::size_t run = 0; run < one.trials.size(); run++) EXPECT_EQ(one.trials[run].scores, three.trials[run].scores);
  }
}

TEST(HeldOut, Interval_holds_the_accuracy_and_narrows_with_prompts) {
  double width = 1;
  for (const std::uint32_t prompts : {4U, 16U, 64U}) {
    const HeldOutResult result = test_cosine(random_shares({prompts, prompts, prompts}, 20, 3, prompts), {}, {});
    EXPECT_LE(result.interval_95[0], result.accuracy);
    EXPECT_GE(result.interval_95[1], result.accuracy);
    EXPECT_LT(result.interval_95[1] - result.interval_95[0], width);
    width = result.interval_95[1] - result.interval_95[0];
  }
}

TEST(HeldOut, Interval_of_nothing_but_hits_is_wilsons) {
  const double squared = 1.959963984540054 * 1.959963984540054;
  const HeldOutResult equal = test_cosine(random_shares({3, 3, 3}, 30, 400, 1), {}, {});
  EXPECT_EQ(equal.accuracy, 1);
  EXPECT_NEAR(equal.interval_95[0], 9 / (9 + squared), 1e-12);  // 0.70
  EXPECT_EQ(equal.interval_95[1], 1);
  const HeldOutResult unequal = test_cosine(random_shares({2, 6}, 30, 400, 1), {}, {});
  EXPECT_EQ(unequal.accuracy, 1);
  EXPECT_NEAR(unequal.interval_95[0], 6 / (6 + squared), 1e-12);  // 4 / (1/2 + 1/6) = 6 prompts
}

}  // namespace
}  // namespace atlas
