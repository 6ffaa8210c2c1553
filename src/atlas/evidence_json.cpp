// The evidence as JSON (atlas.json, under `evidence`), and its verdict in words. See evidence.h and docs/atlas.schema.json.
//
// Columns of numbers cannot hold "none": there `no_value` stands for it, below every value that exists. Never NaN.
#include <fmt/format.h>

#include <algorithm>

#include "atlas/evidence.h"
#include "base/encoded_array.h"

namespace atlas {

Json held_out_json(const HeldOutResult& result) {
  if (!result.not_computed.empty()) return {{"not_computed", result.not_computed}};
  Json json{{"accuracy", result.accuracy},
            {"hits", result.hits},
            {"trials", result.run_count},
            {"chance", result.chance},
            {"interval_95", result.interval_95}};
  if (result.relabeling_count > 0) {
    json["null_mean"] = result.null_mean;
    json["null_quantile_95"] = result.null_quantile_95;
    json["p_value"] = result.p_value;
    json["smallest_p_value"] = result.smallest_p_value;
    json["relabelings"] = result.relabeling_count;
    json["enumerated"] = result.enumerated;
  }
  return json;
}

namespace {

constexpr double no_value = -2;

Json rows_of(const std::vector<double>& values, std::size_t width) {
  Json rows = Json::array();
  for (std::size_t at = 0; width > 0 && at + width <= values.size(); at += width)
    rows.push_back(std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(at), values.begin() + static_cast<std::ptrdiff_t>(at + width)));
  return rows;
}

// With what the page draws: the null distribution, the confusion matrix, every prompt.
Json held_out_in_full(const HeldOutResult& result) {
  Json json = held_out_json(result);
  if (!result.not_computed.empty()) return json;
  json["null_accuracies"] = encode_array<double>(result.null_accuracies, {result.null_accuracies.size()});
  json["confusion"] = rows_of(result.confusion, result.trials.empty() ? 0 : result.trials.front().scores.size());
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

Json column(const std::vector<std::optional<double>>& values) {
  std::vector<double> plain;
  for (const auto& value : values) plain.push_back(value.value_or(no_value));
  return encode_array<double>(plain, {plain.size()});
}

Json column(const std::vector<std::optional<std::array<double, 2>>>& values) {
  std::vector<double> plain;
  for (const auto& value : values) {
    const std::array<double, 2> pair = value.value_or(std::array<double, 2>{no_value, no_value});
    plain.insert(plain.end(), pair.begin(), pair.end());
  }
  return encode_array<double>(plain, {values.size(), 2});
}

Json column(const std::vector<double>& values, std::size_t width) { return encode_array<double>(values, {values.size() / width, width}); }

void add_rule(Json& json, const std::string& name, const RuleCount& rule) {
  json[name + "_count"] = rule.count;
  if (rule.null_mean) json[name + "_count_null"] = *rule.null_mean;
  if (rule.false_discovery_share) json[name + "_false_discovery_estimate"] = *rule.false_discovery_share;
}

Json experts_json(const PhaseEvidence& phase) {
  const ExpertResult& experts = phase.experts;
  if (!experts.not_computed.empty()) return {{"not_computed", experts.not_computed}};
  const std::size_t count = phase.input.expert.size();
  Json json{{"count", count}, {"family_count", experts.family_size}, {"relabelings", experts.relabeling_count}};
  for (const auto& [key, reason] :
       {std::pair{"p_values_not_computed", &experts.p_values_not_computed}, std::pair{"profiles_not_computed", &experts.profiles_not_computed},
        std::pair{"intervals_not_computed", &experts.intervals_not_computed}})
    if (!reason->empty()) json[key] = *reason;
  json["smallest_p_value"] = experts.smallest_p_value;
  json["needed_at_smallest_p"] = experts.needed_at_smallest_p;
  json["min_p_relabelings"] = experts.min_p_relabeling_count;
  add_rule(json, "specialist", experts.specialists);
  add_rule(json, "strong", experts.strong);
  const std::vector<std::uint32_t> indices(phase.input.expert.begin(), phase.input.expert.end());
  json["expert"] = encode_array<std::uint32_t>(indices, {count});
  json["eta_squared"] = encode_array<double>(experts.eta_squared, {count});
  json["p_value"] = column(experts.p_value);
  json["q_value"] = column(experts.q_value);
  json["p_value_min_p"] = column(experts.p_value_min_p);
  json["specialisation"] = column(experts.specialisation);
  json["lift"] = column(experts.lift);
  json["specialisation_above_null"] = column(experts.specialisation_above_null);
  json["specialisation_interval_95"] = column(experts.specialisation_interval_95);
  json["lift_interval_95"] = column(experts.lift_interval_95);
  json["top_topic_stability"] = column(experts.top_topic_stability);
  std::vector<std::uint32_t> top_topic;
  for (const auto& topic : experts.top_topic) top_topic.push_back(topic.value_or(0));
  json["top_topic"] = encode_array<std::uint32_t>(top_topic, {count});
  json["specialist"] = encode_array<std::uint8_t>(experts.is_specialist, {count});
  json["strong"] = encode_array<std::uint8_t>(experts.is_strong, {count});
  json["affinity"] = column(phase.affinity.values, phase.affinity.topic_count);
  if (!phase.controls.router_weight_affinity.empty())
    json["router_weight_affinity"] = column(phase.controls.router_weight_affinity, phase.affinity.topic_count);
  if (!phase.controls.token_matched_excess.empty()) {
    json["token_matched"] = column(phase.controls.token_matched_excess);
    json["unmatched"] = column(phase.controls.unmatched_excess);
  }
  return json;
}

void add_token_information(Json& json, const TokenInformation& information, std::uint32_t layer) {
  for (const LayerTokenInformation& entry : information.layers) {
    if (entry.layer != layer) continue;
    json["conditional_information"] = entry.given_token.bits;
    json["conditional_information_null"] = entry.given_token.null_mean;
    json["same_rows_information"] = entry.any_token.bits;
    json["same_rows_information_null"] = entry.any_token.null_mean;
  }
}

Json layer_json(const LayerStats& layer, const TokenInformation& information) {
  Json json{{"layer", layer.layer}};
  if (!layer.not_computed.empty()) {
    json["not_computed"] = layer.not_computed;
    return json;
  }
  json["load_max_over_mean"] = layer.load.max_over_mean;
  json["load_variation"] = layer.load.coefficient_of_variation;
  json["effective_experts"] = layer.load.effective_expert_count;
  json["dead_experts"] = layer.load.dead_expert_count;
  if (!layer.topics_not_computed.empty()) {
    json["topics_not_computed"] = layer.topics_not_computed;
    return json;
  }
  json["mutual_information"] = layer.information.value;
  json["mutual_information_null"] = layer.information.null_mean;
  json["mutual_information_p_value"] = layer.information.p_value;
  json["specialisation"] = layer.specialisation.value;
  json["specialisation_null"] = layer.specialisation.null_mean;
  json["specialisation_experts"] = layer.specialisation_expert_count;
  if (layer.held_out.not_computed.empty()) {
    json["accuracy"] = layer.held_out.accuracy;
    json["interval_95"] = layer.held_out.interval_95;
    json["p_value"] = layer.held_out.p_value;
  }
  add_token_information(json, information, layer.layer);
  return json;
}

Json coverage_json(const Coverage& coverage) {
  return {{"rows", coverage.row_count}, {"matched_rows", coverage.matched_row_count}, {"share", coverage.share()}};
}

Json comparison_json(const AffinityComparison& comparison) {
  if (!comparison.not_computed.empty()) return {{"not_computed", comparison.not_computed}};
  constexpr std::size_t most_listed = 100;
  Json json{{"experts", comparison.expert.size()},
            {"differing_top_topic", comparison.differing_top_count},
            {"mean_distance", comparison.mean_distance}};
  if (comparison.correlation) json["correlation"] = *comparison.correlation;
  json["most_different"] = Json::array();
  for (std::size_t i = 0; i < comparison.by_distance.size() && i < most_listed; i++) {
    const std::size_t at = comparison.by_distance[i];
    json["most_different"].push_back({{"expert", comparison.expert[at]},
                                      {"distance", comparison.distance[at]},
                                      {"top_topics", {comparison.left_top[at], comparison.right_top[at]}}});
  }
  return json;
}

Json controls_json(const Controls& controls) {
  Json json{{"length_only", {{"held_out", held_out_json(controls.length)}}}};
  if (!controls.tokens_not_computed.empty()) {
    json["token_counts"] = {{"not_computed", controls.tokens_not_computed}};
    json["token_matched"] = {{"not_computed", controls.tokens_not_computed}};
  } else {
    json["token_counts"] = {{"held_out", held_out_json(controls.token_counts)}};
    json["token_matched"] = {{"held_out", held_out_json(controls.token_matched)},
                             {"coverage", {{"share", controls.context_share}}},
                             {"columns_coverage", coverage_json(controls.matched)}};
  }
  json["router_weight"] = comparison_json(controls.router_weight);
  const Reliability& halves = controls.split_half;
  if (!halves.not_computed.empty()) json["split_half"] = {{"not_computed", halves.not_computed}};
  else {
    json["split_half"] = {{"correlation", halves.correlation},
                          {"standard_deviation", halves.standard_deviation},
                          {"corrected", halves.corrected},
                          {"experts", halves.feature_count},
                          {"draws", halves.draw_count}};
  }
  return json;
}

Json phase_json(const PhaseEvidence& phase) {
  Json json = Json::object();
  json["probes_left_out"] = phase.input.probes_left_out;
  json["layers_left_out"] = phase.input.layers_left_out;
  if (!phase.not_computed.empty()) {
    json["not_computed"] = phase.not_computed;
    return json;
  }
  json["verdict"] = verdict_text(phase.cosine);
  json["held_out"] = {{"cosine", held_out_in_full(phase.cosine)}, {"set", held_out_in_full(phase.set)}};
  json["experts"] = experts_json(phase);
  json["layers"] = Json::array();
  for (const LayerStats& layer : phase.layers) json["layers"].push_back(layer_json(layer, phase.controls.information));
  json["controls"] = controls_json(phase.controls);
  return json;
}

Json phase_comparison_json(const PhaseComparison& comparison) {
  if (!comparison.not_computed.empty()) return {{"not_computed", comparison.not_computed}};
  Json json = comparison_json(comparison.affinity);
  if (comparison.disattenuated) json["disattenuated_correlation"] = *comparison.disattenuated;
  if (!comparison.sets.not_computed.empty()) {
    json["sets"] = {{"not_computed", comparison.sets.not_computed}};
    return json;
  }
  json["sets"] = {{"mean_overlap", comparison.sets.mean_overlap},
                  {"mean_expected_overlap", comparison.sets.mean_expected_overlap},
                  {"mean_jaccard", comparison.sets.mean_jaccard}};
  json["sets"]["overlap_by_topic"] = Json::array();
  for (const TopSetOverlap& topic : comparison.sets.topics) json["sets"]["overlap_by_topic"].push_back(topic.overlap);
  return json;
}

}  // namespace

Json evidence_to_json(const Evidence& evidence) {
  const EvidenceOptions& options = evidence.options;
  Json json = Json::object();
  json["evidence_options"] = {{"permutations", options.permutations},
                              {"set_permutations", options.set_permutations},
                              {"control_permutations", options.control_permutations},
                              {"pairings", options.pairings},
                              {"set_pairings", options.set_pairings},
                              {"bootstrap", options.bootstrap},
                              {"seed", options.seed}};
  json["evidence"] = Json::object();
  for (const PhaseEvidence& phase : evidence.phases) json["evidence"][phase.phase] = phase_json(phase);
  json["prompt_against_answer"] = phase_comparison_json(evidence.prompt_against_answer);
  return json;
}

std::string verdict_text(const HeldOutResult& result) {
  if (!result.not_computed.empty()) return "Not tested: " + result.not_computed;
  const std::string hits = fmt::format("{:.4g} of {} held-out prompts ({:.1f} %), 95 % interval about {:.0f}-{:.0f} %", result.hits, result.run_count,
                                       100 * result.accuracy, 100 * result.interval_95[0], 100 * result.interval_95[1]);
  if (result.relabeling_count == 0) return fmt::format("{}; chance {:.1f} %; no permutations, so no p-value", hits, 100 * result.chance);
  const std::string null =
      fmt::format("null {:.1f} % (95 % point {:.1f} %), p = {:.2g}", 100 * result.null_mean, 100 * result.null_quantile_95, result.p_value);
  if (result.p_value <= 0.05) return fmt::format("Topics separate: {}; {}", hits, null);
  std::string text = fmt::format("No evidence that topics separate: {}; {}", hits, null);
  if (result.smallest_p_value > 0.05)
    text += fmt::format(". This design cannot reach p = 0.05: its smallest p is {:.2g}; more prompts a topic would", result.smallest_p_value);
  return text;
}

}  // namespace atlas
