// A trace of two probes, four rows and two layers, for the tests of reader and writer. Included by tests only.
#pragma once

#include <filesystem>
#include <vector>

#include "trace/trace_writer.h"

namespace atlas {

// a:0 has rows 0 to 2 (two of the prompt, one of the answer), b:0 has row 3 (unknown); layers 3 and 7; 6 experts, 2 a token, with weights.
inline TraceManifest small_manifest() {
  TraceManifest manifest;
  manifest.model = {"toy", "c0", "w0", "none"};
  manifest.engine_name = "test";
  manifest.engine_version = "1";
  manifest.settings = {{"temperature", 0}};
  manifest.probe_set = {{"sha256", "00"}};
  manifest.layers = {3, 7};
  manifest.expert_count = 6;
  manifest.expert_top_k = 2;
  manifest.has_router_weights = true;
  manifest.ordered_by_weight = true;
  manifest.probes = {{"a:0", "a", {{"topic", "a"}}, 0, 3, {}}, {"b:0", "b", {{"topic", "b"}}, 3, 4, {}}};
  manifest.probes[0].token_count = {0, 2, 0, 1, 0};
  manifest.probes[1].token_count = {0, 0, 0, 0, 1};
  return manifest;
}

inline TokenTable small_tokens() { return {{0, 0, 0, 1}, {0, 1, 2, 0}, {1, 1, 3, 4}, {11, 12, 13, 14}}; }

inline LayerRoutes small_layer(std::uint32_t layer) {
  LayerRoutes routes;
  routes.layer = layer;
  routes.expert_ids = {0, 1, 2, 3, 4, 5, layer == 3 ? 5U : 2U, 0};
  routes.router_weights = {0.75F, 0.25F, 0.75F, 0.25F, 0.75F, 0.25F, 0.75F, 0.25F};
  return routes;
}

inline void write_small_trace(const std::filesystem::path& folder) {
  TraceWriter writer(folder, small_manifest(), small_tokens());
  writer.write_layer(small_layer(3));
  writer.write_layer(small_layer(7));
}

}  // namespace atlas
