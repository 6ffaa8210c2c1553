// Affinity, specialisation and floors as the reference computes them. See reference.h.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "stats/run_matrix.h"

namespace atlas {

namespace {

// What an expert's description needs, summed over the runs of each topic.
struct TopicSums {
  std::vector<double> shares;             // [topic_count, expert_count]: mean of count / run total
  std::vector<std::uint32_t> fired_runs;  // [topic_count, expert_count]: runs with at least one selection
  std::vector<double> totals;             // [expert_count]: selections over all runs
};

// Shares: two divisions, count / total / runs of the topic, added up in prompt order.
TopicSums sum_topics(const RunMatrix& matrix) {
  const std::size_t expert_count = matrix.expert_count(), cells = matrix.topic_count() * expert_count;
  TopicSums sums{std::vector<double>(cells), std::vector<std::uint32_t>(cells), std::vector<double>(expert_count)};
  parallel_for(expert_count, 2048, [&](std::size_t begin, std::size_t end) {
    for (std::size_t run = 0; run < matrix.run_count(); run++) {
      double* share = sums.shares.data() + matrix.run_topic[run] * expert_count;
      std::uint32_t* fired = sums.fired_runs.data() + matrix.run_topic[run] * expert_count;
      const double* counts = matrix.row(run);
      const double total = matrix.totals[run], runs = matrix.topic_runs[matrix.run_topic[run]];
      for (std::size_t e = begin; e < end; e++) share[e] += counts[e] / total / runs;
      for (std::size_t e = begin; e < end; e++) fired[e] += counts[e] > 0 ? 1 : 0;
      for (std::size_t e = begin; e < end; e++) sums.totals[e] += counts[e];
    }
  });
  return sums;
}

// 1 - H(probabilities) / ln(count), within [0, 1].
double specialisation_of(const std::vector<double>& probabilities) {
  double sum = 0;
  for (const double probability : probabilities) sum += probability > 0 ? probability * std::log(probability) : 0;
  const double entropy = -sum;
  return std::max(0.0, std::min(1.0, 1 - entropy / std::log(static_cast<double>(probabilities.size()))));
}

ReferenceExpert describe_expert(const RunMatrix& matrix, std::size_t e, const TopicSums& sums, const ReferenceOptions& options) {
  const std::size_t expert_count = matrix.expert_count();
  ReferenceExpert expert;
  expert.layer = matrix.layers[e];
  expert.expert = matrix.experts[e];
  expert.total = static_cast<std::uint64_t>(sums.totals[e]);
  double sum = 0;
  for (std::size_t c = 0; c < matrix.topic_count(); c++) sum += sums.shares[c * expert_count + e];
  std::vector<double> probabilities(matrix.topic_count());
  for (std::size_t c = 0; c < probabilities.size(); c++) probabilities[c] = sums.shares[c * expert_count + e] / sum;
  expert.top_topic = static_cast<std::uint32_t>(std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin());
  expert.fired_runs = sums.fired_runs[expert.top_topic * expert_count + e];
  expert.total_runs = matrix.topic_runs[expert.top_topic];
  expert.specialisation = round_half_up(specialisation_of(probabilities));
  expert.top_lift = round_half_up(probabilities[expert.top_topic] * static_cast<double>(probabilities.size()));
  expert.affinity = std::move(probabilities);
  for (double& affinity : expert.affinity) affinity = round_half_up(affinity);
  if (sums.totals[e] < options.min_count) expert.status = ExpertStatus::sparse;
  else if (expert.fired_runs < options.min_runs) expert.status = ExpertStatus::unreplicated;
  return expert;
}

bool ranks_before(const ReferenceExpert& left, const ReferenceExpert& right) {
  if (left.specialisation != right.specialisation) return left.specialisation > right.specialisation;
  if (left.total != right.total) return left.total > right.total;
  return left.layer != right.layer ? left.layer < right.layer : left.expert < right.expert;
}

ReferenceSummary summarise(const ReferenceAtlas& atlas) {
  ReferenceSummary summary;
  summary.experts_seen = atlas.every_expert.size();
  summary.experts_kept = atlas.experts.size();
  for (const ReferenceExpert& expert : atlas.every_expert) {
    summary.dropped_sparse += expert.status == ExpertStatus::sparse ? 1 : 0;
    summary.dropped_unreplicated += expert.status == ExpertStatus::unreplicated ? 1 : 0;
  }
  for (const ReferenceExpert& expert : atlas.experts)
    if (expert.specialisation >= atlas.options.strong_threshold) summary.strong_specialists++;
  summary.strong_specialist_rate =
      round_half_up(static_cast<double>(summary.strong_specialists) / static_cast<double>(std::max<std::uint64_t>(1, summary.experts_kept)));
  return summary;
}

void check_options(const ReferenceOptions& options) {
  const auto refuse = [](const char* option, double value, const char* expected) {
    throw Error(Problem{option, Json(value).dump(), expected, ""}, ErrorKind::out_of_range);
  };
  if (!is_positive_integer(options.min_count)) refuse("min-count", options.min_count, "a positive whole number");
  if (!is_positive_integer(options.min_runs)) refuse("min-runs", options.min_runs, "a positive whole number");
  if (!(options.strong_threshold >= 0 && options.strong_threshold <= 1)) refuse("strong", options.strong_threshold, "a number from 0 to 1");
}

}  // namespace

double round_half_up(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  const double scaled = value * scale;
  const double below = std::floor(scaled);
  return (scaled - below >= 0.5 ? below + 1 : below) / scale;  // + 0.5 before the floor would round 0.49999999999999994 up
}

static ReferenceAtlas describe(const RunMatrix& matrix, const ReferenceOptions& options) {
  for (std::size_t c = 0; c < matrix.topic_count(); c++)
    if (matrix.topic_runs[c] < options.min_runs) {
      throw Error(Problem{"min-runs", Json(options.min_runs).dump(),
                          "at most the " + std::to_string(matrix.topic_runs[c]) + " prompts of the topic " + matrix.topics[c], ""});
    }
  ReferenceAtlas atlas;
  atlas.topics = matrix.topics;
  atlas.run_count = matrix.run_count();
  atlas.options = options;
  const TopicSums sums = sum_topics(matrix);
  atlas.every_expert.resize(matrix.expert_count());
  parallel_for(matrix.expert_count(), 2048, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; e++) atlas.every_expert[e] = describe_expert(matrix, e, sums, options);
  });
  rank_experts(atlas);
  return atlas;
}

ReferenceAtlas build_reference_atlas(const PromptCounts& prompt_counts, const std::vector<ReferenceRun>& runs, const ReferenceOptions& options) {
  check_options(options);
  return describe(check_runs(prompt_counts, runs), options);
}

ReferenceAtlas build_reference_atlas(const Counts& counts, const ReferenceOptions& options) {
  check_options(options);
  return describe(run_matrix(counts), options);
}

void rank_experts(ReferenceAtlas& atlas) {
  atlas.experts.clear();
  std::copy_if(atlas.every_expert.begin(), atlas.every_expert.end(), std::back_inserter(atlas.experts),
               [](const ReferenceExpert& expert) { return expert.status == ExpertStatus::kept; });
  std::sort(atlas.experts.begin(), atlas.experts.end(), ranks_before);
  atlas.summary = summarise(atlas);
}

}  // namespace atlas
