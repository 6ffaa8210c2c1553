// Tests of the crossed test by brute force: every fold rebuilt in long double, every relabeling within levels tested again; languages that shift
// all shares; levels and labels that are missing.
#include "stats/crossed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "base/parallel.h"

namespace atlas {
namespace {

using Row = std::vector<long double>;

struct Crossed {
  Shares shares;
  std::vector<std::string> other;  // [probe]
};

constexpr std::size_t feature_count = 24;

// cells: [level][topic], prompts of each; counts grow by topic_effect for features of the topic and by level_effect for features of the level.
Crossed random_crossed(const std::vector<std::vector<std::uint32_t>>& cells, unsigned topic_effect, unsigned level_effect, unsigned seed) {
  std::mt19937 random(seed);
  Crossed data;
  data.shares.feature_count = feature_count;
  for (std::size_t c = 0; c < cells.front().size(); c++) data.shares.topics.push_back(std::string(1, static_cast<char>('a' + c)));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> runs;
  for (std::uint32_t level = 0; level < cells.size(); level++)
    for (std::uint32_t c = 0; c < cells[level].size(); c++) runs.insert(runs.end(), cells[level][c], {level, c});
  std::shuffle(runs.begin(), runs.end(), random);
  for (const auto& [level, topic] : runs) {
    data.shares.probe.push_back(static_cast<std::uint32_t>(data.shares.topic.size()));
    data.shares.topic.push_back(topic);
    data.other.push_back("level " + std::to_string(level));
    std::vector<std::uint64_t> counts;
    std::uint64_t total = 0;
    for (std::size_t e = 0; e < feature_count; e++) {
      counts.push_back(random() % 40 + (e % cells.front().size() == topic ? topic_effect : 0) + (e % 7 == level ? level_effect : 0));
      total += counts.back();
    }
    for (const std::uint64_t count : counts) data.shares.values.push_back(fixed_share(count, total));
  }
  return data;
}

// Runs of a cell (any level: without `but`), all of them; the brute force is of designs with equal cells within a level.
std::vector<Row> rows_of(const Crossed& data, const std::uint16_t* labels, const std::vector<Row>& centred, std::size_t topic,
                         const std::string& but) {
  std::vector<Row> rows;
  for (std::size_t run = 0; run < data.shares.run_count(); run++)
    if (labels[run] == topic && data.other[run] != but) rows.push_back(centred[run]);
  return rows;
}

Row mean_of(const std::vector<Row>& rows) {
  Row mean(feature_count);
  for (const Row& row : rows)
    for (std::size_t e = 0; e < feature_count; e++) mean[e] += row[e] / static_cast<long double>(rows.size());
  return mean;
}

long double cosine(const Row& left, const Row& right) {
  long double product = 0, left_norm = 0, right_norm = 0;
  for (std::size_t e = 0; e < feature_count; e++) {
    product += left[e] * right[e];
    left_norm += left[e] * left[e];
    right_norm += right[e] * right[e];
  }
  return product / std::sqrt(left_norm) / std::sqrt(right_norm);
}

Row minus(Row left, const Row& right) {
  for (std::size_t e = 0; e < feature_count; e++) left[e] -= right[e];
  return left;
}

std::vector<Row> centre_levels(const Crossed& data) {
  std::vector<Row> centred;
  for (std::size_t run = 0; run < data.shares.run_count(); run++) {
    std::vector<Row> level;
    for (std::size_t i = 0; i < data.shares.run_count(); i++)
      if (data.other[i] == data.other[run]) level.emplace_back(data.shares.row(i), data.shares.row(i) + feature_count);
    centred.push_back(minus({data.shares.row(run), data.shares.row(run) + feature_count}, mean_of(level)));
  }
  return centred;
}

// [run][topic]: scores, where every cell of a level has equally many runs, so that there is nothing to draw.
std::vector<Row> brute_scores(const Crossed& data, const std::uint16_t* labels) {
  const std::vector<Row> centred = centre_levels(data);
  std::vector<Row> scores;
  for (std::size_t run = 0; run < data.shares.run_count(); run++) {
    std::vector<Row> means;
    for (std::size_t c = 0; c < data.shares.topic_count(); c++) means.push_back(mean_of(rows_of(data, labels, centred, c, data.other[run])));
    const Row centre = mean_of(means);
    scores.emplace_back();
    for (const Row& mean : means) scores.back().push_back(cosine(centred[run], minus(mean, centre)));
  }
  return scores;
}

double brute_accuracy(const Crossed& data, const std::uint16_t* labels) {
  const std::vector<Row> scores = brute_scores(data, labels);
  double hits = 0;
  for (std::size_t run = 0; run < scores.size(); run++)
    hits += std::max_element(scores[run].begin(), scores[run].end()) - scores[run].begin() == labels[run] ? 1 : 0;
  return hits / static_cast<double>(scores.size());
}

std::vector<std::uint16_t> labels_of(const Crossed& data) { return {data.shares.topic.begin(), data.shares.topic.end()}; }

TEST(Crossed, Equals_folds_rebuilt_from_scratch) {
  const std::vector<std::vector<std::vector<std::uint32_t>>> designs{{{1, 1}, {1, 1}},
                                                                     {{2, 2, 2}, {2, 2, 2}},
                                                                     {{3, 3}, {1, 1}, {2, 2}},
                                                                     {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}};
  for (const auto& cells : designs)
    for (const unsigned effect : {0U, 10U, 60U}) {
      const Crossed data = random_crossed(cells, effect, 50, effect + 1);
      const CrossedResult result = test_crossed(data.shares, data.other, 0, {20, 10, 3});
      ASSERT_EQ(result.held_out.not_computed, "");
      const auto labels = labels_of(data);
      EXPECT_NEAR(result.held_out.accuracy, brute_accuracy(data, labels.data()), 1e-12);
      const std::vector<Row> scores = brute_scores(data, labels.data());
      for (const HeldOutTrial& trial : result.held_out.trials)
        for (std::size_t c = 0; c < cells.front().size(); c++) EXPECT_NEAR(trial.scores[c], static_cast<double>(scores[trial.run][c]), 1e-6);
    }
}

TEST(Crossed, Null_equals_every_relabeling_within_levels) {
  for (unsigned seed = 0; seed < 5; seed++) {
    const Crossed data = random_crossed({{2, 2}, {2, 2}}, seed * 10, 30, seed);
    const CrossedResult result = test_crossed(data.shares, data.other, 1000, {5, 10, 3});
    std::vector<std::uint32_t> level;
    for (const std::string& name : data.other) level.push_back(name == "level 1");
    const Relabelings relabelings = make_relabelings_within(data.shares.topic, 2, level, 2, 1000, 3);
    ASSERT_EQ(relabelings.count(), 18U);  // 6 * 6, and the two topics' names are exchangeable
    std::size_t at_least = 0;
    for (std::size_t b = 0; b < relabelings.count(); b++) {
      const double accuracy = brute_accuracy(data, relabelings.at(b));
      EXPECT_NEAR(result.held_out.null_accuracies[b], accuracy, 1e-12);
      at_least += accuracy > result.held_out.accuracy - 1e-9 ? 1 : 0;
    }
    EXPECT_NEAR(result.held_out.p_value, static_cast<double>(at_least) / 18, 1e-12);
    EXPECT_EQ(result.held_out.smallest_p_value, 1.0 / 18);
  }
}

TEST(Crossed, Finds_the_topic_in_a_language_that_moves_all_shares) {
  const Crossed data = random_crossed({{4, 4, 4}, {4, 4, 4}}, 60, 2000, 1);
  const CrossedResult result = test_crossed(data.shares, data.other, 200, {5, 100, 0});
  EXPECT_GT(result.held_out.accuracy, 0.9);
  EXPECT_LT(result.held_out.p_value, 0.01);
}

TEST(Crossed, Language_alone_is_no_topic) {
  // The languages differ a lot, and most prompts of topic a are in the first. The plain test sees the languages, the crossed one does not.
  double plain = 0, crossed = 0;
  std::size_t rejections = 0;
  for (unsigned seed = 0; seed < 60; seed++) {
    const Crossed data = random_crossed({{6, 2}, {2, 6}}, 0, 60, seed);
    plain += test_cosine(data.shares, {}, {5, 0, 0}).accuracy / 60;
    const CrossedResult result = test_crossed(data.shares, data.other, 99, {5, 0, seed});
    crossed += result.held_out.accuracy / 60;
    rejections += result.held_out.p_value <= 0.05 ? 1 : 0;
  }
  EXPECT_GT(plain, 0.65);
  EXPECT_NEAR(crossed, 0.5, 0.07);
  EXPECT_LE(rejections, 9U);  // of 60 at 5 %: more has a chance of 0.1 %
}

TEST(Crossed, Draws_of_unequal_cells_weigh_topics_alike) {
  const Crossed data = random_crossed({{3, 5}, {2, 4}, {2, 2}}, 10, 30, 2);
  const CrossedResult result = test_crossed(data.shares, data.other, 20, {30, 10, 1});
  std::vector<double> draws(2);
  for (const HeldOutTrial& trial : result.held_out.trials) {
    EXPECT_GT(trial.draw_count, 0U);
    draws[data.shares.topic[trial.run]] += trial.draw_count;
  }
  EXPECT_EQ(draws[0], draws[1]);
  EXPECT_EQ(draws[0], 30 * (3 + 2 + 2));
}

TEST(Crossed, Leaves_out_levels_that_lack_a_topic_and_runs_without_label) {
  Crossed data = random_crossed({{2, 2}, {2, 2}, {3, 0}}, 60, 30, 3);
  std::uint32_t unlabelled = 0;
  while (data.other[unlabelled] != "level 0") unlabelled++;
  data.other[unlabelled] = "";
  const CrossedResult result = test_crossed(data.shares, data.other, 0, {5, 0, 0});
  EXPECT_EQ(result.levels, (std::vector<std::string>{"level 0", "level 1"}));
  EXPECT_EQ(result.levels_left_out, (std::vector<std::string>{"level 2"}));
  EXPECT_EQ(result.level_accuracy.size(), 2U);
  EXPECT_EQ(result.held_out.run_count, 7U);
  std::set<std::uint32_t> runs;
  for (const HeldOutTrial& trial : result.held_out.trials) {
    runs.insert(trial.run);
    EXPECT_NE(data.other[trial.run], "level 2");
  }
  EXPECT_EQ(runs.size(), 7U);
  EXPECT_FALSE(runs.contains(unlabelled));
}

TEST(Crossed, Says_why_it_computed_nothing) {
  const Crossed one_level = random_crossed({{3, 3}}, 10, 0, 1), one_topic = random_crossed({{3}, {3}}, 10, 0, 1),
                confounded = random_crossed({{3, 0}, {0, 3}}, 9, 0, 1);
  const std::string levels = "fewer than two levels of the other axis have prompts of every topic";
  EXPECT_EQ(test_crossed(one_level.shares, one_level.other, 9, {}).held_out.not_computed, levels);
  EXPECT_EQ(test_crossed(confounded.shares, confounded.other, 9, {}).held_out.not_computed, levels);
  EXPECT_EQ(test_crossed(one_topic.shares, one_topic.other, 9, {}).held_out.not_computed, "fewer than two topics");
  EXPECT_EQ(test_crossed(Shares{}, {}, 9, {}).held_out.not_computed, "fewer than two topics");
  const Crossed data = random_crossed({{2, 2}, {2, 2}}, 10, 0, 1);
  EXPECT_EQ(test_crossed(data.shares, data.other, 9, {0, 0, 0}).held_out.not_computed, "no pairings asked for");
}

TEST(Crossed, Identical_prompts_score_chance) {
  Crossed data = random_crossed({{2, 2}, {2, 2}}, 0, 0, 1);
  for (std::size_t run = 1; run < 8; run++)
    std::copy_n(data.shares.values.begin(), feature_count, data.shares.values.begin() + static_cast<std::ptrdiff_t>(run * feature_count));
  const CrossedResult result = test_crossed(data.shares, data.other, 100, {});
  EXPECT_EQ(result.held_out.accuracy, 0.5);
  EXPECT_EQ(result.held_out.p_value, 1);
}

TEST(Crossed, Is_the_same_for_one_thread_and_three) {
  const Crossed data = random_crossed({{3, 4, 3}, {2, 2, 5}}, 10, 30, 5);
  std::vector<CrossedResult> results;
  for (const unsigned threads : {1U, 3U}) {
    set_thread_count(threads);
    results.push_back(test_crossed(data.shares, data.other, 100, {7, 50, 1}));
  }
  set_thread_count(0);
  EXPECT_EQ(results[0].held_out.null_accuracies, results[1].held_out.null_accuracies);
  EXPECT_EQ(results[0].held_out.accuracy, results[1].held_out.accuracy);
}

TEST(WithTopics, Takes_another_axis_and_drops_runs_without_a_label) {
  Crossed data = random_crossed({{1, 1}, {1, 1}}, 0, 0, 1);
  data.shares.selections.assign(4 * feature_count, 7);
  data.shares.probe = {3, 2, 1, 0};  // labels go by probe, not by run
  const Shares result = with_topics(data.shares, {"z", "", "x", "z"});
  EXPECT_EQ(result.topics, (std::vector<std::string>{"x", "z"}));
  EXPECT_EQ(result.topic, (std::vector<std::uint32_t>{1, 0, 1}));
  EXPECT_EQ(result.probe, (std::vector<std::uint32_t>{3, 2, 0}));
  EXPECT_EQ(result.selections.size(), 3 * feature_count);
  EXPECT_TRUE(std::equal(result.row(2), result.row(2) + feature_count, data.shares.row(3)));
}

}  // namespace
}  // namespace atlas
