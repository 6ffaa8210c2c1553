// See token_control.h.
#include "stats/token_control.h"

#include <algorithm>
#include <set>

#include "base/parallel.h"
#include "stats/affinity.h"

namespace atlas {

namespace {

// What the matched rows of one layer observe and what the same tokens elsewhere expect.
class LayerMatch {
 public:
  LayerMatch(const TokenBlocks& tokens, const RowColumns& rows, std::size_t run_count, std::size_t column_count)
      : tokens_(tokens), rows_(rows), columns_(column_count), observed_(run_count * column_count), expected_(run_count * column_count),
        total_(column_count), own_(column_count) {
    for (const TokenGroup& group : tokens.groups)
      if (group.block_count() > 1) match(group);
  }

  double observed(std::size_t run, std::size_t column) const { return observed_[run * columns_ + column]; }
  double expected(std::size_t run, std::size_t column) const { return expected_[run * columns_ + column]; }

 private:
  template <typename Use>
  void each_selection(const TokenBlock& block, Use use) const {
    for (std::uint32_t i = block.row_begin; i < block.row_end; i++) {
      const std::uint64_t row = tokens_.rows[i];
      for (std::uint32_t slot = 0; slot < rows_.selected[row]; slot++) use(rows_.row(row)[slot]);
    }
  }

  void match(const TokenGroup& group) {
    std::uint32_t row_count = 0;
    for (std::uint32_t b = group.block_begin; b < group.block_end; b++) {
      const TokenBlock& block = tokens_.blocks[b];
      row_count += block.row_count();
      each_selection(block, [&](std::uint32_t column) {
        observed_[block.run * columns_ + column]++;
        if (total_[column]++ == 0) touched_.push_back(column);
      });
    }
    for (std::uint32_t b = group.block_begin; b < group.block_end; b++) {
      const TokenBlock& block = tokens_.blocks[b];
      each_selection(block, [&](std::uint32_t column) { own_[column]++; });
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

  const TokenBlocks& tokens_;
  const RowColumns& rows_;
  std::size_t columns_;
  std::vector<std::uint32_t> observed_;     // [run_count, column_count], selections of the matched rows
  std::vector<double> expected_;            // alike
  std::vector<std::uint32_t> total_, own_;  // [column_count], of one token: in all its blocks, in one of them
  std::vector<std::uint32_t> touched_;      // columns of one token
};

void add_coverage(const Trace& trace, const TokenBlocks& tokens, TokenMatched& result) {
  for (const TokenGroup& group : tokens.groups)
    for (std::uint32_t b = group.block_begin; b < group.block_end; b++)
      for (std::uint32_t i = tokens.blocks[b].row_begin; i < tokens.blocks[b].row_end; i++) {
        Coverage& of_phase = result.coverage_by_phase.at(trace.phase()[tokens.rows[i]]);
        result.coverage.row_count++;
        of_phase.row_count++;
        if (group.block_count() < 2) continue;
        result.coverage.matched_row_count++;
        of_phase.matched_row_count++;
      }
}

// [run_count]: selections of the matched rows over the layers in use.
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

// The runs with a matched row, their topics named anew in case one has none left.
void choose_runs(const PhaseShares& base, const std::vector<double>& totals, std::vector<std::uint32_t>& runs, TokenMatched& result) {
  std::set<std::string> names;
  for (std::uint32_t run = 0; run < totals.size(); run++) {
    if (totals[run] > 0) {
      runs.push_back(run);
      names.insert(base.shares.topics[base.shares.topic[run]]);
    } else {
      result.probes_left_out.push_back(base.shares.probe[run]);
    }
  }
  Shares& shares = result.shares;
  shares.feature_count = base.shares.feature_count;
  shares.topics.assign(names.begin(), names.end());
  for (const std::uint32_t run : runs) {
    const auto found = std::lower_bound(shares.topics.begin(), shares.topics.end(), base.shares.topics[base.shares.topic[run]]);
    shares.topic.push_back(static_cast<std::uint32_t>(found - shares.topics.begin()));
    shares.probe.push_back(base.shares.probe[run]);
  }
  shares.values.resize(runs.size() * shares.feature_count);
}

std::optional<double> excess(double observed, double expected) {
  const double greater = std::max(observed, expected);
  return greater > 0 ? std::optional<double>((observed - expected) / greater) : std::nullopt;
}

struct TopTopicUse {  // of one expert, summed over the runs of its top topic
  double observed = 0, expected = 0, elsewhere = 0;
};

TopTopicUse top_topic_use(const LayerMatch& match, std::size_t column, const std::vector<std::uint32_t>& runs, const std::vector<double>& totals,
                          const PhaseShares& base, std::uint32_t top_topic) {
  double all = 0;
  for (const std::uint32_t run : runs) all += match.observed(run, column) / totals[run];
  TopTopicUse use;
  for (const std::uint32_t run : runs) {
    if (base.shares.topic[run] != top_topic) continue;
    const double own = match.observed(run, column) / totals[run];
    use.observed += own;
    use.expected += match.expected(run, column) / totals[run];
    use.elsewhere += std::max(0.0, all - own) / static_cast<double>(runs.size() - 1);
  }
  return use;
}

}  // namespace

TokenMatched match_tokens(const Trace& trace, const Counts& counts, const PhaseShares& base, std::optional<Phase> phase) {
  TokenMatched result;
  const TokenBlocks tokens = token_blocks(trace, counts, base, phase);
  result.not_computed = tokens.not_computed;
  if (!result.not_computed.empty()) return result;
  add_coverage(trace, tokens, result);
  const std::vector<LayerColumns> layers = layer_columns(counts, base);
  const std::vector<double> totals = matched_totals(trace, tokens, layers, base.shares.run_count());
  std::vector<std::uint32_t> runs;
  choose_runs(base, totals, runs, result);
  if (runs.empty()) {
    result.not_computed = "no token occurs in two prompts";
    return result;
  }
  const Affinity affinity = affinity_of(base.shares);
  const std::size_t features = base.shares.feature_count;
  result.unmatched.resize(features);
  result.token_matched.resize(features);
  parallel_for(layers.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i++) {
      const RowColumns rows = read_columns(trace, counts, base, layers[i]);
      const LayerMatch match(tokens, rows, base.shares.run_count(), layers[i].count());
      for (std::size_t column = 0; column < layers[i].count(); column++) {
        const std::size_t feature = layers[i].begin + column;
        for (std::size_t at = 0; at < runs.size(); at++)
          result.shares.values[at * features + feature] =
              fixed_share((match.observed(runs[at], column) - match.expected(runs[at], column)) / totals[runs[at]]);
        const TopTopicUse use = top_topic_use(match, column, runs, totals, base, affinity.top_topic[feature]);
        result.unmatched[feature] = excess(use.observed, use.elsewhere);
        result.token_matched[feature] = excess(use.observed, use.expected);
      }
    }
  });
  return result;
}

TokenShares token_shares(const Trace& trace, const Counts& counts, const PhaseShares& base, std::optional<Phase> phase) {
  TokenShares result;
  const TokenBlocks tokens = token_blocks(trace, counts, base, phase);
  result.not_computed = tokens.not_computed;
  if (!result.not_computed.empty()) return result;
  Shares& shares = result.shares;
  shares.feature_count = tokens.groups.size();
  shares.topics = base.shares.topics;
  shares.topic = base.shares.topic;
  shares.probe = base.shares.probe;
  shares.values.resize(shares.run_count() * shares.feature_count);
  shares.selections.resize(shares.values.size());
  std::vector<std::uint64_t> totals(shares.run_count());
  for (const TokenBlock& block : tokens.blocks) totals[block.run] += block.row_count();
  for (std::size_t t = 0; t < tokens.groups.size(); t++) {
    result.token_ids.push_back(tokens.groups[t].token_id);
    for (std::uint32_t b = tokens.groups[t].block_begin; b < tokens.groups[t].block_end; b++) {
      const TokenBlock& block = tokens.blocks[b];
      shares.values[block.run * shares.feature_count + t] = fixed_share(block.row_count(), totals[block.run]);
      shares.selections[block.run * shares.feature_count + t] = block.row_count();
    }
  }
  return result;
}

std::vector<double> token_counts(const Counts& counts, const Shares& shares, std::optional<Phase> phase) {
  std::vector<double> result;
  for (const std::uint32_t probe : shares.probe) {
    std::uint64_t tokens = 0;
    for (std::size_t f = 0; f < phase_count; f++)
      if (!phase || f == static_cast<std::size_t>(*phase)) tokens += counts.manifest.probes[probe].token_count.at(f);
    result.push_back(static_cast<double>(tokens));
  }
  return result;
}

}  // namespace atlas
