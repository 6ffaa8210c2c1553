// A probe set: topics x prompts, read from JSON and checked. Filled by read_probe_set(); read by capture, importers and the atlas.
//
// Version 1 is exactly the reference document's shape and checks. Version 2 has ids, labels on several axes, answers and pictures.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace atlas {

struct Provenance {
  std::string source;
  std::string source_commit;
  std::string method;
};

struct Probe {
  std::string id;      // unique in the set; version 1: the run id
  std::string run_id;  // "topic:ordinal", the ordinal counted within the topic in file order
  std::string topic;
  std::uint32_t ordinal = 0;
  std::string prompt;
  std::optional<std::string> answer;
  std::vector<std::string> images;            // paths relative to the probe set's file, in the order of the picture marks
  std::map<std::string, std::string> labels;  // axis -> value; version 1: topic alone
};

struct ProbeSet {
  std::uint32_t schema_version = 1;
  Provenance provenance;
  std::string topic_axis = "topic";
  std::vector<Probe> probes;        // file order; version 1: topic by topic, number-like names first as JavaScript has them
  std::vector<std::string> topics;  // in code-unit order
  std::string sha256;               // of the file's bytes

  std::uint32_t probe_count(const std::string& topic) const;
};

// Throws Error that lists every problem with its JSON path, the reference's own first fault first.
ProbeSet read_probe_set(const std::string& path);
ProbeSet parse_probe_set(std::string_view text, const std::string& where);

// The same probe set read on another of its label axes (version 2). Throws Error if a probe lacks a label on it or a topic gets too few.
ProbeSet with_topic_axis(ProbeSet probe_set, const std::string& axis);

bool is_topic_name(std::string_view name);  // ^[a-z0-9][a-z0-9_]*$, as a whole
bool is_blank(std::string_view utf8);       // nothing but what JavaScript calls white space

inline constexpr std::size_t min_topic_count = 2;
inline constexpr std::size_t min_probes_per_topic = 3;

}  // namespace atlas
