// The rows of a trace by token id, and one layer's selections as columns of the shares. Made from a trace and the shares of one phase; read by
// the controls that compare prompts token by token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/phase_shares.h"
#include "trace/trace.h"

namespace atlas {

// All rows of one token in one run.
struct TokenBlock {
  std::uint32_t run = 0;        // index into the shares' runs
  std::uint32_t row_begin = 0;  // index into TokenBlocks::rows
  std::uint32_t row_end = 0;

  std::uint32_t row_count() const { return row_end - row_begin; }
};

// All blocks of one token; runs rise and differ.
struct TokenGroup {
  std::int32_t token_id = 0;
  std::uint32_t block_begin = 0;  // index into TokenBlocks::blocks
  std::uint32_t block_end = 0;

  std::uint32_t block_count() const { return block_end - block_begin; }
};

struct TokenBlocks {
  std::string not_computed;         // why, or empty
  std::vector<std::uint64_t> rows;  // [rows of the phase], rows of the trace by token id, run and row
  std::vector<TokenBlock> blocks;
  std::vector<TokenGroup> groups;  // token ids rising
};

// The rows of `phase` (none: all) of the runs in `shares`, which must be phase_shares(count(trace), phase).
TokenBlocks token_blocks(const Trace& trace, const Counts& counts, const PhaseShares& shares, std::optional<Phase> phase);

// The features that are one layer's experts: [begin, end).
struct LayerColumns {
  std::uint32_t layer = 0;  // absolute index
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t count() const { return end - begin; }
};
std::vector<LayerColumns> layer_columns(const Counts& counts, const PhaseShares& shares);  // layers rising; those with a feature

// The columns (feature - layer.begin) that each row of a layer selected. Experts that are no feature are left out: rows of other phases.
struct RowColumns {
  std::uint32_t expert_top_k = 0;
  std::vector<std::uint8_t> selected;  // [row_count]
  std::vector<std::uint32_t> columns;  // [row_count, expert_top_k], the first `selected` of a row

  const std::uint32_t* row(std::uint64_t index) const { return columns.data() + index * expert_top_k; }
};
RowColumns read_columns(const Trace& trace, const Counts& counts, const PhaseShares& shares, const LayerColumns& layer);

}  // namespace atlas
