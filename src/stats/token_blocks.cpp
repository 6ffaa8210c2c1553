// See token_blocks.h.
#include "stats/token_blocks.h"

#include <algorithm>
#include <unordered_map>

namespace atlas {

namespace {

struct TokenRow {
  std::int32_t token_id = 0;
  std::uint32_t run = 0;
  std::uint64_t row = 0;
};

bool same_probes(const TraceManifest& trace, const TraceManifest& counts) {
  const auto same = [](const TraceProbe& left, const TraceProbe& right) {
    return left.id == right.id && left.row_begin == right.row_begin && left.row_end == right.row_end;
  };
  return trace.layers == counts.layers && std::equal(trace.probes.begin(), trace.probes.end(), counts.probes.begin(), counts.probes.end(), same);
}

std::vector<TokenRow> rows_of(const Trace& trace, const PhaseShares& shares, std::optional<Phase> phase) {
  std::vector<TokenRow> rows;
  for (std::uint32_t run = 0; run < shares.shares.run_count(); run++) {
    const TraceProbe& probe = trace.manifest().probes[shares.shares.probe[run]];
    for (std::uint64_t row = probe.row_begin; row < probe.row_end; row++)
      if (!phase || trace.phase()[row] == static_cast<std::uint8_t>(*phase)) rows.push_back({trace.token_ids()[row], run, row});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const TokenRow& left, const TokenRow& right) { return left.token_id < right.token_id; });
  return rows;
}

}  // namespace

TokenBlocks token_blocks(const Trace& trace, const Counts& counts, const PhaseShares& shares, std::optional<Phase> phase) {
  TokenBlocks result;
  if (trace.token_ids().empty()) result.not_computed = "the trace has no token ids";
  else if (!same_probes(trace.manifest(), counts.manifest)) result.not_computed = "the counts were not made from this trace";
  else if (shares.shares.run_count() == 0) result.not_computed = "no prompt has selections in this phase";
  if (!result.not_computed.empty()) return result;
  for (const TokenRow& row : rows_of(trace, shares, phase)) {
    const auto at = static_cast<std::uint32_t>(result.rows.size());
    const bool new_token = result.groups.empty() || result.groups.back().token_id != row.token_id;
    if (new_token || result.blocks.back().run != row.run) result.blocks.push_back({row.run, at, at});
    const auto block_end = static_cast<std::uint32_t>(result.blocks.size());
    if (new_token) result.groups.push_back({row.token_id, block_end - 1, block_end});
    result.groups.back().block_end = block_end;
    result.blocks.back().row_end = at + 1;
    result.rows.push_back(row.row);
  }
  return result;
}

std::vector<LayerColumns> layer_columns(const Counts& counts, const PhaseShares& shares) {
  std::vector<LayerColumns> layers;
  for (std::size_t e = 0; e < shares.expert.size(); e++) {
    const std::uint32_t layer = counts.experts[shares.expert[e]].layer;
    if (layers.empty() || layers.back().layer != layer) layers.push_back({layer, e, e});
    layers.back().end = e + 1;
  }
  return layers;
}

RowColumns read_columns(const Trace& trace, const Counts& counts, const PhaseShares& shares, const LayerColumns& layer) {
  const auto& layers = trace.manifest().layers;
  const auto index = static_cast<std::size_t>(std::lower_bound(layers.begin(), layers.end(), layer.layer) - layers.begin());
  SafetensorsFile file = trace.open_layer(index);
  const LayerView view = trace.layer(index, file);
  std::unordered_map<std::uint32_t, std::uint32_t> column_of;
  std::vector<std::int64_t> small(1024, -1);  // most ids; the map is for models whose ids are larger
  for (std::size_t e = layer.begin; e < layer.end; e++) {
    const std::uint32_t id = counts.experts[shares.expert[e]].expert;
    const auto column = static_cast<std::uint32_t>(e - layer.begin);
    if (id < small.size()) small[id] = column;
    else column_of[id] = column;
  }
  const auto find = [&](std::uint32_t id) -> std::int64_t {
    if (id < small.size()) return small[id];
    const auto found = column_of.find(id);
    return found == column_of.end() ? -1 : found->second;
  };
  RowColumns result{view.expert_top_k, std::vector<std::uint8_t>(view.row_count), std::vector<std::uint32_t>(view.row_count * view.expert_top_k)};
  for (std::uint64_t row = 0; row < view.row_count; row++)
    for (std::uint32_t slot = 0; slot < view.selected(row); slot++) {
      const std::int64_t column = find(view.expert_id(row, slot));
      if (column >= 0) result.columns[row * view.expert_top_k + result.selected[row]++] = static_cast<std::uint32_t>(column);
    }
  return result;
}

}  // namespace atlas
