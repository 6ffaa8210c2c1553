// The tests of single experts: errors among experts whose routing knows no topics (those of the second half of the layers), false discoveries of
// the rules, and how often the interval of the specialisation holds the truth, which is that of very many prompts of the same world.
#include <cmath>
#include <cstdio>
#include <map>

#include "calibration.h"
#include "stats/expert_tests.h"
#include "stats/phase_shares.h"

namespace atlas {

namespace {

// [data set] each. False ones are of layers without a topic effect.
struct Table {
  std::vector<double> p_at_most_5, false_q, false_min_p, null_specialists, specialists, false_specialists, strong, null_strong, covered;
};

std::map<Expert, double> true_specialisation(const SimulatedRouter& router, const RouterDesign& design) {
  const std::vector<double> shares = router.mean_shares(300);
  const std::size_t experts = std::size_t{design.layer_count} * design.expert_count;
  std::map<Expert, double> result;
  for (std::uint32_t e = 0; e < experts; e++) {
    double total = 0, entropy = 0;
    for (std::size_t c = 0; c < design.topic_count; c++) total += shares[c * experts + e];
    if (total == 0) continue;
    for (std::size_t c = 0; c < design.topic_count; c++) {
      const double part = shares[c * experts + e] / total;
      entropy -= part > 0 ? part * std::log(part) : 0;
    }
    result[{e / design.expert_count, e % design.expert_count}] = 1 - entropy / std::log(static_cast<double>(design.topic_count));
  }
  return result;
}

void examine(const Calibration& settings, const RouterDesign& design, const Counts& counts, const std::map<Expert, double>& truth, std::uint64_t seed,
             Table& table) {
  const PhaseShares input = phase_shares(counts, std::nullopt);
  ExpertOptions options;
  options.min_count = settings.min_count;
  options.specialist_threshold = options.strong_threshold = settings.specialist_threshold;
  options.seed = seed;
  const Relabelings relabelings = make_relabelings(input.shares.topic, input.shares.topic_count(), settings.permutations, seed);
  const ExpertResult result = test_experts(input.shares, relabelings, options);
  double nulls = 0, small_p = 0, found = 0, false_found = 0, false_min_p = 0, false_specialists = 0, intervals = 0, held = 0;
  for (std::size_t e = 0; e < input.expert.size(); e++) {
    if (result.in_family[e] == 0) continue;
    const Expert& expert = counts.experts[input.expert[e]];
    const bool is_null = design.topic_effect == 0 || expert.layer >= design.topic_layer_count;
    nulls += is_null ? 1 : 0;
    small_p += is_null && *result.p_value[e] <= 0.05 ? 1 : 0;
    found += *result.q_value[e] <= 0.05 ? 1 : 0;
    false_found += is_null && *result.q_value[e] <= 0.05 ? 1 : 0;
    false_min_p += is_null && *result.p_value_min_p[e] <= 0.05 ? 1 : 0;
    false_specialists += is_null && result.is_specialist[e] != 0 ? 1 : 0;
    if (!result.specialisation_interval_95[e]) continue;
    const auto& interval = *result.specialisation_interval_95[e];
    intervals++;
    held += interval[0] <= truth.at(expert) && truth.at(expert) <= interval[1] ? 1 : 0;
  }
  table.p_at_most_5.push_back(small_p / std::max(1.0, nulls));
  table.false_q.push_back(false_found / std::max(1.0, found));
  table.false_min_p.push_back(false_min_p > 0 ? 1 : 0);
  table.specialists.push_back(static_cast<double>(result.specialists.count));
  table.null_specialists.push_back(result.specialists.null_mean.value_or(0));
  table.false_specialists.push_back(false_specialists);
  table.strong.push_back(static_cast<double>(result.strong.count));
  table.null_strong.push_back(result.strong.null_mean.value_or(0));
  if (intervals > 0) table.covered.push_back(held / intervals);
}

}  // namespace

void print_expert_table(const Calibration& settings) {
  std::printf(
      "| topic effect | prompt effect | prompts | null experts with p <= 0.05 | false share of q <= 0.05 | any null min-P <= 0.05 | specialists |"
      " of them null experts | under permuted labels | strong | under permuted labels | specialisation interval holds |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for_each_design(settings, [&](RouterDesign design, std::uint64_t first_world) {
    design.topic_layer_count = design.layer_count / 2;
    Table table;
    for (std::size_t world = first_world; world < first_world + settings.world_count; world++) {
      const SimulatedRouter router(design, world);
      const std::map<Expert, double> truth = true_specialisation(router, design);
      for (std::size_t i = 0; i < settings.data_set_count / settings.world_count; i++)
        examine(settings, design, router.draw(i), truth, world * 100000 + i, table);
    }
    std::printf("| %g | %g | %u |", design.topic_effect, design.prompt_effect, design.prompt_count);
    for (const auto* values : {&table.p_at_most_5, &table.false_q, &table.false_min_p, &table.specialists, &table.false_specialists,
                               &table.null_specialists, &table.strong, &table.null_strong})
      print_cell(estimate(*values));
    if (table.covered.empty()) std::printf(" too few prompts |");
    else print_cell(estimate(table.covered));
    std::printf("\n");
    std::fflush(stdout);
  });
}

}  // namespace atlas
