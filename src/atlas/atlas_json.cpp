// atlas.json, both ways. See atlas.h and docs/atlas.schema.json.
#include <algorithm>
#include <limits>

#include "atlas/atlas.h"
#include "base/encoded_array.h"

namespace atlas {

namespace {

constexpr const char* format_name = "expert-atlas atlas";
constexpr std::uint32_t schema_version = 2;
constexpr std::uint64_t max_u32 = std::numeric_limits<std::uint32_t>::max();

// One value of every expert as an encoded array.
template <typename T, typename Get>
Json expert_column(const ReferenceAtlas& reference, Get get) {
  std::vector<T> values;
  for (const ReferenceExpert& expert : reference.every_expert) values.push_back(static_cast<T>(get(expert)));
  return encode_array<T>(values, {values.size()});
}

Json experts_to_json(const Atlas& atlas) {
  const ReferenceAtlas& reference = atlas.reference;
  std::vector<double> affinity;
  for (const ReferenceExpert& expert : reference.every_expert) affinity.insert(affinity.end(), expert.affinity.begin(), expert.affinity.end());
  const std::uint64_t count = reference.every_expert.size();
  Json json{{"count", count}};
  json["layer"] = expert_column<std::uint32_t>(reference, [](const ReferenceExpert& e) { return e.layer; });
  json["expert"] = expert_column<std::uint32_t>(reference, [](const ReferenceExpert& e) { return e.expert; });
  json["total"] = expert_column<std::uint64_t>(reference, [](const ReferenceExpert& e) { return e.total; });
  json["status"] = expert_column<std::uint8_t>(reference, [](const ReferenceExpert& e) { return e.status; });
  json["top_topic"] = expert_column<std::uint32_t>(reference, [](const ReferenceExpert& e) { return e.top_topic; });
  json["specialisation"] = expert_column<double>(reference, [](const ReferenceExpert& e) { return e.specialisation; });
  json["top_lift"] = expert_column<double>(reference, [](const ReferenceExpert& e) { return e.top_lift; });
  json["fired_runs"] = expert_column<std::uint32_t>(reference, [](const ReferenceExpert& e) { return e.fired_runs; });
  json["total_runs"] = expert_column<std::uint32_t>(reference, [](const ReferenceExpert& e) { return e.total_runs; });
  json["affinity"] = encode_array<double>(affinity, {count, atlas.topics.size()});
  return json;
}

Json counts_to_json(const Counts& counts) {
  Json phases = Json::array();
  for (const Phase phase : counts.phases) phases.push_back(phase_names.at(static_cast<std::size_t>(phase)));
  const std::vector<std::uint64_t> shape{counts.probe_count(), counts.phases.size(), counts.experts.size()};
  Json json{{"phases", std::move(phases)}, {"selections", encode_array<std::uint32_t>(counts.selections, shape)}};
  if (!counts.router_weight_sum.empty()) json["router_weight_sum"] = encode_array<float>(counts.router_weight_sum, shape);
  return json;
}

Json validation_to_json(const ReferenceValidation& validation) {
  Json json{{"top_k", validation.top_k}, {"hits", validation.hits}, {"accuracy", validation.accuracy}, {"chance", validation.chance}};
  json["trials"] = Json::array();
  for (const ReferenceTrial& trial : validation.trials) {
    json["trials"].push_back({{"topic", trial.topic},
                              {"ordinal", trial.prompt_index},
                              {"predicted", validation.topics[trial.predicted]},
                              {"own_share", trial.own_share},
                              {"best_other_share", trial.best_other_share},
                              {"scores", trial.scores}});
  }
  return json;
}

Json reference_to_json(const Atlas& atlas) {
  const ReferenceOptions& options = atlas.reference.options;
  const ReferenceSummary& summary = atlas.reference.summary;
  Json json;
  json["options"] = {{"min_count", options.min_count}, {"min_runs", options.min_runs}, {"strong_threshold", options.strong_threshold}};
  json["summary"] = {{"experts_seen", summary.experts_seen},
                     {"experts_kept", summary.experts_kept},
                     {"dropped_sparse", summary.dropped_sparse},
                     {"dropped_unreplicated", summary.dropped_unreplicated},
                     {"strong_specialists", summary.strong_specialists},
                     {"strong_specialist_rate", summary.strong_specialist_rate}};
  json["validation"] = validation_to_json(atlas.validation);
  return json;
}

}  // namespace

Json atlas_to_json(const Atlas& atlas) {
  Json json{{"format", format_name}, {"schema_version", schema_version}};
  json["made_by"] = {{"name", "expert-atlas"}, {"version", atlas.made_by_version}, {"commit", atlas.made_by_commit}};
  json["topics"] = atlas.topics;
  json["source"] = manifest_to_json(atlas.counts.manifest);
  json["reference"] = reference_to_json(atlas);
  for (const auto& [key, value] : atlas.evidence.items()) json[key] = value;
  json["experts"] = experts_to_json(atlas);
  json["counts"] = counts_to_json(atlas.counts);
  return json;
}

namespace {

// Reads the columns of `experts` back; every column has one entry an expert.
class ExpertColumns {
 public:
  ExpertColumns(const Json& json, const std::string& where, std::vector<Problem>& problems)
      : fields_(json, where + ": $.experts", problems), problems_(problems), count_(fields_.whole_number("count", max_u32)) {}

  std::uint64_t count() const { return count_; }

  template <typename T>
  std::vector<T> column(const char* name, std::uint64_t width = 0) {
    const Json* json = fields_.required(name);
    if (json == nullptr || count_ > max_experts) return {};
    const std::vector<std::uint64_t> shape = width > 0 ? std::vector<std::uint64_t>{count_, width} : std::vector<std::uint64_t>{count_};
    std::vector<T> values = decode_array<T>(*json, shape, fields_.path_of(name), problems_);
    values.resize(count_ * std::max<std::uint64_t>(width, 1));
    return values;
  }

 private:
  static constexpr std::uint64_t max_experts = 10'000'000;  // a bound on what a damaged file can make us allocate
  ObjectReader fields_;
  std::vector<Problem>& problems_;
  std::uint64_t count_;
};

void read_experts(const Json& json, const std::string& where, Atlas& atlas, std::vector<Problem>& problems) {
  ExpertColumns columns(json, where, problems);
  const std::size_t topics = atlas.topics.size();
  const auto layer = columns.column<std::uint32_t>("layer"), expert = columns.column<std::uint32_t>("expert");
  const auto total = columns.column<std::uint64_t>("total");
  const auto status = columns.column<std::uint8_t>("status");
  const auto top_topic = columns.column<std::uint32_t>("top_topic"), fired = columns.column<std::uint32_t>("fired_runs");
  const auto runs = columns.column<std::uint32_t>("total_runs");
  const auto specialisation = columns.column<double>("specialisation"), lift = columns.column<double>("top_lift");
  const auto affinity = columns.column<double>("affinity", topics);
  if (!problems.empty()) return;
  for (std::size_t e = 0; e < columns.count(); e++) {
    if (status[e] > 2 || top_topic[e] >= topics) {
      problems.push_back({where + ": $.experts", "a status or topic out of range at " + std::to_string(e), "known ones", "a damaged file"});
      return;
    }
    const auto row = affinity.begin() + static_cast<std::ptrdiff_t>(e * topics);
    atlas.reference.every_expert.push_back({layer[e],
                                            expert[e],
                                            total[e],
                                            static_cast<ExpertStatus>(status[e]),
                                            top_topic[e],
                                            specialisation[e],
                                            lift[e],
                                            fired[e],
                                            runs[e],
                                            {row, row + static_cast<std::ptrdiff_t>(topics)}});
    atlas.counts.experts.push_back({layer[e], expert[e]});
  }
}

void read_counts_part(const Json& json, const std::string& where, Atlas& atlas, std::vector<Problem>& problems) {
  ObjectReader fields(json, where + ": $.counts", problems);
  const Json* phases = fields.required("phases");
  for (const Json& name : phases != nullptr && phases->is_array() ? *phases : Json::array()) {
    const auto known = std::find(phase_names.begin(), phase_names.end(), name.is_string() ? name.get<std::string>() : "");
    if (known == phase_names.end()) fields.problem("phases", name.dump(), "a phase");
    else atlas.counts.phases.push_back(static_cast<Phase>(known - phase_names.begin()));
  }
  const std::vector<std::uint64_t> shape{atlas.counts.probe_count(), atlas.counts.phases.size(), atlas.counts.experts.size()};
  if (const Json* selections = fields.required("selections"))
    atlas.counts.selections = decode_array<std::uint32_t>(*selections, shape, fields.path_of("selections"), problems);
  if (const Json* sums = fields.child("router_weight_sum"))
    atlas.counts.router_weight_sum = decode_array<float>(*sums, shape, fields.path_of("router_weight_sum"), problems);
}

std::uint32_t topic_index(const std::vector<std::string>& topics, const std::string& topic, ObjectReader& fields, const char* key) {
  const auto found = std::find(topics.begin(), topics.end(), topic);
  if (found == topics.end()) fields.problem(key, topic, "one of the topics");
  return static_cast<std::uint32_t>(found == topics.end() ? 0 : found - topics.begin());
}

void read_validation(const Json& json, const std::string& path, Atlas& atlas, std::vector<Problem>& problems) {
  ObjectReader fields(json, path, problems);
  ReferenceValidation& validation = atlas.validation;
  validation.topics = atlas.topics;
  validation.top_k = fields.whole_number("top_k", static_cast<std::uint64_t>(max_safe_integer));
  validation.hits = fields.whole_number("hits", max_u32);
  validation.accuracy = fields.number_or("accuracy", 0);
  validation.chance = fields.number_or("chance", 0);
  const Json* trials = fields.required("trials");
  for (const Json& entry : trials != nullptr && trials->is_array() ? *trials : Json::array()) {
    ObjectReader trial(entry, fields.path_of("trials"), problems);
    ReferenceTrial read;
    read.topic = trial.text("topic");
    read.prompt_index = trial.whole_number("ordinal", max_u32);
    read.predicted = topic_index(atlas.topics, trial.text("predicted"), trial, "predicted");
    read.correct = atlas.topics.at(read.predicted) == read.topic;
    read.own_share = trial.number_or("own_share", 0);
    read.best_other_share = trial.number_or("best_other_share", 0);
    const Json* scores = trial.required("scores");
    if (scores != nullptr && scores->is_array() && std::all_of(scores->begin(), scores->end(), [](const Json& s) { return s.is_number(); }))
      read.scores = scores->get<std::vector<double>>();
    validation.trials.push_back(std::move(read));
  }
}

void read_reference(const Json& json, const std::string& where, Atlas& atlas, std::vector<Problem>& problems) {
  ObjectReader fields(json, where + ": $.reference", problems);
  if (const Json* options = fields.required("options")) {
    ObjectReader read(*options, fields.path_of("options"), problems);
    atlas.reference.options.min_count = read.number_or("min_count", 30);
    atlas.reference.options.min_runs = read.number_or("min_runs", 2);
    atlas.reference.options.strong_threshold = read.number_or("strong_threshold", 0.5);
  }
  if (const Json* validation = fields.required("validation")) read_validation(*validation, fields.path_of("validation"), atlas, problems);
  atlas.reference.options.top_k = static_cast<double>(atlas.validation.top_k);
  atlas.reference.run_count = atlas.validation.trials.size();
  atlas.reference.topics = atlas.topics;
}

}  // namespace

Atlas atlas_from_json(const Json& json, const std::string& where) {
  std::vector<Problem> problems;
  ObjectReader fields(json, where + ": $", problems);
  if (fields.text_or("format", "") != format_name || fields.whole_number_or("schema_version", max_u32, 0) != schema_version)
    throw Error(Problem{where, "no atlas of this version", std::string("format '") + format_name + "', schema_version 2",
                        "another file, or a newer version"});
  Atlas atlas;
  const Json* topics = fields.required("topics");
  for (const Json& topic : topics != nullptr && topics->is_array() ? *topics : Json::array())
    if (topic.is_string()) atlas.topics.push_back(topic.get<std::string>());
  if (atlas.topics.size() < min_topic_count) fields.problem("topics", std::to_string(atlas.topics.size()) + " topics", "at least two");
  const Json *source = fields.required("source"), *reference = fields.required("reference"), *experts = fields.required("experts"),
             *counts = fields.required("counts");
  throw_if_any(problems);
  atlas.counts.manifest = manifest_from_json(*source, where + ": $.source");
  if (const Json* made_by = fields.child("made_by"); made_by != nullptr && made_by->is_object()) {
    atlas.made_by_version = made_by->value("version", "");
    atlas.made_by_commit = made_by->value("commit", "");
  }
  for (const char* key : {"evidence", "evidence_options", "prompt_against_answer", "axes", "unseen_topic"})
    if (const Json* part = fields.child(key); part != nullptr && part->is_structured()) atlas.evidence[key] = *part;
  read_reference(*reference, where, atlas, problems);
  read_experts(*experts, where, atlas, problems);
  throw_if_any(problems);
  read_counts_part(*counts, where, atlas, problems);
  throw_if_any(std::move(problems));
  rank_experts(atlas.reference);
  return atlas;
}

}  // namespace atlas
