// The atlas: counts, what the statistics made of them, and where they come from. Made by build_atlas(); written as atlas.json; read by the
// page, `show` and `export`. docs/atlas.schema.json describes the file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "atlas/evidence.h"
#include "stats/reference.h"
#include "trace/counts.h"

namespace atlas {

struct Atlas {
  Counts counts;                    // every expert seen, every probe
  std::vector<std::string> topics;  // code-unit order
  ReferenceAtlas reference;         // the reference document's numbers
  ReferenceValidation validation;   // and its leave-one-prompt-out
  Json evidence = Json::object();   // as evidence_to_json() gives it; see docs/atlas.schema.json

  // The evidence of one phase, or null.
  const Json* phase_evidence(const std::string& phase) const;
  std::string made_by_version;  // of expert-atlas
  std::string made_by_commit;
};

// trace: of the same counts, or null (then controls by token are not computed). Throws Error as reference mode refuses, before any evidence is
// gathered. The evidence takes its floors, its threshold and its top_k from `reference`. step is told what comes next.
Atlas build_atlas(Counts counts, const Trace* trace, const ReferenceOptions& reference, EvidenceOptions evidence,
                  const std::function<void(const std::string&)>& step = {});

Json atlas_to_json(const Atlas& atlas);
Atlas atlas_from_json(const Json& json, const std::string& where);  // throws Error that lists every problem

void write_atlas(const std::filesystem::path& path, const Atlas& atlas);
Atlas read_atlas(const std::filesystem::path& path);

// The same atlas without prompts, answers and picture paths.
void leave_out_texts(Atlas& atlas);

}  // namespace atlas
