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

// Sums over draws of the products of runs that the draw parts, and of every run with itself.
struct Similarity {
  std::vector<double> sum;           // [run_count, run_count]
  std::vector<std::uint32_t> draws;  // alike: how many draws are in the sum
  double coverage = 0;               // summed, too
};

class SplitDraw {
 public:
  SplitDraw(const TokenBlocks& tokens, const std::vector<std::uint8_t>& side) : run_count_(side.size()), tokens_(split_by_side(tokens, side)) {
    for (std::uint32_t run = 0; run < run_count_; run++) (side[run] == 0 ? first_ : second_).push_back(run);
    parted_.resize(first_.size() * second_.size());
    own_.resize(run_count_);
  }

  void add_to(Similarity& similarity, const Trace& trace, const Counts& counts, const PhaseShares& base, const std::vector<LayerColumns>& layers) {
    totals_ = matched_totals(trace, tokens_, layers, run_count_);
    parallel_for(layers.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; i++) add_layer(read_columns(trace, counts, base, layers[i]), layers[i].count());
    });
    const auto add = [&](std::size_t left, std::size_t right, std::int64_t product) {
      if (totals_[left] == 0 || totals_[right] == 0) return;
      similarity.sum[left * run_count_ + right] += static_cast<double>(product) * unit;
      similarity.draws[left * run_count_ + right]++;
    };
    for (std::size_t run = 0; run < run_count_; run++) add(run, run, own_[run]);
    for (std::size_t i = 0; i < first_.size(); i++)
      for (std::size_t j = 0; j < second_.size(); j++) {
        add(first_[i], second_[j], parted_[i * second_.size() + j]);
        add(second_[j], first_[i], parted_[i * second_.size() + j]);
      }
    similarity.coverage += matched_share(tokens_);
  }

 private:
  static constexpr double unit = 0x1.0p-60;
  static std::int64_t in_units(double product) { return static_cast<std::int64_t>(std::floor(product / unit + 0.5)); }

  // One layer's products in floating point, in one order; then whole numbers, so that the order of layers does not matter.
  void add_layer(const RowColumns& rows, std::size_t columns) {
    const LayerMatch match(tokens_, rows, run_count_, columns);
    const auto residual = [&](std::size_t run, std::size_t e) { return totals_[run] > 0 ? match.residual(run, e) / totals_[run] : 0; };
    const std::size_t width = second_.size();
    std::vector<float> second(columns * width);  // [column_count, runs of the second side]: a run of the first meets them all at once
    for (std::size_t j = 0; j < width; j++)
      for (std::size_t e = 0; e < columns; e++) second[e * width + j] = static_cast<float>(residual(second_[j], e));
    std::vector<std::int64_t> parted, own(run_count_);
    std::vector<float> sums(width);
    for (const std::uint32_t run : first_) {
      std::fill(sums.begin(), sums.end(), 0.0F);
      for (std::size_t e = 0; e < columns; e++) {
        const auto value = static_cast<float>(residual(run, e));
        const float* others = second.data() + e * width;
        for (std::size_t j = 0; j < width; j++) sums[j] += value * others[j];
      }
      for (const float sum : sums) parted.push_back(in_units(static_cast<double>(sum)));
    }
    for (std::size_t run = 0; run < run_count_; run++) {
      double square = 0;
      for (std::size_t e = 0; e < columns; e++) square += residual(run, e) * residual(run, e);
      own[run] = in_units(square);
    }
    const std::lock_guard<std::mutex> guard(lock_);
    for (std::size_t at = 0; at < parted.size(); at++) parted_[at] += parted[at];
    for (std::size_t run = 0; run < run_count_; run++) own_[run] += own[run];
  }

  std::size_t run_count_;
  TokenBlocks tokens_;
  std::vector<std::uint32_t> first_, second_;  // runs of either side
  std::vector<double> totals_;                 // [run_count], selections of matched rows
  std::vector<std::int64_t> parted_;           // [runs of the first side, runs of the second]
  std::vector<std::int64_t> own_;              // [run_count], of a run with itself
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
