// See simulated_routing.h.
#include "simulated_routing.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace atlas {

namespace {

constexpr std::uint64_t world_purpose = 100, data_purpose = 101, truth_purpose = 102;  // no part of the analysis uses these streams
constexpr int quantile_bits = 12;
constexpr std::size_t quantile_count = std::size_t{1} << quantile_bits;

// Normal quantiles at (i + 1/2) / 4096, by bisection of erfc: a draw is a look-up, five from one random number.
std::array<float, quantile_count> normal_quantiles() {
  std::array<float, quantile_count> quantiles{};
  for (std::size_t i = 0; i < quantile_count; i++) {
    const double wanted = (static_cast<double>(i) + 0.5) / quantile_count;
    double low = -6, high = 6;
    for (int step = 0; step < 60; step++) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(-middle / std::sqrt(2.0)) < wanted ? low : high) = middle;
    }
    quantiles[i] = static_cast<float>(low);
  }
  return quantiles;
}

void add_normals(Random& random, double scale, float* values, std::size_t count) {
  static const std::array<float, quantile_count> quantiles = normal_quantiles();
  const auto factor = static_cast<float>(scale);
  for (std::size_t i = 0; i < count;) {
    std::uint64_t bits = random.next();
    for (int part = 0; part < 5 && i < count; part++, i++, bits >>= quantile_bits) values[i] += factor * quantiles[bits % quantile_count];
  }
}

// Calls `select` for the top_k greatest of values, ties to the lower index.
template <typename Select>
void select_top(const float* values, std::size_t count, std::size_t top_k, std::vector<std::uint32_t>& order, Select select) {
  order.resize(count);
  for (std::uint32_t e = 0; e < count; e++) order[e] = e;
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top_k - 1), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return values[left] != values[right] ? values[left] > values[right] : left < right;
  });
  for (std::size_t k = 0; k < top_k; k++) select(order[k]);
}

// Leaves out the columns of experts that nobody selected, as counts have it.
void drop_unseen(Counts& counts) {
  std::vector<std::size_t> seen;
  const std::size_t experts = counts.experts.size(), probes = counts.probe_count();
  for (std::size_t e = 0; e < experts; e++)
    for (std::size_t p = 0; p < probes; p++)
      if (counts.selections[p * experts + e] > 0) {
        seen.push_back(e);
        break;
      }
  std::vector<std::uint32_t> selections;
  for (std::size_t p = 0; p < probes; p++)
    for (const std::size_t e : seen) selections.push_back(counts.selections[p * experts + e]);
  std::vector<Expert> kept;
  for (const std::size_t e : seen) kept.push_back(counts.experts[e]);
  counts.experts = std::move(kept);
  counts.selections = std::move(selections);
}

}  // namespace

SimulatedRouter::SimulatedRouter(const RouterDesign& design, std::uint64_t world) : design_(design), world_(world) {
  Random random(world, world_purpose, 0);
  const std::size_t experts = std::size_t{design.layer_count} * design.expert_count;
  std::vector<float> popularity(experts);
  add_normals(random, 1, popularity.data(), experts);
  for (std::uint32_t c = 0; c < design.topic_count; c++) {
    logits_.insert(logits_.end(), popularity.begin(), popularity.end());
    const std::size_t affected = std::size_t{std::min(design.topic_layer_count, design.layer_count)} * design.expert_count;
    add_normals(random, design.topic_effect, logits_.data() + c * experts, affected);
  }
}

void SimulatedRouter::route_prompt(const float* topic_logits, Random& random, std::uint32_t* selections) const {
  const std::size_t experts = design_.expert_count;
  std::vector<float> prompt(topic_logits, topic_logits + design_.layer_count * experts), token(experts);
  add_normals(random, design_.prompt_effect, prompt.data(), prompt.size());
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < design_.token_count; i++)
    for (std::uint32_t layer = 0; layer < design_.layer_count; layer++) {
      std::copy_n(prompt.data() + layer * experts, experts, token.data());
      add_normals(random, design_.token_effect, token.data(), experts);
      select_top(token.data(), experts, design_.top_k, order, [&](std::uint32_t e) { selections[layer * experts + e]++; });
    }
}

Counts SimulatedRouter::draw(std::uint64_t data_set) const {
  Counts counts;
  counts.phases = {Phase::unknown};
  const std::size_t experts = std::size_t{design_.layer_count} * design_.expert_count;
  for (std::uint32_t layer = 0; layer < design_.layer_count; layer++) counts.manifest.layers.push_back(layer);
  for (std::uint32_t e = 0; e < experts; e++) counts.experts.push_back({e / design_.expert_count, e % design_.expert_count});
  counts.manifest.expert_count = design_.expert_count;
  counts.manifest.expert_top_k = design_.top_k;
  counts.selections.resize(std::size_t{design_.topic_count} * design_.prompt_count * experts);
  Random random(world_, data_purpose, data_set);
  for (std::uint32_t p = 0; p < design_.topic_count * design_.prompt_count; p++) {
    const std::uint32_t topic = p / design_.prompt_count, row = p * design_.token_count;
    const std::string name = (topic < 10 ? "t0" : "t") + std::to_string(topic);
    counts.manifest.probes.push_back({name + ":" + std::to_string(p % design_.prompt_count), name, {}, row, row + design_.token_count, {}});
    route_prompt(logits_.data() + topic * experts, random, counts.selections.data() + p * experts);
  }
  drop_unseen(counts);
  return counts;
}

std::vector<double> SimulatedRouter::mean_shares(std::uint32_t prompt_count) const {
  const std::size_t experts = std::size_t{design_.layer_count} * design_.expert_count;
  const double selections = static_cast<double>(prompt_count) * design_.token_count * design_.layer_count * design_.top_k;
  std::vector<double> shares;
  for (std::uint32_t c = 0; c < design_.topic_count; c++) {
    Random random(world_, truth_purpose, c);
    std::vector<std::uint32_t> counts(experts);
    for (std::uint32_t p = 0; p < prompt_count; p++) route_prompt(logits_.data() + c * experts, random, counts.data());
    for (const std::uint32_t count : counts) shares.push_back(count / selections);
  }
  return shares;
}

}  // namespace atlas
