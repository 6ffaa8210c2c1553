// The route trace: which experts every token chose, layer by layer. The one contract between capture (left) and statistics (right).
//
// Filled by the runtime and by every importer through TraceWriter; read through Trace. docs/trace-format.md describes the files.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/safetensors.h"
#include "probes/probe_set.h"

namespace atlas {

// What a token belongs to. `unknown` for sources that cannot tell.
enum class Phase : std::uint8_t { template_text = 0, prompt = 1, picture = 2, answer = 3, unknown = 4 };
inline constexpr std::size_t phase_count = 5;
inline constexpr std::array<const char*, phase_count> phase_names{"template", "prompt", "picture", "answer", "unknown"};

struct TraceModel {
  std::string name;
  std::string config_sha256;   // "" where unknown
  std::string weights_sha256;  // "" where unknown
  std::string quantisation;    // "none", "mlx affine 4 bit", ...; "" where unknown
};

struct TraceProbe {
  std::string id;
  std::string topic;
  std::map<std::string, std::string> labels;
  std::uint64_t row_begin = 0;  // this probe's rows are [row_begin, row_end) in every file
  std::uint64_t row_end = 0;
  std::array<std::uint64_t, phase_count> token_count{};  // rows by phase
};

// Rows of a probe that some layer (or, without a layer, every layer) lacks.
struct MissingRows {
  std::uint32_t probe = 0;             // index into probes
  std::optional<std::uint32_t> layer;  // absolute layer index
  std::uint64_t row_count = 0;         // 0 where the number is not known (a whole run is missing)
  std::string reason;
};

struct TraceManifest {
  TraceModel model;
  std::string engine_name;
  std::string engine_version;
  Json settings = Json::object();     // template arguments, decoding, whatever else decides the routes
  Json probe_set = Json::object();    // {sha256, schema_version, topic_axis, provenance, texts?}; see describe_probe_set
  std::vector<std::uint32_t> layers;  // absolute indices of the MoE layers, rising
  std::uint32_t expert_count = 0;     // ids are below it
  std::uint32_t expert_top_k = 0;     // ids of a row at most
  bool has_router_weights = false;    // file: weights "applied" | "none"
  bool ordered_by_weight = false;     // file: order "weight" | "as given"
  std::vector<TraceProbe> probes;
  std::vector<MissingRows> missing;

  std::uint64_t row_count() const { return probes.empty() ? 0 : probes.back().row_end; }
};

// One entry a token, the same for all layers.
struct TokenTable {
  std::vector<std::int32_t> probe_index;  // [row_count]
  std::vector<std::int32_t> position;     // [row_count], within the probe's sequence
  std::vector<std::uint8_t> phase;        // [row_count], a Phase
  std::vector<std::int32_t> token_ids;    // [row_count], or empty where unknown
};

// The routes of one layer, as a writer hands them over.
struct LayerRoutes {
  std::uint32_t layer = 0;
  std::vector<std::uint32_t> expert_ids;     // [row_count, expert_top_k]; beyond a row's selected_count anything
  std::vector<float> router_weights;         // [row_count, expert_top_k], or empty
  std::vector<std::uint8_t> selected_count;  // [row_count], or empty if every row is full
  std::vector<float> selection_margin;       // [row_count], or empty
  std::vector<float> expert_output_norm;     // [row_count, expert_top_k], or empty
};

// The smallest id type whose all-ones value is no expert: u8 up to 255 experts, u16 up to 65,535, else u32.
Dtype expert_id_dtype(std::uint32_t expert_count);
std::string layer_file_name(std::uint32_t layer);  // "layer-017.safetensors"

// The manifest's probe_set entry; prompts, answers and picture paths go in only with texts.
Json describe_probe_set(const ProbeSet& probe_set, bool with_texts);
// One TraceProbe a probe of the set, without rows.
std::vector<TraceProbe> trace_probes(const ProbeSet& probe_set);

Json manifest_to_json(const TraceManifest& manifest);
// Throws Error that lists every problem. Checks all that later code relies on: rising layers, rows that follow one another, indices in range.
TraceManifest manifest_from_json(const Json& json, const std::string& where);

// One layer of a trace, mapped. Ids are in the file's own type: use the pointer that `id_dtype` names.
struct LayerView {
  std::uint32_t layer = 0;
  std::uint64_t row_count = 0;
  std::uint32_t expert_top_k = 0;
  Dtype id_dtype = Dtype::u8;
  std::span<const std::byte> expert_ids;         // [row_count, expert_top_k]
  std::span<const float> router_weights;         // [row_count, expert_top_k], or empty
  std::span<const std::uint8_t> selected_count;  // [row_count], or empty if every row is full
  std::span<const float> selection_margin;       // [row_count], or empty
  std::span<const float> expert_output_norm;     // [row_count, expert_top_k], or empty

  std::uint32_t expert_id(std::uint64_t row, std::uint32_t slot) const;  // any type; for code that is not hot
  std::uint32_t selected(std::uint64_t row) const { return selected_count.empty() ? expert_top_k : selected_count[row]; }
};

// A trace on disk: the manifest and the token table are read and checked at once, a layer when it is asked for.
class Trace {
 public:
  explicit Trace(const std::filesystem::path& folder);  // throws Error; says so if a capture was interrupted

  const TraceManifest& manifest() const { return manifest_; }
  const std::filesystem::path& folder() const { return folder_; }
  std::span<const std::int32_t> probe_index() const { return probe_index_; }  // [row_count]
  std::span<const std::int32_t> position() const { return position_; }        // [row_count]
  std::span<const std::uint8_t> phase() const { return phase_; }              // [row_count]
  std::span<const std::int32_t> token_ids() const { return token_ids_; }      // [row_count], or empty

  // Maps the layer at `index` of manifest().layers into `file` and checks shapes and dtypes (not every id: see check_layer_ids).
  LayerView layer(std::size_t index, SafetensorsFile& file) const;
  SafetensorsFile open_layer(std::size_t index) const;

 private:
  std::filesystem::path folder_;
  TraceManifest manifest_;
  SafetensorsFile tokens_;
  std::span<const std::int32_t> probe_index_, position_, token_ids_;
  std::span<const std::uint8_t> phase_;
};

// Reads every id of a layer: ids below expert_count, none twice in a row, all ones beyond the row's count. Throws Error naming row and probe.
void check_layer_ids(const Trace& trace, const LayerView& layer);

// The probe set's prompt and answer as kept in the manifest; empty where texts were left out.
struct ProbeTexts {
  std::vector<std::string> prompts;                 // [probe], or empty
  std::vector<std::optional<std::string>> answers;  // [probe], or empty
};
ProbeTexts texts_of(const TraceManifest& manifest);

}  // namespace atlas
