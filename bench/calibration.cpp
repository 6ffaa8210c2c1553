// Are the statistics' error rates what they claim? Simulates routing with known effects over many data sets and prints one of two tables;
// docs/statistics_calibration.md has what they were. Not a benchmark of speed.
#include "calibration.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

#include "base/parallel.h"

namespace atlas {

Estimate estimate(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / count) * (value - sum / count);
  return {sum / count, std::sqrt(squares / std::max(1.0, count - 1) / count)};
}

void print_cell(const Estimate& value) { std::printf(" %.3f (%.3f) |", value.mean, value.standard_error); }

static void print_settings(const Calibration& settings, unsigned data_set_count) {
  const RouterDesign& design = settings.design;
  std::printf("%u data sets a row, from %zu worlds; %u topics, %u layers x %u experts, top %u, %u tokens a prompt; %zu permutations, %zu pairings,\n",
              data_set_count, settings.world_count, design.topic_count, design.layer_count, design.expert_count, design.top_k, design.token_count,
              settings.permutations, settings.pairings);
  std::printf("sets of %zu experts, floor %llu selections, specialists from %g. In brackets: Monte-Carlo standard error.\n\n", settings.top_k,
              static_cast<unsigned long long>(settings.min_count), settings.specialist_threshold);
}

}  // namespace atlas

int main(int argc, char** argv) {
  atlas::Calibration settings;
  std::string table = "held-out";
  unsigned threads = 1;
  CLI::App app("Simulates routing and prints error rates, power and coverage of the statistics");
  app.add_option("--table", table)->check(CLI::IsMember({"held-out", "experts"}))->capture_default_str();
  app.add_option("--topic-effects", settings.topic_effects, "0 is the null hypothesis")->capture_default_str();
  app.add_option("--prompt-effects", settings.prompt_effects)->capture_default_str();
  app.add_option("--prompts", settings.prompt_counts, "a topic")->capture_default_str();
  app.add_option("--data-sets", settings.data_set_count, "a row")->capture_default_str();
  app.add_option("--worlds", settings.world_count, "that the data sets of a row come from")->capture_default_str();
  app.add_option("--permutations", settings.permutations)->capture_default_str();
  app.add_option("--pairings", settings.pairings)->capture_default_str();
  app.add_option("--top-k", settings.top_k, "experts in a topic's set")->capture_default_str();
  app.add_option("--min-count", settings.min_count, "floor")->capture_default_str();
  app.add_option("--specialist", settings.specialist_threshold, "specialisation of a specialist")->capture_default_str();
  app.add_option("--topics", settings.design.topic_count)->capture_default_str();
  app.add_option("--tokens", settings.design.token_count, "a prompt")->capture_default_str();
  app.add_option("--layers", settings.design.layer_count)->capture_default_str();
  app.add_option("--experts", settings.design.expert_count, "a layer")->capture_default_str();
  app.add_option("--threads", threads)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  atlas::set_thread_count(threads);
  atlas::print_settings(settings, static_cast<unsigned>(settings.data_set_count / settings.world_count * settings.world_count));
  if (table == "experts") atlas::print_expert_table(settings);
  else atlas::print_held_out_table(settings);
}
