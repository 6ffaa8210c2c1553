// Fuzz target: any text as a trace's manifest. What is accepted must come back the same from its own JSON, and hold what later code relies on.
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "base/json.h"
#include "trace/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace atlas;
  TraceManifest manifest;
  try {
    manifest = manifest_from_json(parse_json({reinterpret_cast<const char*>(data), size}, "input"), "input");
  } catch (const Error&) {
    return 0;
  }
  const std::string text = manifest_to_json(manifest).dump();
  if (manifest_to_json(manifest_from_json(parse_json(text, "again"), "again")).dump() != text) std::abort();
  std::uint64_t row = 0;
  for (const TraceProbe& probe : manifest.probes) {
    if (probe.row_begin != row || probe.row_end < row) std::abort();
    row = probe.row_end;
  }
  if (row != manifest.row_count() || row > INT32_MAX || manifest.expert_top_k == 0 || manifest.expert_top_k > manifest.expert_count) std::abort();
  for (std::size_t i = 1; i < manifest.layers.size(); i++)
    if (manifest.layers[i] <= manifest.layers[i - 1]) std::abort();
  for (const MissingRows& missing : manifest.missing)
    if (missing.probe >= manifest.probes.size()) std::abort();
  texts_of(manifest);
  return 0;
}
