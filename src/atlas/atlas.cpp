// Building an atlas and its file. See atlas.h; the JSON form is in atlas_json.cpp.
#include "atlas/atlas.h"

#include <utility>

#include "base/mapped_file.h"
#include "base/version.h"

namespace atlas {

Atlas build_atlas(Counts counts, const ReferenceOptions& reference, EvidenceOptions evidence) {
  Atlas atlas;
  atlas.reference = build_reference_atlas(counts, reference);
  atlas.validation = validate_reference(counts, reference.top_k);
  atlas.topics = atlas.reference.topics;
  evidence.min_count = static_cast<std::uint64_t>(reference.min_count);
  evidence.top_k = static_cast<std::size_t>(reference.top_k);
  atlas.evidence = evidence_to_json(gather_evidence(counts, evidence));
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
