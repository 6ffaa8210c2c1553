// Global leave-one-prompt-out as the reference computes it, without rebuilding what a fold does not change. See reference.h.
//
// Leaving out a prompt changes only its own topic's shares: the other topics' are computed once. Each run's contribution
// count / total / (runs - 1) is computed once too and added in the reference's order, so every sum has the same bits.
#include <algorithm>
#include <memory>

#include "base/parallel.h"
#include "stats/run_matrix.h"
#include "stats/top_set.h"

namespace atlas {

namespace {

using Rows = std::unique_ptr<double[]>;  // [run, expert]

// count / total / (runs of the topic - left_out).
Rows contributions(const RunMatrix& matrix, std::uint32_t left_out) {
  Rows result = std::make_unique_for_overwrite<double[]>(matrix.run_count() * matrix.expert_count());
  parallel_for(matrix.run_count(), 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t run = begin; run < end; run++) {
      const double total = matrix.totals[run], runs = matrix.topic_runs[matrix.run_topic[run]] - left_out;
      const double* counts = matrix.row(run);
      double* out = result.get() + run * matrix.expert_count();
      for (std::size_t e = 0; e < matrix.expert_count(); e++) out[e] = counts[e] / total / runs;
    }
  });
  return result;
}

void add_rows(const RunMatrix& matrix, const Rows& rows, std::uint32_t topic, std::size_t without_run, double* share) {
  const std::size_t expert_count = matrix.expert_count();
  std::fill_n(share, expert_count, 0.0);
  for (std::size_t run = 0; run < matrix.run_count(); run++) {
    if (matrix.run_topic[run] != topic || run == without_run) continue;
    const double* row = rows.get() + run * expert_count;
    for (std::size_t e = 0; e < expert_count; e++) share[e] += row[e];
  }
}

constexpr std::size_t no_run = static_cast<std::size_t>(-1);

// The folds of one stretch of runs, one after another on one thread.
class Folds {
 public:
  Folds(const RunMatrix& matrix, const std::vector<double>& shares, const Rows& held_out_rows, std::size_t top_k)
      : matrix_(matrix), shares_(shares), held_out_rows_(held_out_rows), own_(matrix.expert_count()), sum_(own_),
        sets_(matrix.topic_count(), TopSet(top_k)) {}

  ReferenceTrial run_fold(std::size_t held) {
    const std::uint32_t topic = matrix_.run_topic[held];
    add_rows(matrix_, held_out_rows_, topic, held, own_.data());
    add_topics(topic);
    std::vector<double> scores;
    for (std::uint32_t c = 0; c < matrix_.topic_count(); c++) scores.push_back(score_topic(c, topic, held));
    return trial(held, scores);
  }

 private:
  const double* share_of(std::uint32_t c, std::uint32_t own) const { return c == own ? own_.data() : shares_.data() + c * matrix_.expert_count(); }

  void add_topics(std::uint32_t own) {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (std::uint32_t c = 0; c < matrix_.topic_count(); c++) {
      const double* share = share_of(c, own);
      for (std::size_t e = 0; e < sum_.size(); e++) sum_[e] += share[e];
    }
  }

  double score_topic(std::uint32_t c, std::uint32_t own, std::size_t held) {
    double inside = 0;
    for (const std::uint32_t e : sets_[c].choose(share_of(c, own), sum_.data(), sum_.size())) inside += matrix_.row(held)[e];
    return inside / matrix_.totals[held];
  }

  ReferenceTrial trial(std::size_t held, const std::vector<double>& scores) const {
    const std::uint32_t own = matrix_.run_topic[held];
    ReferenceTrial result;
    result.topic = matrix_.topics[own];
    result.prompt_index = matrix_.run_index[held];
    result.predicted = static_cast<std::uint32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    result.correct = result.predicted == own;
    double best_other = 0;
    for (std::size_t c = 0; c < scores.size(); c++) {
      if (c != own) best_other = std::max(best_other, scores[c]);
      result.scores.push_back(round_half_up(scores[c]));
    }
    result.own_share = round_half_up(scores[own]);
    result.best_other_share = round_half_up(best_other);
    return result;
  }

  const RunMatrix& matrix_;
  const std::vector<double>& shares_;
  const Rows& held_out_rows_;
  std::vector<double> own_, sum_;  // [expert_count]
  std::vector<TopSet> sets_;       // [topic_count]
};

}  // namespace

static void check_top_k(double top_k) {
  if (!is_positive_integer(top_k)) throw Error(Problem{"top-k", Json(top_k).dump(), "a positive whole number", ""}, ErrorKind::out_of_range);
}

static ReferenceValidation validate(const RunMatrix& matrix, double top_k) {
  std::vector<double> shares(matrix.topic_count() * matrix.expert_count());
  const Rows rows = contributions(matrix, 0), held_out_rows = contributions(matrix, 1);
  for (std::uint32_t c = 0; c < matrix.topic_count(); c++) add_rows(matrix, rows, c, no_run, shares.data() + c * matrix.expert_count());

  ReferenceValidation validation;
  validation.topics = matrix.topics;
  validation.top_k = static_cast<std::uint64_t>(top_k);
  validation.trials.resize(matrix.run_count());
  const auto members = static_cast<std::size_t>(std::min(top_k, static_cast<double>(matrix.expert_count()) + 1));
  parallel_for(matrix.run_count(), 8, [&](std::size_t begin, std::size_t end) {
    Folds folds(matrix, shares, held_out_rows, members);
    for (std::size_t run = begin; run < end; run++) validation.trials[run] = folds.run_fold(run);
  });
  for (const ReferenceTrial& trial : validation.trials) validation.hits += trial.correct ? 1 : 0;
  validation.accuracy = round_half_up(static_cast<double>(validation.hits) / static_cast<double>(matrix.run_count()));
  validation.chance = round_half_up(1 / static_cast<double>(matrix.topic_count()));
  return validation;
}

ReferenceValidation validate_reference(const PromptCounts& prompt_counts, const std::vector<ReferenceRun>& runs, double top_k) {
  check_top_k(top_k);
  return validate(check_runs(prompt_counts, runs), top_k);
}

ReferenceValidation validate_reference(const Counts& counts, double top_k) {
  check_top_k(top_k);
  return validate(run_matrix(counts), top_k);
}

}  // namespace atlas
