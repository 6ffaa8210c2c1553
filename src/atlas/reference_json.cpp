// See reference_json.h.
#include "atlas/reference_json.h"

#include <algorithm>
#include <cmath>

namespace atlas {

namespace {

Json by_topic(const std::vector<std::string>& topics, const std::vector<double>& values) {
  Json json = Json::object();
  for (const std::size_t c : javascript_key_order(topics)) json[topics[c]] = values[c];
  return json;
}

Json reliability_json(const ReferenceExpert& expert) { return {{"firedRuns", expert.fired_runs}, {"totalRuns", expert.total_runs}}; }

// In bits, of the rounded affinities, added in the order of JavaScript's keys.
double web_entropy(const std::vector<std::string>& topics, const ReferenceExpert& expert) {
  double sum = 0;
  for (const std::size_t c : javascript_key_order(topics)) {
    const double probability = expert.affinity[c];
    sum += probability > 0 ? probability * std::log2(probability) : 0;
  }
  return round_half_up(-sum, 3) + 0.0;  // + 0.0 turns -0 into 0
}

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(value); }

}  // namespace

Json reference_atlas_json(const ReferenceAtlas& atlas) {
  const ReferenceSummary& summary = atlas.summary;
  Json json{{"schemaVersion", 1}, {"categories", atlas.topics}, {"runCount", atlas.run_count}};
  json["method"] = {{"minCount", whole(atlas.options.min_count)},
                    {"minRuns", whole(atlas.options.min_runs)},
                    {"strongThreshold", atlas.options.strong_threshold},
                    {"normalization", "mean per-run selection share"}};
  json["summary"] = {{"expertsSeen", summary.experts_seen},
                     {"expertsKept", summary.experts_kept},
                     {"droppedSparse", summary.dropped_sparse},
                     {"droppedUnreplicated", summary.dropped_unreplicated},
                     {"strongSpecialists", summary.strong_specialists},
                     {"strongSpecialistRate", summary.strong_specialist_rate}};
  json["experts"] = Json::array();
  for (const ReferenceExpert& expert : atlas.experts) {
    json["experts"].push_back({{"layer", expert.layer},
                               {"expert", expert.expert},
                               {"total", expert.total},
                               {"specialization", expert.specialisation},
                               {"topTopic", atlas.topics[expert.top_topic]},
                               {"topLift", expert.top_lift},
                               {"reliability", reliability_json(expert)},
                               {"affinity", by_topic(atlas.topics, expert.affinity)}});
  }
  return json;
}

Json reference_validation_json(const ReferenceValidation& validation) {
  Json json{{"topK", validation.top_k},        {"hits", validation.hits},     {"trials", validation.trials.size()},
            {"accuracy", validation.accuracy}, {"chance", validation.chance}, {"protocol", "global leave-one-prompt-out"}};
  json["trialsByPrompt"] = Json::array();
  for (const ReferenceTrial& trial : validation.trials) {
    json["trialsByPrompt"].push_back({{"category", trial.topic},
                                      {"promptIndex", trial.prompt_index},
                                      {"predicted", validation.topics[trial.predicted]},
                                      {"correct", trial.correct},
                                      {"ownShare", trial.own_share},
                                      {"bestOtherShare", trial.best_other_share},
                                      {"scores", by_topic(validation.topics, trial.scores)}});
  }
  return json;
}

Json reference_web_experts_json(const ReferenceAtlas& atlas) {
  Json json = Json::object();
  for (const ReferenceExpert& expert : atlas.experts) {
    const std::string& top = atlas.topics[expert.top_topic];
    const bool strong = expert.specialisation >= atlas.options.strong_threshold;
    Json entry{{"affinity", by_topic(atlas.topics, expert.affinity)},
               {"entropy", web_entropy(atlas.topics, expert)},
               {"specialization", expert.specialisation},
               {"top", top},
               {"label", strong ? "specialist: " + top : "generalist"},
               {"total", expert.total},
               {"reliability", reliability_json(expert)}};
    // Appended, since json[key] searches all the keys before it and the names are known to differ.
    json.get_ref<Json::object_t&>().emplace_back(std::to_string(expert.layer) + ":" + std::to_string(expert.expert), std::move(entry));
  }
  return json;
}

Json reference_runs_json(std::vector<ReferenceRun> runs) {
  const auto file_name = [](const ReferenceRun& run) { return run.topic + "_" + std::to_string(whole(run.prompt_index)) + ".jsonl"; };
  std::sort(runs.begin(), runs.end(), [&](const ReferenceRun& left, const ReferenceRun& right) { return file_name(left) < file_name(right); });
  Json json = Json::array();
  for (const ReferenceRun& run : runs) {
    Json counts = Json::array();
    for (const ReferenceCount& entry : run.counts) counts.push_back({whole(entry.layer), whole(entry.expert), whole(entry.count)});
    json.push_back({{"category", run.topic},
                    {"promptIndex", whole(run.prompt_index)},
                    {"totalSelections", whole(run.total_selections)},
                    {"counts", std::move(counts)}});
  }
  return json;
}

}  // namespace atlas
