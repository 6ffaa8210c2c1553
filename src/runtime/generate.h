// Greedy answers for all probes together, with a cache of past tokens: one pass over the weights for the prompts, then one for each further
// token. Used by capture before the pass that writes the trace.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/models/model.h"

namespace atlas {

struct GenerateOptions {
  StepOptions step;
  std::int64_t answer_tokens = 0;           // most tokens of an answer
  std::vector<std::int64_t> eos_token_ids;  // an answer ends with the first of them, which belongs to it
};

// The most likely tokens after each prompt, ties to the smaller id: 1 to answer_tokens ids each.
std::vector<std::vector<std::int32_t>> generate_answers(const Model& model, std::span<const std::vector<std::int32_t>> prompts,
                                                        const GenerateOptions& options, const ReportProgress& report);

}  // namespace atlas
