// The reference document's objects with its own camelCase names, exactly. Written by `build --reference-out` and `export --as web`.
#pragma once

#include "base/json.h"
#include "stats/reference.h"

namespace atlas {

Json reference_atlas_json(const ReferenceAtlas& atlas);
Json reference_validation_json(const ReferenceValidation& validation);
Json reference_web_experts_json(const ReferenceAtlas& atlas);  // "layer:expert" -> affinity, entropy in bits (3 decimals), label, ...
Json reference_runs_json(std::vector<ReferenceRun> runs);      // in byte order of the names that route files have, "topic_index.jsonl"

}  // namespace atlas
