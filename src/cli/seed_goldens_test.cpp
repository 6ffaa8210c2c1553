// Every case of testdata/seed (the reference implementation's own answers) at library level: the same numbers, bit for bit, or the same
// refusal by stage and kind. It lies in cli/ because it goes through importers, stats and atlas, which do not know each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "atlas/reference_json.h"
#include "base/mapped_file.h"
#include "importers/route_records.h"
#include "probes/probe_set.h"
#include "stats/reference.h"

namespace atlas {
namespace {

namespace fs = std::filesystem;

const fs::path seed_folder = fs::path(ATLAS_TESTDATA_DIR) / "seed";

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(seed_folder))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The reference's buildGlm52AtlasRun.
ReferenceRun run_from_records(const std::string& topic, double prompt_index, const std::vector<RouteRecord>& records) {
  const std::string segment = reference_run_id(topic, prompt_index);
  if (records.empty()) throw Error(Problem{"run " + segment, "no route records", "at least one", ""});
  std::map<std::pair<double, double>, double> counts;
  ReferenceRun run{topic, prompt_index, 0, {}};
  for (const RouteRecord& record : records) {
    if (const auto problem = route_record_problem(record, segment)) throw Error(*problem);
    for (const double expert : record.indices) counts[{record.layer, expert}]++;
    run.total_selections += static_cast<double>(record.indices.size());
  }
  for (const auto& [expert, count] : counts) run.counts.push_back({expert.first, expert.second, count});
  return run;
}

// "layer:expert" of a finished table; what is no such key becomes one that the checks refuse.
ReferenceCount table_entry(const Json& entry) {
  const std::string key = entry[0].get<std::string>();
  const auto colon = key.find(':');
  const bool two_numbers = colon != std::string::npos && key.find(':', colon + 1) == std::string::npos;
  return two_numbers ? ReferenceCount{std::stod(key.substr(0, colon)), std::stod(key.substr(colon + 1)), entry[1].get<double>()}
                     : ReferenceCount{-1, -1, entry[1].get<double>()};
}

ReferenceRun read_run(const fs::path& folder, const Json& entry) {
  const std::string topic = entry["category"].get<std::string>();
  const double index = entry["promptIndex"].get<double>();
  if (entry.contains("file")) {
    const fs::path path = folder / "routes" / entry["file"].get<std::string>();
    const MappedFile file(path);
    return run_from_records(topic, index, parse_route_records(file.text(), path.filename().string()));
  }
  ReferenceRun run{topic, index, entry["totalSelections"].get<double>(), {}};
  for (const Json& count : entry["counts"]) run.counts.push_back(table_entry(count));
  return run;
}

Json run_list(const fs::path& folder) {
  if (fs::exists(folder / "runs.json")) return read_json_file((folder / "runs.json").string());
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder / "routes")) files.push_back(entry.path().filename().string());
  std::sort(files.begin(), files.end());
  Json list = Json::array();
  for (const std::string& file : files) {
    const auto last = file.rfind('_');
    list.push_back({{"category", file.substr(0, last)}, {"promptIndex", std::stod(file.substr(last + 1))}, {"file", file}});
  }
  return list;
}

struct Outcome {
  std::string stage;  // of a refusal; "" if there was none
  std::string kind;
  nlohmann::json result;
};

ReferenceOptions read_options(const fs::path& folder) {
  const Json json = read_json_file((folder / "options.json").string());
  return {json.value("minCount", 30.0), json.value("minRuns", 2.0), json.value("strongThreshold", 0.5), json.value("topK", 200.0)};
}

Outcome run_case(const fs::path& folder) {
  Outcome outcome;
  const ReferenceOptions options = read_options(folder);
  try {
    outcome.stage = "probes";
    const ProbeSet probes = read_probe_set((folder / "probes.json").string());
    outcome.stage = "run";
    std::vector<ReferenceRun> runs;
    for (const Json& entry : run_list(folder)) runs.push_back(read_run(folder, entry));
    outcome.stage = "atlas";
    const ReferenceAtlas built = build_reference_atlas(prompt_counts(probes), runs, options);
    outcome.stage = "validation";
    const ReferenceValidation validation = validate_reference(prompt_counts(probes), runs, options.top_k);
    outcome.stage = "";
    Json runs_json = Json::array();  // in the order built, which the goldens keep
    for (const ReferenceRun& run : runs) runs_json.push_back(reference_runs_json({run})[0]);
    const Json result{{"runs", runs_json},
                      {"atlas", reference_atlas_json(built)},
                      {"validation", reference_validation_json(validation)},
                      {"webExperts", reference_web_experts_json(built)}};
    outcome.result = nlohmann::json::parse(result.dump());  // sorted keys: the order of keys does not count
  } catch (const Error& error) {
    outcome.kind = error.kind() == ErrorKind::out_of_range ? "RangeError" : "Error";
  }
  return outcome;
}

class SeedGolden : public testing::TestWithParam<std::string> {};

TEST_P(SeedGolden, gives_the_numbers_or_the_refusal_of_the_reference) {
  const fs::path folder = seed_folder / GetParam();
  const MappedFile file(folder / "expected.json");
  const nlohmann::json expected = nlohmann::json::parse(file.text());
  const Outcome outcome = run_case(folder);
  if (expected.contains("error")) {
    EXPECT_EQ(outcome.stage, expected["error"]["stage"]);
    EXPECT_EQ(outcome.kind, expected["error"]["kind"]);
    return;
  }
  ASSERT_EQ(outcome.stage, "");
  for (const char* key : {"runs", "atlas", "validation", "webExperts"})
    EXPECT_TRUE(outcome.result[key] == expected[key])
        << key << ": " << nlohmann::json::diff(expected[key], outcome.result[key]).dump().substr(0, 2000);
}

INSTANTIATE_TEST_SUITE_P(EveryCase, SeedGolden, testing::ValuesIn(case_names()), [](const auto& given) { return given.param; });

}  // namespace
}  // namespace atlas
