// See phase_shares.h.
#include "stats/phase_shares.h"

#include <algorithm>
#include <set>

namespace atlas {

namespace {

// Layers that lack rows of a prompt which has rows elsewhere. A run that is missing as a whole takes no layer with it.
std::set<std::uint32_t> incomplete_layers(const Counts& counts) {
  std::set<std::uint32_t> layers;
  for (const MissingRows& missing : counts.manifest.missing) {
    const TraceProbe& probe = counts.manifest.probes[missing.probe];
    if (missing.layer && probe.row_end > probe.row_begin) layers.insert(*missing.layer);
  }
  return layers;
}

// [phase slot]: whether it counts.
std::vector<bool> chosen_slots(const Counts& counts, std::optional<Phase> phase) {
  std::vector<bool> chosen;
  for (const Phase present : counts.phases) chosen.push_back(!phase || present == *phase);
  return chosen;
}

struct RunRow {
  std::vector<std::uint32_t> selections;  // [expert]
  std::vector<double> weights;            // [expert], or empty
  std::uint64_t total = 0;
  double weight_total = 0;
};

RunRow run_row(const Counts& counts, std::size_t probe, const std::vector<bool>& slots, const std::vector<std::size_t>& experts, ShareBasis basis) {
  RunRow row;
  row.selections.resize(experts.size());
  if (basis == ShareBasis::router_weights) row.weights.resize(experts.size());
  for (std::size_t f = 0; f < slots.size(); f++) {
    if (!slots[f]) continue;
    for (std::size_t e = 0; e < experts.size(); e++) {
      const std::size_t at = counts.at(probe, f, experts[e]);
      row.selections[e] += counts.selections[at];
      row.total += counts.selections[at];
      if (row.weights.empty() || counts.router_weight_sum.empty()) continue;  // unknown weights: none, so no prompt is left
      row.weights[e] += static_cast<double>(counts.router_weight_sum[at]);
      row.weight_total += static_cast<double>(counts.router_weight_sum[at]);
    }
  }
  return row;
}

void append_run(Shares& shares, const RunRow& row) {
  for (std::size_t e = 0; e < row.selections.size(); e++) {
    shares.values.push_back(row.weights.empty() ? fixed_share(row.selections[e], row.total) : fixed_share(row.weights[e] / row.weight_total));
  }
  shares.selections.insert(shares.selections.end(), row.selections.begin(), row.selections.end());
}

// Features that no run in use has selected say nothing: their columns go.
void drop_unused_features(PhaseShares& result) {
  Shares& shares = result.shares;
  const std::size_t features = shares.feature_count;
  std::vector<std::size_t> used;
  for (std::size_t e = 0; e < features; e++) {
    bool seen = false;
    for (std::size_t run = 0; run < shares.run_count() && !seen; run++) seen = shares.selections[run * features + e] > 0;
    if (seen) used.push_back(e);
  }
  if (used.size() == features) return;
  std::vector<std::int32_t> values;
  std::vector<std::uint32_t> selections;
  for (std::size_t run = 0; run < shares.run_count(); run++)
    for (const std::size_t e : used) {
      values.push_back(shares.values[run * features + e]);
      selections.push_back(shares.selections[run * features + e]);
    }
  std::vector<std::size_t> experts;
  for (const std::size_t e : used) experts.push_back(result.expert[e]);
  shares.values = std::move(values);
  shares.selections = std::move(selections);
  shares.feature_count = used.size();
  result.expert = std::move(experts);
}

void name_topics(const Counts& counts, Shares& shares) {
  std::set<std::string> names;
  for (const std::uint32_t probe : shares.probe) names.insert(counts.manifest.probes[probe].topic);
  shares.topics.assign(names.begin(), names.end());
  for (const std::uint32_t probe : shares.probe) {
    const auto found = std::lower_bound(shares.topics.begin(), shares.topics.end(), counts.manifest.probes[probe].topic);
    shares.topic.push_back(static_cast<std::uint32_t>(found - shares.topics.begin()));
  }
}

}  // namespace

PhaseShares phase_shares(const Counts& counts, std::optional<Phase> phase, ShareBasis basis) {
  PhaseShares result;
  const std::set<std::uint32_t> left_out = incomplete_layers(counts);
  result.layers_left_out.assign(left_out.begin(), left_out.end());
  for (std::size_t e = 0; e < counts.experts.size(); e++)
    if (!left_out.contains(counts.experts[e].layer)) result.expert.push_back(e);
  result.shares.feature_count = result.expert.size();
  const std::vector<bool> slots = chosen_slots(counts, phase);
  for (std::uint32_t p = 0; p < counts.probe_count(); p++) {
    const RunRow row = run_row(counts, p, slots, result.expert, basis);
    if (row.total == 0 || (basis == ShareBasis::router_weights && !(row.weight_total > 0))) {
      result.probes_left_out.push_back(p);
      continue;
    }
    append_run(result.shares, row);
    result.shares.probe.push_back(p);
  }
  name_topics(counts, result.shares);
  drop_unused_features(result);
  return result;
}

}  // namespace atlas
