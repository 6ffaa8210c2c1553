// `expert-atlas plan X.trace|X.counts`: how many prompts, and how long, would it take?
#include <fmt/format.h>

#include <filesystem>

#include "cli/command.h"
#include "stats/phase_shares.h"
#include "stats/planning.h"

namespace atlas::cli {

namespace {

struct Options {
  std::string input;
  PlanOptions plan;
  double q = 0.05;
};

Json point_json(const PlanPoint& point) {
  Json json{{"prompts", point.prompt_count}, {"token_share", point.token_share},      {"extrapolated", point.is_extrapolated},
            {"accuracy", point.accuracy},    {"deviation", point.accuracy_deviation}, {"smallest_p_value", point.smallest_p_value}};
  if (point.significant_share) json["significant_share"] = *point.significant_share;
  if (point.specialist_count) json["specialists"] = *point.specialist_count;
  return json;
}

std::string point_text(const PlanPoint& point) {
  std::string text = fmt::format("{:>7} {:>7.0f} % {:>9.1f} %{}", point.prompt_count, 100 * point.token_share, 100 * point.accuracy,
                                 point.is_extrapolated ? "  extrapolated" : fmt::format(" +- {:.1f}", 100 * point.accuracy_deviation));
  if (point.significant_share) text += fmt::format("  shown (p <= 0.05) in {:.0f} % of subsamples", 100 * *point.significant_share);
  if (point.specialist_count) text += fmt::format("  {:.1f} specialists", *point.specialist_count);
  return text + "\n";
}

void plan_design(Options options, const Console& console) {
  const Counts counts = std::filesystem::is_directory(options.input) ? count(Trace(options.input)) : read_counts(options.input);
  const Shares shares = phase_shares(counts, std::nullopt).shares;
  if (options.plan.prompt_counts.empty()) {
    std::uint32_t least = ~0U;
    for (const std::uint32_t size : topic_sizes(shares)) least = std::min(least, size);
    for (std::uint32_t prompts = 2; prompts <= least; prompts++) options.plan.prompt_counts.push_back(prompts);
    for (const std::uint32_t more : {2U, 4U}) options.plan.prompt_counts.push_back(more * least);
  }
  const Plan result = plan(shares, options.plan);
  if (!result.not_computed.empty()) throw Error(Problem{options.input, result.not_computed, "a probe set that can be tested", ""});
  std::string text = fmt::format("Accuracy on held-out prompts (cosine) of smaller designs cut from this one; chance {:.1f} %\n{:>7} {:>9} {:>11}\n",
                                 100 * result.chance, "prompts", "tokens", "accuracy");
  Json points = Json::array();
  for (const PlanPoint& point : result.points) {
    text += point_text(point);
    points.push_back(point_json(point));
  }
  if (!result.extrapolation_not_computed.empty()) text += "No extrapolation: " + result.extrapolation_not_computed + "\n";
  const ReachOfQ reach = reach_of_q(options.q, 1, counts.experts.size(), shares.topic_count());
  text += fmt::format("One expert of {} with q <= {} needs p <= {:.2g}: {:.0f} relabelings and {} prompts a topic at the least\n",
                      counts.experts.size(), options.q, reach.needed_p_value, reach.needed_relabelings, reach.needed_prompt_count);
  console.result(text, {{"chance", result.chance},
                        {"points", points},
                        {"q", options.q},
                        {"needed_p_value", reach.needed_p_value},
                        {"needed_relabelings", reach.needed_relabelings},
                        {"needed_prompts", reach.needed_prompt_count}});
}

}  // namespace

void add_plan(CLI::App& app, const Console& console) {
  CLI::App* command = app.add_subcommand("plan", "Plan a probe set: what fewer or shorter prompts would have shown, and a marked guess beyond");
  command->footer("Example: expert-atlas plan my.trace --prompts 3 6 12 24 --tokens 0.25 0.5 1");
  auto options = std::make_shared<Options>();
  command->add_option("INPUT", options->input, "a trace (folder) or a counts file")->required();
  command->add_option("--prompts", options->plan.prompt_counts, "prompts a topic; above what there is, extrapolated")->check(CLI::Range(1U, 100000U));
  command->add_option("--tokens", options->plan.token_shares, "share of each prompt's selections to keep, in (0, 1]")->capture_default_str();
  command->add_option("--subsamples", options->plan.subsamples, "random subsamples of each design")->capture_default_str();
  command->add_option("--specialist-relabelings", options->plan.specialist_relabelings, "999, say, to count specialists, too (slow)")
      ->capture_default_str();
  command->add_option("--q", options->q, "the wished q-value")->capture_default_str()->check(CLI::Range(0.0001, 1.0));
  command->add_option("--seed", options->plan.seed, "of every random step")->capture_default_str();
  command->callback([options, &console] { plan_design(*options, console); });
}

}  // namespace atlas::cli
