// The evidence of an atlas: every test and control, phase by phase. Made by gather_evidence() from counts and, where there is one, the trace;
// written to atlas.json under `evidence`; read by `show` and by the page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "stats/held_out.h"
#include "stats/phase_shares.h"
#include "trace/counts.h"

namespace atlas {

struct EvidenceOptions {
  std::size_t permutations = 10000;     // of the cosine test, the length control and the per-expert tests; 0 switches the nulls off
  std::size_t set_permutations = 200;   // of the set test, which costs far more
  std::size_t pairings = 20;            // draws of folds; the set test uses set_pairings
  std::size_t set_pairings = 2;
  std::size_t bootstrap = 1000;         // 0 switches intervals off
  std::uint64_t seed = 0;
  std::uint64_t min_count = 30;         // floor inside a fold, and of the family of experts that are tested
  std::size_t top_k = 200;
};

// One phase (or "all": every row).
struct PhaseEvidence {
  std::string phase;
  std::string not_computed;                     // why nothing of it could be, or empty
  std::vector<std::uint32_t> probes_left_out;   // prompts without selections in this phase
  std::vector<std::uint32_t> layers_left_out;   // layers that lack rows of some prompt
  HeldOutResult cosine;                         // the main test
  HeldOutResult set;                            // the one that is easier to explain
  HeldOutResult length;                         // control: prompts told apart by their number of selections alone
};

struct Evidence {
  EvidenceOptions options;
  std::vector<std::string> topics;     // code-unit order
  std::vector<PhaseEvidence> phases;   // "all" first, then those present
};

Evidence gather_evidence(const Counts& counts, const EvidenceOptions& options);

Json evidence_to_json(const Evidence& evidence);

// "Topics separate: 109 of 112 held-out prompts, null 8 of 112, p = 0.0001" or "No evidence that topics separate: ..."; one sentence.
std::string verdict_text(const HeldOutResult& result);

}  // namespace atlas
