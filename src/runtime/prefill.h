// The capture pass: every token of every probe goes through one layer after the other, each layer's routing goes into the trace, and a layer's
// weights are read once however many probes there are. The one loop that writes routes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/models/model.h"
#include "trace/trace_writer.h"

namespace atlas {

// Sequences of the given lengths, whose rows follow one another from row 0.
std::vector<Sequence> new_sequences(std::span<const std::int64_t> row_counts);

// Runs `token_ids` (the rows of the trace, sequence after sequence) and writes every MoE layer that `writer` lacks. Goes on from the kept
// hidden states where an earlier capture left some in the trace's folder; removes them at the end.
void prefill(const Model& model, std::span<const std::int32_t> token_ids, std::span<const std::int64_t> row_counts, TraceWriter& writer,
             const PrefillOptions& options, const ReportProgress& report);

}  // namespace atlas
