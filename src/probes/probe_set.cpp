// See probe_set.h.
#include "probes/probe_set.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/mapped_file.h"
#include "base/sha256.h"

namespace atlas {

namespace {

// JavaScript's white space (ECMAScript WhiteSpace and LineTerminator), as code points.
bool is_white_space(std::uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000 || c == 0xFEFF;
}

void number_runs(ProbeSet& set) {
  std::map<std::string, std::uint32_t> next;
  for (Probe& probe : set.probes) {
    probe.ordinal = next[probe.topic]++;
    probe.run_id = probe.topic + ":" + std::to_string(probe.ordinal);
  }
  set.topics.clear();
  for (const auto& [topic, count] : next) set.topics.push_back(topic);
}

std::string in_quotes(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

Provenance read_provenance(const Json& root, const std::string& where, std::vector<Problem>& problems) {
  const std::string path = where + ": $.provenance";
  const Json* json = root.contains("provenance") ? &root["provenance"] : nullptr;
  Provenance provenance;
  if (json == nullptr || !json->is_object()) {
    problems.push_back({path, json == nullptr ? "nothing" : json_type_name(*json), "an object with source, sourceCommit and method", ""});
    return provenance;
  }
  const auto read = [&](const char* key, std::string& into) {
    const Json* value = json->contains(key) ? &json->at(key) : nullptr;
    if (value != nullptr && value->is_string()) into = value->get<std::string>();
    if (into.empty() || is_blank(into)) {
      const std::string found = value == nullptr ? "nothing" : (value->is_string() ? "a blank text" : json_type_name(*value));
      problems.push_back({path + "." + key, found, "a text that says where the probes come from", ""});
    }
  };
  read("source", provenance.source);
  read("sourceCommit", provenance.source_commit);
  read("method", provenance.method);
  return provenance;
}

void read_topic_v1(const std::string& topic, const Json& prompts, const std::string& where, ProbeSet& set, std::vector<Problem>& problems) {
  const std::string path = where + ": $.categories[" + in_quotes(topic) + "]";
  if (!is_topic_name(topic))
    problems.push_back({path, "the topic name " + in_quotes(topic), "lower-case letters, digits and _, not starting with _", ""});
  if (!prompts.is_array() || prompts.size() < min_probes_per_topic) {
    const std::string found = prompts.is_array() ? std::to_string(prompts.size()) + " prompts" : json_type_name(prompts);
    problems.push_back({path, found, "a list of at least three prompts", ""});
  }
  if (!prompts.is_array()) return;
  for (std::size_t i = 0; i < prompts.size(); i++) {
    const bool text = prompts[i].is_string();
    if (!text || is_blank(prompts[i].get_ref<const std::string&>())) {
      problems.push_back({path + "[" + std::to_string(i) + "]", text ? "a blank text" : json_type_name(prompts[i]), "a prompt", ""});
      continue;
    }
    Probe probe;
    probe.topic = topic;
    probe.id = topic + ":" + std::to_string(i);
    probe.prompt = prompts[i].get<std::string>();
    probe.labels = {{"topic", topic}};
    set.probes.push_back(std::move(probe));
  }
}

void read_version_1(const Json& root, const std::string& where, ProbeSet& set, std::vector<Problem>& problems) {
  set.provenance = read_provenance(root, where, problems);
  const Json* categories = root.contains("categories") ? &root["categories"] : nullptr;
  if (categories == nullptr || !categories->is_object()) {
    problems.push_back({where + ": $.categories", categories == nullptr ? "nothing" : json_type_name(*categories), "an object of topics", ""});
    return;
  }
  if (categories->size() < min_topic_count)
    problems.push_back({where + ": $.categories", std::to_string(categories->size()) + " topics", "at least two", ""});
  std::vector<std::string> topics;
  for (const auto& [topic, prompts] : categories->items()) topics.push_back(topic);
  for (const std::size_t i : javascript_key_order(topics)) read_topic_v1(topics[i], categories->at(topics[i]), where, set, problems);
}

bool is_probe_id(std::string_view id) {
  return !id.empty() && id.size() <= 200 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == ':';
  });
}

void read_labels(const Json* json, const std::string& path, Probe& probe, std::vector<Problem>& problems) {
  if (json == nullptr || !json->is_object()) {
    if (json != nullptr) problems.push_back({path, json_type_name(*json), "an object {axis: value}", ""});
    return;
  }
  for (const auto& [axis, value] : json->items()) {
    const std::string name = value.is_string() ? value.get<std::string>() : "";
    if (!is_topic_name(axis)) problems.push_back({path, "the axis " + in_quotes(axis), "lower-case letters, digits and _, not starting with _", ""});
    if (!is_topic_name(name)) {
      problems.push_back({path + "." + axis, value.is_string() ? in_quotes(name) : json_type_name(value),
                          "a label of lower-case letters, digits and _, not starting with _", ""});
    }
    probe.labels[axis] = name;
  }
}

void check_images(ObjectReader& fields, Probe& probe) {
  const Json* images = fields.child("images");
  if (images == nullptr) return;
  if (!images->is_array()) fields.problem("images", json_type_name(*images), "a list of paths");
  for (const Json& image : images->is_array() ? *images : Json::array()) {
    if (!image.is_string() || image.get_ref<const std::string&>().empty()) fields.problem("images", json_type_name(image), "a path");
    else probe.images.push_back(image.get<std::string>());
  }
  std::size_t marks = 0;
  const std::string_view mark = "<image>";
  for (std::size_t at = probe.prompt.find(mark); at != std::string::npos; at = probe.prompt.find(mark, at + mark.size())) marks++;
  if (marks != 0 && marks != probe.images.size()) {
    fields.problem("images", std::to_string(probe.images.size()) + " pictures for " + std::to_string(marks) + " <image> marks",
                   "one mark for each picture, or no mark");
  }
}

Probe read_probe_v2(const Json& json, const std::string& path, std::vector<Problem>& problems) {
  ObjectReader fields(json, path, problems);
  Probe probe;
  probe.id = fields.text("id");
  const auto is_text = [&](const char* key) { return fields.has(key) && json[key].is_string(); };  // else a problem already
  if (is_text("id") && !is_probe_id(probe.id)) fields.problem("id", in_quotes(probe.id), "1 to 200 letters, digits, _ - . :");
  probe.prompt = fields.text("prompt");
  if (is_text("prompt") && is_blank(probe.prompt)) fields.problem("prompt", "a blank text", "a prompt");
  if (fields.has("answer")) probe.answer = fields.text("answer");
  if (is_text("answer") && is_blank(*probe.answer)) fields.problem("answer", "a blank text", "an answer, or no such field");
  check_images(fields, probe);
  read_labels(fields.required("labels"), path + ".labels", probe, problems);
  fields.refuse_unknown();
  return probe;
}

// Sets each probe's topic from its label on the topic axis and checks that topics are large enough to be tested.
void set_topics(ProbeSet& set, const std::string& where, std::vector<Problem>& problems) {
  for (std::size_t i = 0; i < set.probes.size(); i++) {
    Probe& probe = set.probes[i];
    const auto label = probe.labels.find(set.topic_axis);
    probe.topic = label != probe.labels.end() ? label->second : "";
    if (label != probe.labels.end()) continue;
    problems.push_back(
        {where + ": $.probes[" + std::to_string(i) + "].labels", "no label " + in_quotes(set.topic_axis), "a label on the topic axis", ""});
  }
  number_runs(set);
  if (set.topics.size() < min_topic_count)
    problems.push_back({where + ": $.probes", std::to_string(set.topics.size()) + " topics", "at least two", ""});
  for (const std::string& topic : set.topics) {
    const std::uint32_t count = set.probe_count(topic);
    if (count < min_probes_per_topic)
      problems.push_back({where + ": $.probes", std::to_string(count) + " probes of the topic " + in_quotes(topic), "at least three", ""});
  }
}

void read_version_2(const Json& root, const std::string& where, ProbeSet& set, std::vector<Problem>& problems) {
  ObjectReader fields(root, where + ": $", problems);
  fields.child("schemaVersion");
  fields.child("provenance");
  set.provenance = read_provenance(root, where, problems);
  if (root.contains("provenance") && root["provenance"].is_object()) {
    ObjectReader provenance(root["provenance"], where + ": $.provenance", problems);
    for (const char* key : {"source", "sourceCommit", "method"}) provenance.child(key);
    provenance.refuse_unknown();
  }
  set.topic_axis = fields.text("topic_axis");
  const Json* probes = fields.required("probes");
  if (probes != nullptr && !probes->is_array()) fields.problem("probes", json_type_name(*probes), "a list of probes");
  fields.refuse_unknown();
  std::set<std::string> ids;
  for (std::size_t i = 0; probes != nullptr && probes->is_array() && i < probes->size(); i++) {
    const std::string path = where + ": $.probes[" + std::to_string(i) + "]";
    set.probes.push_back(read_probe_v2((*probes)[i], path, problems));
    const std::string& id = set.probes.back().id;
    if (!id.empty() && !ids.insert(id).second) problems.push_back({path + ".id", in_quotes(id) + " once more", "ids that differ", "a copied probe"});
  }
  if (problems.empty()) set_topics(set, where, problems);
}

}  // namespace

std::uint32_t ProbeSet::probe_count(const std::string& topic) const {
  return static_cast<std::uint32_t>(std::count_if(probes.begin(), probes.end(), [&](const Probe& probe) { return probe.topic == topic; }));
}

bool is_topic_name(std::string_view name) {
  const auto letter_or_digit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && letter_or_digit(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) { return letter_or_digit(c) || c == '_'; });
}

bool is_blank(std::string_view utf8) {
  for (std::size_t i = 0; i < utf8.size();) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    const std::size_t length = lead < 0x80 ? 1 : (lead < 0xE0 ? 2 : (lead < 0xF0 ? 3 : 4));
    std::uint32_t code = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t k = 1; k < length && i + k < utf8.size(); k++) code = code << 6 | (static_cast<unsigned char>(utf8[i + k]) & 0x3FU);
    if (!is_white_space(code)) return false;
    i += length;
  }
  return true;
}

ProbeSet parse_probe_set(std::string_view text, const std::string& where) {
  const Json root = parse_json(text, where);
  if (!root.is_object()) throw Error(Problem{where + ": $", json_type_name(root), "a probe set, which is an object", ""});
  ProbeSet set;
  std::vector<Problem> problems;
  const Json* version = root.contains("schemaVersion") ? &root["schemaVersion"] : nullptr;
  const bool is_2 = version != nullptr && whole_number(*version, 2) == 2 && !root.contains("categories");
  if (is_2) {
    set.schema_version = 2;
    read_version_2(root, where, set, problems);
  } else if (version != nullptr && whole_number(*version, 2) == 1) {
    read_version_1(root, where, set, problems);
  } else {
    const bool categories_in_2 = version != nullptr && whole_number(*version, 2) == 2;
    problems.push_back({where + ": $.schemaVersion", version == nullptr ? "nothing" : version->dump(-1, ' ', false, Json::error_handler_t::replace),
                        categories_in_2 ? "1, since there are categories" : "the number 1 or 2", ""});
  }
  throw_if_any(std::move(problems));
  number_runs(set);
  set.sha256 = sha256_hex(text);
  return set;
}

ProbeSet read_probe_set(const std::string& path) {
  const MappedFile file(path);
  return parse_probe_set(file.text(), path);
}

ProbeSet with_topic_axis(ProbeSet probe_set, const std::string& axis) {
  std::vector<Problem> problems;
  probe_set.topic_axis = axis;
  set_topics(probe_set, "topic axis " + in_quotes(axis), problems);
  throw_if_any(std::move(problems));
  return probe_set;
}

}  // namespace atlas
