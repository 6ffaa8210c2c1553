// Counts: how often each probe chose each expert, by phase. Made by count() from a trace, or by sources that have nothing finer; merged by
// merge(); read by the statistics. One safetensors file, see docs/trace-format.md.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace atlas {

struct Expert {
  std::uint32_t layer = 0;  // absolute index
  std::uint32_t expert = 0;

  friend auto operator<=>(const Expert&, const Expert&) = default;
};

struct Counts {
  TraceManifest manifest;                 // of the trace; merged: with the rows of the probes behind one another
  std::vector<Expert> experts;            // [expert_seen_count], rising: those with at least one selection
  std::vector<Phase> phases;              // [phase_present_count], rising
  std::vector<std::uint32_t> selections;  // [probe_count, phase_present_count, expert_seen_count]
  std::vector<float> router_weight_sum;   // alike, or empty where weights are unknown

  std::size_t probe_count() const { return manifest.probes.size(); }
  std::size_t at(std::size_t probe, std::size_t phase, std::size_t expert) const { return (probe * phases.size() + phase) * experts.size() + expert; }
};

// Counts a whole trace, a layer at a time, so memory is the result's and one layer's. Every id is checked on the way: throws Error if one is
// not below expert_count.
Counts count(const Trace& trace);

// Joins counts of disjoint probes: the union of the experts, the probes in the order given. Parts of one probe set (the same sha256) may each
// name all its probes: then each probe is taken from the part that has rows for it. Weights are kept if every part has them. Throws Error if
// the parts differ in model, geometry or settings, or if two have rows for one probe.
Counts merge(const std::vector<Counts>& parts);

void write_counts(const std::filesystem::path& path, const Counts& counts);
Counts read_counts(const std::filesystem::path& path);  // throws Error that lists every problem

}  // namespace atlas
