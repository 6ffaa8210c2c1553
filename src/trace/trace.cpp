// See trace.h. The manifest's JSON form is in manifest.cpp.
#include "trace/trace.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace atlas {

Dtype expert_id_dtype(std::uint32_t expert_count) {
  if (expert_count <= 0xFF) return Dtype::u8;
  return expert_count <= 0xFFFF ? Dtype::u16 : Dtype::u32;
}

std::string layer_file_name(std::uint32_t layer) {
  char name[40];
  std::snprintf(name, sizeof name, "layer-%03u.safetensors", layer);
  return name;
}

std::uint32_t LayerView::expert_id(std::uint64_t row, std::uint32_t slot) const {
  const std::uint64_t at = row * expert_top_k + slot;
  std::uint32_t id = 0;
  std::memcpy(&id, expert_ids.data() + at * dtype_bytes(id_dtype), dtype_bytes(id_dtype));
  return id;
}

static void check_token_table(const Trace& trace, const std::string& where) {
  std::vector<Problem> problems;
  const auto& probes = trace.manifest().probes;
  for (std::size_t p = 0; p < probes.size() && problems.empty(); p++) {
    std::array<std::uint64_t, phase_count> token_count{};
    for (std::uint64_t row = probes[p].row_begin; row < probes[p].row_end && problems.empty(); row++) {
      const std::string at = where + ", row " + std::to_string(row);
      if (trace.probe_index()[row] != static_cast<std::int32_t>(p))
        problems.push_back({at, "probe " + std::to_string(trace.probe_index()[row]), std::to_string(p) + ", as the manifest says", ""});
      else if (trace.phase()[row] >= phase_count) problems.push_back({at, "phase " + std::to_string(trace.phase()[row]), "0 to 4", ""});
      else token_count.at(trace.phase()[row])++;
    }
    if (problems.empty() && token_count != probes[p].token_count)
      problems.push_back({where + ", probe " + probes[p].id, "other phases", "the tokens by phase that the manifest says", ""});
  }
  throw_if_any(std::move(problems));
}

static TraceManifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "manifest.json";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    throw Error(Problem{folder.string(), "no folder", "a trace, which is a folder NAME.trace", ""});
  return manifest_from_json(read_json_file(path.string()), path.string());
}

Trace::Trace(const std::filesystem::path& folder) : folder_(folder), manifest_(read_manifest(folder)), tokens_(folder / "tokens.safetensors") {
  const std::string where = (folder / "tokens.safetensors").string();
  const std::vector<std::uint64_t> shape{manifest_.row_count()};
  probe_index_ = elements<std::int32_t>(tokens_.expect("probe_index", Dtype::i32, shape), where);
  position_ = elements<std::int32_t>(tokens_.expect("position", Dtype::i32, shape), where);
  phase_ = elements<std::uint8_t>(tokens_.expect("phase", Dtype::u8, shape), where);
  if (tokens_.find("token_ids") != nullptr) token_ids_ = elements<std::int32_t>(tokens_.expect("token_ids", Dtype::i32, shape), where);
  check_token_table(*this, where);
  std::string absent;
  for (const std::uint32_t layer : manifest_.layers)
    if (!std::filesystem::exists(folder / layer_file_name(layer))) absent += (absent.empty() ? "" : ", ") + std::to_string(layer);
  if (!absent.empty())
    throw Error(Problem{folder.string(), "no file for layer " + absent, "one for each layer of the manifest",
                        "an interrupted capture: run the same capture again with --resume"});
}

SafetensorsFile Trace::open_layer(std::size_t index) const { return SafetensorsFile(folder_ / layer_file_name(manifest_.layers.at(index))); }

LayerView Trace::layer(std::size_t index, SafetensorsFile& file) const {
  file = open_layer(index);
  const std::string where = file.path().string();
  LayerView view;
  view.layer = manifest_.layers.at(index);
  view.row_count = manifest_.row_count();
  view.expert_top_k = manifest_.expert_top_k;
  view.id_dtype = expert_id_dtype(manifest_.expert_count);
  const std::vector<std::uint64_t> rows{view.row_count}, slots{view.row_count, view.expert_top_k};
  const TensorView& ids = file.expect("expert_ids", view.id_dtype, slots);
  if (view.id_dtype == Dtype::u16) elements<std::uint16_t>(ids, where);
  if (view.id_dtype == Dtype::u32) elements<std::uint32_t>(ids, where);
  view.expert_ids = ids.bytes;
  const auto floats = [&](const char* name, const std::vector<std::uint64_t>& shape) {
    return file.find(name) == nullptr ? std::span<const float>() : elements<float>(file.expect(name, Dtype::f32, shape), where);
  };
  if (manifest_.has_router_weights) view.router_weights = elements<float>(file.expect("router_weights", Dtype::f32, slots), where);
  view.selection_margin = floats("selection_margin", rows);
  view.expert_output_norm = floats("expert_output_norm", slots);
  if (file.find("selected_count") != nullptr) view.selected_count = elements<std::uint8_t>(file.expect("selected_count", Dtype::u8, rows), where);
  return view;
}

static std::string row_problem(const LayerView& layer, std::uint64_t row, std::uint32_t expert_count, std::uint32_t all_ones,
                               std::vector<std::uint32_t>& ids) {
  const std::uint32_t selected = layer.selected(row);
  if (selected > layer.expert_top_k) return "a count of " + std::to_string(selected);
  ids.clear();
  for (std::uint32_t slot = 0; slot < layer.expert_top_k; slot++) {
    const std::uint32_t id = layer.expert_id(row, slot);
    if (slot >= selected && id != all_ones) return "the id " + std::to_string(id) + " beyond the row's count";
    if (slot < selected && id >= expert_count) return "the id " + std::to_string(id);
    if (slot < selected) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  return twice == ids.end() ? "" : "the id " + std::to_string(*twice) + " twice";
}

void check_layer_ids(const Trace& trace, const LayerView& layer) {
  const std::uint32_t expert_count = trace.manifest().expert_count;
  const std::uint32_t all_ones = 0xFFFFFFFFU >> (32 - 8 * dtype_bytes(layer.id_dtype));
  std::vector<std::uint32_t> ids;
  for (std::uint64_t row = 0; row < layer.row_count; row++) {
    const std::string found = row_problem(layer, row, expert_count, all_ones, ids);
    if (found.empty()) continue;
    const auto probe = static_cast<std::size_t>(trace.probe_index()[row]);
    throw Error(Problem{(trace.folder() / layer_file_name(layer.layer)).string() + ", row " + std::to_string(row) + " (probe " +
                            trace.manifest().probes[probe].id + ")",
                        found, "different ids below " + std::to_string(expert_count), "a damaged file"});
  }
}

}  // namespace atlas
