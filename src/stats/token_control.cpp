// See token_control.h.
#include "stats/token_control.h"

#include <algorithm>

#include "base/parallel.h"
#include "stats/affinity.h"
#include "stats/token_match.h"

namespace atlas {

namespace {

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
  std::vector<bool> has_match;
  for (const double total : totals) has_match.push_back(total > 0);
  const std::vector<std::uint32_t> runs = take_runs(base.shares, has_match, result.shares, result.probes_left_out);
  if (runs.empty()) {
    result.not_computed = "no token occurs in two prompts";
    return result;
  }
  const Affinity affinity = affinity_of(base.shares);
  const std::size_t features = base.shares.feature_count;
  result.shares.feature_count = features;
  result.shares.values.resize(runs.size() * features);
  result.unmatched.resize(features);
  result.token_matched.resize(features);
  parallel_for(layers.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i++) {
      const RowColumns rows = read_columns(trace, counts, base, layers[i]);
      const LayerMatch match(tokens, rows, base.shares.run_count(), layers[i].count());
      for (std::size_t column = 0; column < layers[i].count(); column++) {
        const std::size_t feature = layers[i].begin + column;
        for (std::size_t at = 0; at < runs.size(); at++)
          result.shares.values[at * features + feature] = fixed_share(match.residual(runs[at], column) / totals[runs[at]]);
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
