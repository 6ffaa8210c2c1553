// The frame of the held-out tests: draws, trials, the null and the interval. See held_out.h; the scores are in held_out_scores.cpp.
#include "stats/held_out.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.h"
#include "stats/held_out_scores.h"
#include "stats/random.h"

namespace atlas {

std::vector<Draw> make_draws(const std::uint16_t* labels, std::size_t run_count, std::size_t topic_count, std::size_t pairings, std::uint64_t seed,
                             std::uint64_t index) {
  Random random(seed, random_purpose::pairing, index);
  std::vector<std::vector<std::uint32_t>> members(topic_count);
  for (std::uint32_t run = 0; run < run_count; run++) members[labels[run]].push_back(run);
  std::size_t least = run_count;
  for (const auto& runs : members) least = std::min(least, runs.size());
  std::vector<std::size_t> next(topic_count);
  std::vector<Draw> draws(pairings);
  for (Draw& draw : draws) {
    draw.fold_count = static_cast<std::uint32_t>(least);
    draw.held.resize(least * topic_count);
    for (std::size_t c = 0; c < topic_count; c++)
      for (std::size_t fold = 0; fold < least; fold++) {
        if (next[c] % members[c].size() == 0) next[c] = 0;
        if (next[c] == 0 && (fold == 0 || members[c].size() == least)) random.shuffle(members[c]);
        draw.held[fold * topic_count + c] = members[c][next[c]++];
      }
  }
  return draws;
}

namespace {

std::vector<std::uint16_t> true_labels(const Shares& shares) { return {shares.topic.begin(), shares.topic.end()}; }

// Two labelings that split the runs into the same sets, whatever the sets are called.
bool same_partition(const std::uint16_t* left, const std::uint16_t* right, std::size_t run_count, std::size_t topic_count) {
  constexpr std::uint32_t unset = ~0U;
  std::vector<std::uint32_t> name(topic_count, unset), back(topic_count, unset);
  for (std::size_t run = 0; run < run_count; run++) {
    if (name[left[run]] == unset && back[right[run]] == unset) {
      name[left[run]] = right[run];
      back[right[run]] = left[run];
    }
    if (name[left[run]] != right[run]) return false;
  }
  return true;
}

std::size_t first_greatest(const double* scores, std::size_t count) {
  return static_cast<std::size_t>(std::max_element(scores, scores + count) - scores);
}

double best_other(const double* scores, std::size_t count, std::size_t own) {
  double best = own == 0 ? scores[1] : scores[0];
  for (std::size_t c = 0; c < count; c++)
    if (c != own) best = std::max(best, scores[c]);
  return best;
}

// Hits of all folds of all draws under one labeling.
std::uint64_t count_hits(FoldScorer& scorer, const std::vector<Draw>& draws, std::size_t topic_count, std::vector<double>& scores) {
  std::uint64_t hits = 0;
  for (const Draw& draw : draws) {
    scorer.begin_draw(draw);
    for (std::uint32_t fold = 0; fold < draw.fold_count; fold++) {
      scorer.score_fold(draw.held.data() + fold * topic_count, scores.data());
      for (std::size_t c = 0; c < topic_count; c++) hits += first_greatest(scores.data() + c * topic_count, topic_count) == c ? 1 : 0;
    }
  }
  return hits;
}

// The same under the true labels, with everything that is reported of each prompt.
struct Observed {
  std::uint64_t hits = 0;
  std::vector<std::uint32_t> draw_count, hit_count;  // [run]
  std::vector<double> margin_sum, score_sum;         // [run], [run, topic]
  std::vector<std::uint32_t> predictions;            // [run, topic]: how often each was predicted
};

Observed observe(FoldScorer& scorer, const std::vector<Draw>& draws, std::size_t run_count, std::size_t topic_count) {
  Observed seen{0,
                std::vector<std::uint32_t>(run_count),
                std::vector<std::uint32_t>(run_count),
                std::vector<double>(run_count),
                std::vector<double>(run_count * topic_count),
                std::vector<std::uint32_t>(run_count * topic_count)};
  std::vector<double> scores(topic_count * topic_count);
  for (const Draw& draw : draws) {
    scorer.begin_draw(draw);
    for (std::uint32_t fold = 0; fold < draw.fold_count; fold++) {
      const std::uint32_t* held = draw.held.data() + fold * topic_count;
      scorer.score_fold(held, scores.data());
      for (std::size_t c = 0; c < topic_count; c++) {
        const double* own_scores = scores.data() + c * topic_count;
        const std::size_t predicted = first_greatest(own_scores, topic_count), run = held[c];
        seen.hits += predicted == c ? 1 : 0;
        seen.hit_count[run] += predicted == c ? 1 : 0;
        seen.draw_count[run]++;
        seen.predictions[run * topic_count + predicted]++;
        seen.margin_sum[run] += own_scores[c] - best_other(own_scores, topic_count, c);
        for (std::size_t d = 0; d < topic_count; d++) seen.score_sum[run * topic_count + d] += own_scores[d];
      }
    }
  }
  return seen;
}

std::vector<HeldOutTrial> trials_of(const Observed& seen, std::size_t run_count, std::size_t topic_count) {
  std::vector<HeldOutTrial> trials;
  for (std::uint32_t run = 0; run < run_count; run++) {
    const double draws = std::max(1U, seen.draw_count[run]);
    const auto* predictions = seen.predictions.data() + run * topic_count;
    HeldOutTrial trial{run, seen.draw_count[run], seen.hit_count[run] / draws, 0, seen.margin_sum[run] / draws, {}};
    trial.predicted = static_cast<std::uint32_t>(std::max_element(predictions, predictions + topic_count) - predictions);
    for (std::size_t c = 0; c < topic_count; c++) trial.scores.push_back(seen.score_sum[run * topic_count + c] / draws);
    trials.push_back(std::move(trial));
  }
  return trials;
}

std::vector<double> confusion_of(const Observed& seen, const Shares& shares) {
  const std::size_t topics = shares.topic_count();
  std::vector<double> confusion(topics * topics), drawn(topics);
  for (std::size_t run = 0; run < shares.run_count(); run++) {
    drawn[shares.topic[run]] += seen.draw_count[run];
    for (std::size_t c = 0; c < topics; c++) confusion[shares.topic[run] * topics + c] += seen.predictions[run * topics + c];
  }
  for (std::size_t t = 0; t < topics; t++)
    for (std::size_t c = 0; c < topics; c++) confusion[t * topics + c] /= std::max(1.0, drawn[t]);
  return confusion;
}

// Wilson's interval for an accuracy of so many independent prompts; topics of unequal size count for as many as give the same variance.
std::array<double, 2> wilson_interval(double accuracy, const std::vector<std::uint32_t>& sizes) {
  constexpr double z = 1.959963984540054;
  double inverse = 0;
  for (const std::uint32_t size : sizes) inverse += 1.0 / size;
  const double topics = static_cast<double>(sizes.size()), count = topics * topics / inverse;
  const double middle = accuracy + z * z / (2 * count);
  const double half = z * std::sqrt(accuracy * (1 - accuracy) / count + z * z / (4 * count * count));
  const double scale = 1 + z * z / count;
  return {std::max(0.0, (middle - half) / scale), std::min(1.0, (middle + half) / scale)};
}

// Percentiles of the balanced accuracy when each topic's per-prompt hit rates are drawn again with replacement, and at least as wide as
// Wilson's interval: resampling alone holds the truth in 58-76 % of cases at 3 prompts a topic and never where all prompts are right, since
// three prompts hide a third of their variance and folds that share training runs hide more (docs/statistics_calibration.md).
std::array<double, 2> accuracy_interval(double accuracy, const std::vector<HeldOutTrial>& trials, const Shares& shares,
                                        const HeldOutOptions& options) {
  const std::array<double, 2> wilson = wilson_interval(accuracy, topic_sizes(shares));
  std::vector<std::vector<double>> rates(shares.topic_count());
  for (const HeldOutTrial& trial : trials)
    if (trial.draw_count > 0) rates[shares.topic[trial.run]].push_back(trial.hit_rate);
  std::vector<double> accuracies(options.interval_draws);
  for (std::size_t i = 0; i < accuracies.size(); i++) {
    Random random(options.seed, random_purpose::accuracy_interval, i);
    for (const auto& topic : rates) {
      double sum = 0;
      for (std::size_t k = 0; k < topic.size(); k++) sum += topic[random.below(static_cast<std::uint32_t>(topic.size()))];
      accuracies[i] += sum / static_cast<double>(topic.size()) / static_cast<double>(rates.size());
    }
  }
  if (accuracies.empty()) return wilson;
  std::sort(accuracies.begin(), accuracies.end());
  const auto last = static_cast<double>(accuracies.size() - 1);
  return {std::min(wilson[0], accuracies[static_cast<std::size_t>(0.025 * last)]),
          std::max(wilson[1], accuracies[static_cast<std::size_t>(0.975 * last + 0.999999)])};
}

void add_null(HeldOutResult& result, const std::vector<std::uint64_t>& null_hits, std::uint64_t hits, double tests, const Relabelings& relabelings) {
  result.relabeling_count = null_hits.size();
  result.enumerated = relabelings.enumerated;
  if (null_hits.empty()) return;
  result.p_value =
      relabelings.p_value(static_cast<std::size_t>(std::count_if(null_hits.begin(), null_hits.end(), [&](std::uint64_t h) { return h >= hits; })));
  result.smallest_p_value = relabelings.smallest_p_value();
  const std::uint64_t total = std::accumulate(null_hits.begin(), null_hits.end(), std::uint64_t{0});
  result.null_mean = static_cast<double>(total) / static_cast<double>(null_hits.size()) / tests;
  for (const std::uint64_t count : null_hits) result.null_accuracies.push_back(static_cast<double>(count) / tests);
  std::vector<double> sorted = result.null_accuracies;
  std::sort(sorted.begin(), sorted.end());
  result.null_quantile_95 = sorted[(sorted.size() * 95 + 99) / 100 - 1];
}

}  // namespace

HeldOutResult run_held_out(const Shares& shares, const Relabelings& relabelings, const HeldOutOptions& options, const ScorerMaker& make_scorer,
                           const DrawMaker& draws_of) {
  HeldOutResult result;
  result.run_count = static_cast<std::uint32_t>(shares.run_count());
  result.not_computed = options.pairings == 0 ? "no pairings asked for" : why_not_testable(shares, 2);
  if (!result.not_computed.empty()) return result;
  const std::size_t runs = shares.run_count(), topics = shares.topic_count();
  const std::vector<std::uint16_t> labels = true_labels(shares);
  constexpr std::uint64_t true_index = ~std::uint64_t{0};
  const std::vector<Draw> draws = draws_of(labels.data(), true_index);
  const auto scorer = make_scorer();
  scorer->begin_labels(labels.data());
  const Observed seen = observe(*scorer, draws, runs, topics);
  const double tests = static_cast<double>(draws.size()) * draws.front().fold_count * static_cast<double>(topics);
  result.accuracy = static_cast<double>(seen.hits) / tests;
  result.hits = result.accuracy * static_cast<double>(runs);
  result.chance = 1 / static_cast<double>(topics);
  result.trials = trials_of(seen, runs, topics);
  result.confusion = confusion_of(seen, shares);
  result.interval_95 = accuracy_interval(result.accuracy, result.trials, shares, options);

  std::vector<std::uint64_t> null_hits(relabelings.count());
  parallel_for(null_hits.size(), 16, [&](std::size_t begin, std::size_t end) {
    const auto own_scorer = make_scorer();
    std::vector<double> scores(topics * topics);
    for (std::size_t b = begin; b < end; b++) {
      const std::uint16_t* permuted = relabelings.at(b);
      if (relabelings.enumerated && same_partition(permuted, labels.data(), runs, topics)) {
        null_hits[b] = seen.hits;  // the true labels themselves: their draws are the observed ones
        continue;
      }
      own_scorer->begin_labels(permuted);
      null_hits[b] = count_hits(*own_scorer, draws_of(permuted, b), topics, scores);
    }
  });
  add_null(result, null_hits, seen.hits, tests, relabelings);
  return result;
}

static HeldOutResult run_test(const Shares& shares, const Relabelings& relabelings, const HeldOutOptions& options, const ScorerMaker& make_scorer) {
  return run_held_out(shares, relabelings, options, make_scorer, [&](const std::uint16_t* labels, std::uint64_t index) {
    return make_draws(labels, shares.run_count(), shares.topic_count(), options.pairings, options.seed, index);
  });
}

HeldOutResult test_cosine(const Shares& shares, const Relabelings& relabelings, const HeldOutOptions& options) {
  const Gram gram = gram_of(shares);
  return run_test(shares, relabelings, options, [&] { return cosine_scorer(gram, shares.topic_count()); });
}

HeldOutResult test_set(const Shares& shares, std::size_t top_k, std::uint64_t min_count, const Relabelings& relabelings,
                       const HeldOutOptions& options) {
  HeldOutResult refused;
  refused.run_count = static_cast<std::uint32_t>(shares.run_count());
  if (top_k == 0) refused.not_computed = "sets of no experts asked for";
  else if (shares.selections.empty()) refused.not_computed = "no counts to apply the floor to";
  if (!refused.not_computed.empty()) return refused;
  return run_test(shares, relabelings, options, [&] { return set_scorer(shares, top_k, min_count); });
}

HeldOutResult test_number(const Shares& shares, const std::vector<double>& values, const Relabelings& relabelings, const HeldOutOptions& options) {
  return run_test(shares, relabelings, options, [&] { return number_scorer(values, shares.topic_count()); });
}

}  // namespace atlas
