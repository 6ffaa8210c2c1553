// Tests of unseen topics by brute force: every model with one topic left out is rebuilt in long double, thresholds are sorted out by hand.
#include "stats/unseen_topic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "stats/held_out.h"

namespace atlas {
namespace {

using Row = std::vector<long double>;

Shares random_shares(const std::vector<std::uint32_t>& sizes, std::size_t feature_count, unsigned effect, unsigned seed) {
  std::mt19937 random(seed);
  Shares shares;
  shares.feature_count = feature_count;
  for (std::uint32_t c = 0; c < sizes.size(); c++) {
    shares.topics.push_back("t" + std::to_string(c));
    shares.topic.insert(shares.topic.end(), sizes[c], c);
  }
  for (std::uint32_t run = 0; run < shares.run_count(); run++) {
    shares.probe.push_back(run);
    std::vector<std::uint64_t> counts;
    std::uint64_t total = 0;
    for (std::uint32_t e = 0; e < feature_count; e++) {
      counts.push_back(random() % 60 + (e % sizes.size() == shares.topic[run] ? effect : 0));
      total += counts.back();
    }
    for (const std::uint64_t count : counts) shares.values.push_back(fixed_share(count, total));
  }
  return shares;
}

Row mean_of(const std::vector<Row>& rows) {
  Row mean(rows.front().size());
  for (const Row& row : rows)
    for (std::size_t e = 0; e < mean.size(); e++) mean[e] += row[e] / static_cast<long double>(rows.size());
  return mean;
}

long double centred_cosine(const Row& left, const Row& right, const Row& centre) {
  long double product = 0, left_norm = 0, right_norm = 0;
  for (std::size_t e = 0; e < centre.size(); e++) {
    product += (left[e] - centre[e]) * (right[e] - centre[e]);
    left_norm += (left[e] - centre[e]) * (left[e] - centre[e]);
    right_norm += (right[e] - centre[e]) * (right[e] - centre[e]);
  }
  return product / std::sqrt(left_norm) / std::sqrt(right_norm);
}

struct Scored {
  std::size_t left_out, topic, predicted;
  long double score;
};

// Every held-out run of every fold, with every topic left out.
std::vector<Scored> brute_scores(const Shares& shares, const Draw& draw) {
  const std::size_t topics = shares.topic_count();
  const auto values = [&](std::uint32_t run) { return Row(shares.row(run), shares.row(run) + shares.feature_count); };
  std::vector<Scored> result;
  for (std::size_t u = 0; u < topics; u++)
    for (std::size_t fold = 0; fold < draw.fold_count; fold++) {
      std::vector<Row> means;
      std::vector<std::size_t> known;
      for (std::size_t c = 0; c < topics; c++) {
        if (c == u) continue;
        std::vector<Row> rows;
        for (std::size_t other = 0; other < draw.fold_count; other++)
          if (other != fold) rows.push_back(values(draw.held[other * topics + c]));
        means.push_back(mean_of(rows));
        known.push_back(c);
      }
      const Row centre = mean_of(means);
      for (std::size_t t = 0; t < topics; t++) {
        Scored best{u, t, 0, -9};
        for (std::size_t i = 0; i < known.size(); i++) {
          const long double score = centred_cosine(values(draw.held[fold * topics + t]), means[i], centre);
          if (score > best.score) best = {u, t, known[i], score};
        }
        result.push_back(best);
      }
    }
  return result;
}

struct Expected {
  double false_labels = 0, known_labels = 0, known_right = 0;
};

// Of one draw, by the words of the header.
Expected brute_rates(const Shares& shares, const Draw& draw, double wished_rate) {
  const std::vector<Scored> scores = brute_scores(shares, draw);
  Expected result;
  double unseen = 0, known = 0, right = 0;
  for (std::size_t v = 0; v < shares.topic_count(); v++) {
    std::vector<long double> calibration;
    for (const Scored& scored : scores)
      if (scored.left_out != v && scored.topic == scored.left_out) calibration.push_back(scored.score);
    std::sort(calibration.begin(), calibration.end());
    // the smallest score that at least (1 - rate) of calibration scores and one more do not exceed
    std::size_t rank = 0;
    while (static_cast<double>(rank) < (1 - wished_rate) * static_cast<double>(calibration.size() + 1) - 1e-9) rank++;
    const long double threshold = calibration.at(rank - 1);
    for (const Scored& scored : scores) {
      if (scored.left_out != v) continue;
      const double labelled = scored.score > threshold ? 1 : 0;
      if (scored.topic == v) {
        unseen++;
        result.false_labels += labelled;
      } else {
        known++;
        result.known_labels += labelled;
        right += labelled * (scored.predicted == scored.topic ? 1 : 0);
      }
    }
  }
  result.known_right = right / std::max(1.0, result.known_labels);
  result.false_labels /= unseen;
  result.known_labels /= known;
  return result;
}

TEST(UnseenTopics, Equal_models_rebuilt_without_each_topic) {
  for (const auto& sizes : std::vector<std::vector<std::uint32_t>>{{3, 3, 3}, {4, 4, 4, 4}, {2, 2, 2, 2, 2, 2}, {3, 6, 4}})
    for (const unsigned effect : {0U, 15U, 100U}) {
      const Shares shares = random_shares(sizes, 24, effect, effect + static_cast<unsigned>(sizes.size()));
      const UnseenTopicResult result = test_unseen_topics(shares, {0.3, 1, 7});
      ASSERT_EQ(result.not_computed, "");
      const std::vector<std::uint16_t> labels(shares.topic.begin(), shares.topic.end());
      const Draw draw = make_draws(labels.data(), shares.run_count(), sizes.size(), 1, 7, ~std::uint64_t{0}).front();
      const Expected expected = brute_rates(shares, draw, 0.3);
      EXPECT_NEAR(result.false_label_rate, expected.false_labels, 1e-12);
      EXPECT_NEAR(result.known_label_rate, expected.known_labels, 1e-12);
      EXPECT_NEAR(result.known_accuracy, expected.known_right, 1e-12);
    }
}

TEST(UnseenTopics, Separation_is_the_share_of_pairs_in_the_right_order) {
  const Shares shares = random_shares({3, 3, 3, 3}, 24, 20, 5);
  const std::vector<std::uint16_t> labels(shares.topic.begin(), shares.topic.end());
  const std::vector<Scored> scores = brute_scores(shares, make_draws(labels.data(), 12, 4, 1, 2, ~std::uint64_t{0}).front());
  double above = 0, pairs = 0;
  for (const Scored& known : scores)
    for (const Scored& unseen : scores) {
      if (known.left_out != unseen.left_out || unseen.topic != unseen.left_out || known.topic == known.left_out) continue;
      pairs++;
      above += known.score > unseen.score ? 1 : 0;
    }
  EXPECT_NEAR(test_unseen_topics(shares, {0.3, 1, 2}).separation, above / pairs, 1e-12);
}

TEST(UnseenTopics, Without_a_topic_effect_labels_unseen_and_known_prompts_alike) {
  double false_labels = 0, known_labels = 0, separation = 0;
  for (unsigned seed = 0; seed < 100; seed++) {
    const UnseenTopicResult result = test_unseen_topics(random_shares({4, 4, 4, 4, 4}, 40, 0, seed), {0.2, 3, seed});
    false_labels += result.false_label_rate / 100;
    known_labels += result.known_label_rate / 100;
    separation += result.separation / 100;
  }
  EXPECT_NEAR(false_labels, 0.2, 0.04);
  EXPECT_NEAR(known_labels, 0.2, 0.04);
  EXPECT_NEAR(separation, 0.5, 0.02);
}

TEST(UnseenTopics, Of_clear_topics_are_told_from_the_known) {
  const UnseenTopicResult result = test_unseen_topics(random_shares({5, 5, 5, 5}, 40, 200, 1), {0.1, 5, 0});
  EXPECT_GT(result.separation, 0.99);
  EXPECT_GT(result.known_label_rate, 0.95);
  EXPECT_EQ(result.known_accuracy, 1);
  EXPECT_LT(result.false_label_rate, 0.25);
  EXPECT_EQ(result.topic_false_labels.size(), 4U);
}

TEST(UnseenTopics, Of_identical_prompts_get_no_label) {
  Shares shares = random_shares({3, 3, 3}, 8, 0, 1);
  for (std::size_t run = 1; run < 9; run++) std::copy_n(shares.values.begin(), 8, shares.values.begin() + static_cast<std::ptrdiff_t>(run * 8));
  const UnseenTopicResult result = test_unseen_topics(shares, {0.2, 2, 0});
  EXPECT_EQ(result.not_computed, "");
  EXPECT_EQ(result.false_label_rate, 0);
  EXPECT_EQ(result.known_label_rate, 0);
  EXPECT_EQ(result.known_accuracy, 0);
  EXPECT_EQ(result.separation, 0.5);
}

TEST(UnseenTopics, Say_why_they_are_not_computed) {
  EXPECT_EQ(test_unseen_topics(random_shares({3, 3}, 8, 0, 1), {}).not_computed, "fewer than three topics");
  EXPECT_EQ(test_unseen_topics(random_shares({3, 1, 3}, 8, 0, 1), {}).not_computed, "the topic t1 has 1 prompt; this needs 2");
  EXPECT_EQ(test_unseen_topics(random_shares({3, 3, 3}, 8, 0, 1), {}).not_computed,
            "a threshold from 6 left-out prompts cannot promise so small a rate");
  EXPECT_EQ(test_unseen_topics(random_shares({3, 3, 3}, 8, 0, 1), {0.5, 0, 0}).not_computed, "no pairings asked for");
  EXPECT_EQ(test_unseen_topics(random_shares({3, 3, 3}, 8, 0, 1), {1, 5, 0}).not_computed, "a wished rate that is not between 0 and 1");
}

}  // namespace
}  // namespace atlas
