// See token_information.h.
#include "stats/token_information.h"

#include <algorithm>
#include <set>

#include "base/parallel.h"
#include "stats/random.h"
#include "stats/topic_profile.h"

namespace atlas {

namespace {

// The groups of tokens that two topics or more contain.
TokenBlocks shared_tokens(const TokenBlocks& tokens, const Shares& shares) {
  TokenBlocks result;
  for (const TokenGroup& group : tokens.groups) {
    std::set<std::uint32_t> topics;
    for (std::uint32_t b = group.block_begin; b < group.block_end; b++) topics.insert(shares.topic[tokens.blocks[b].run]);
    if (topics.size() < 2) continue;
    const auto first = static_cast<std::uint32_t>(result.blocks.size());
    for (std::uint32_t b = group.block_begin; b < group.block_end; b++) {
      const TokenBlock& block = tokens.blocks[b];
      const auto begin = static_cast<std::uint32_t>(result.rows.size());
      for (std::uint32_t i = block.row_begin; i < block.row_end; i++) result.rows.push_back(tokens.rows[i]);
      result.blocks.push_back({block.run, begin, static_cast<std::uint32_t>(result.rows.size())});
    }
    result.groups.push_back({group.token_id, first, static_cast<std::uint32_t>(result.blocks.size())});
  }
  return result;
}

// All rows as if they were one token: one group, a block for each run.
TokenBlocks one_token(const TokenBlocks& tokens, std::size_t run_count) {
  std::vector<std::vector<std::uint64_t>> rows(run_count);
  for (const TokenBlock& block : tokens.blocks)
    for (std::uint32_t i = block.row_begin; i < block.row_end; i++) rows[block.run].push_back(tokens.rows[i]);
  TokenBlocks result;
  for (std::uint32_t run = 0; run < run_count; run++) {
    if (rows[run].empty()) continue;
    const auto begin = static_cast<std::uint32_t>(result.rows.size());
    result.rows.insert(result.rows.end(), rows[run].begin(), rows[run].end());
    result.blocks.push_back({run, begin, static_cast<std::uint32_t>(result.rows.size())});
  }
  result.groups.push_back({0, 0, static_cast<std::uint32_t>(result.blocks.size())});
  return result;
}

// [1 + shuffles, block_count]: first the true topic of each block, then the shuffled ones.
std::vector<std::uint16_t> block_topics(const TokenBlocks& tokens, const Shares& shares, std::size_t shuffles, std::uint64_t seed) {
  std::vector<std::uint16_t> topics;
  for (const TokenBlock& block : tokens.blocks) topics.push_back(static_cast<std::uint16_t>(shares.topic[block.run]));
  const std::vector<std::uint16_t> own = topics;
  for (std::size_t s = 0; s < shuffles; s++)
    for (std::size_t g = 0; g < tokens.groups.size(); g++) {
      const TokenGroup& group = tokens.groups[g];
      std::vector<std::uint16_t> labels(own.begin() + group.block_begin, own.begin() + group.block_end);
      // A stream for each shuffle and token; one for the group of all rows, which no token id can be.
      Random random(seed, random_purpose::token_shuffle, (s << 32) + (tokens.groups.size() == 1 ? 0xFFFFFFFFU : g));
      random.shuffle(labels);
      topics.insert(topics.end(), labels.begin(), labels.end());
    }
  return topics;
}

// k log2 k: sums of it give n * I. Small numbers are looked up.
class Logs {
 public:
  Logs() : small_(1U << 12) {
    for (std::size_t k = 1; k < small_.size(); k++) small_[k] = computed(static_cast<double>(k));
  }
  double operator()(std::uint64_t k) const { return k < small_.size() ? small_[k] : computed(static_cast<double>(k)); }

 private:
  static double computed(double k) { return k * portable_log(k) / portable_log(2); }
  std::vector<double> small_;
};

// One layer's selections block by block, ready for one labeling after another.
class LayerTables {
 public:
  LayerTables(const TokenBlocks& tokens, const RowColumns& rows, std::size_t column_count, std::size_t topic_count, const Logs& logs)
      : tokens_(tokens), logs_(logs), table_(topic_count * column_count), topic_total_(topic_count), columns_(column_count) {
    std::vector<std::uint32_t> own(column_count);
    for (const TokenBlock& block : tokens.blocks) {
      const std::size_t begin = cells_.size();
      for (std::uint32_t i = block.row_begin; i < block.row_end; i++)
        for (std::uint32_t slot = 0; slot < rows.selected[tokens.rows[i]]; slot++) {
          const std::uint32_t column = rows.row(tokens.rows[i])[slot];
          if (own[column]++ == 0) cells_.push_back({column, 0});
        }
      for (std::size_t c = begin; c < cells_.size(); c++) {
        cells_[c].count = own[cells_[c].column];
        total_ += cells_[c].count;
        own[cells_[c].column] = 0;
      }
      cell_end_.push_back(cells_.size());
    }
    add_fixed_part();
  }

  // The mutual information under these topics of the blocks, the mean over tokens weighted by selections.
  double bits(const std::uint16_t* topics) {
    double sum = fixed_;
    for (const TokenGroup& group : tokens_.groups) {
      for (std::uint32_t b = group.block_begin; b < group.block_end; b++)
        for (std::size_t c = cell_begin(b); c < cell_end_[b]; c++) {
          table_[topics[b] * columns_ + cells_[c].column] += cells_[c].count;
          topic_total_[topics[b]] += cells_[c].count;
        }
      for (std::uint32_t b = group.block_begin; b < group.block_end; b++) {
        sum -= logs_(topic_total_[topics[b]]);
        topic_total_[topics[b]] = 0;
        for (std::size_t c = cell_begin(b); c < cell_end_[b]; c++) {
          std::uint32_t& cell = table_[topics[b] * columns_ + cells_[c].column];
          sum += logs_(cell);
          cell = 0;
        }
      }
    }
    return total_ == 0 ? 0 : std::max(0.0, sum / static_cast<double>(total_));
  }

 private:
  struct Cell {
    std::uint32_t column = 0;
    std::uint32_t count = 0;
  };

  std::size_t cell_begin(std::uint32_t block) const { return block == 0 ? 0 : cell_end_[block - 1]; }

  // n I = sum n(c, e) log n(c, e) - sum n(c) log n(c) - sum n(e) log n(e) + n log n; the last two terms know no topics.
  void add_fixed_part() {
    std::vector<std::uint64_t> column_total(columns_);
    for (const TokenGroup& group : tokens_.groups) {
      std::uint64_t total = 0;
      const std::size_t begin = cell_begin(group.block_begin), end = group.block_end == 0 ? 0 : cell_end_[group.block_end - 1];
      for (std::size_t c = begin; c < end; c++) {
        column_total[cells_[c].column] += cells_[c].count;
        total += cells_[c].count;
      }
      fixed_ += logs_(total);
      for (std::size_t c = begin; c < end; c++) {
        fixed_ -= logs_(column_total[cells_[c].column]);
        column_total[cells_[c].column] = 0;
      }
    }
  }

  const TokenBlocks& tokens_;
  const Logs& logs_;
  std::vector<Cell> cells_;                 // by block
  std::vector<std::size_t> cell_end_;       // [block_count]
  std::vector<std::uint32_t> table_;        // [topic_count, column_count], zero between groups
  std::vector<std::uint64_t> topic_total_;  // [topic_count], alike
  std::size_t columns_;
  std::uint64_t total_ = 0;
  double fixed_ = 0;
};

Information information(LayerTables tables, const std::vector<std::uint16_t>& topics, std::size_t block_count, std::size_t shuffles) {
  Information result;
  result.bits = tables.bits(topics.data());
  for (std::size_t s = 1; s <= shuffles; s++) result.null_mean += tables.bits(topics.data() + s * block_count) / static_cast<double>(shuffles);
  return result;
}

}  // namespace

TokenInformation token_information(const Trace& trace, const Counts& counts, const PhaseShares& base, std::optional<Phase> phase,
                                   std::size_t shuffles, std::uint64_t seed) {
  TokenInformation result;
  const TokenBlocks all = token_blocks(trace, counts, base, phase);
  result.not_computed = all.not_computed.empty() ? why_not_testable(base.shares, 1) : all.not_computed;
  if (!result.not_computed.empty()) return result;
  const TokenBlocks tokens = shared_tokens(all, base.shares), any = one_token(tokens, base.shares.run_count());
  result.coverage = {all.rows.size(), tokens.rows.size()};
  result.shuffle_count = shuffles;
  if (tokens.rows.empty()) {
    result.not_computed = "no token occurs in two topics";
    return result;
  }
  const auto topics = block_topics(tokens, base.shares, shuffles, seed), any_topics = block_topics(any, base.shares, shuffles, seed);
  const std::vector<LayerColumns> layers = layer_columns(counts, base);
  const std::size_t topic_count = base.shares.topic_count();
  const Logs logs;
  result.layers.resize(layers.size());
  parallel_for(layers.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i++) {
      const RowColumns rows = read_columns(trace, counts, base, layers[i]);
      const std::size_t columns = layers[i].count();
      result.layers[i] = {layers[i].layer, information({tokens, rows, columns, topic_count, logs}, topics, tokens.blocks.size(), shuffles),
                          information({any, rows, columns, topic_count, logs}, any_topics, any.blocks.size(), shuffles)};
    }
  });
  return result;
}

}  // namespace atlas
