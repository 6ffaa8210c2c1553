// See trace_writer.h.
#include "trace/trace_writer.h"

#include <cassert>
#include <utility>

namespace atlas {

namespace {

namespace fs = std::filesystem;

void write_tokens(const fs::path& folder, const TokenTable& tokens) {
  const std::vector<std::uint64_t> shape{tokens.probe_index.size()};
  std::vector<TensorOut> tensors{{"probe_index", Dtype::i32, shape, std::as_bytes(std::span(tokens.probe_index))},
                                 {"position", Dtype::i32, shape, std::as_bytes(std::span(tokens.position))},
                                 {"phase", Dtype::u8, shape, std::as_bytes(std::span(tokens.phase))}};
  if (!tokens.token_ids.empty()) tensors.push_back({"token_ids", Dtype::i32, shape, std::as_bytes(std::span(tokens.token_ids))});
  write_safetensors(folder / "tokens.safetensors", std::move(tensors));
}

// A model's name can come from the command line, so it may be no UTF-8.
std::string file_text(const TraceManifest& manifest) { return manifest_to_json(manifest).dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

// Also what AtomicFile leaves behind when it is killed: a trace file's name with ".partial-" and a process id after it.
bool is_trace_file(const std::string& file_name) {
  const std::string name = file_name.substr(0, file_name.find(".partial-"));
  return name == "manifest.json" || name == "tokens.safetensors" || (name.starts_with("layer-") && name.ends_with(".safetensors"));
}

// The fields in which two manifests differ, as "settings, probes".
std::string differing_fields(const Json& left, const Json& right) {
  std::string names;
  for (const auto& [key, value] : left.items()) {
    if (key != "missing" && (!right.contains(key) || right[key] != value)) names += (names.empty() ? "" : ", ") + key;
  }
  return names;
}

void check_same_capture(const fs::path& folder, const TraceManifest& manifest) {
  const Json before = read_json_file((folder / "manifest.json").string());
  const std::string differing = differing_fields(manifest_to_json(manifest), before);
  if (!differing.empty())
    throw Error(Problem{folder.string(), "a trace that differs in " + differing, "the same capture, to go on with it",
                        "other options, another model or another probe set"});
}

template <typename Id>
std::vector<Id> narrowed(const LayerRoutes& routes, std::uint32_t top_k) {
  std::vector<Id> ids(routes.expert_ids.size());
  for (std::size_t i = 0; i < ids.size(); i++) {
    const bool selected = routes.selected_count.empty() || i % top_k < routes.selected_count[i / top_k];
    ids[i] = selected ? static_cast<Id>(routes.expert_ids[i]) : static_cast<Id>(~Id{0});
  }
  return ids;
}

void check_sizes(const LayerRoutes& routes, const TraceManifest& manifest) {
  const std::uint64_t rows = manifest.row_count(), slots = rows * manifest.expert_top_k;
  const auto check = [&](const char* name, std::uint64_t size, std::uint64_t expected, bool optional) {
    if (size == expected || (optional && size == 0)) return;
    throw Error(Problem{"layer " + std::to_string(routes.layer) + ", " + name, std::to_string(size) + " elements", std::to_string(expected), ""});
  };
  check("expert_ids", routes.expert_ids.size(), slots, false);
  check("router_weights", routes.router_weights.size(), slots, !manifest.has_router_weights);
  check("selected_count", routes.selected_count.size(), rows, true);
  check("selection_margin", routes.selection_margin.size(), rows, true);
  check("expert_output_norm", routes.expert_output_norm.size(), slots, true);
}

void assert_ids(const LayerRoutes& routes, const TraceManifest& manifest) {
  for (std::size_t i = 0; i < routes.expert_ids.size(); i++) {
    [[maybe_unused]] const bool selected =
        routes.selected_count.empty() || i % manifest.expert_top_k < routes.selected_count[i / manifest.expert_top_k];
    assert(!selected || routes.expert_ids[i] < manifest.expert_count);
  }
}

}  // namespace

void check_removable(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw Error(Problem{folder.string(), "no folder", "a trace folder to replace", "another file was named"});
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_trace_file(entry.path().filename().string()) && entry.is_regular_file()) continue;
    throw Error(Problem{entry.path().string(), "a file that is no part of a trace", "a trace folder to replace", "another folder was named"});
  }
}

void remove_trace(const fs::path& folder) {
  check_removable(folder);
  fs::remove_all(folder);
}

TraceWriter::TraceWriter(fs::path folder, TraceManifest manifest, const TokenTable& tokens, Existing existing)
    : folder_(std::move(folder)), manifest_(std::move(manifest)) {
  const bool there = fs::exists(folder_) && !(fs::is_directory(folder_) && fs::is_empty(folder_));
  if (there && existing == Existing::refuse)
    throw Error(Problem{folder_.string(), "something with this name", "a new name", "an earlier run; remove it, or choose another --out"});
  if (there && existing == Existing::replace) remove_trace(folder_);
  if (there && existing == Existing::resume && fs::exists(folder_ / "manifest.json")) {
    check_same_capture(folder_, manifest_);
  } else {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw Error(Problem{folder_.string(), "cannot create it: " + error.message(), "", ""});
    write_tokens(folder_, tokens);
    write_file(folder_ / "manifest.json", file_text(manifest_));
    sync_folder(folder_);
  }
}

fs::path TraceWriter::layer_path(std::uint32_t layer) const { return folder_ / layer_file_name(layer); }

bool TraceWriter::has_layer(std::uint32_t layer) const {
  if (!fs::exists(layer_path(layer))) return false;
  try {
    const SafetensorsFile file(layer_path(layer));
    const std::vector<std::uint64_t> slots{manifest_.row_count(), manifest_.expert_top_k};
    file.expect("expert_ids", expert_id_dtype(manifest_.expert_count), slots);
    if (manifest_.has_router_weights) file.expect("router_weights", Dtype::f32, slots);
    return true;
  } catch (const Error&) {
    return false;  // damaged: to be written again
  }
}

void TraceWriter::write_layer(const LayerRoutes& routes) {
  check_sizes(routes, manifest_);
  assert_ids(routes, manifest_);
  const std::vector<std::uint64_t> rows{manifest_.row_count()}, slots{manifest_.row_count(), manifest_.expert_top_k};
  std::vector<TensorOut> tensors;
  const Dtype dtype = expert_id_dtype(manifest_.expert_count);
  const auto ids_8 = dtype == Dtype::u8 ? narrowed<std::uint8_t>(routes, manifest_.expert_top_k) : std::vector<std::uint8_t>();
  const auto ids_16 = dtype == Dtype::u16 ? narrowed<std::uint16_t>(routes, manifest_.expert_top_k) : std::vector<std::uint16_t>();
  const auto ids_32 = dtype == Dtype::u32 ? narrowed<std::uint32_t>(routes, manifest_.expert_top_k) : std::vector<std::uint32_t>();
  const auto id_bytes = dtype == Dtype::u8    ? std::as_bytes(std::span(ids_8))
                        : dtype == Dtype::u16 ? std::as_bytes(std::span(ids_16))
                                              : std::as_bytes(std::span(ids_32));
  tensors.push_back({"expert_ids", dtype, slots, id_bytes});
  const auto add = [&](const char* name, Dtype type, const std::vector<std::uint64_t>& shape, std::span<const std::byte> bytes) {
    if (!bytes.empty()) tensors.push_back({name, type, shape, bytes});
  };
  if (manifest_.has_router_weights) tensors.push_back({"router_weights", Dtype::f32, slots, std::as_bytes(std::span(routes.router_weights))});
  add("selected_count", Dtype::u8, rows, std::as_bytes(std::span(routes.selected_count)));
  add("selection_margin", Dtype::f32, rows, std::as_bytes(std::span(routes.selection_margin)));
  add("expert_output_norm", Dtype::f32, slots, std::as_bytes(std::span(routes.expert_output_norm)));
  write_safetensors(layer_path(routes.layer), std::move(tensors));
  sync_folder(folder_);
}

void TraceWriter::set_missing(std::vector<MissingRows> missing) {
  manifest_.missing = std::move(missing);
  write_file(folder_ / "manifest.json", file_text(manifest_));
}

}  // namespace atlas
