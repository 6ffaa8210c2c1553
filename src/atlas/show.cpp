// See show.h.
#include "atlas/show.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoded_array.h"

namespace atlas {

namespace {

std::string expert_name(const ReferenceExpert& expert) { return fmt::format("{}:{}", expert.layer, expert.expert); }

// The kept experts whose top topic is `topic`, strongest first (the order of the reference).
std::vector<const ReferenceExpert*> experts_of(const Atlas& atlas, std::size_t topic) {
  std::vector<const ReferenceExpert*> experts;
  for (const ReferenceExpert& expert : atlas.reference.experts)
    if (expert.top_topic == topic) experts.push_back(&expert);
  return experts;
}

struct TopicHits {
  std::uint64_t hits = 0;
  std::uint64_t trials = 0;
};

TopicHits hits_of(const Atlas& atlas, const std::string& topic) {
  TopicHits result;
  for (const ReferenceTrial& trial : atlas.validation.trials) {
    if (trial.topic != topic) continue;
    result.trials++;
    result.hits += trial.correct ? 1 : 0;
  }
  return result;
}

std::uint64_t strong_count(const Atlas& atlas, std::size_t topic) {
  std::uint64_t count = 0;
  for (const ReferenceExpert* expert : experts_of(atlas, topic)) count += expert->specialisation >= atlas.reference.options.strong_threshold ? 1 : 0;
  return count;
}

std::size_t topic_index(const Atlas& atlas, const std::string& topic) {
  const auto found = std::find(atlas.topics.begin(), atlas.topics.end(), topic);
  if (found != atlas.topics.end()) return static_cast<std::size_t>(found - atlas.topics.begin());
  throw Error(Problem{"--topic " + topic, "no topic of this name", fmt::format("one of {}", fmt::join(atlas.topics, ", ")), ""});
}

std::string model_line(const TraceManifest& manifest) {
  std::string layers = manifest.layers.empty()
                           ? "no layers"
                           : fmt::format("{} MoE layers ({} to {})", manifest.layers.size(), manifest.layers.front(), manifest.layers.back());
  return fmt::format("{} through {}: {} of {} experts a token, {}", manifest.model.name.empty() ? "a model" : manifest.model.name,
                     manifest.engine_name, manifest.expert_top_k, manifest.expert_count, layers);
}

}  // namespace

const char* status_name(ExpertStatus status) {
  switch (status) {
    case ExpertStatus::kept:
      return "kept";
    case ExpertStatus::sparse:
      return "sparse";
    default:
      return "unreplicated";
  }
}

bool sets_are_whole_lists(const Atlas& atlas) { return atlas.validation.top_k * 4 > atlas.counts.experts.size(); }
std::uint64_t suggested_top_k(const Atlas& atlas) { return std::max<std::uint64_t>(1, atlas.counts.experts.size() / 20); }

namespace {

std::string percent(const Json& held_out) { return fmt::format("{:.1f} %", 100 * held_out.value("accuracy", 0.0)); }

// "75.2 % (p = 0.001)", or why there is no such number.
std::string accuracy_text(const Json& held_out) {
  if (held_out.contains("not_computed")) return "not computed: " + held_out.value("not_computed", "");
  const std::string p = held_out.contains("p_value") ? fmt::format(" (p = {:.2g})", held_out.value("p_value", 1.0)) : "";
  return percent(held_out) + p;
}

// The verdict over all tokens first, then a line a phase.
std::string verdicts_text(const Atlas& atlas) {
  if (!atlas.evidence.contains("evidence")) return "";
  std::string text;
  for (const auto& [phase, entry] : atlas.evidence["evidence"].items()) {
    const std::string verdict = entry.contains("not_computed") ? "not computed: " + entry.value("not_computed", "") : entry.value("verdict", "");
    text += phase == "all" ? verdict + "\n" : fmt::format("  {} tokens only: {}\n", phase, verdict);
  }
  return text;
}

// A rule's count beside the count of the same rule under permuted labels.
std::string rule_text(const Json& experts, const std::string& rule) {
  std::string text = std::to_string(experts.value(rule + "_count", 0));
  if (experts.contains(rule + "_count_null")) text += fmt::format(" ({:.1f} under permuted labels)", experts.value(rule + "_count_null", 0.0));
  return text;
}

std::string experts_text(const Json& phase) {
  if (!phase.contains("experts") || phase["experts"].contains("not_computed")) return "";
  const Json& experts = phase["experts"];
  return fmt::format("Specialists that survive the tests: {} of {} experts tested; strong by the reference's rule: {}\n",
                     rule_text(experts, "specialist"), experts.value("family_count", 0), rule_text(experts, "strong"));
}

std::string controls_text(const Json& phase) {
  if (!phase.contains("controls")) return "";
  const Json& controls = phase["controls"];
  std::string text = "Controls:";
  for (const auto& [key, label] : {std::pair{"length_only", "prompt length alone"}, std::pair{"token_counts", "token counts alone, no routing"},
                                   std::pair{"token_matched", "routing beyond each token's usual"}}) {
    if (!controls.contains(key)) continue;
    const Json& control = controls[key];
    text += fmt::format("\n  {:<34} {}", label, accuracy_text(control.contains("held_out") ? control["held_out"] : control));
    if (control.contains("coverage")) text += fmt::format(", on {:.0f} % of the tokens", 100 * control["coverage"].value("share", 0.0));
  }
  if (controls.contains("split_half") && controls["split_half"].contains("corrected"))
    text += fmt::format("\n  {:<34} {:.2f}", "split-half reliability of affinity", controls["split_half"].value("corrected", 0.0));
  return text + "\n";
}

// Each axis with another held fixed: "language, domain held fixed: 84.0 % (p = 0.001)".
std::string axes_text(const Atlas& atlas) {
  std::string text;
  if (!atlas.evidence.contains("axes")) return text;
  for (const Json& axis : atlas.evidence["axes"])
    for (const Json& crossed : axis["crossed"]) {
      if (crossed["held_out"].contains("not_computed")) continue;
      text += fmt::format("\n  {} across {}: {}, chance {:.1f} %", axis.value("axis", ""), crossed.value("other", ""),
                          accuracy_text(crossed["held_out"]), 100 * crossed["held_out"].value("chance", 0.0));
    }
  return text.empty() ? text : "One axis with another held fixed, tested where it was not trained:" + text + "\n";
}

std::string unseen_topic_text(const Atlas& atlas) {
  if (!atlas.evidence.contains("unseen_topic") || atlas.evidence["unseen_topic"].contains("not_computed")) return "";
  const Json& unseen = atlas.evidence["unseen_topic"];
  return fmt::format("A prompt of an unseen topic is wrongly given a label in {:.0f} % ({:.0f} % wished), a known one is labelled in {:.0f} %\n",
                     100 * unseen.value("false_label_rate", 0.0), 100 * unseen.value("wished_rate", 0.0),
                     100 * unseen.value("known_label_rate", 0.0));
}

std::string evidence_text(const Atlas& atlas) {
  const Json* all = atlas.phase_evidence("all");
  if (all == nullptr || !all->contains("held_out")) return "";
  return fmt::format("By top-{} sets instead of cosine: {}\n", atlas.validation.top_k, accuracy_text((*all)["held_out"]["set"])) +
         experts_text(*all) + controls_text(*all) + axes_text(atlas) + unseen_topic_text(atlas);
}

}  // namespace

std::string summary_text(const Atlas& atlas) {
  const ReferenceSummary& summary = atlas.reference.summary;
  const ReferenceValidation& validation = atlas.validation;
  std::string text = verdicts_text(atlas) + model_line(atlas.counts.manifest) + "\n";
  text += fmt::format("{} prompts of {} topics; {} experts seen, {} kept, {} with too few selections, {} not replicated\n", atlas.reference.run_count,
                      atlas.topics.size(), summary.experts_seen, summary.experts_kept, summary.dropped_sparse, summary.dropped_unreplicated);
  text += evidence_text(atlas);
  text += "Reference mode:\n";
  text += fmt::format("  routed mostly for one topic (specialisation >= {}): {} of {} experts ({:.1f} %)\n", atlas.reference.options.strong_threshold,
                      summary.strong_specialists, summary.experts_kept, 100 * summary.strong_specialist_rate);
  text += fmt::format("  leave-one-prompt-out by top-{} sets: {} of {} right = {:.3f}; chance {:.3f}\n", validation.top_k, validation.hits,
                      validation.trials.size(), validation.accuracy, validation.chance);
  return text;
}

// By topic, from the evidence over all tokens: accuracy on held-out prompts, and specialists. Empty where it was not computed.
struct TopicEvidence {
  std::vector<double> accuracy;            // [topic_count], or empty
  std::vector<std::uint32_t> specialists;  // [topic_count], or empty
};

static TopicEvidence evidence_by_topic(const Atlas& atlas) {
  TopicEvidence result;
  const Json* all = atlas.phase_evidence("all");
  if (all == nullptr || !all->contains("held_out")) return result;
  const Json& cosine = (*all)["held_out"]["cosine"];
  if (cosine.contains("confusion") && cosine["confusion"].size() == atlas.topics.size())
    for (std::size_t c = 0; c < atlas.topics.size(); c++) result.accuracy.push_back(cosine["confusion"][c].at(c).get<double>());
  const Json& experts = (*all)["experts"];
  if (experts.contains("specialist")) {
    std::vector<Problem> problems;
    const std::uint64_t count = experts.value("count", std::uint64_t{0});
    const auto chosen = decode_array<std::uint8_t>(experts["specialist"], {count}, "evidence", problems);
    const auto topic = decode_array<std::uint32_t>(experts["top_topic"], {count}, "evidence", problems);
    throw_if_any(std::move(problems));
    result.specialists.resize(atlas.topics.size());
    for (std::size_t e = 0; e < count; e++)
      if (chosen[e] != 0) result.specialists.at(topic[e])++;
  }
  return result;
}

std::string topics_text(const Atlas& atlas) {
  const TopicEvidence evidence = evidence_by_topic(atlas);
  std::string text = fmt::format("\n{:<20} {:>8} {:>12} {:>7}  {}\n", "topic", "unseen", "specialists", "strong",
                                 "strongest experts (layer:expert, specialisation)");
  for (std::size_t c = 0; c < atlas.topics.size(); c++) {
    std::string experts;
    std::size_t shown = 0;
    for (const ReferenceExpert* expert : experts_of(atlas, c)) {
      if (shown++ == 4) break;
      experts += fmt::format("{}{} {:.2f}", experts.empty() ? "" : "   ", expert_name(*expert), expert->specialisation);
    }
    const std::string unseen = evidence.accuracy.empty() ? "-" : fmt::format("{:.0f} %", 100 * evidence.accuracy[c]);
    const std::string specialists = evidence.specialists.empty() ? "-" : std::to_string(evidence.specialists[c]);
    text += fmt::format("{:<20} {:>8} {:>12} {:>7}  {}\n", atlas.topics[c], unseen, specialists, strong_count(atlas, c), experts);
  }
  return text + "unseen: held-out prompts recognised; specialists: experts that survive every test; strong: by the reference's rule alone\n";
}

// The tests' numbers by phase, without their long lists.
static Json evidence_summary_json(const Json& evidence) {
  Json summary = Json::object();
  for (const auto& [phase, entry] : evidence.items()) {
    if (entry.contains("verdict")) summary[phase]["verdict"] = entry["verdict"];
    if (entry.contains("not_computed")) summary[phase]["not_computed"] = entry["not_computed"];
    if (!entry.contains("held_out")) continue;
    for (const auto& [score, result] : entry["held_out"].items())
      for (const char* key : {"accuracy", "interval_95", "null_mean", "null_quantile_95", "p_value", "not_computed"})
        if (result.contains(key)) summary[phase]["held_out"][score][key] = result[key];
    for (const char* key : {"family_count", "specialist_count", "specialist_count_null", "strong_count", "strong_count_null"})
      if (entry["experts"].contains(key)) summary[phase][key] = entry["experts"][key];
    summary[phase]["controls"] = entry["controls"];
    summary[phase]["controls"].erase("router_weight");
  }
  return summary;
}

Json summary_json(const Atlas& atlas) {
  const ReferenceSummary& summary = atlas.reference.summary;
  Json topics = Json::array();
  for (std::size_t c = 0; c < atlas.topics.size(); c++) {
    const TopicHits hits = hits_of(atlas, atlas.topics[c]);
    topics.push_back({{"topic", atlas.topics[c]}, {"hits", hits.hits}, {"trials", hits.trials}, {"strong", strong_count(atlas, c)}});
  }
  return {{"model", atlas.counts.manifest.model.name},
          {"engine", atlas.counts.manifest.engine_name},
          {"experts_seen", summary.experts_seen},
          {"experts_kept", summary.experts_kept},
          {"dropped_sparse", summary.dropped_sparse},
          {"dropped_unreplicated", summary.dropped_unreplicated},
          {"strong_specialists", summary.strong_specialists},
          {"top_k", atlas.validation.top_k},
          {"hits", atlas.validation.hits},
          {"trials", atlas.validation.trials.size()},
          {"accuracy", atlas.validation.accuracy},
          {"chance", atlas.validation.chance},
          {"topics", topics},
          {"evidence", evidence_summary_json(atlas.evidence.value("evidence", Json::object()))}};
}

std::string topic_text(const Atlas& atlas, const std::string& topic) {
  constexpr std::size_t most_experts = 20;
  const std::size_t c = topic_index(atlas, topic);
  const auto experts = experts_of(atlas, c);
  std::string text = fmt::format("{}: {} experts are routed most often for it\n\n", topic, experts.size());
  text += fmt::format("{:<12} {:>14} {:>9} {:>6} {:>10} {:>8}\n", "layer:expert", "specialisation", "affinity", "lift", "selections", "prompts");
  for (std::size_t i = 0; i < experts.size() && i < most_experts; i++) {
    const ReferenceExpert& expert = *experts[i];
    text += fmt::format("{:<12} {:>14.3f} {:>9.3f} {:>6.2f} {:>10} {:>3} of {:<2}\n", expert_name(expert), expert.specialisation, expert.affinity[c],
                        expert.top_lift, expert.total, expert.fired_runs, expert.total_runs);
  }
  if (experts.size() > most_experts) text += fmt::format("... and {} more (export --as csv lists all)\n", experts.size() - most_experts);
  text += fmt::format("\n{:<12} {:<20} {:>9} {:>10}\n", "held out", "taken for", "own set", "best other");
  for (const ReferenceTrial& trial : atlas.validation.trials) {
    if (trial.topic != topic) continue;
    text += fmt::format("{:<12} {:<20} {:>9.3f} {:>10.3f}{}\n", "prompt " + std::to_string(trial.prompt_index), atlas.topics[trial.predicted],
                        trial.own_share, trial.best_other_share, trial.correct ? "" : "  wrong");
  }
  return text;
}

Json topic_json(const Atlas& atlas, const std::string& topic) {
  const std::size_t c = topic_index(atlas, topic);
  Json experts = Json::array();
  for (const ReferenceExpert* expert : experts_of(atlas, c)) {
    experts.push_back({{"layer", expert->layer},
                       {"expert", expert->expert},
                       {"specialisation", expert->specialisation},
                       {"affinity", expert->affinity[c]},
                       {"top_lift", expert->top_lift},
                       {"total", expert->total},
                       {"fired_runs", expert->fired_runs},
                       {"total_runs", expert->total_runs}});
  }
  const TopicHits hits = hits_of(atlas, topic);
  return {{"topic", topic}, {"hits", hits.hits}, {"trials", hits.trials}, {"experts", experts}};
}

}  // namespace atlas
