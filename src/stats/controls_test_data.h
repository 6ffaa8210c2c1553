// Small traces for the tests of the controls: from rows written by hand, and the one that testdata/stats/controls.py made with its expected
// values. Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/test_support.h"
#include "stats/phase_shares.h"
#include "trace/trace_writer.h"

namespace atlas {

struct TestRow {
  std::int32_t token = 0;
  Phase phase = Phase::prompt;
  std::vector<std::vector<std::uint32_t>> experts;  // [layer][expert_top_k]
  std::vector<std::vector<float>> weights;          // alike, or empty
};

struct TestPrompt {
  std::string topic;
  std::vector<TestRow> rows;
};

// A trace on disk for as long as this lives, with its counts.
class TestTrace {
 public:
  TestTrace(const std::vector<TestPrompt>& prompts, std::vector<std::uint32_t> layers, std::uint32_t expert_count, bool with_tokens = true) {
    const TestRow& first = prompts.at(0).rows.at(0);
    TraceManifest manifest;
    manifest.engine_name = "test";
    manifest.probe_set = {{"sha256", "00"}};
    manifest.layers = std::move(layers);
    manifest.expert_count = expert_count;
    manifest.expert_top_k = static_cast<std::uint32_t>(first.experts.at(0).size());
    manifest.has_router_weights = !first.weights.empty();
    TokenTable tokens;
    std::map<std::string, int> ordinal;
    for (const TestPrompt& prompt : prompts) {
      const std::string id = prompt.topic + ":" + std::to_string(ordinal[prompt.topic]++);
      const std::uint64_t begin = manifest.row_count();
      manifest.probes.push_back({id, prompt.topic, {{"topic", prompt.topic}}, begin, begin + prompt.rows.size(), {}});
      for (const TestRow& row : prompt.rows) {
        tokens.position.push_back(static_cast<std::int32_t>(tokens.probe_index.size() - begin));
        tokens.probe_index.push_back(static_cast<std::int32_t>(manifest.probes.size() - 1));
        tokens.phase.push_back(static_cast<std::uint8_t>(row.phase));
        if (with_tokens) tokens.token_ids.push_back(row.token);
        manifest.probes.back().token_count.at(static_cast<std::size_t>(row.phase))++;
      }
    }
    TraceWriter writer(folder_ / "t.trace", manifest, tokens);
    for (std::size_t i = 0; i < manifest.layers.size(); i++) {
      LayerRoutes routes;
      routes.layer = manifest.layers[i];
      for (const TestPrompt& prompt : prompts)
        for (const TestRow& row : prompt.rows) {
          routes.expert_ids.insert(routes.expert_ids.end(), row.experts[i].begin(), row.experts[i].end());
          if (!row.weights.empty()) routes.router_weights.insert(routes.router_weights.end(), row.weights[i].begin(), row.weights[i].end());
        }
      writer.write_layer(routes);
    }
    trace_ = std::make_unique<Trace>(folder_ / "t.trace");
    counts_ = count(*trace_);
  }

  const Trace& trace() const { return *trace_; }
  const Counts& counts() const { return counts_; }

 private:
  TestFolder folder_;
  std::unique_ptr<Trace> trace_;
  Counts counts_;
};

inline const Json& controls_json() {
  static const Json json = read_json_file(std::string(ATLAS_TESTDATA_DIR) + "/stats/controls.json");
  return json;
}

inline std::unique_ptr<TestTrace> controls_trace() {
  const Json& json = controls_json();
  std::vector<TestPrompt> prompts;
  for (const Json& topic : json["topics"]) prompts.insert(prompts.end(), json["prompts_per_topic"].get<std::size_t>(), {topic, {}});
  for (const Json& row : json["rows"])
    prompts.at(row[2].get<std::size_t>()).rows.push_back({row[0], static_cast<Phase>(row[1].get<int>()), row[3], row[4]});
  return std::make_unique<TestTrace>(prompts, json["layers"].get<std::vector<std::uint32_t>>(), json["expert_count"].get<std::uint32_t>());
}

// [[layer, expert], ...]
inline Json experts_json(const Counts& counts, const std::vector<std::size_t>& experts) {
  Json result = Json::array();
  for (const std::size_t e : experts) result.push_back({counts.experts[e].layer, counts.experts[e].expert});
  return result;
}

}  // namespace atlas
