// See eta_squared.h.
#include "stats/eta_squared.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "base/parallel.h"
#include "stats/multiple_tests.h"
#include "stats/random.h"

namespace atlas {

std::vector<double> eta_squared(const Shares& shares) {
  const std::size_t features = shares.feature_count, topics = shares.topic_count();
  const auto runs = static_cast<std::int64_t>(shares.run_count());
  const std::vector<std::uint32_t> sizes = topic_sizes(shares);
  std::vector<double> result(features);
  parallel_for(features, 1024, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int64_t> total(end - begin), topic_sum(topics * (end - begin));
    for (std::size_t run = 0; run < shares.run_count(); run++)
      for (std::size_t e = begin; e < end; e++) {
        total[e - begin] += shares.row(run)[e];
        topic_sum[shares.topic[run] * (end - begin) + e - begin] += shares.row(run)[e];
      }
    // Deviations from the mean times the number of runs are whole numbers, so equal shares give exactly 0.
    std::vector<double> all(end - begin);
    for (std::size_t run = 0; run < shares.run_count(); run++)
      for (std::size_t e = begin; e < end; e++) {
        const auto deviation = static_cast<double>(runs * shares.row(run)[e] - total[e - begin]);
        all[e - begin] += deviation * deviation;
      }
    for (std::size_t e = begin; e < end; e++) {
      double between = 0;
      for (std::size_t c = 0; c < topics; c++) {
        const auto deviation =
            static_cast<double>(runs * topic_sum[c * (end - begin) + e - begin] - static_cast<std::int64_t>(sizes[c]) * total[e - begin]);
        between += deviation * deviation / sizes[c];
      }
      result[e] = all[e - begin] > 0 ? std::min(1.0, between / all[e - begin]) : 0;
    }
  });
  return result;
}

std::vector<std::uint32_t> features_at_floor(const Shares& shares, std::uint64_t min_count) {
  std::vector<std::uint32_t> family(shares.feature_count);
  std::iota(family.begin(), family.end(), 0);
  if (shares.selections.empty()) return family;
  std::vector<std::uint64_t> total(shares.feature_count);
  for (std::size_t at = 0; at < shares.selections.size(); at++) total[at % shares.feature_count] += shares.selections[at];
  std::erase_if(family, [&](std::uint32_t e) { return total[e] < min_count; });
  return family;
}

std::vector<std::uint32_t> choose_relabelings(const Relabelings& relabelings, std::size_t most, std::uint64_t seed) {
  std::vector<std::uint32_t> chosen(relabelings.count());
  std::iota(chosen.begin(), chosen.end(), 0);
  // Nothing else draws from this stream: an enumeration needs no random relabelings.
  if (relabelings.enumerated && most < chosen.size()) Random(seed, random_purpose::relabel, 0).shuffle(chosen);
  if (most < chosen.size()) chosen.resize(most);
  return chosen;
}

Deals reference_set(const Shares& shares, const Relabelings& relabelings, const std::vector<std::uint32_t>& chosen) {
  Deals deals = no_deals(shares);
  deals.runs.reserve((chosen.size() + 1) * deals.run_count);
  if (!relabelings.enumerated || chosen.size() < relabelings.count()) add_true_deal(deals, shares);
  for (const std::uint32_t b : chosen) add_deal(deals, relabelings.at(b));
  return deals;
}

namespace {

// Statistics of one block, deal after deal.
class BlockStatistic {
 public:
  BlockStatistic(const Shares& shares, const std::uint32_t* features, std::size_t feature_count, const Deals& deals)
      : block_(pack_block(shares, features, feature_count, deals)), weights_(square_weights(deals)), sums_(deals.topic_count()) {}

  const std::uint64_t* of(const Deals& deals, std::size_t deal) {
    add_up(block_, deals, deal, sums_.data());
    add_squares(sums_.data(), weights_, statistic_.data());
    return statistic_.data();
  }

 private:
  FeatureBlock block_;
  std::vector<std::uint32_t> weights_;
  std::vector<Lanes> sums_;  // [topic]
  std::array<std::uint64_t, block_width> statistic_{};
};

// Sorts values into the gaps between thresholds: one pass over all relabelings serves the true labels and others at once.
class Thresholds {
 public:
  explicit Thresholds(std::size_t count)
      : count_(count), padded_(std::bit_ceil(count + 1)), sorted_(padded_, ~std::uint64_t{0}), below_(padded_ + 1) {}

  void set(std::vector<std::uint64_t> values) {
    std::sort(values.begin(), values.end());
    std::copy(values.begin(), values.end(), sorted_.begin());
  }

  void add(std::uint64_t value) {  // a statistic is less than the padding, so the last gap stays empty
    std::size_t reached = 0;       // thresholds that are at most value
    for (std::size_t step = padded_ / 2; step > 0; step /= 2) reached += sorted_[reached + step - 1] <= value ? step : 0;
    below_[reached]++;
  }

  // How many values are at least the threshold.
  std::uint32_t at_least(std::uint64_t threshold) const {
    const auto first = static_cast<std::size_t>(std::lower_bound(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(count_), threshold) -
                                                sorted_.begin());
    return std::accumulate(below_.begin() + static_cast<std::ptrdiff_t>(first) + 1, below_.end(), std::uint32_t{0});
  }

 private:
  std::size_t count_, padded_;
  std::vector<std::uint64_t> sorted_;  // [padded], the first count_ are thresholds
  std::vector<std::uint32_t> below_;   // [padded + 1]: values with so many thresholds at or below them
};

// [all.count] statistics -> ranks, equal ones all the same: how many are at least as great.
void rank_row(std::vector<std::pair<std::uint64_t, std::uint16_t>>& statistic, std::uint16_t* ranks) {
  std::sort(statistic.begin(), statistic.end());
  for (std::size_t i = 0, first = 0; i < statistic.size(); i++) {
    if (statistic[i].first != statistic[first].first) first = i;
    ranks[statistic[i].second] = static_cast<std::uint16_t>(statistic.size() - first);
  }
}

void rank_block(const Shares& shares, const std::uint32_t* features, std::size_t width, const Deals& all, std::uint16_t* ranks) {
  BlockStatistic statistic(shares, features, width, all);
  std::vector<std::vector<std::pair<std::uint64_t, std::uint16_t>>> rows(width);
  for (std::size_t b = 0; b < all.count; b++) {
    const std::uint64_t* values = statistic.of(all, b);
    for (std::size_t lane = 0; lane < width; lane++) rows[lane].emplace_back(values[lane], static_cast<std::uint16_t>(b));
  }
  for (std::size_t lane = 0; lane < width; lane++) rank_row(rows[lane], ranks + lane * all.count);
}

}  // namespace

std::vector<std::uint32_t> count_at_least(const Shares& shares, const std::vector<std::uint32_t>& family, const Deals& all, const Deals& of) {
  std::vector<std::uint32_t> result(of.count * family.size());
  parallel_for((family.size() + block_width - 1) / block_width, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin * block_width; at < std::min(family.size(), end * block_width); at += block_width) {
      const std::size_t width = std::min(block_width, family.size() - at);
      BlockStatistic statistic(shares, family.data() + at, width, all);
      std::vector<std::vector<std::uint64_t>> own(width);  // [lane, of.count]
      for (std::size_t j = 0; j < of.count; j++) {
        const std::uint64_t* values = statistic.of(of, j);
        for (std::size_t lane = 0; lane < width; lane++) own[lane].push_back(values[lane]);
      }
      std::vector<Thresholds> thresholds(width, Thresholds(of.count));
      for (std::size_t lane = 0; lane < width; lane++) thresholds[lane].set(own[lane]);
      for (std::size_t b = 0; b < all.count; b++) {
        const std::uint64_t* values = statistic.of(all, b);
        for (std::size_t lane = 0; lane < width; lane++) thresholds[lane].add(values[lane]);
      }
      for (std::size_t lane = 0; lane < width; lane++)
        for (std::size_t j = 0; j < of.count; j++) result[j * family.size() + at + lane] = thresholds[lane].at_least(own[lane][j]);
    }
  });
  return result;
}

std::vector<std::uint32_t> step_down_min_p(const Shares& shares, const std::vector<std::uint32_t>& family, const Deals& all,
                                           const std::vector<std::uint32_t>& at_least) {
  assert(all.count <= 0xFFFF);
  constexpr std::size_t stretch = 64 * block_width;
  std::vector<std::uint32_t> order(family.size()), features;  // from the greatest p to the smallest
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return at_least[left] != at_least[right] ? at_least[left] > at_least[right] : left < right;
  });
  for (const std::uint32_t at : order) features.push_back(family[at]);
  std::vector<std::uint16_t> ranks(std::min(stretch, family.size()) * all.count);  // [feature of the stretch, all.count]
  std::vector<std::uint32_t> result(family.size());
  StepDown step_down(all.count);
  for (std::size_t from = 0; from < features.size(); from += stretch) {
    const std::size_t count = std::min(stretch, features.size() - from);
    parallel_for((count + block_width - 1) / block_width, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin * block_width; at < std::min(count, end * block_width); at += block_width)
        rank_block(shares, features.data() + from + at, std::min(block_width, count - at), all, ranks.data() + at * all.count);
    });
    for (std::size_t i = 0; i < count; i++)
      result[order[from + i]] = step_down.add(ranks.data() + i * all.count, static_cast<std::uint16_t>(at_least[order[from + i]]));
  }
  for (std::size_t i = features.size(); i-- > 1;)  // a test with a greater p is not rejected before one with a smaller
    result[order[i - 1]] = std::max(result[order[i - 1]], result[order[i]]);
  return result;
}

}  // namespace atlas
