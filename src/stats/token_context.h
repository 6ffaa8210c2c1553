// Is it context that is routed, or only vocabulary? How alike any two prompts are once each token's usual routing is taken off, for
// test_cosine. Made from a trace and the shares of one phase; read by the atlas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/phase_shares.h"
#include "trace/trace.h"

namespace atlas {

struct TokenContext {
  std::string not_computed;                    // why, or empty
  Shares shares;                               // [run_count, run_count] coordinates: their inner products are the similarities, in some unit
  std::vector<std::uint32_t> probes_left_out;  // prompts without any matched row
  double coverage = 0;                         // share of rows that could be matched, mean over draws, in [0, 1]
  double diagonal_added = 0;                   // to each prompt's similarity with itself, in mean diagonals, so that coordinates exist
};

// Residuals as in match_tokens(), but two prompts that are compared never lend each other, or share, an expectation: each draw deals the
// prompts at random to two sides, a prompt's expectation comes from the other prompts of its own side, and only prompts of different sides are
// compared. similarity(p, p') = mean over the draws that part them of sum over e of r(p, e) r(p', e), r the residual shares of the matched rows.
// Where routing depends on the token alone it is 0 on average, however much vocabulary the two have in common. Labels are never looked at.
//
// Null hypothesis of test_cosine on it: prompts are exchangeable between topics once each token's usual routing is taken off. A prompt's
// similarity with itself enters only the lengths of the topics' means. `shares` must be phase_shares(count(trace), phase).
TokenContext token_context(const Trace& trace, const Counts& counts, const PhaseShares& shares, std::optional<Phase> phase, std::size_t draws,
                           std::uint64_t seed);

}  // namespace atlas
