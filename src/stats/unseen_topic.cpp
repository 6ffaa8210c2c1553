// See unseen_topic.h.
#include "stats/unseen_topic.h"

#include <algorithm>
#include <cmath>

#include "stats/held_out.h"

namespace atlas {

namespace {

// A held-out prompt's greatest cosine, and whether the topic it is with is its own.
struct Best {
  double score = 0;
  bool is_own = false;
};

// Scores of one draw with one topic left out.
struct LeftOut {
  std::vector<double> unseen;  // [fold]
  std::vector<Best> known;     // [fold, topic_count - 1]
};

// Inner products of runs with the sums of a draw's topics, and of those sums.
struct DrawSums {
  std::vector<std::int64_t> run_topic;    // [run, topic]
  std::vector<std::int64_t> topic_topic;  // [topic, topic]
};

DrawSums add_up(const Gram& gram, const Draw& draw, std::size_t topics) {
  DrawSums sums{std::vector<std::int64_t>(gram.run_count * topics), std::vector<std::int64_t>(topics * topics)};
  for (std::size_t at = 0; at < draw.held.size(); at++)
    for (std::size_t run = 0; run < gram.run_count; run++) sums.run_topic[run * topics + at % topics] += gram.at(draw.held[at], run);
  for (std::size_t at = 0; at < draw.held.size(); at++)
    for (std::size_t c = 0; c < topics; c++) sums.topic_topic[at % topics * topics + c] += sums.run_topic[draw.held[at] * topics + c];
  return sums;
}

// One fold's models of the known topics. With k training runs a topic and K known topics everything is in units of k K, squared for norms.
class Fold {
 public:
  Fold(const Gram& gram, const DrawSums& sums, const std::uint32_t* held, std::size_t topics, std::size_t unseen, std::size_t training)
      : gram_(gram), sums_(sums), held_(held), topics_(topics), unseen_(unseen), known_(static_cast<double>(topics - 1)),
        training_(static_cast<double>(training)), row_(topics), norm_(topics) {
    for (std::size_t c = 0; c < topics; c++)
      for (std::size_t d = 0; c != unseen && d < topics; d++)
        if (d != unseen) row_[c] += with_each_other(c, d);
    for (std::size_t c = 0; c < topics; c++) total_ += row_[c];
    for (std::size_t c = 0; c < topics; c++) norm_[c] = known_ * known_ * with_each_other(c, c) - 2 * known_ * row_[c] + total_;
  }

  Best score(std::size_t t) const {
    const std::uint32_t run = held_[t];
    double sum = 0;
    for (std::size_t c = 0; c < topics_; c++) sum += c == unseen_ ? 0 : with_run(run, c);
    const double factor = training_ * known_, own_norm = factor * factor * static_cast<double>(gram_.at(run, run)) - 2 * factor * sum + total_;
    Best best{-3, false};
    for (std::size_t c = 0; c < topics_; c++) {
      if (c == unseen_) continue;
      const double product = factor * (known_ * with_run(run, c) - sum) - known_ * row_[c] + total_;
      const double cosine = norm_[c] > 0 ? (own_norm > 0 ? product / std::sqrt(norm_[c]) / std::sqrt(own_norm) : 0) : -2;
      if (cosine > best.score) best = {cosine, c == t};
    }
    return best;
  }

 private:
  double with_run(std::uint32_t run, std::size_t c) const {
    return static_cast<double>(sums_.run_topic[run * topics_ + c] - gram_.at(run, held_[c]));
  }
  double with_each_other(std::size_t c, std::size_t d) const {
    return static_cast<double>(sums_.topic_topic[c * topics_ + d] - sums_.run_topic[held_[c] * topics_ + d] -
                               sums_.run_topic[held_[d] * topics_ + c] + gram_.at(held_[c], held_[d]));
  }

  const Gram& gram_;
  const DrawSums& sums_;
  const std::uint32_t* held_;
  std::size_t topics_, unseen_;
  double known_, training_;
  std::vector<double> row_, norm_;  // [topic]: inner product with all known topics' sums; |known * (topic's sum) - (all)|^2
  double total_ = 0;
};

LeftOut leave_out(const Gram& gram, const DrawSums& sums, const Draw& draw, std::size_t topics, std::size_t unseen) {
  LeftOut result;
  for (std::size_t f = 0; f < draw.fold_count; f++) {
    const Fold fold(gram, sums, draw.held.data() + f * topics, topics, unseen, draw.fold_count - 1);
    for (std::size_t t = 0; t < topics; t++) {
      const Best best = fold.score(t);
      if (t == unseen) result.unseen.push_back(best.score);
      else result.known.push_back(best);
    }
  }
  return result;
}

std::size_t threshold_rank(std::size_t score_count, double wished_rate) {
  return static_cast<std::size_t>(std::ceil(static_cast<double>(score_count + 1) * (1 - wished_rate) - 1e-9));
}

double threshold_without(const std::vector<LeftOut>& left_out, std::size_t topic, double wished_rate) {
  std::vector<double> scores;
  for (std::size_t u = 0; u < left_out.size(); u++)
    if (u != topic) scores.insert(scores.end(), left_out[u].unseen.begin(), left_out[u].unseen.end());
  std::sort(scores.begin(), scores.end());
  return scores[threshold_rank(scores.size(), wished_rate) - 1];
}

// Sums over draws and topics, all of equal weight.
struct Tally {
  double unseen = 0, unseen_labelled = 0, known = 0, known_labelled = 0, known_right = 0, pairs = 0, pairs_above = 0;
};

void count_labels(const LeftOut& scores, double threshold, Tally& tally) {
  for (const double score : scores.unseen) {
    tally.unseen++;
    tally.unseen_labelled += score > threshold ? 1 : 0;
    for (const Best& known : scores.known) {
      tally.pairs++;
      tally.pairs_above += known.score > score ? 1 : known.score == score ? 0.5 : 0;
    }
  }
  for (const Best& known : scores.known) {
    tally.known++;
    tally.known_labelled += known.score > threshold ? 1 : 0;
    tally.known_right += known.score > threshold && known.is_own ? 1 : 0;
  }
}

std::string why_not(const Shares& shares, const UnseenTopicOptions& options) {
  if (options.pairings == 0) return "no pairings asked for";
  if (!(options.wished_rate > 0 && options.wished_rate < 1)) return "a wished rate that is not between 0 and 1";
  if (shares.topic_count() < 3) return "fewer than three topics";
  std::string reason = why_not_testable(shares, 2);
  if (!reason.empty()) return reason;
  const std::vector<std::uint32_t> sizes = topic_sizes(shares);
  const std::size_t scores = (shares.topic_count() - 1) * *std::min_element(sizes.begin(), sizes.end());
  if (threshold_rank(scores, options.wished_rate) > scores)
    return "a threshold from " + std::to_string(scores) + " left-out prompts cannot promise so small a rate";
  return "";
}

}  // namespace

UnseenTopicResult test_unseen_topics(const Shares& shares, const UnseenTopicOptions& options) {
  UnseenTopicResult result;
  result.not_computed = why_not(shares, options);
  if (!result.not_computed.empty()) return result;
  const std::size_t topics = shares.topic_count();
  const Gram gram = gram_of(shares);
  const std::vector<std::uint16_t> labels(shares.topic.begin(), shares.topic.end());
  std::vector<Tally> tallies(topics);
  for (const Draw& draw : make_draws(labels.data(), shares.run_count(), topics, options.pairings, options.seed, ~std::uint64_t{0})) {
    const DrawSums sums = add_up(gram, draw, topics);
    std::vector<LeftOut> left_out;
    for (std::size_t u = 0; u < topics; u++) left_out.push_back(leave_out(gram, sums, draw, topics, u));
    for (std::size_t v = 0; v < topics; v++) count_labels(left_out[v], threshold_without(left_out, v, options.wished_rate), tallies[v]);
  }
  Tally all;
  for (const Tally& tally : tallies) {
    result.topic_false_labels.push_back(tally.unseen_labelled / tally.unseen);
    all.unseen += tally.unseen;
    all.unseen_labelled += tally.unseen_labelled;
    all.known += tally.known;
    all.known_labelled += tally.known_labelled;
    all.known_right += tally.known_right;
    all.pairs += tally.pairs;
    all.pairs_above += tally.pairs_above;
  }
  result.false_label_rate = all.unseen_labelled / all.unseen;
  result.known_label_rate = all.known_labelled / all.known;
  result.known_accuracy = all.known_right / std::max(1.0, all.known_labelled);
  result.separation = all.pairs_above / all.pairs;
  return result;
}

}  // namespace atlas
