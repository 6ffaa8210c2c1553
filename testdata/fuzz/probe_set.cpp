// Fuzz target: any text as a probe set. What is accepted must have what later code relies on, on every axis that can be read at all.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "base/error.h"
#include "probes/probe_set.h"
#include "trace/trace.h"

static void check(const atlas::ProbeSet& set) {
  if (set.topics.size() < atlas::min_topic_count) std::abort();
  for (const std::string& topic : set.topics)
    if (!atlas::is_topic_name(topic) || set.probe_count(topic) < atlas::min_probes_per_topic) std::abort();
  std::set<std::string> run_ids, ids;
  for (const atlas::Probe& probe : set.probes) {
    if (!run_ids.insert(probe.run_id).second || !ids.insert(probe.id).second) std::abort();
    if (probe.run_id != probe.topic + ":" + std::to_string(probe.ordinal) || probe.ordinal >= set.probe_count(probe.topic)) std::abort();
    if (atlas::is_blank(probe.prompt)) std::abort();
  }
  atlas::describe_probe_set(set, true).dump();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  atlas::ProbeSet set;
  try {
    set = atlas::parse_probe_set({reinterpret_cast<const char*>(data), size}, "input");
  } catch (const atlas::Error&) {
    return 0;
  }
  check(set);
  for (const auto& [axis, label] : set.probes.front().labels) {
    try {
      check(atlas::with_topic_axis(set, axis));
    } catch (const atlas::Error&) {
      continue;
    }
  }
  return 0;
}
