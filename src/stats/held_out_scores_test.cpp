// Tests of the scores of fixed folds against NumPy and scikit-learn; testdata/stats/held_out.py wrote the values.
#include "stats/held_out_scores.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"

namespace atlas {
namespace {

Shares shares_of_case(const Json& json) {
  Shares shares;
  shares.topic = json["topics"].get<std::vector<std::uint32_t>>();
  shares.topics.resize(*std::max_element(shares.topic.begin(), shares.topic.end()) + 1);
  const auto counts = json["counts"].get<std::vector<std::vector<std::uint32_t>>>();
  shares.feature_count = counts.front().size();
  for (const auto& row : counts) {
    std::uint64_t total = 0;
    for (const std::uint32_t count : row) total += count;
    for (const std::uint32_t count : row) shares.values.push_back(fixed_share(count, total));
    shares.selections.insert(shares.selections.end(), row.begin(), row.end());
  }
  return shares;
}

std::vector<Draw> draws_of_case(const Json& json) {
  std::vector<Draw> draws;
  for (const Json& folds : json["draws"]) {
    Draw draw{static_cast<std::uint32_t>(folds.size()), {}};
    for (const Json& fold : folds)
      for (const Json& run : fold) draw.held.push_back(run.get<std::uint32_t>());
    draws.push_back(draw);
  }
  return draws;
}

// expected: [fold of any draw][held topic][topic].
void expect_scores(FoldScorer& scorer, const std::vector<Draw>& draws, const Json& expected, double expected_accuracy, std::size_t topics) {
  std::vector<double> scores(topics * topics);
  std::vector<std::uint16_t> labels;
  scorer.begin_labels(labels.data());
  std::size_t folds = 0, hits = 0;
  for (const Draw& draw : draws) {
    scorer.begin_draw(draw);
    for (std::size_t fold = 0; fold < draw.fold_count; fold++, folds++) {
      scorer.score_fold(draw.held.data() + fold * topics, scores.data());
      for (std::size_t t = 0; t < topics; t++) {
        const double* own = scores.data() + t * topics;
        for (std::size_t c = 0; c < topics; c++) EXPECT_NEAR(own[c], expected[folds][t][c].get<double>(), 3e-8) << "fold " << folds;  // shares: 2^-30
        hits += std::max_element(own, own + topics) == own + t ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(folds, expected.size());
  EXPECT_NEAR(static_cast<double>(hits) / static_cast<double>(folds * topics), expected_accuracy, 1e-12);
}

Json cases() { return read_json_file(std::string(ATLAS_TESTDATA_DIR) + "/stats/held_out.json")["cases"]; }

TEST(HeldOutScores, Cosines_and_their_accuracy_equal_scikit_learn) {
  for (const Json& json : cases()) {
    const Shares shares = shares_of_case(json);
    const Gram gram = gram_of(shares);
    expect_scores(*cosine_scorer(gram, shares.topic_count()), draws_of_case(json), json["cosine_scores"], json["cosine_accuracy"].get<double>(),
                  shares.topic_count());
  }
}

TEST(HeldOutScores, Set_shares_and_their_accuracy_equal_numpy) {
  for (const Json& json : cases()) {
    const Shares shares = shares_of_case(json);
    expect_scores(*set_scorer(shares, json["top_k"].get<std::size_t>(), json["floor"].get<std::uint64_t>()), draws_of_case(json), json["set_scores"],
                  json["set_accuracy"].get<double>(), shares.topic_count());
  }
}

}  // namespace
}  // namespace atlas
