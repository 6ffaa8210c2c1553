// Shares of one phase, from counts: what the evidence is computed on.
#pragma once

#include <optional>
#include <vector>

#include "stats/shares.h"
#include "trace/counts.h"

namespace atlas {

enum class ShareBasis { selections, router_weights };

// The shares and which columns of the counts they are.
struct PhaseShares {
  Shares shares;
  std::vector<std::size_t> expert;             // [feature_count], index into counts.experts; those of layers complete for all prompts
  std::vector<std::uint32_t> layers_left_out;  // layers that lack rows of some prompt in use
  std::vector<std::uint32_t> probes_left_out;  // prompts without selections in this phase
};

// An expert's share is its selections (or its summed router weight) in the phase divided by the prompt's in that phase, over the layers
// complete for all prompts; no phase means every row. Prompts without selections (or weight) in the phase leave it, and so does a topic that has
// none left; counts without router weights leave no prompt on that basis. Features without any selection left are dropped.
PhaseShares phase_shares(const Counts& counts, std::optional<Phase> phase, ShareBasis basis = ShareBasis::selections);

}  // namespace atlas
