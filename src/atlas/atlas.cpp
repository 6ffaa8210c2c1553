// Building an atlas and its file. See atlas.h; the JSON form is in atlas_json.cpp.
#include "atlas/atlas.h"

#include <utility>

#include "atlas/axes_evidence.h"
#include "base/mapped_file.h"
#include "base/version.h"

namespace atlas {

const Json* Atlas::phase_evidence(const std::string& phase) const {
  if (!evidence.contains("evidence") || !evidence["evidence"].contains(phase)) return nullptr;
  return &evidence["evidence"][phase];
}

Atlas build_atlas(Counts counts, const Trace* trace, const ReferenceOptions& reference, EvidenceOptions evidence,
                  const std::function<void(const std::string&)>& step) {
  Atlas atlas;
  atlas.reference = build_reference_atlas(counts, reference);
  atlas.validation = validate_reference(counts, reference.top_k);
  atlas.topics = atlas.reference.topics;
  evidence.min_count = static_cast<std::uint64_t>(reference.min_count);
  evidence.top_k = static_cast<std::size_t>(reference.top_k);
  evidence.min_runs = static_cast<std::uint32_t>(reference.min_runs);
  evidence.strong_threshold = reference.strong_threshold;
  atlas.evidence = evidence_to_json(gather_evidence(counts, trace, evidence, step));
  if (step) step("label axes");
  atlas.evidence.update(axes_to_json(gather_axes(counts, evidence)));
  atlas.counts = std::move(counts);
  atlas.made_by_version = version;
  atlas.made_by_commit = commit;
  return atlas;
}

void write_atlas(const std::filesystem::path& path, const Atlas& atlas) { write_file(path, atlas_to_json(atlas).dump(1) + "\n"); }

Atlas read_atlas(const std::filesystem::path& path) { return atlas_from_json(read_json_file(path.string()), path.string()); }

void leave_out_texts(Atlas& atlas) {
  Json& probe_set = atlas.counts.manifest.probe_set;
  probe_set.erase("texts");
  if (!probe_set.contains("merged")) return;
  for (Json& part : probe_set["merged"]) part.erase("texts");
}

}  // namespace atlas
