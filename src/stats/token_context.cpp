// See token_context.h.
#include "stats/token_context.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/parallel.h"
#include "stats/random.h"
#include "stats/token_match.h"

namespace atlas {

namespace {

// A draw: half of the runs on either side.
std::vector<std::uint8_t> deal_sides(std::size_t run_count, std::uint64_t seed, std::uint64_t draw) {
  // Streams of their own: those of token_information() are numbered from 0.
  Random random(seed, random_purpose::token_shuffle, (std::uint64_t{1} << 63) + draw);
  std::vector<std::uint8_t> side(run_count);
  for (std::size_t run = 0; run < run_count; run++) side[run] = run % 2 == 0 ? 0 : 1;
  random.shuffle(side);
  return side;
}

// Every token's blocks as two groups, one a side, so that only runs of one side match one another.
TokenBlocks split_by_side(const TokenBlocks& tokens, const std::vector<std::uint8_t>& side) {
  TokenBlocks result;
  result.rows = tokens.rows;
  for (const TokenGroup& group : tokens.groups)
    for (const int own : {0, 1}) {
      const auto first = static_cast<std::uint32_t>(result.blocks.size());
      for (std::uint32_t b = group.block_begin; b < group.block_end; b++)
        if (side[tokens.blocks[b].run] == own) result.blocks.push_back(tokens.blocks[b]);
      const auto end = static_cast<std::uint32_t>(result.blocks.size());
      if (end > first) result.groups.push_back({group.token_id, first, end});
    }
  return result;
}

double matched_share(const TokenBlocks& tokens) {
  std::uint64_t matched = 0;
  for (const TokenGroup& group : tokens.groups)
    for (std::uint32_t b = group.block_begin; group.block_count() > 1 && b < group.block_end; b++) matched += tokens.blocks[b].row_count();
  return static_cast<double>(matched) / static_cast<double>(tokens.rows.size());
}

std::int64_t inner_product(const std::int32_t* left, const std::int32_t* right, std::size_t count) {
  std::int64_t sum = 0;
  for (std::size_t e = 0; e < count; e++) sum += static_cast<std::int64_t>(left[e]) * right[e];
  return sum;
}

// Sums over draws of the products of runs that the draw parts, and of every run with itself.
struct Similarity {
  std::vector<double> sum;           // [run_count, run_count]
  std::vector<std::uint32_t> draws;  // alike: how many draws are in the sum
  double coverage = 0;               // summed, too
};

class SplitDraw {
 public:
  SplitDraw(const TokenBlocks& tokens, std::vector<std::uint8_t> side)
      : side_(std::move(side)), tokens_(split_by_side(tokens, side_)), products_(side_.size() * side_.size()) {}

  void add_to(Similarity& similarity, const Trace& trace, const Counts& counts, const PhaseShares& base, const std::vector<LayerColumns>& layers) {
    totals_ = matched_totals(trace, tokens_, layers, side_.size());
    parallel_for(layers.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; i++) add_layer(read_columns(trace, counts, base, layers[i]), layers[i].count());
    });
    constexpr double unit = 1.0 / share_one / share_one;
    for (std::size_t i = 0; i < side_.size(); i++)
      for (std::size_t j = 0; j < side_.size(); j++) {
        if (!compared(i, j)) continue;
        similarity.sum[i * side_.size() + j] += static_cast<double>(products_[std::max(i, j) * side_.size() + std::min(i, j)]) * unit;
        similarity.draws[i * side_.size() + j]++;
      }
    similarity.coverage += matched_share(tokens_);
  }

 private:
  bool compared(std::size_t i, std::size_t j) const { return totals_[i] > 0 && totals_[j] > 0 && (i == j || side_[i] != side_[j]); }

  void add_layer(const RowColumns& rows, std::size_t columns) {
    const std::size_t runs = side_.size();
    const LayerMatch match(tokens_, rows, runs, columns);
    std::vector<std::int32_t> residual(runs * columns);  // unit 1 / share_one
    for (std::size_t run = 0; run < runs; run++)
      for (std::size_t e = 0; e < columns && totals_[run] > 0; e++) residual[run * columns + e] = fixed_share(match.residual(run, e) / totals_[run]);
    std::vector<std::int64_t> products;
    for (std::size_t i = 0; i < runs; i++)
      for (std::size_t j = 0; j <= i; j++)
        products.push_back(compared(i, j) ? inner_product(residual.data() + i * columns, residual.data() + j * columns, columns) : 0);
    const std::lock_guard<std::mutex> guard(lock_);  // whole numbers: the order of layers does not matter
    std::size_t at = 0;
    for (std::size_t i = 0; i < runs; i++)
      for (std::size_t j = 0; j <= i; j++) products_[i * runs + j] += products[at++];
  }

  std::vector<std::uint8_t> side_;  // [run_count]
  TokenBlocks tokens_;
  std::vector<double> totals_;          // [run_count], selections of matched rows
  std::vector<std::int64_t> products_;  // [run_count, run_count], the lower half; unit 1 / share_one^2
  std::mutex lock_;
};

// The lower triangle L with L L^T = matrix + added * identity, by Cholesky; false if there is none.
bool factorise(const std::vector<double>& matrix, std::size_t size, double added, double least, std::vector<double>& lower) {
  std::fill(lower.begin(), lower.end(), 0.0);
  for (std::size_t i = 0; i < size; i++)
    for (std::size_t j = 0; j <= i; j++) {
      double rest = matrix[i * size + j] + (i == j ? added : 0);
      for (std::size_t k = 0; k < j; k++) rest -= lower[i * size + k] * lower[j * size + k];
      if (i == j && rest <= least) return false;
      lower[i * size + j] = i == j ? std::sqrt(rest) : rest / lower[j * size + j];
    }
  return true;
}

// Coordinates of runs whose inner products are `matrix`, with as little added to the diagonal as makes that possible.
std::string add_coordinates(const std::vector<double>& matrix, TokenContext& result) {
  const std::size_t runs = result.shares.run_count();
  double mean = 0;
  for (std::size_t i = 0; i < runs; i++) mean += matrix[i * runs + i] / static_cast<double>(runs);
  if (!(mean > 0)) return "every token is routed alike in all prompts";
  std::vector<double> lower(runs * runs);
  double added = 0;
  while (!factorise(matrix, runs, added * mean, 1e-9 * mean, lower)) added = added == 0 ? 0x1p-20 : 2 * added;
  double greatest = 0;
  for (const double value : lower) greatest = std::max(greatest, std::abs(value));
  for (const double value : lower) result.shares.values.push_back(fixed_share(value / greatest));
  result.shares.feature_count = runs;
  result.diagonal_added = added;
  return "";
}

}  // namespace

TokenContext token_context(const Trace& trace, const Counts& counts, const PhaseShares& base, std::optional<Phase> phase, std::size_t draws,
                           std::uint64_t seed) {
  TokenContext result;
  const TokenBlocks tokens = token_blocks(trace, counts, base, phase);
  result.not_computed = draws == 0 ? "no draws asked for" : tokens.not_computed;
  if (!result.not_computed.empty()) return result;
  const std::vector<LayerColumns> layers = layer_columns(counts, base);
  const std::size_t runs = base.shares.run_count();
  Similarity similarity{std::vector<double>(runs * runs), std::vector<std::uint32_t>(runs * runs)};
  for (std::size_t d = 0; d < draws; d++) SplitDraw(tokens, deal_sides(runs, seed, d)).add_to(similarity, trace, counts, base, layers);
  result.coverage = similarity.coverage / static_cast<double>(draws);
  std::vector<bool> has_match;
  for (std::size_t run = 0; run < runs; run++) has_match.push_back(similarity.draws[run * runs + run] > 0);
  const std::vector<std::uint32_t> kept = take_runs(base.shares, has_match, result.shares, result.probes_left_out);
  if (kept.empty()) {
    result.not_computed = "no token occurs in two prompts of one side";
    return result;
  }
  std::vector<double> matrix;  // a pair that no draw has parted has similarity 0: nothing is known
  for (const std::uint32_t i : kept)
    for (const std::uint32_t j : kept) matrix.push_back(similarity.sum[i * runs + j] / std::max(1U, similarity.draws[i * runs + j]));
  result.not_computed = add_coordinates(matrix, result);
  return result;
}

}  // namespace atlas
