// See evidence.h.
#include "atlas/evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoded_array.h"

namespace atlas {

namespace {

HeldOutOptions held_out_options(const EvidenceOptions& options, std::size_t pairings) {
  HeldOutOptions result;
  result.pairings = pairings;
  result.interval_draws = 2000;
  result.seed = options.seed;
  return result;
}

PhaseEvidence phase_evidence(const Counts& counts, std::optional<Phase> phase, const EvidenceOptions& options) {
  PhaseEvidence evidence;
  evidence.phase = phase ? phase_names.at(static_cast<std::size_t>(*phase)) : "all";
  const PhaseShares input = phase_shares(counts, phase);
  evidence.probes_left_out = input.probes_left_out;
  evidence.layers_left_out = input.layers_left_out;
  evidence.not_computed = why_not_testable(input.shares, 2);
  if (!evidence.not_computed.empty()) return evidence;
  const Shares& shares = input.shares;
  const Relabelings relabelings = make_relabelings(shares.topic, shares.topic_count(), options.permutations, options.seed);
  const Relabelings fewer = make_relabelings(shares.topic, shares.topic_count(), std::min(options.permutations, options.set_permutations), options.seed);
  evidence.cosine = test_cosine(shares, relabelings, held_out_options(options, options.pairings));
  evidence.set = test_set(shares, options.top_k, options.min_count, fewer, held_out_options(options, options.set_pairings));
  std::vector<double> lengths(shares.run_count());
  for (std::size_t run = 0; run < shares.run_count(); run++)
    for (std::size_t e = 0; e < shares.feature_count; e++) lengths[run] += shares.selections[run * shares.feature_count + e];
  evidence.length = test_number(shares, lengths, fewer, held_out_options(options, options.set_pairings));
  return evidence;
}

Json matrix_rows(const std::vector<double>& values, std::size_t width) {
  Json rows = Json::array();
  for (std::size_t at = 0; at + width <= values.size(); at += width)
    rows.push_back(std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(at), values.begin() + static_cast<std::ptrdiff_t>(at + width)));
  return rows;
}

Json held_out_json(const HeldOutResult& result) {
  if (!result.not_computed.empty()) return {{"not_computed", result.not_computed}};
  Json json{{"accuracy", result.accuracy}, {"hits", result.hits}, {"trials", result.run_count}, {"chance", result.chance},
            {"interval_95", result.interval_95}};
  if (result.relabeling_count > 0) {
    json["null_mean"] = result.null_mean;
    json["null_quantile_95"] = result.null_quantile_95;
    json["p_value"] = result.p_value;
    json["smallest_p_value"] = result.smallest_p_value;
    json["relabelings"] = result.relabeling_count;
    json["enumerated"] = result.enumerated;
    json["null_accuracies"] = encode_array<double>(result.null_accuracies, {result.null_accuracies.size()});
  }
  const std::size_t topics = result.trials.empty() ? 0 : result.trials.front().scores.size();
  json["confusion"] = matrix_rows(result.confusion, topics);
  json["trials_by_prompt"] = Json::array();
  for (const HeldOutTrial& trial : result.trials) {
    json["trials_by_prompt"].push_back({{"run", trial.run},
                                        {"draws", trial.draw_count},
                                        {"hit_rate", trial.hit_rate},
                                        {"predicted", trial.predicted},
                                        {"margin", trial.margin},
                                        {"scores", trial.scores}});
  }
  return json;
}

}  // namespace

Evidence gather_evidence(const Counts& counts, const EvidenceOptions& options) {
  Evidence evidence;
  evidence.options = options;
  evidence.phases.push_back(phase_evidence(counts, std::nullopt, options));
  for (const Phase phase : counts.phases)
    if (phase == Phase::prompt || phase == Phase::answer || phase == Phase::picture) evidence.phases.push_back(phase_evidence(counts, phase, options));
  return evidence;
}

Json evidence_to_json(const Evidence& evidence) {
  Json json = Json::object();
  for (const PhaseEvidence& phase : evidence.phases) {
    Json entry = Json::object();
    if (!phase.not_computed.empty()) entry["not_computed"] = phase.not_computed;
    entry["probes_left_out"] = phase.probes_left_out;
    entry["layers_left_out"] = phase.layers_left_out;
    if (phase.not_computed.empty()) entry["verdict"] = verdict_text(phase.cosine);
    if (phase.not_computed.empty())
      entry["held_out"] = {{"cosine", held_out_json(phase.cosine)}, {"set", held_out_json(phase.set)}, {"length_only", held_out_json(phase.length)}};
    json[phase.phase] = std::move(entry);
  }
  return json;
}

std::string verdict_text(const HeldOutResult& result) {
  if (!result.not_computed.empty()) return "Not tested: " + result.not_computed;
  const std::string hits = fmt::format("{:.4g} of {} held-out prompts ({:.1f} %), 95 % interval about {:.0f}-{:.0f} %", result.hits, result.run_count,
                                       100 * result.accuracy, 100 * result.interval_95[0], 100 * result.interval_95[1]);
  if (result.relabeling_count == 0) return fmt::format("{}; chance {:.1f} %; no permutations, so no p-value", hits, 100 * result.chance);
  const std::string null = fmt::format("null {:.1f} % (95 % point {:.1f} %), p = {:.2g}", 100 * result.null_mean, 100 * result.null_quantile_95, result.p_value);
  if (result.p_value <= 0.05) return fmt::format("Topics separate: {}; {}", hits, null);
  std::string text = fmt::format("No evidence that topics separate: {}; {}", hits, null);
  if (result.smallest_p_value > 0.05)
    text += fmt::format(". This design cannot reach p = 0.05: its smallest p is {:.2g}; more prompts a topic would", result.smallest_p_value);
  return text;
}

}  // namespace atlas
