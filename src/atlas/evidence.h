// The evidence of an atlas: every test and control, phase by phase. Made by gather_evidence() from counts and, where there is one, the trace;
// written to atlas.json; read by `show` and by the page.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "stats/affinity.h"
#include "stats/expert_tests.h"
#include "stats/held_out.h"
#include "stats/layer_stats.h"
#include "stats/phase_shares.h"
#include "stats/reliability.h"
#include "stats/token_context.h"
#include "stats/token_control.h"
#include "stats/token_information.h"
#include "trace/counts.h"

namespace atlas {

struct EvidenceOptions {
  std::size_t permutations = 10000;         // of the cosine test and the per-expert tests; 0 switches every null off
  std::size_t set_permutations = 200;       // of the set test, which costs far more
  std::size_t control_permutations = 1000;  // of the controls
  std::size_t pairings = 20;                // draws of folds of the cosine test
  std::size_t set_pairings = 2;             // of the set test and the controls
  std::size_t bootstrap = 1000;             // 0 switches the experts' intervals off
  std::uint64_t seed = 0;
  std::uint64_t min_count = 30;  // floor inside a fold, and of the family of experts that are tested
  std::uint32_t min_runs = 2;
  double strong_threshold = 0.5;
  std::size_t top_k = 200;
};

// What is put beside the main test to see how much of it is something else.
struct Controls {
  HeldOutResult length;                                                       // prompts told apart by their number of tokens alone
  HeldOutResult token_counts;                                                 // by their token ids alone, without any routing
  HeldOutResult token_matched;                                                // by routing, once each token's usual routing is taken off
  double context_share = 0;                                                   // of the rows: those on which token_matched stands, mean over its draws
  Coverage matched;                                                           // the rows on which token_matched stands
  std::string tokens_not_computed;                                            // why the two above and the columns below are not there, or empty
  std::vector<std::optional<double>> token_matched_excess, unmatched_excess;  // [feature_count], see token_control.h
  AffinityComparison router_weight;                                           // affinity by router weight against by count
  std::vector<double> router_weight_affinity;                                 // [feature_count, topic_count], or empty
  Reliability split_half;
  TokenInformation information;  // by layer, given the token
};

// One phase (or "all": every row).
struct PhaseEvidence {
  std::string phase;
  std::string not_computed;  // why nothing of it could be, or empty
  PhaseShares input;
  HeldOutResult cosine;  // the main test
  HeldOutResult set;     // the one that is easier to explain
  ExpertResult experts;
  Affinity affinity;               // [feature_count, topic_count]
  std::vector<LayerStats> layers;  // rising
  Controls controls;
};

// The prompt phase against the answer phase: do the same experts serve a topic when it is read and when it is written?
struct PhaseComparison {
  std::string not_computed;
  TopSetComparison sets;
  AffinityComparison affinity;
  std::optional<double> disattenuated;  // the affinities' correlation with the noise of both phases taken off
};

struct Evidence {
  EvidenceOptions options;
  std::vector<PhaseEvidence> phases;  // "all" first, then those present
  PhaseComparison prompt_against_answer;
};

// trace: of the same counts, or null: then the controls by token say that they could not be computed. step is told what comes next.
Evidence gather_evidence(const Counts& counts, const Trace* trace, const EvidenceOptions& options,
                         const std::function<void(const std::string&)>& step = {});

// The entries of atlas.json that hold it: evidence (by phase), evidence_options, prompt_against_answer.
Json evidence_to_json(const Evidence& evidence);

// One test's numbers without its lists: accuracy, hits, interval, null; or why there are none.
Json held_out_json(const HeldOutResult& result);

// "Topics separate: 109 of 112 held-out prompts, null 8 of 112, p = 0.0001" or "No evidence that topics separate: ..."; one sentence.
std::string verdict_text(const HeldOutResult& result);

}  // namespace atlas
