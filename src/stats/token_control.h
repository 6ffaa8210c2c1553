// Controls for vocabulary and length: is it the topic that is routed, or only its words, or the number of them? Made from a trace and the
// shares of one phase; tested by test_cosine and test_number; read by the atlas.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/phase_shares.h"
#include "stats/token_blocks.h"
#include "trace/trace.h"

namespace atlas {

struct Coverage {
  std::uint64_t row_count = 0;
  std::uint64_t matched_row_count = 0;  // rows whose token occurs in another prompt, too

  double share() const { return row_count == 0 ? 0 : static_cast<double>(matched_row_count) / static_cast<double>(row_count); }  // [0, 1]
};

struct TokenMatched {
  std::string not_computed;  // why, or empty
  Shares shares;             // residual shares of the matched rows, signed, in [-1, 1]; features as in the shares given; no selections
  std::vector<std::uint32_t> probes_left_out;  // prompts without any matched row
  Coverage coverage;                           // in rows of the phase, the same in every layer
  std::array<Coverage, phase_count> coverage_by_phase{};
  // How much more an expert's top topic uses it than expected, as (observed - expected) / max(observed, expected): in [-1, 1], 0 as expected,
  // 0.5 twice as often. Observed: mean share of the topic's matched rows. Nothing where both are 0. Two expectations, for the same rows:
  std::vector<std::optional<double>> unmatched;      // [feature_count]: the other prompts' mean share, whatever their tokens
  std::vector<std::optional<double>> token_matched;  // [feature_count]: the other prompts' rows with the same tokens
};

// Residual selections r(p, e) = n(p, e) - sum over rows of q(e | token of the row), where q is the mean number of selections of e a row, over
// the rows with that token in all prompts but p, in that layer and phase. Labels are never looked at. Rows whose token occurs in no other
// prompt are left out of both terms. A run's residual share is r / (selections of its matched rows); over the experts of a layer it sums to 0.
//
// For describing experts; test_cosine on it would be far too conservative: prompts that share tokens are each other's expectation, which pushes
// them apart, topics of one vocabulary below chance. token_context() is made for the test.
// `shares` must be phase_shares(count(trace), phase). One layer a thread in memory, besides the result.
TokenMatched match_tokens(const Trace& trace, const Counts& counts, const PhaseShares& shares, std::optional<Phase> phase);

// The prompts as counts of their token ids, for test_cosine: what vocabulary alone tells. Features are the distinct token ids, rising.
struct TokenShares {
  std::string not_computed;
  Shares shares;
  std::vector<std::int32_t> token_ids;  // [feature_count]
};
TokenShares token_shares(const Trace& trace, const Counts& counts, const PhaseShares& shares, std::optional<Phase> phase);

// [run_count]: tokens of each run in the phase (none: all), for test_number: what length alone tells.
std::vector<double> token_counts(const Counts& counts, const Shares& shares, std::optional<Phase> phase);

}  // namespace atlas
