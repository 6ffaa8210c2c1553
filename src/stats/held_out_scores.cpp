// See held_out_scores.h.
#include "stats/held_out_scores.h"

#include <cmath>
#include <limits>

#include "stats/top_set.h"

namespace atlas {

namespace {

// Everything follows from the Gram matrix: with k training runs a topic and C topics, the inner products of runs, topic means m_c and their
// mean m come out of sums over it, multiplied by k^2 C^2. Those sums are exact, so renaming or reordering topics changes nothing; the few
// products after them are doubles, in one order.
class CosineScorer final : public FoldScorer {
 public:
  CosineScorer(const Gram& gram, std::size_t topic_count)
      : gram_(gram), topics_(topic_count), run_topic_(gram.run_count * topic_count), topic_topic_(topic_count * topic_count), fold_(topic_topic_),
        fold_row_(topic_count), inverse_norm_(topic_count) {}

  void begin_labels(const std::uint16_t*) override { same_members_ = false; }

  void begin_draw(const Draw& draw) override {
    training_ = draw.fold_count - 1;
    // With equal topics every draw of a labeling has the same members and only deals them to other folds.
    if (same_members_ && draw.held.size() == gram_.run_count) return;
    same_members_ = true;
    std::fill(run_topic_.begin(), run_topic_.end(), 0);
    std::fill(topic_topic_.begin(), topic_topic_.end(), 0);
    for (std::size_t at = 0; at < draw.held.size(); at++)
      for (std::size_t run = 0; run < gram_.run_count; run++) run_topic_[run * topics_ + at % topics_] += gram_.at(draw.held[at], run);
    for (std::size_t at = 0; at < draw.held.size(); at++)
      for (std::size_t c = 0; c < topics_; c++) topic_topic_[at % topics_ * topics_ + c] += run_topic_[draw.held[at] * topics_ + c];
  }

  void score_fold(const std::uint32_t* held, double* scores) override {
    begin_fold(held);
    const auto count = static_cast<double>(topics_), factor = static_cast<double>(training_) * count;
    const auto total = static_cast<double>(fold_total_);
    for (std::size_t t = 0; t < topics_; t++) {
      const std::uint32_t run = held[t];
      std::int64_t sum = 0;
      for (std::size_t c = 0; c < topics_; c++) sum += with_topic(run, c, held);
      const auto of_all = static_cast<double>(sum);
      const double own_norm = factor * factor * static_cast<double>(gram_.at(run, run)) - 2 * factor * of_all + total;
      const double inverse = own_norm > 0 ? 1 / std::sqrt(own_norm) : 0;
      for (std::size_t c = 0; c < topics_; c++) {
        const double product =
            factor * (count * static_cast<double>(with_topic(run, c, held)) - of_all) - count * static_cast<double>(fold_row_[c]) + total;
        scores[t * topics_ + c] = inverse_norm_[c] > 0 ? product * inverse_norm_[c] * inverse : -2;
      }
    }
  }

 private:
  std::int64_t with_topic(std::uint32_t run, std::size_t c, const std::uint32_t* held) const {
    return run_topic_[run * topics_ + c] - gram_.at(run, held[c]);
  }

  // Topic by topic, without this fold's held-out runs.
  void begin_fold(const std::uint32_t* held) {
    fold_total_ = 0;
    for (std::size_t c = 0; c < topics_; c++) {
      fold_row_[c] = 0;
      for (std::size_t d = 0; d < topics_; d++) {
        fold_[c * topics_ + d] =
            topic_topic_[c * topics_ + d] - run_topic_[held[c] * topics_ + d] - run_topic_[held[d] * topics_ + c] + gram_.at(held[c], held[d]);
        fold_row_[c] += fold_[c * topics_ + d];
      }
      fold_total_ += fold_row_[c];
    }
    const auto count = static_cast<double>(topics_);
    for (std::size_t c = 0; c < topics_; c++) {
      const double own = count * count * static_cast<double>(fold_[c * topics_ + c]);
      const double norm = own - 2 * count * static_cast<double>(fold_row_[c]) + static_cast<double>(fold_total_);
      inverse_norm_[c] = norm > 1e-14 * own ? 1 / std::sqrt(norm) : 0;  // below that it is what rounding left of 0
    }
  }

  const Gram& gram_;
  std::size_t topics_;
  std::size_t training_ = 0;  // training runs a topic
  bool same_members_ = false;
  std::vector<std::int64_t> run_topic_;    // [run, topic]: inner product of a run with the sum of the draw's runs of a topic
  std::vector<std::int64_t> topic_topic_;  // [topic, topic]: of the sums of two topics' runs
  std::vector<std::int64_t> fold_;         // [topic, topic], without the held-out runs
  std::vector<std::int64_t> fold_row_;     // [topic], sum of a row of fold_
  std::int64_t fold_total_ = 0;
  std::vector<double> inverse_norm_;  // [topic], 0 where the topic's mean is the mean of all
};

class SetScorer final : public FoldScorer {
 public:
  SetScorer(const Shares& shares, std::size_t top_k, std::uint64_t min_count)
      : shares_(shares), min_count_(min_count), sets_(shares.topic_count(), TopSet(top_k)), topic_sum_(shares.topic_count() * shares.feature_count),
        selection_sum_(shares.feature_count), fold_share_(topic_sum_.size()), fold_sum_(shares.feature_count) {}

  void begin_labels(const std::uint16_t*) override { same_members_ = false; }

  void begin_draw(const Draw& draw) override {
    if (same_members_ && draw.held.size() == shares_.run_count()) return;
    same_members_ = true;
    std::fill(topic_sum_.begin(), topic_sum_.end(), 0);
    std::fill(selection_sum_.begin(), selection_sum_.end(), 0);
    const std::size_t features = shares_.feature_count;
    for (std::size_t at = 0; at < draw.held.size(); at++) {
      const std::int32_t* row = shares_.row(draw.held[at]);
      const std::uint32_t* selections = shares_.selections.data() + draw.held[at] * features;
      std::int64_t* sum = topic_sum_.data() + at % shares_.topic_count() * features;
      for (std::size_t e = 0; e < features; e++) sum[e] += row[e];
      for (std::size_t e = 0; e < features; e++) selection_sum_[e] += selections[e];
    }
  }

  void score_fold(const std::uint32_t* held, double* scores) override {
    begin_fold(held);
    const std::size_t topics = shares_.topic_count(), features = shares_.feature_count;
    for (std::size_t c = 0; c < topics; c++) {
      const auto& members = sets_[c].choose(fold_share_.data() + c * features, fold_sum_.data(), features);
      for (std::size_t t = 0; t < topics; t++) {
        std::uint64_t inside = 0;
        for (const std::uint32_t e : members) inside += shares_.selections[held[t] * features + e];
        scores[t * topics + c] = static_cast<double>(inside) / static_cast<double>(total_of(held[t]));
      }
    }
  }

 private:
  void begin_fold(const std::uint32_t* held) {
    const std::size_t topics = shares_.topic_count(), features = shares_.feature_count;
    std::fill(fold_sum_.begin(), fold_sum_.end(), 0.0);
    for (std::size_t c = 0; c < topics; c++) {
      const std::int32_t* dropped = shares_.row(held[c]);
      const std::int64_t* sum = topic_sum_.data() + c * features;
      double* share = fold_share_.data() + c * features;
      for (std::size_t e = 0; e < features; e++) share[e] = static_cast<double>(sum[e] - dropped[e]);
      for (std::size_t e = 0; e < features; e++) fold_sum_[e] += share[e];
    }
    for (std::size_t e = 0; e < features; e++) {
      std::uint64_t training = selection_sum_[e];
      for (std::size_t c = 0; c < topics; c++) training -= shares_.selections[held[c] * features + e];
      if (training < min_count_) fold_sum_[e] = std::numeric_limits<double>::infinity();  // below the floor: in no set
    }
  }

  std::uint64_t total_of(std::uint32_t run) {
    if (totals_.empty()) {
      for (std::size_t r = 0; r < shares_.run_count(); r++) {
        std::uint64_t total = 0;
        for (std::size_t e = 0; e < shares_.feature_count; e++) total += shares_.selections[r * shares_.feature_count + e];
        totals_.push_back(std::max<std::uint64_t>(1, total));
      }
    }
    return totals_[run];
  }

  const Shares& shares_;
  std::uint64_t min_count_;
  std::vector<TopSet> sets_;  // [topic]
  bool same_members_ = false;
  std::vector<std::int64_t> topic_sum_;        // [topic, feature], unit 1 / share_one, over the draw's runs
  std::vector<std::uint64_t> selection_sum_;   // [feature], over the draw's runs
  std::vector<double> fold_share_, fold_sum_;  // [topic, feature] and [feature], without the held-out runs
  std::vector<std::uint64_t> totals_;          // [run]
};

class NumberScorer final : public FoldScorer {
 public:
  NumberScorer(const std::vector<double>& values, std::size_t topic_count) : values_(values), sums_(topic_count) {}

  void begin_labels(const std::uint16_t*) override {}

  void begin_draw(const Draw& draw) override {
    training_ = draw.fold_count - 1;
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (std::size_t at = 0; at < draw.held.size(); at++) sums_[at % sums_.size()] += values_[draw.held[at]];
  }

  void score_fold(const std::uint32_t* held, double* scores) override {
    for (std::size_t t = 0; t < sums_.size(); t++)
      for (std::size_t c = 0; c < sums_.size(); c++) {
        const double mean = (sums_[c] - values_[held[c]]) / static_cast<double>(training_);
        scores[t * sums_.size() + c] = -std::abs(values_[held[t]] - mean);
      }
  }

 private:
  const std::vector<double>& values_;
  std::vector<double> sums_;  // [topic], over the draw's runs
  std::size_t training_ = 0;
};

}  // namespace

std::unique_ptr<FoldScorer> cosine_scorer(const Gram& gram, std::size_t topic_count) { return std::make_unique<CosineScorer>(gram, topic_count); }

std::unique_ptr<FoldScorer> set_scorer(const Shares& shares, std::size_t top_k, std::uint64_t min_count) {
  return std::make_unique<SetScorer>(shares, top_k, min_count);
}

std::unique_ptr<FoldScorer> number_scorer(const std::vector<double>& values, std::size_t topic_count) {
  return std::make_unique<NumberScorer>(values, topic_count);
}

}  // namespace atlas
