// The held-out tests: how often they reject, what they score beside the reference's leave-one-out, and how often their interval holds the truth,
// which is the mean accuracy over the data sets of the same world.
#include <cstdio>
#include <functional>

#include "calibration.h"
#include "stats/held_out.h"
#include "stats/phase_shares.h"
#include "stats/reference.h"

namespace atlas {

namespace {

struct Outcome {
  std::size_t world = 0;
  double reference_accuracy = 0;
  HeldOutResult cosine, set;
};

Outcome examine(const Calibration& settings, const Counts& counts, std::size_t world, std::uint64_t seed) {
  Outcome outcome;
  outcome.world = world;
  outcome.reference_accuracy = validate_reference(counts, static_cast<double>(settings.top_k)).accuracy;
  const Shares shares = phase_shares(counts, std::nullopt).shares;
  const Relabelings relabelings = make_relabelings(shares.topic, shares.topic_count(), settings.permutations, seed);
  const HeldOutOptions options{settings.pairings, 1000, seed};
  outcome.cosine = test_cosine(shares, relabelings, options);
  outcome.set = test_set(shares, settings.top_k, settings.min_count, relabelings, options);
  return outcome;
}

std::vector<Outcome> examine_design(const Calibration& settings, const RouterDesign& design, std::uint64_t first_world) {
  std::vector<Outcome> outcomes;
  for (std::size_t world = 0; world < settings.world_count; world++) {
    const SimulatedRouter router(design, first_world + world);
    const std::size_t data_sets = settings.data_set_count / settings.world_count;
    for (std::size_t i = 0; i < data_sets; i++) outcomes.push_back(examine(settings, router.draw(i), world, (first_world + world) * 100000 + i));
  }
  return outcomes;
}

Estimate mean_of(const std::vector<Outcome>& outcomes, const std::function<double(const Outcome&)>& value) {
  std::vector<double> values;
  for (const Outcome& outcome : outcomes) values.push_back(value(outcome));
  return estimate(values);
}

Estimate coverage(const std::vector<Outcome>& outcomes, std::size_t world_count, HeldOutResult Outcome::*test) {
  std::vector<double> truth(world_count), seen(world_count);
  for (const Outcome& outcome : outcomes) {
    truth[outcome.world] += (outcome.*test).accuracy;
    seen[outcome.world]++;
  }
  for (std::size_t world = 0; world < world_count; world++) truth[world] /= seen[world];
  return mean_of(outcomes, [&](const Outcome& outcome) {
    const auto& interval = (outcome.*test).interval_95;
    return interval[0] <= truth[outcome.world] && truth[outcome.world] <= interval[1] ? 1.0 : 0.0;
  });
}

void print_row(const Calibration& settings, const RouterDesign& design, const std::vector<Outcome>& outcomes) {
  std::printf("| %g | %g | %u |", design.topic_effect, design.prompt_effect, design.prompt_count);
  print_cell(mean_of(outcomes, [](const Outcome& outcome) { return outcome.reference_accuracy; }));
  for (const auto test : {&Outcome::cosine, &Outcome::set}) {
    print_cell(mean_of(outcomes, [&](const Outcome& outcome) { return (outcome.*test).accuracy; }));
    print_cell(mean_of(outcomes, [&](const Outcome& outcome) { return (outcome.*test).p_value <= 0.05 ? 1.0 : 0.0; }));
    print_cell(coverage(outcomes, settings.world_count, test));
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

void print_held_out_table(const Calibration& settings) {
  std::printf(
      "| topic effect | prompt effect | prompts | reference accuracy | cosine accuracy | p <= 0.05 | interval holds |"
      " set accuracy | p <= 0.05 | interval holds |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for_each_design(settings, [&](const RouterDesign& design, std::uint64_t first_world) {
    print_row(settings, design, examine_design(settings, design, first_world));
  });
}

}  // namespace atlas
