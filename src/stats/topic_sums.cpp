// See topic_sums.h.
#include "stats/topic_sums.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

#include "stats/random.h"

namespace atlas {

Deals no_deals(const Shares& shares) {
  Deals deals;
  deals.run_count = shares.run_count();
  deals.topic_begin.push_back(0);
  for (const std::uint32_t size : topic_sizes(shares)) deals.topic_begin.push_back(deals.topic_begin.back() + size);
  return deals;
}

void add_deal(Deals& deals, const std::uint16_t* labels) {
  std::vector<std::uint32_t> next(deals.topic_begin.begin(), deals.topic_begin.end() - 1);
  deals.runs.resize((deals.count + 1) * deals.run_count);
  std::uint32_t* runs = deals.runs.data() + deals.count++ * deals.run_count;
  for (std::uint32_t run = 0; run < deals.run_count; run++) {
    assert(labels[run] < next.size() && next[labels[run]] < deals.topic_begin[labels[run] + 1]);
    runs[next[labels[run]]++] = run;
  }
}

void add_true_deal(Deals& deals, const Shares& shares) {
  const std::vector<std::uint16_t> labels(shares.topic.begin(), shares.topic.end());
  add_deal(deals, labels.data());
}

Deals bootstrap_deals(const Deals& deals, std::size_t deal, std::size_t draws, std::uint64_t seed, std::uint64_t purpose,
                      std::uint64_t first_stream) {
  Deals result{draws, deals.run_count, deals.topic_begin, std::vector<std::uint32_t>(draws * deals.run_count)};
  const std::uint32_t* members = deals.at(deal);
  for (std::size_t draw = 0; draw < draws; draw++) {
    Random random(seed, purpose, first_stream + draw);
    std::uint32_t* runs = result.runs.data() + draw * deals.run_count;
    for (std::size_t c = 0; c < deals.topic_count(); c++)
      for (std::uint32_t i = deals.topic_begin[c]; i < deals.topic_begin[c + 1]; i++)
        runs[i] = members[deals.topic_begin[c] + random.below(deals.size(c))];
  }
  return result;
}

std::vector<std::uint32_t> square_weights(const Deals& deals) {
  constexpr std::uint64_t greatest = std::uint64_t{1} << 16;
  std::uint32_t least = deals.size(0);
  for (std::size_t c = 1; c < deals.topic_count(); c++) least = std::min(least, deals.size(c));
  std::uint64_t multiple = 1;
  for (std::size_t c = 0; c < deals.topic_count() && multiple <= greatest * least; c++) multiple = std::lcm(multiple, std::uint64_t{deals.size(c)});
  if (multiple > greatest * least) multiple = greatest * least;
  std::vector<std::uint32_t> weights;
  for (std::size_t c = 0; c < deals.topic_count(); c++) weights.push_back(static_cast<std::uint32_t>((multiple + deals.size(c) / 2) / deals.size(c)));
  return weights;
}

namespace {

// The greatest total over runs whose square times the greatest weight fits 64 bits.
std::uint64_t greatest_total(const Deals& deals) {
  const std::vector<std::uint32_t> weights = square_weights(deals);
  const std::uint32_t weight = *std::max_element(weights.begin(), weights.end());
  std::uint64_t total = ~std::uint32_t{0};
  while (total * total > ~std::uint64_t{0} / weight) total -= total / 1024 + 1;
  return total;
}

std::uint32_t greatest_size(const Deals& deals) {
  std::uint32_t size = 0;
  for (std::size_t c = 0; c < deals.topic_count(); c++) size = std::max(size, deals.size(c));
  return size;
}

struct Scale {
  std::int64_t least = 0;
  int shift = 0;

  std::uint64_t operator()(std::int32_t share) const {
    return (static_cast<std::uint64_t>(share - least) + (shift > 0 ? std::uint64_t{1} << (shift - 1) : 0)) >> shift;
  }
};

Scale scale_of(const Shares& shares, std::uint32_t feature, std::uint64_t most_total, std::uint32_t most_runs) {
  Scale scale;
  for (std::size_t run = 0; run < shares.run_count(); run++) scale.least = std::min<std::int64_t>(scale.least, shares.row(run)[feature]);
  for (;; scale.shift++) {
    std::uint64_t total = 0, greatest = 0;
    for (std::size_t run = 0; run < shares.run_count(); run++) {
      const std::uint64_t value = scale(shares.row(run)[feature]);
      total += value;
      greatest = std::max(greatest, value);
    }
    if (total <= most_total && greatest * most_runs <= ~std::uint32_t{0}) return scale;
  }
}

}  // namespace

FeatureBlock pack_block(const Shares& shares, const std::uint32_t* features, std::size_t feature_count, const Deals& deals) {
  FeatureBlock block{feature_count, std::vector<Lanes>(shares.run_count())};
  const std::uint64_t most_total = greatest_total(deals);
  const std::uint32_t most_runs = greatest_size(deals);
  for (std::size_t lane = 0; lane < feature_count; lane++) {
    const Scale scale = scale_of(shares, features[lane], most_total, most_runs);
    for (std::size_t run = 0; run < shares.run_count(); run++)
      block.rows[run].at[lane] = static_cast<std::uint32_t>(scale(shares.row(run)[features[lane]]));
  }
  return block;
}

namespace {

// Four lanes of a vector register. Spelt out, because the compiler would else keep a topic's sum in memory and store it for every run.
using Four = std::uint32_t __attribute__((vector_size(16), may_alias));
static_assert(sizeof(Lanes) == 8 * sizeof(Four));

}  // namespace

void add_up(const FeatureBlock& block, const Deals& deals, std::size_t deal, Lanes* sums) {
  const std::uint32_t* runs = deals.at(deal);
  for (std::size_t c = 0; c < deals.topic_count(); c++) {
    Four s0{}, s1{}, s2{}, s3{}, s4{}, s5{}, s6{}, s7{};
    for (std::uint32_t i = deals.topic_begin[c]; i < deals.topic_begin[c + 1]; i++) {
      const Four* row = reinterpret_cast<const Four*>(&block.rows[runs[i]]);
      s0 += row[0], s1 += row[1], s2 += row[2], s3 += row[3], s4 += row[4], s5 += row[5], s6 += row[6], s7 += row[7];
    }
    const Four sum[] = {s0, s1, s2, s3, s4, s5, s6, s7};
    std::memcpy(&sums[c], sum, sizeof sum);
  }
}

void add_squares(const Lanes* sums, const std::vector<std::uint32_t>& weights, std::uint64_t* statistic) {
  std::fill(statistic, statistic + block_width, 0);
  for (std::size_t c = 0; c < weights.size(); c++) {
    const std::uint32_t weight = weights[c];
    for (std::size_t lane = 0; lane < block_width && weight == 1; lane++) statistic[lane] += std::uint64_t{sums[c].at[lane]} * sums[c].at[lane];
    for (std::size_t lane = 0; lane < block_width && weight != 1; lane++)
      statistic[lane] += std::uint64_t{sums[c].at[lane]} * sums[c].at[lane] * weight;
  }
}

}  // namespace atlas
