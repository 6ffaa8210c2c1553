// The manifest of a trace as JSON, both ways. See trace.h and docs/trace-format.md.
#include <algorithm>
#include <limits>
#include <set>

#include "trace/trace.h"

namespace atlas {

namespace {

constexpr const char* format_name = "expert-atlas route trace";
constexpr std::uint32_t format_version = 1;
constexpr std::uint64_t max_rows = std::numeric_limits<std::int32_t>::max();

Json probe_to_json(const TraceProbe& probe) {
  Json tokens = Json::object();
  for (std::size_t phase = 0; phase < phase_count; phase++)
    if (probe.token_count[phase] > 0) tokens[phase_names[phase]] = probe.token_count[phase];
  return {{"id", probe.id},           {"topic", probe.topic}, {"labels", probe.labels}, {"row_begin", probe.row_begin},
          {"row_end", probe.row_end}, {"tokens", tokens}};
}

TraceProbe probe_from_json(const Json& json, const std::string& path, std::vector<Problem>& problems) {
  ObjectReader fields(json, path, problems);
  TraceProbe probe;
  probe.id = fields.text("id");
  probe.topic = fields.text("topic");
  probe.row_begin = fields.whole_number("row_begin", max_rows);
  probe.row_end = fields.whole_number("row_end", max_rows);
  if (fields.has("topic") && json["topic"].is_string() && !is_topic_name(probe.topic))
    fields.problem("topic", "'" + probe.topic + "'", "a topic name");
  if (const Json* labels = fields.required("labels")) {
    if (!labels->is_object()) fields.problem("labels", json_type_name(*labels), "an object {axis: value}");
    else
      for (const auto& [axis, value] : labels->items()) {
        if (value.is_string()) probe.labels[axis] = value.get<std::string>();
        else fields.problem("labels", json_type_name(value), "texts");
      }
  }
  if (const Json* tokens = fields.required("tokens")) {
    ObjectReader counts(*tokens, fields.path_of("tokens"), problems);
    for (std::size_t phase = 0; phase < phase_count; phase++) probe.token_count[phase] = counts.whole_number_or(phase_names[phase], max_rows, 0);
    counts.refuse_unknown();
  }
  fields.refuse_unknown();
  return probe;
}

void check_rows(const TraceManifest& manifest, const std::string& where, std::vector<Problem>& problems) {
  std::uint64_t row = 0;
  for (std::size_t p = 0; p < manifest.probes.size(); p++) {
    const TraceProbe& probe = manifest.probes[p];
    std::uint64_t tokens = 0;
    for (const std::uint64_t count : probe.token_count) tokens += count;
    const std::string range = "[" + std::to_string(probe.row_begin) + ", " + std::to_string(probe.row_end) + ")";
    if (probe.row_begin != row || probe.row_end < row || probe.row_end - row != tokens) {
      problems.push_back({where + ": $.probes[" + std::to_string(p) + "]", "rows " + range + " for " + std::to_string(tokens) + " tokens",
                          "rows that begin at " + std::to_string(row) + " and number its tokens", ""});
      return;
    }
    row = probe.row_end;
  }
}

void read_probes(ObjectReader& fields, TraceManifest& manifest, std::vector<Problem>& problems) {
  const Json* probes = fields.required("probes");
  if (probes == nullptr) return;
  if (!probes->is_array()) return fields.problem("probes", json_type_name(*probes), "a list");
  std::set<std::string> ids;
  for (std::size_t p = 0; p < probes->size(); p++) {
    const std::string path = fields.path_of("probes") + "[" + std::to_string(p) + "]";
    manifest.probes.push_back(probe_from_json((*probes)[p], path, problems));
    const std::string& id = manifest.probes.back().id;
    if (!ids.insert(id).second) problems.push_back({path + ".id", "'" + id + "' once more", "ids that differ", ""});
  }
}

void read_layers(ObjectReader& fields, TraceManifest& manifest) {
  const Json* layers = fields.required("layers");
  if (layers == nullptr) return;
  if (!layers->is_array()) return fields.problem("layers", json_type_name(*layers), "a list of layer indices");
  for (const Json& layer : *layers) {
    const auto index = whole_number(layer, std::numeric_limits<std::uint32_t>::max() - 1);
    if (!index || (!manifest.layers.empty() && *index <= manifest.layers.back()))
      return fields.problem("layers", layer.dump(-1, ' ', false, Json::error_handler_t::replace), "whole numbers that rise");
    manifest.layers.push_back(static_cast<std::uint32_t>(*index));
  }
}

void read_missing(ObjectReader& fields, TraceManifest& manifest, std::vector<Problem>& problems) {
  const Json* missing = fields.child("missing");
  if (missing == nullptr) return;
  if (!missing->is_array()) return fields.problem("missing", json_type_name(*missing), "a list");
  for (std::size_t i = 0; i < missing->size(); i++) {
    ObjectReader entry((*missing)[i], fields.path_of("missing") + "[" + std::to_string(i) + "]", problems);
    MissingRows rows;
    const std::uint64_t probe = entry.whole_number("probe", max_rows);
    if (probe >= manifest.probes.size()) entry.problem("probe", std::to_string(probe), "the index of a probe");
    rows.probe = static_cast<std::uint32_t>(probe);
    if (entry.has("layer")) rows.layer = static_cast<std::uint32_t>(entry.whole_number("layer", std::numeric_limits<std::uint32_t>::max()));
    if (rows.layer && !std::binary_search(manifest.layers.begin(), manifest.layers.end(), *rows.layer))
      entry.problem("layer", std::to_string(*rows.layer), "one of the trace's layers");
    rows.row_count = entry.whole_number("rows", max_rows);
    rows.reason = entry.text("reason");
    entry.refuse_unknown();
    manifest.missing.push_back(std::move(rows));
  }
}

void read_model(ObjectReader& fields, TraceManifest& manifest, std::vector<Problem>& problems) {
  if (const Json* model = fields.required("model")) {
    ObjectReader entry(*model, fields.path_of("model"), problems);
    manifest.model = {entry.text("name"), entry.text_or("config_sha256", ""), entry.text_or("weights_sha256", ""), entry.text_or("quantisation", "")};
    entry.refuse_unknown();
  }
  if (const Json* engine = fields.required("engine")) {
    ObjectReader entry(*engine, fields.path_of("engine"), problems);
    manifest.engine_name = entry.text("name");
    manifest.engine_version = entry.text_or("version", "");
    entry.refuse_unknown();
  }
}

bool one_of_two(ObjectReader& fields, const char* key, const char* yes, const char* no) {
  const std::string value = fields.text(key);
  if (!value.empty() && value != yes && value != no) fields.problem(key, value, std::string(yes) + " or " + no);
  return value == yes;
}

}  // namespace

Json describe_probe_set(const ProbeSet& set, bool with_texts) {
  Json json{{"sha256", set.sha256}, {"schema_version", set.schema_version}, {"topic_axis", set.topic_axis}};
  json["provenance"] = {{"source", set.provenance.source}, {"source_commit", set.provenance.source_commit}, {"method", set.provenance.method}};
  if (!with_texts) return json;
  Json texts = Json::array();
  for (const Probe& probe : set.probes) {
    Json entry{{"prompt", probe.prompt}};
    if (probe.answer) entry["answer"] = *probe.answer;
    if (!probe.images.empty()) entry["images"] = probe.images;
    texts.push_back(std::move(entry));
  }
  json["texts"] = std::move(texts);
  return json;
}

std::vector<TraceProbe> trace_probes(const ProbeSet& set) {
  std::vector<TraceProbe> probes;
  for (const Probe& probe : set.probes) {
    TraceProbe entry;
    entry.id = probe.id;
    entry.topic = probe.topic;
    entry.labels = probe.labels;
    probes.push_back(std::move(entry));
  }
  return probes;
}

Json manifest_to_json(const TraceManifest& manifest) {
  const TraceModel& model = manifest.model;
  Json json{{"format", format_name}, {"version", format_version}};
  json["model"] = {{"name", model.name},
                   {"config_sha256", model.config_sha256},
                   {"weights_sha256", model.weights_sha256},
                   {"quantisation", model.quantisation}};
  json["engine"] = {{"name", manifest.engine_name}, {"version", manifest.engine_version}};
  json["settings"] = manifest.settings;
  json["probe_set"] = manifest.probe_set;
  json["layers"] = manifest.layers;
  json["expert_count"] = manifest.expert_count;
  json["expert_top_k"] = manifest.expert_top_k;
  json["weights"] = manifest.has_router_weights ? "applied" : "none";
  json["order"] = manifest.ordered_by_weight ? "weight" : "as given";
  json["probes"] = Json::array();
  for (const TraceProbe& probe : manifest.probes) json["probes"].push_back(probe_to_json(probe));
  json["missing"] = Json::array();
  for (const MissingRows& rows : manifest.missing) {
    Json entry{{"probe", rows.probe}};
    if (rows.layer) entry["layer"] = *rows.layer;
    entry["rows"] = rows.row_count;
    entry["reason"] = rows.reason;
    json["missing"].push_back(std::move(entry));
  }
  return json;
}

TraceManifest manifest_from_json(const Json& json, const std::string& where) {
  std::vector<Problem> problems;
  TraceManifest manifest;
  ObjectReader fields(json, where + ": $", problems);
  const std::string format = fields.text("format");
  const std::uint64_t version = fields.whole_number("version", max_rows);
  if (!problems.empty() || format != format_name || version != format_version) {
    throw Error(
        Problem{where,
                json.is_object() && json.contains("version") ? "format '" + format + "', version " + std::to_string(version) : "no trace manifest",
                std::string("'") + format_name + "', version " + std::to_string(format_version), "another program's file, or a newer version"});
  }
  read_model(fields, manifest, problems);
  for (const auto& [key, into] : {std::pair{"settings", &manifest.settings}, std::pair{"probe_set", &manifest.probe_set}}) {
    const Json* value = fields.required(key);
    if (value != nullptr && !value->is_object()) fields.problem(key, json_type_name(*value), "an object");
    else if (value != nullptr) *into = *value;
  }
  read_layers(fields, manifest);
  manifest.expert_count = static_cast<std::uint32_t>(fields.whole_number("expert_count", std::numeric_limits<std::uint32_t>::max()));
  manifest.expert_top_k = static_cast<std::uint32_t>(fields.whole_number("expert_top_k", 255));
  if (manifest.expert_top_k == 0) fields.problem("expert_top_k", "0", "1 to 255");
  if (manifest.expert_count < manifest.expert_top_k) fields.problem("expert_count", std::to_string(manifest.expert_count), "at least expert_top_k");
  manifest.has_router_weights = one_of_two(fields, "weights", "applied", "none");
  manifest.ordered_by_weight = one_of_two(fields, "order", "weight", "as given");
  read_probes(fields, manifest, problems);
  read_missing(fields, manifest, problems);
  fields.refuse_unknown();
  if (problems.empty()) check_rows(manifest, where, problems);
  throw_if_any(std::move(problems));
  return manifest;
}

ProbeTexts texts_of(const TraceManifest& manifest) {
  ProbeTexts texts;
  if (!manifest.probe_set.contains("texts") || !manifest.probe_set["texts"].is_array()) return texts;
  const Json& entries = manifest.probe_set["texts"];
  if (entries.size() != manifest.probes.size()) return texts;
  for (const Json& entry : entries) {
    const auto text = [&entry](const char* key) {
      return entry.is_object() && entry.contains(key) && entry[key].is_string() ? std::optional(entry[key].get<std::string>()) : std::nullopt;
    };
    texts.prompts.push_back(text("prompt").value_or(""));
    texts.answers.push_back(text("answer"));
  }
  return texts;
}

}  // namespace atlas
