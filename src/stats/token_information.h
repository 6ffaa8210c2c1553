// How much a token's expert says about the topic once the token itself is known, layer by layer. Made from a trace; read by the atlas beside
// the information without the token (layer_stats.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/token_blocks.h"
#include "stats/token_control.h"

namespace atlas {

// Mutual information in bits of one selection, and its mean when topics are shuffled. What is above that mean is the estimate.
struct Information {
  double bits = 0;       // as counted: biased upward, by much where counts are few
  double null_mean = 0;  // mean over the shuffles

  double excess() const { return bits - null_mean; }
};

struct LayerTokenInformation {
  std::uint32_t layer = 0;  // absolute index
  Information given_token;  // I(topic; expert | token)
  Information any_token;    // I(topic; expert) of the same rows, prompts shuffled: what given_token is to be compared with
};

struct TokenInformation {
  std::string not_computed;  // why, or empty
  Coverage coverage;         // rows whose token occurs in two topics or more: only they are used
  std::size_t shuffle_count = 0;
  std::vector<LayerTokenInformation> layers;  // rising
};

// I(topic; expert | token) = sum over tokens x of n(x) / n * I_x, where I_x is the mutual information of the table [topic, expert] of the
// selections of the rows with token x, and n(x) their number; tokens of one topic only are left out. In [0, log2 topic_count].
//
// Shuffles: a block is all rows of one token in one prompt. Within each token the blocks' topics are permuted, blocks whole, because rows of
// one prompt are not independent. Null hypothesis: of the prompts that contain a token, any could have had any of their topics. Each token is
// shuffled apart from the others; the mean is not touched by that, but a p-value would be, so there is none: test_cosine on match_tokens()
// tests the same question. any_token is the same with all these rows as one token, so its blocks are prompts.
TokenInformation token_information(const Trace& trace, const Counts& counts, const PhaseShares& shares, std::optional<Phase> phase,
                                   std::size_t shuffles, std::uint64_t seed);

}  // namespace atlas
