// Fuzz target: any text as the route records of one run. The records must be those that the strict JSON parser sees, and the import must refuse
// what the checks refuse, and else keep every selection, in a trace that passes all checks.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "importers/reference_jsonl.h"
#include "importers/route_records.h"
#include "trace/trace.h"

namespace {

using namespace atlas;
using Selections = std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t>;  // (layer, expert) -> selections

const ProbeSet& probe_set() {
  static const ProbeSet set = parse_probe_set(
      R"({"schemaVersion":1,"provenance":{"source":"s","sourceCommit":"c","method":"m"},"categories":{"a":["p","q","r"],"b":["x","y","z"]}})", "");
  return set;
}

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string form = (std::filesystem::temp_directory_path() / "atlas-fuzz-XXXXXX").string();
    if (::mkdtemp(form.data()) == nullptr) std::abort();
    path = form;
    std::filesystem::create_directory(path / "routes");
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

bool is_same(double left, double right) { return left == right || (std::isnan(left) && std::isnan(right)); }

double number_in(const nlohmann::json& json, const char* key) {
  return json.contains(key) && json[key].is_number() ? json[key].get<double>() : std::nan("");
}

// Line by line through the strict parser alone; nothing if it refuses a line.
std::optional<std::vector<nlohmann::json>> strictly(std::string_view text) {
  std::vector<nlohmann::json> objects;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      objects.push_back(nlohmann::json::parse(line));
    } catch (const nlohmann::json::exception&) {
      return std::nullopt;
    }
    if (!objects.back().is_object()) return std::nullopt;
  }
  return objects;
}

std::optional<std::vector<RouteRecord>> records_in(std::string_view text) {
  const auto expected = strictly(text);
  std::vector<RouteRecord> records;
  try {
    records = parse_route_records(text, "input");
  } catch (const Error&) {
    if (expected) std::abort();
    return std::nullopt;
  }
  if (!expected || expected->size() != records.size()) std::abort();
  for (std::size_t i = 0; i < records.size(); i++) {
    const nlohmann::json& json = (*expected)[i];
    const RouteRecord& record = records[i];
    if (!is_same(number_in(json, "forward"), record.forward) || !is_same(number_in(json, "row"), record.row) ||
        !is_same(number_in(json, "layer"), record.layer))
      std::abort();
    if (json.contains("segment") && json["segment"].is_string() && json["segment"].get<std::string>() != record.segment) std::abort();
    const bool has_list = json.contains("indices") && json["indices"].is_array();
    if (record.indices.size() != (has_list ? json["indices"].size() : 0)) std::abort();
    for (std::size_t k = 0; k < record.indices.size(); k++) {
      const nlohmann::json& index = json["indices"][k];
      if (!is_same(index.is_number() ? index.get<double>() : std::nan(""), record.indices[k])) std::abort();
    }
  }
  return records;
}

// What the trace of these records must hold; nothing if they must be refused.
std::optional<Selections> expected_selections(const std::vector<RouteRecord>& records) {
  if (records.empty()) return std::nullopt;
  Selections selections;
  for (const RouteRecord& record : records) {
    if (route_record_problem(record, "a:0") || record.layer > 4294967294.0 || record.indices.size() > 255) return std::nullopt;
    for (const double expert : record.indices) {
      if (expert > 4294967294.0) return std::nullopt;
      selections[{static_cast<std::uint64_t>(record.layer), static_cast<std::uint64_t>(expert)}]++;
    }
  }
  return selections;
}

Selections selections_of(const Trace& trace) {
  Selections selections;
  for (std::size_t i = 0; i < trace.manifest().layers.size(); i++) {
    SafetensorsFile file = trace.open_layer(i);
    const LayerView layer = trace.layer(i, file);
    check_layer_ids(trace, layer);
    for (std::uint64_t row = 0; row < layer.row_count; row++)
      for (std::uint32_t slot = 0; slot < layer.selected(row); slot++) selections[{layer.layer, layer.expert_id(row, slot)}]++;
  }
  return selections;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto records = records_in(text);
  if (!records) return 0;  // the import reads with the same reader, and files are slow
  const auto expected = expected_selections(*records);
  write_file(folder.path / "routes/a_0.jsonl", text);
  ImportOptions options;
  options.replace = true;
  try {
    import_reference_jsonl(folder.path / "routes", probe_set(), folder.path / "x.trace", options);
  } catch (const Error&) {
    if (expected) std::abort();
    return 0;
  }
  if (!expected || selections_of(Trace(folder.path / "x.trace")) != *expected) std::abort();
  return 0;
}
