// Checked runs as one dense matrix: what reference.cpp computes on. Internal to reference mode.
#pragma once

#include <memory>
#include <vector>

#include "stats/reference.h"

namespace atlas {

struct RunMatrix {
  std::vector<std::string> topics;        // code-unit order
  std::vector<std::uint32_t> topic_runs;  // [topic_count]
  std::vector<std::uint32_t> run_topic;   // [run_count], index into topics; runs in the order of trials
  std::vector<std::uint64_t> run_index;   // [run_count], prompt index
  std::vector<double> totals;             // [run_count], selections
  std::vector<std::uint64_t> layers;      // [expert_count]; experts rising by layer, then id
  std::vector<std::uint64_t> experts;     // [expert_count]
  std::unique_ptr<double[]> counts;       // [run_count, expert_count], selections; no vector, so that no thread zeroes what all then fill

  std::size_t run_count() const { return run_topic.size(); }
  std::size_t expert_count() const { return experts.size(); }
  std::size_t topic_count() const { return topics.size(); }
  double* row(std::size_t run) { return counts.get() + run * expert_count(); }
  const double* row(std::size_t run) const { return counts.get() + run * expert_count(); }
};

// The reference's checkedRuns: throws Error at the first fault, in its order.
RunMatrix check_runs(const PromptCounts& prompt_counts, const std::vector<ReferenceRun>& runs);

// The same from counts, over all phases; throws Error if a probe has no selections (a missing run).
RunMatrix run_matrix(const Counts& counts);

bool is_positive_integer(double value);
bool is_safe_index(double value);  // a whole number from 0 to 2^53 - 1

}  // namespace atlas
