// See token_match.h.
#include "stats/token_match.h"

#include <algorithm>
#include <set>

namespace atlas {

template <typename Use>
static void each_selection(const TokenBlocks& tokens, const RowColumns& rows, const TokenBlock& block, Use use) {
  for (std::uint32_t i = block.row_begin; i < block.row_end; i++) {
    const std::uint64_t row = tokens.rows[i];
    for (std::uint32_t slot = 0; slot < rows.selected[row]; slot++) use(rows.row(row)[slot]);
  }
}

LayerMatch::LayerMatch(const TokenBlocks& tokens, const RowColumns& rows, std::size_t run_count, std::size_t column_count)
    : tokens_(tokens), rows_(rows), columns_(column_count), observed_(run_count * column_count), expected_(run_count * column_count),
      total_(column_count), own_(column_count) {
  for (const TokenGroup& group : tokens.groups)
    if (group.block_count() > 1) match(group);
}

void LayerMatch::match(const TokenGroup& group) {
  std::uint32_t row_count = 0;
  for (std::uint32_t b = group.block_begin; b < group.block_end; b++) {
    const TokenBlock& block = tokens_.blocks[b];
    row_count += block.row_count();
    each_selection(tokens_, rows_, block, [&](std::uint32_t column) {
      observed_[block.run * columns_ + column]++;
      if (total_[column]++ == 0) touched_.push_back(column);
    });
  }
  for (std::uint32_t b = group.block_begin; b < group.block_end; b++) {
    const TokenBlock& block = tokens_.blocks[b];
    each_selection(tokens_, rows_, block, [&](std::uint32_t column) { own_[column]++; });
    double* expected = expected_.data() + block.run * columns_;
    const double others = row_count - block.row_count(), own_rows = block.row_count();
    for (const std::uint32_t column : touched_) {
      expected[column] += own_rows * (total_[column] - own_[column]) / others;
      own_[column] = 0;
    }
  }
  for (const std::uint32_t column : touched_) total_[column] = 0;
  touched_.clear();
}

std::vector<double> matched_totals(const Trace& trace, const TokenBlocks& tokens, const std::vector<LayerColumns>& layers, std::size_t run_count) {
  std::vector<double> totals(run_count);
  const auto& all = trace.manifest().layers;
  for (const LayerColumns& layer : layers) {
    const auto index = static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), layer.layer) - all.begin());
    SafetensorsFile file = trace.open_layer(index);
    const LayerView view = trace.layer(index, file);
    for (const TokenGroup& group : tokens.groups)
      for (std::uint32_t b = group.block_begin; group.block_count() > 1 && b < group.block_end; b++)
        for (std::uint32_t i = tokens.blocks[b].row_begin; i < tokens.blocks[b].row_end; i++)
          totals[tokens.blocks[b].run] += view.selected(tokens.rows[i]);
  }
  return totals;
}

std::vector<std::uint32_t> take_runs(const Shares& shares, const std::vector<bool>& keep, Shares& into, std::vector<std::uint32_t>& probes_left_out) {
  std::vector<std::uint32_t> runs;
  std::set<std::string> names;
  for (std::uint32_t run = 0; run < keep.size(); run++) {
    if (keep[run]) {
      runs.push_back(run);
      names.insert(shares.topics[shares.topic[run]]);
    } else {
      probes_left_out.push_back(shares.probe[run]);
    }
  }
  into.topics.assign(names.begin(), names.end());
  for (const std::uint32_t run : runs) {
    const auto found = std::lower_bound(into.topics.begin(), into.topics.end(), shares.topics[shares.topic[run]]);
    into.topic.push_back(static_cast<std::uint32_t>(found - into.topics.begin()));
    into.probe.push_back(shares.probe[run]);
  }
  return runs;
}

}  // namespace atlas
