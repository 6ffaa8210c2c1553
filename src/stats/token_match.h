// What the rows of one layer select and what the same tokens elsewhere select. Internal to token_control.cpp and token_context.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "stats/token_blocks.h"

namespace atlas {

// One layer, all runs. A row is matched if its group of blocks holds another run, too.
class LayerMatch {
 public:
  LayerMatch(const TokenBlocks& tokens, const RowColumns& rows, std::size_t run_count, std::size_t column_count);

  double observed(std::size_t run, std::size_t column) const { return observed_[run * columns_ + column]; }  // selections of the matched rows
  // The sum over a run's matched rows of the mean selections a row, over the other runs' rows of the same group.
  double expected(std::size_t run, std::size_t column) const { return expected_[run * columns_ + column]; }
  double residual(std::size_t run, std::size_t column) const { return observed(run, column) - expected(run, column); }

 private:
  void match(const TokenGroup& group);

  const TokenBlocks& tokens_;
  const RowColumns& rows_;
  std::size_t columns_;
  std::vector<std::uint32_t> observed_;     // [run_count, column_count]
  std::vector<double> expected_;            // alike
  std::vector<std::uint32_t> total_, own_;  // [column_count], of one token: in all its blocks, in one of them
  std::vector<std::uint32_t> touched_;      // columns of one token
};

// [run_count]: selections of the matched rows over these layers.
std::vector<double> matched_totals(const Trace& trace, const TokenBlocks& tokens, const std::vector<LayerColumns>& layers, std::size_t run_count);

// Gives `into` the runs of `shares` for which `keep` holds, with their topics, which are named anew in case one has no run left; returns their
// indices. probes_left_out: the others' probes.
std::vector<std::uint32_t> take_runs(const Shares& shares, const std::vector<bool>& keep, Shares& into, std::vector<std::uint32_t>& probes_left_out);

}  // namespace atlas
