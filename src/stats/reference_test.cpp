// Tests of reference mode at the level of counts: worked by hand, against a plain rebuild of every fold, and from both kinds of input. The
// reference's own answers are in src/cli/seed_goldens_test.cpp.
#include "stats/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/parallel.h"
#include "base/test_support.h"

namespace atlas {
namespace {

ReferenceRun make_run(const std::string& topic, double index, const std::vector<double>& counts) {
  ReferenceRun run{topic, index, 0, {}};
  for (std::size_t e = 0; e < counts.size(); e++) {
    if (counts[e] == 0) continue;
    run.counts.push_back({3, static_cast<double>(e), counts[e]});
    run.total_selections += counts[e];
  }
  return run;
}

std::vector<ReferenceRun> hand_runs() {
  return {make_run("a", 0, {8, 2, 0}), make_run("a", 1, {6, 2, 2}), make_run("b", 0, {0, 10, 10}), make_run("b", 1, {1, 4, 5})};
}

TEST(ReferenceAtlas, Of_two_topics_worked_by_hand) {
  const ReferenceAtlas atlas = build_reference_atlas({{"a", 2}, {"b", 2}}, hand_runs(), {8, 2, 0.5, 200});
  // Mean shares: expert 0: a 0.7, b 0.05; expert 1: a 0.2, b 0.45; expert 2: a 0.1, b 0.5.
  ASSERT_EQ(atlas.every_expert.size(), 3U);
  const ReferenceExpert &zero = atlas.every_expert[0], &one = atlas.every_expert[1], &two = atlas.every_expert[2];
  EXPECT_EQ(zero.total, 15U);
  EXPECT_EQ(zero.top_topic, 0U);
  EXPECT_EQ(zero.affinity, (std::vector<double>{0.933333, 0.066667}));
  EXPECT_EQ(zero.top_lift, 1.866667);
  EXPECT_EQ(zero.specialisation, 0.646641);  // 1 - H(14/15, 1/15) / ln 2
  EXPECT_EQ(zero.fired_runs, 2U);
  EXPECT_EQ(one.affinity, (std::vector<double>{0.307692, 0.692308}));
  EXPECT_EQ(one.top_topic, 1U);
  EXPECT_EQ(two.affinity, (std::vector<double>{0.166667, 0.833333}));
  EXPECT_EQ(two.specialisation, 0.349978);  // 1 - H(1/6, 5/6) / ln 2
  ASSERT_EQ(atlas.experts.size(), 3U);
  EXPECT_EQ(atlas.experts[0].expert, 0U);
  EXPECT_EQ(atlas.experts[1].expert, 2U);
  EXPECT_EQ(atlas.summary.strong_specialists, 1U);
  EXPECT_EQ(atlas.summary.strong_specialist_rate, 0.333333);
}

TEST(ReferenceAtlas, Floors_name_the_sparse_before_the_unreplicated) {
  std::vector<ReferenceRun> runs = hand_runs();
  runs[1] = make_run("a", 1, {0, 2, 8});  // expert 0 fires in one run of its top topic
  const ReferenceAtlas atlas = build_reference_atlas({{"a", 2}, {"b", 2}}, runs, {10, 2, 0.5, 200});
  EXPECT_EQ(atlas.every_expert[0].status, ExpertStatus::sparse);  // 9 selections, and unreplicated
  EXPECT_EQ(atlas.summary.dropped_sparse, 1U);
  const ReferenceAtlas lower = build_reference_atlas({{"a", 2}, {"b", 2}}, runs, {9, 2, 0.5, 200});
  EXPECT_EQ(lower.every_expert[0].status, ExpertStatus::unreplicated);
  EXPECT_EQ(lower.summary.dropped_unreplicated, 1U);
}

struct Data {
  PromptCounts prompts;
  std::vector<ReferenceRun> runs;
};

Data random_data(const std::vector<std::uint32_t>& sizes, std::size_t expert_count, unsigned seed) {
  std::mt19937 random(seed);
  Data data;
  for (std::size_t c = 0; c < sizes.size(); c++) {
    const std::string topic(1, static_cast<char>('a' + c));
    data.prompts[topic] = sizes[c];
    for (std::uint32_t i = 0; i < sizes[c]; i++) {
      std::vector<double> counts{1};
      for (std::size_t e = 1; e < expert_count; e++) counts.push_back(random() % 3 == 0 ? 0 : static_cast<double>(random() % 40));
      data.runs.push_back(make_run(topic, i, counts));
    }
  }
  return data;
}

// [topic]: scores of one run, with the models of all topics made anew from all other runs, in long double.
std::vector<long double> brute_scores(const Data& data, std::size_t held, std::size_t expert_count, std::size_t top_k) {
  const std::size_t topics = data.prompts.size();
  std::vector<std::vector<long double>> share(topics, std::vector<long double>(expert_count));
  for (std::size_t run = 0; run < data.runs.size(); run++) {
    if (run == held) continue;
    const ReferenceRun& from = data.runs[run];
    const double runs = data.prompts.at(from.topic) - (from.topic == data.runs[held].topic ? 1.0 : 0.0);
    for (const ReferenceCount& count : from.counts)
      share[from.topic[0] - 'a'][static_cast<std::size_t>(count.expert)] += static_cast<long double>(count.count) / from.total_selections / runs;
  }
  std::vector<long double> scores;
  for (std::size_t c = 0; c < topics; c++) {
    std::vector<std::pair<long double, std::size_t>> order;
    for (std::size_t e = 0; e < expert_count; e++) {
      long double sum = 0;
      for (std::size_t d = 0; d < topics; d++) sum += share[d][e];
      if (share[c][e] > 0) order.emplace_back(-share[c][e] / sum, e);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), top_k));
    long double inside = 0;
    for (const ReferenceCount& count : data.runs[held].counts)
      for (const auto& [score, e] : order) inside += e == static_cast<std::size_t>(count.expert) ? count.count : 0;
    scores.push_back(inside / data.runs[held].total_selections);
  }
  return scores;
}

TEST(ReferenceValidation, Equals_folds_rebuilt_from_scratch) {
  for (unsigned seed = 0; seed < 10; seed++) {
    const Data data = random_data({3, 4, 3 + seed % 3}, 60, seed);
    const ReferenceValidation validation = validate_reference(data.prompts, data.runs, 15);
    ASSERT_EQ(validation.trials.size(), data.runs.size());
    std::uint64_t hits = 0;
    for (std::size_t run = 0; run < data.runs.size(); run++) {
      const ReferenceTrial& trial = validation.trials[run];  // runs were made in the order of trials
      const std::vector<long double> scores = brute_scores(data, run, 60, 15);
      for (std::size_t c = 0; c < 3; c++) EXPECT_NEAR(trial.scores[c], static_cast<double>(scores[c]), 6e-7);
      const auto best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
      EXPECT_EQ(trial.predicted, best);
      hits += validation.topics[best] == trial.topic ? 1 : 0;
    }
    EXPECT_EQ(validation.hits, hits);
    EXPECT_EQ(validation.chance, 0.333333);
  }
}

TEST(ReferenceValidation, Is_the_same_for_one_thread_and_three) {
  const Data data = random_data({5, 5, 5}, 200, 1);
  set_thread_count(1);
  const ReferenceValidation one = validate_reference(data.prompts, data.runs, 20);
  set_thread_count(3);
  const ReferenceValidation three = validate_reference(data.prompts, data.runs, 20);
  set_thread_count(0);
  for (std::size_t i = 0; i < one.trials.size(); i++) EXPECT_EQ(one.trials[i].scores, three.trials[i].scores);
}

TEST(ReferenceCounts, From_counts_and_from_runs_are_the_same) {
  Counts counts;
  counts.manifest.probes = {{"b:0", "b", {}, 0, 1, {}}, {"a:0", "a", {}, 1, 2, {}}, {"a:1", "a", {}, 2, 3, {}}, {"b:1", "b", {}, 3, 4, {}}};
  counts.experts = {{3, 0}, {3, 1}, {3, 2}};
  counts.phases = {Phase::prompt, Phase::answer};
  counts.selections = {0, 4, 10, 0, 6, 0, 8, 0, 0, 0, 2, 0, 3, 1, 1, 3, 1, 1, 1, 4, 5, 0, 0, 0};  // both phases add up to hand_runs()
  const ReferenceAtlas from_counts = build_reference_atlas(counts, {8, 2, 0.5, 200}),
                       from_runs = build_reference_atlas({{"a", 2}, {"b", 2}}, hand_runs(), {8, 2, 0.5, 200});
  ASSERT_EQ(from_counts.experts.size(), from_runs.experts.size());
  for (std::size_t i = 0; i < from_runs.experts.size(); i++) {
    EXPECT_EQ(from_counts.experts[i].affinity, from_runs.experts[i].affinity);
    EXPECT_EQ(from_counts.experts[i].specialisation, from_runs.experts[i].specialisation);
  }
  const std::vector<ReferenceRun> runs = reference_runs(counts);
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs[3].topic, "b");
  EXPECT_EQ(runs[3].prompt_index, 1);
  EXPECT_EQ(runs[3].total_selections, 10);
}

TEST(ReferenceRounding, Goes_upward_at_halves_and_not_just_below) {
  EXPECT_EQ(round_half_up(0.0000005), 0.000001);
  EXPECT_EQ(round_half_up(0.000000499999), 0);
  EXPECT_EQ(round_half_up(2.5, 0), 3);
  EXPECT_EQ(round_half_up(-2.5, 0), -2);
  EXPECT_EQ(round_half_up(0.49999999999999994, 0), 0);
}

TEST(ReferenceOrder, Puts_underscores_before_digits_before_letters_and_the_shorter_first) {
  const std::vector<std::string> order{"a", "a_1", "a_b", "a1", "a10", "a2", "ab", "b"};
  for (std::size_t i = 0; i < order.size(); i++)
    for (std::size_t j = 0; j < order.size(); j++) EXPECT_EQ(topic_before(order[i], order[j]), i < j) << order[i] << " " << order[j];
}

TEST(ReferenceRefusals, Name_the_run_and_what_is_wrong) {
  std::vector<ReferenceRun> runs = hand_runs();
  runs[0].counts[0].count = 7;
  EXPECT_NE(problem_of([&] { build_reference_atlas({{"a", 2}, {"b", 2}}, runs, {}); }).find("a:0"), std::string::npos);
  runs = hand_runs();
  runs.pop_back();
  EXPECT_NE(problem_of([&] { validate_reference({{"a", 2}, {"b", 2}}, runs, 5); }).find("b:1"), std::string::npos);
  runs = hand_runs();
  runs[1].prompt_index = 0;
  EXPECT_NE(problem_of([&] { validate_reference({{"a", 2}, {"b", 2}}, runs, 5); }).find("twice"), std::string::npos);
  EXPECT_NE(problem_of([&] { validate_reference({{"a", 2}, {"b", 2}}, hand_runs(), 0); }).find("top-k"), std::string::npos);
  EXPECT_NE(problem_of([&] { build_reference_atlas({{"a", 2}, {"b", 2}}, hand_runs(), {30, 3, 0.5, 200}); }).find("min-runs"), std::string::npos);
}

}  // namespace
}  // namespace atlas
