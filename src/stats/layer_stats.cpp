// See layer_stats.h.
#include "stats/layer_stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.h"
#include "stats/affinity.h"
#include "stats/random.h"
#include "stats/topic_profile.h"

namespace atlas {

Relabelings fewer_relabelings(const Relabelings& relabelings, std::size_t max_count, std::uint64_t seed) {
  if (relabelings.count() <= max_count) return relabelings;
  std::vector<std::size_t> chosen(relabelings.count());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  constexpr std::uint64_t own_index = ~std::uint64_t{0};
  Random random(seed, random_purpose::subsample, own_index);
  if (relabelings.enumerated) random.shuffle(chosen);
  chosen.resize(max_count);
  Relabelings result;
  result.run_count = relabelings.run_count;
  for (const std::size_t index : chosen) result.labels.insert(result.labels.end(), relabelings.at(index), relabelings.at(index) + result.run_count);
  return result;
}

Shares layer_shares(const Shares& shares, const LayerColumns& layer) {
  Shares result;
  result.feature_count = layer.count();
  result.topics = shares.topics;
  result.topic = shares.topic;
  result.probe = shares.probe;
  for (std::size_t run = 0; run < shares.run_count(); run++) {
    const std::uint32_t* selections = shares.selections.data() + run * shares.feature_count + layer.begin;
    const std::uint64_t total = std::accumulate(selections, selections + layer.count(), std::uint64_t{0});
    for (std::size_t e = 0; e < layer.count(); e++) result.values.push_back(total == 0 ? 0 : fixed_share(selections[e], total));
    result.selections.insert(result.selections.end(), selections, selections + layer.count());
  }
  return result;
}

namespace {

double entropy_bits(const std::vector<double>& weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double entropy = 0;
  for (const double weight : weights)
    if (weight > 0) entropy -= weight / total * portable_log(weight / total) / portable_log(2);
  return entropy;
}

LayerLoad load_of(const Shares& shares, std::uint32_t expert_count) {
  const std::vector<std::uint64_t> totals = selection_totals(shares);
  std::vector<double> load(totals.begin(), totals.end());
  const double mean = std::accumulate(load.begin(), load.end(), 0.0) / expert_count;
  const auto dead = static_cast<std::uint32_t>(expert_count - load.size());  // a feature has a selection
  double square = mean * mean * dead;
  for (const double count : load) square += (count - mean) * (count - mean);
  return {dead, *std::max_element(load.begin(), load.end()) / mean, std::sqrt(square / expert_count) / mean, std::exp2(entropy_bits(load))};
}

// Information and mean specialisation under one labeling, in whole units of 2^-32, so that comparing them does not depend on rounding.
struct LayerValues {
  std::int64_t information = 0, specialisation = 0;
};
constexpr double value_unit = 0x1.0p-32;

std::int64_t in_units(double value) { return static_cast<std::int64_t>(std::floor(value / value_unit + 0.5)); }

LayerValues values_under(const Shares& shares, const std::vector<std::uint16_t>& labels, const std::vector<std::size_t>& kept) {
  const std::size_t topics = shares.topic_count(), features = shares.feature_count;
  std::vector<std::uint32_t> runs(shares.run_count());
  std::iota(runs.begin(), runs.end(), 0U);
  const std::vector<std::int64_t> sums = sums_by_topic(shares, runs, labels);
  std::vector<double> mean(topics * features), over_topics(features), topic_mean(features), affinity(topics);
  double within = 0;
  for (std::size_t c = 0; c < topics; c++) {
    const auto total = static_cast<double>(std::accumulate(sums.begin() + c * features, sums.begin() + (c + 1) * features, std::int64_t{0}));
    for (std::size_t e = 0; e < features; e++) {
      topic_mean[e] = static_cast<double>(sums[c * features + e]) / total;
      mean[c * features + e] = topic_mean[e];
      over_topics[e] += topic_mean[e];
    }
    within += entropy_bits(topic_mean) / static_cast<double>(topics);
  }
  double special = 0;
  for (const std::size_t e : kept) {
    for (std::size_t c = 0; c < topics; c++) affinity[c] = over_topics[e] > 0 ? mean[c * features + e] / over_topics[e] : 0;
    special += specialisation_of(affinity.data(), topics) / static_cast<double>(kept.size());
  }
  return {in_units(std::max(0.0, entropy_bits(over_topics) - within)), in_units(special)};
}

PermutedValue permuted(std::int64_t value, const std::vector<std::int64_t>& null, const Relabelings& relabelings) {
  PermutedValue result;
  result.value = static_cast<double>(value) * value_unit;
  if (null.empty()) return result;
  const std::int64_t sum = std::accumulate(null.begin(), null.end(), std::int64_t{0});
  result.null_mean = static_cast<double>(sum) * value_unit / static_cast<double>(null.size());
  result.p_value = relabelings.p_value(static_cast<std::size_t>(std::count_if(null.begin(), null.end(), [&](std::int64_t v) { return v >= value; })));
  return result;
}

void add_topic_values(LayerStats& stats, const Shares& shares, const Relabelings& relabelings, std::uint64_t min_count) {
  std::vector<std::size_t> kept;
  const std::vector<std::uint64_t> totals = selection_totals(shares);
  for (std::size_t e = 0; e < totals.size(); e++)
    if (totals[e] >= min_count) kept.push_back(e);
  stats.specialisation_expert_count = kept.size();
  const LayerValues own = values_under(shares, {shares.topic.begin(), shares.topic.end()}, kept);
  std::vector<std::int64_t> information(relabelings.count()), specialisation(relabelings.count());
  for (std::size_t b = 0; b < relabelings.count(); b++) {
    const LayerValues values = values_under(shares, {relabelings.at(b), relabelings.at(b) + shares.run_count()}, kept);
    information[b] = values.information;
    specialisation[b] = values.specialisation;
  }
  stats.information = permuted(own.information, information, relabelings);
  if (!kept.empty()) stats.specialisation = permuted(own.specialisation, specialisation, relabelings);
}

// "" or why a layer's runs cannot be compared within it.
std::string why_no_topics(const Shares& shares) {
  for (std::size_t run = 0; run < shares.run_count(); run++) {
    const std::int32_t* row = shares.row(run);
    if (std::all_of(row, row + shares.feature_count, [](std::int32_t value) { return value == 0; }))
      return "a prompt has no selections in this layer";
  }
  return why_not_testable(shares, 1);
}

std::vector<LayerStats> empty_stats(const Counts& counts, const PhaseShares& shares) {
  std::vector<LayerStats> result;
  for (const std::uint32_t layer : counts.manifest.layers) {
    LayerStats stats;
    stats.layer = layer;
    const auto& left_out = shares.layers_left_out;
    const bool incomplete = std::find(left_out.begin(), left_out.end(), layer) != left_out.end();
    stats.not_computed = incomplete ? "rows of a prompt are missing in this layer" : "no selections in this layer";
    result.push_back(std::move(stats));
  }
  return result;
}

}  // namespace

std::vector<LayerStats> layer_stats(const Counts& counts, const PhaseShares& shares, const Relabelings& relabelings, const LayerOptions& options) {
  std::vector<LayerStats> result = empty_stats(counts, shares);
  const std::vector<LayerColumns> layers = layer_columns(counts, shares);
  const Relabelings fewer = fewer_relabelings(relabelings, options.relabeling_count, options.held_out.seed);
  const auto stats_of = [&](std::uint32_t layer) -> LayerStats& {
    return *std::find_if(result.begin(), result.end(), [layer](const LayerStats& stats) { return stats.layer == layer; });
  };
  parallel_for(layers.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i++) {
      LayerStats& stats = stats_of(layers[i].layer);
      const Shares own = layer_shares(shares.shares, layers[i]);
      stats.not_computed.clear();
      stats.load = load_of(own, counts.manifest.expert_count);
      stats.topics_not_computed = why_no_topics(own);
      if (stats.topics_not_computed.empty()) add_topic_values(stats, own, fewer, options.min_count);
    }
  });
  for (const LayerColumns& layer : layers) {  // the test is parallel in itself
    LayerStats& stats = stats_of(layer.layer);
    stats.held_out.not_computed = stats.topics_not_computed;
    if (!stats.topics_not_computed.empty()) continue;
    stats.held_out = test_cosine(layer_shares(shares.shares, layer), fewer, options.held_out);
    stats.held_out.trials.clear();
    stats.held_out.null_accuracies.clear();
  }
  return result;
}

}  // namespace atlas
