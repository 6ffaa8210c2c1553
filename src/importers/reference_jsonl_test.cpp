// Tests of the import of reference route JSONL: traces worked by hand, shuffles, refusals, and the cases of the reference that are about records.
#include "importers/reference_jsonl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/test_support.h"
#include "importers/route_records.h"

namespace atlas {
namespace {

namespace fs = std::filesystem;

ProbeSet two_topics() {
  return parse_probe_set(R"({"schemaVersion":1,"provenance":{"source":"s","sourceCommit":"c","method":"m"},
                            "categories":{"b_1":["x","y","z"],"a":["p","q","r"]}})",
                         "probes.json");
}

std::string record(const std::string& segment, std::uint64_t forward, std::uint64_t row, std::uint64_t layer, const std::string& indices) {
  return "{\"segment\":\"" + segment + "\",\"forward\":" + std::to_string(forward) + ",\"row\":" + std::to_string(row) +
         ",\"layer\":" + std::to_string(layer) + ",\"indices\":[" + indices + "]}\n";
}

// One record of each of two layers for every run but those named.
void write_runs(const TestFolder& folder, const std::vector<std::string>& but = {}) {
  for (const std::string topic : {"a", "b_1"})
    for (const std::string index : {"0", "1", "2"}) {
      const std::string id = topic + ":" + index;
      if (std::find(but.begin(), but.end(), id) != but.end()) continue;
      folder.write("routes/" + topic + "_" + index + ".jsonl", record(id, 0, 0, 3, "0,1") + record(id, 0, 0, 7, "2,5"));
    }
}

std::vector<std::vector<std::uint32_t>> rows_of(const Trace& trace, std::size_t layer_index) {
  SafetensorsFile file = trace.open_layer(layer_index);
  const LayerView layer = trace.layer(layer_index, file);
  check_layer_ids(trace, layer);
  std::vector<std::vector<std::uint32_t>> rows;
  for (std::uint64_t row = 0; row < layer.row_count; row++) {
    rows.emplace_back();
    for (std::uint32_t slot = 0; slot < layer.selected(row); slot++) rows.back().push_back(layer.expert_id(row, slot));
  }
  return rows;
}

std::map<std::string, std::string> bytes_of_folder(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files[entry.path().filename().string()] = file_bytes(entry.path());
  return files;
}

TEST(ReferenceJsonl, A_small_trace_worked_by_hand) {
  const TestFolder folder;
  write_runs(folder, {"a:0", "b_1:2"});
  // (0,0) twice in layer 3; (0,1) in both layers; forward 1 in layer 7 alone.
  folder.write("routes/a_0.jsonl", record("a:0", 1, 0, 7, "6") + record("a:0", 0, 1, 7, "2,0") + record("a:0", 0, 0, 3, "5,1") +
                                       record("a:0", 0, 0, 3, "4") + record("a:0", 0, 1, 3, "0,1"));
  ImportOptions options;
  options.model.name = "toy";
  const ImportReport report = import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace", options);

  const Trace trace(folder / "x.trace");
  const TraceManifest& manifest = trace.manifest();
  EXPECT_EQ(manifest.model.name, "toy");
  EXPECT_EQ(manifest.engine_name, "reference-jsonl");
  EXPECT_EQ(manifest.layers, (std::vector<std::uint32_t>{3, 7}));
  EXPECT_EQ(manifest.expert_count, 7U);
  EXPECT_EQ(manifest.expert_top_k, 2U);
  EXPECT_FALSE(manifest.has_router_weights);
  EXPECT_FALSE(manifest.ordered_by_weight);
  EXPECT_TRUE(trace.token_ids().empty());
  // Version 1 keeps the file's order of topics: b_1 first, rows 0, 1 and none; then a:0 with 4 rows, a:1, a:2.
  ASSERT_EQ(manifest.probes.size(), 6U);
  const std::vector<std::uint64_t> ends{1, 2, 2, 6, 7, 8};
  for (std::size_t p = 0; p < 6; p++) EXPECT_EQ(manifest.probes[p].row_end, ends[p]) << p;
  EXPECT_EQ(manifest.probes[3].id, "a:0");
  EXPECT_EQ(manifest.probes[3].token_count[static_cast<std::size_t>(Phase::unknown)], 4U);
  EXPECT_EQ(std::vector<std::int32_t>(trace.position().begin(), trace.position().end()), (std::vector<std::int32_t>{0, 0, 0, 0, 1, 2, 0, 0}));
  EXPECT_EQ(std::vector<std::int32_t>(trace.probe_index().begin(), trace.probe_index().end()), (std::vector<std::int32_t>{0, 1, 3, 3, 3, 3, 4, 5}));

  using Rows = std::vector<std::vector<std::uint32_t>>;
  EXPECT_EQ(rows_of(trace, 0), (Rows{{0, 1}, {0, 1}, {4}, {5, 1}, {0, 1}, {}, {0, 1}, {0, 1}}));
  EXPECT_EQ(rows_of(trace, 1), (Rows{{2, 5}, {2, 5}, {}, {}, {2, 0}, {6}, {2, 5}, {2, 5}}));

  ASSERT_EQ(manifest.missing.size(), 3U);
  EXPECT_EQ(manifest.missing[0].probe, 2U);
  EXPECT_FALSE(manifest.missing[0].layer);
  EXPECT_EQ(manifest.missing[0].row_count, 0U);
  EXPECT_EQ(manifest.missing[0].reason, "no file b_1_2.jsonl");
  EXPECT_EQ(manifest.missing[1].probe, 3U);
  EXPECT_EQ(manifest.missing[1].layer, 3U);
  EXPECT_EQ(manifest.missing[1].row_count, 1U);
  EXPECT_EQ(manifest.missing[2].layer, 7U);
  EXPECT_EQ(manifest.missing[2].row_count, 2U);

  EXPECT_EQ(report.file_count, 5U);
  EXPECT_EQ(report.record_count, 13U);
  EXPECT_EQ(report.repeated_count, 1U);
  EXPECT_EQ(report.row_count, 8U);
  EXPECT_EQ(report.selection_count, 24U);
  EXPECT_EQ(report.missing_runs, (std::vector<std::string>{"b_1:2"}));
  EXPECT_EQ(report.missing_layer_rows, 3U);
}

TEST(ReferenceJsonl, Full_rows_need_no_selected_count) {
  const TestFolder folder;
  write_runs(folder);
  import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace");
  const Trace trace(folder / "x.trace");
  EXPECT_EQ(trace.open_layer(0).find("selected_count"), nullptr);
  EXPECT_EQ(trace.open_layer(0).tensors().size(), 1U);
  EXPECT_TRUE(trace.manifest().missing.empty());
}

TEST(ReferenceJsonl, Texts_are_kept_only_when_asked_for) {
  const TestFolder folder;
  write_runs(folder);
  import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace");
  EXPECT_EQ(texts_of(Trace(folder / "x.trace").manifest()).prompts, (std::vector<std::string>{"x", "y", "z", "p", "q", "r"}));
  ImportOptions options;
  options.with_texts = false;
  import_reference_jsonl(folder / "routes", two_topics(), folder / "y.trace", options);
  EXPECT_TRUE(texts_of(Trace(folder / "y.trace").manifest()).prompts.empty());
  EXPECT_EQ(file_bytes(folder / "y.trace/manifest.json").find("\"p\""), std::string::npos);
}

TEST(ReferenceJsonl, Ids_of_every_width_and_up_to_the_format_s_limit_are_kept) {
  const std::vector<std::pair<std::string, Dtype>> cases{{"254,0", Dtype::u8},
                                                         {"255,1", Dtype::u16},
                                                         {"65534,2", Dtype::u16},
                                                         {"65535,3", Dtype::u32},
                                                         {"4294967294,0", Dtype::u32}};
  for (const auto& [indices, dtype] : cases) {
    const TestFolder folder;
    write_runs(folder, {"a:1"});
    folder.write("routes/a_1.jsonl", record("a:1", 9007199254740991U, 9007199254740991U, 4294967294U, indices));
    import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace");
    const Trace trace(folder / "x.trace");
    EXPECT_EQ(trace.manifest().layers, (std::vector<std::uint32_t>{3, 7, 4294967294U}));
    EXPECT_EQ(trace.open_layer(2).find("expert_ids")->dtype, dtype) << indices;
    const auto rows = rows_of(trace, 2);
    EXPECT_EQ(std::to_string(rows.at(4).at(0)) + "," + std::to_string(rows.at(4).at(1)), indices);
  }
}

// The routes that a trace holds, against the same records counted straight from the parsed text.
TEST(ReferenceJsonl, Shuffled_records_and_repeats_give_the_same_bytes_and_all_selections) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 8; round++) {
    std::map<std::string, std::vector<std::string>> lines;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t> expected;  // probe, layer, expert
    const ProbeSet probe_set = two_topics();
    for (std::uint32_t p = 0; p < probe_set.probes.size(); p++) {
      const Probe& probe = probe_set.probes[p];
      for (int i = 0; i < 60; i++) {
        const auto layer = static_cast<std::uint32_t>(random() % 3);
        std::string indices;
        const std::uint64_t first = random() % 300, count = 1 + random() % 6;
        for (std::uint64_t k = 0; k < count; k++) {
          indices += (k > 0 ? "," : "") + std::to_string(first + k * 7);
          expected[{p, layer, static_cast<std::uint32_t>(first + k * 7)}]++;
        }
        lines[probe.topic + "_" + std::to_string(probe.ordinal)].push_back(record(probe.run_id, random() % 2, random() % 9, layer, indices));
      }
    }
    const TestFolder folder;
    for (const char* name : {"one", "two"}) {
      for (auto& [run, records] : lines) {
        std::shuffle(records.begin(), records.end(), random);
        std::string text;
        for (const std::string& line : records) text += line;
        folder.write(std::string(name) + "/" + run + ".jsonl", text);
      }
      import_reference_jsonl(folder / name, probe_set, folder / (std::string(name) + ".trace"));
    }
    EXPECT_EQ(bytes_of_folder(folder / "one.trace"), bytes_of_folder(folder / "two.trace"));

    const Trace trace(folder / "one.trace");
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t> found;
    for (std::size_t layer = 0; layer < trace.manifest().layers.size(); layer++) {
      const auto rows = rows_of(trace, layer);
      for (std::size_t row = 0; row < rows.size(); row++)
        for (const std::uint32_t expert : rows[row])
          found[{static_cast<std::uint32_t>(trace.probe_index()[row]), trace.manifest().layers[layer], expert}]++;
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(ReferenceJsonl, A_record_repeated_very_often_gets_as_many_rows) {
  const TestFolder folder;
  write_runs(folder, {"a:1"});
  std::string text;
  for (int i = 0; i < 20000; i++) text += record("a:1", 0, 0, 3, std::to_string(i % 200) + ",200");
  folder.write("routes/a_1.jsonl", text);
  const ImportReport report = import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace");
  EXPECT_EQ(report.repeated_count, 19999U);
  const Trace trace(folder / "x.trace");
  const TraceProbe& probe = trace.manifest().probes[4];
  EXPECT_EQ(probe.row_end - probe.row_begin, 20000U);
  const auto rows = rows_of(trace, 0);
  for (std::uint32_t i = 0; i < 20000; i++) ASSERT_EQ(rows[probe.row_begin + i], (std::vector<std::uint32_t>{i / 100, 200})) << i;
}

TEST(ReferenceJsonl, The_reference_s_cases_of_repeated_rows_and_number_forms_import_with_all_their_selections) {
  for (const std::string name : {"32_repeated_rows", "33_number_forms"}) {
    const fs::path seed = fs::path(ATLAS_TESTDATA_DIR) / "seed" / name;
    const ProbeSet probe_set = read_probe_set((seed / "probes.json").string());
    const Json expected = read_json_file((seed / "expected.json").string());
    const TestFolder folder;
    import_reference_jsonl(seed / "routes", probe_set, folder / "x.trace");
    const Trace trace(folder / "x.trace");
    std::map<std::string, std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>> counts;
    for (std::size_t layer = 0; layer < trace.manifest().layers.size(); layer++) {
      const auto rows = rows_of(trace, layer);
      for (std::size_t row = 0; row < rows.size(); row++)
        for (const std::uint32_t expert : rows[row])
          counts[trace.manifest().probes[static_cast<std::size_t>(trace.probe_index()[row])].id][{trace.manifest().layers[layer], expert}]++;
    }
    ASSERT_EQ(expected["runs"].size(), 6U);
    for (const Json& run : expected["runs"]) {
      const std::string id = run["category"].get<std::string>() + ":" + std::to_string(run["promptIndex"].get<int>());
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> wanted;
      for (const Json& count : run["counts"]) wanted[{count[0].get<std::uint32_t>(), count[1].get<std::uint32_t>()}] = count[2].get<std::uint64_t>();
      EXPECT_EQ(counts[id], wanted) << name << ", " << id;
    }
  }
}

std::vector<std::string> refusal(const TestFolder& folder, ErrorKind kind = ErrorKind::invalid) {
  std::vector<std::string> problems;
  try {
    import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace");
    ADD_FAILURE() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    for (const Problem& problem : error.problems()) {
      problems.push_back(to_string(problem));
      const std::string lead = (folder / "routes").string() + "/";
      if (problems.back().starts_with(lead)) problems.back().erase(0, lead.size());
    }
  }
  EXPECT_FALSE(fs::exists(folder / "x.trace"));
  EXPECT_FALSE(fs::exists(folder / "x.trace.partial"));
  return problems;
}

TEST(ReferenceJsonl, All_files_that_are_no_runs_are_reported_at_once_runs_that_the_set_lacks_last) {
  const TestFolder folder;
  write_runs(folder, {"a:1"});
  folder.write("routes/a_1.jsonl", "\n \r\n");
  folder.write("routes/a_3.jsonl", record("a:3", 0, 0, 0, "1"));
  folder.write("routes/c_0.jsonl", "");
  folder.write("routes/A_0.jsonl", "x");
  folder.write("routes/plain.jsonl", "x");
  folder.write("routes/_0.jsonl", "x");
  folder.write("routes/a_01.jsonl", "x");
  folder.write("routes/a_9007199254740992.jsonl", "x");
  folder.write("routes/a_-1.jsonl", "x");
  folder.write("routes/README.txt", "not a run, passed over");
  const std::string form =
      "<topic>_<index>.jsonl with a topic of lower-case letters, digits and _, not starting with _ (likely cause: a file of another kind)";
  const std::string index = "; expected <topic>_<index>.jsonl with a whole number as index, without leading zeros";
  const std::string records = ": no route records; expected at least one (likely cause: the capture of this run failed)";
  EXPECT_EQ(refusal(folder), (std::vector<std::string>{
                                 "A_0.jsonl: the topic name 'A'; expected " + form,
                                 "_0.jsonl: the topic name ''; expected " + form,
                                 "a_-1.jsonl: the index '-1'" + index,
                                 "a_01.jsonl: the index '01'" + index,
                                 "a_1.jsonl" + records,
                                 "a_9007199254740992.jsonl: the index '9007199254740992'" + index,
                                 "c_0.jsonl" + records,
                                 "plain.jsonl: a name without _; expected " + form,
                                 "a_3.jsonl: the run a:3; expected a run of the probe set (likely cause: another probe set)",
                                 "c_0.jsonl: the run c:0; expected a run of the probe set (likely cause: another probe set)",
                             }));
}

TEST(ReferenceJsonl, An_index_out_of_range_is_refused_as_such) {
  const TestFolder folder;
  write_runs(folder);
  folder.write("routes/a_-1.jsonl", record("a:-1", 0, 0, 0, "1"));
  EXPECT_EQ(refusal(folder, ErrorKind::out_of_range).size(), 1U);
}

TEST(ReferenceJsonl, A_folder_that_is_absent_or_has_no_runs_is_refused) {
  const TestFolder folder;
  EXPECT_EQ(refusal(folder).at(0).find(": cannot read it: No such file or directory; expected a folder with files <topic>_<index>.jsonl"),
            (folder / "routes").string().size());
  folder.write("routes/notes.txt", "x");
  EXPECT_NE(refusal(folder).at(0).find("no file *.jsonl"), std::string::npos);
}

TEST(ReferenceJsonl, The_first_fault_of_every_file_is_reported_with_its_line) {
  const TestFolder folder;
  write_runs(folder, {"a:0", "a:1", "a:2"});
  folder.write("routes/a_0.jsonl", record("a:0", 0, 0, 3, "1,2") + "\n" + record("a:0", 0, 0, 3, "1,1") + record("b:0", 0, 0, 3, "1"));
  folder.write("routes/a_1.jsonl", record("a:1", 0, 0, 3, "1") + "{\"segment\":\"a:1\",");
  folder.write("routes/a_2.jsonl", record("a:1", 0, 0, 3, "1"));
  EXPECT_EQ(refusal(folder),
            (std::vector<std::string>{
                "a_0.jsonl:3, indices: 1 twice; expected experts that differ",
                "a_1.jsonl:2:18: the line ends here; expected a record, one JSON object a line (likely cause: the file was cut off)",
                "a_2.jsonl:1, segment: \"a:1\"; expected \"a:2\", the run of this file (likely cause: records of several runs in one file)",
            }));
}

TEST(ReferenceJsonl, What_the_trace_format_cannot_hold_is_refused_with_the_limit) {
  const TestFolder folder;
  write_runs(folder, {"a:0", "a:1", "a:2"});
  std::string many = "0";
  for (int expert = 1; expert < 256; expert++) many += "," + std::to_string(expert);
  folder.write("routes/a_0.jsonl", record("a:0", 0, 0, 4294967295U, "1"));
  folder.write("routes/a_1.jsonl", record("a:1", 0, 0, 3, "1,4294967295"));
  folder.write("routes/a_2.jsonl", record("a:2", 0, 0, 3, many));
  EXPECT_EQ(refusal(folder), (std::vector<std::string>{
                                 "a_0.jsonl:1, layer: 4294967295; expected 0 to 4294967294, the limit of the trace format",
                                 "a_1.jsonl:1, indices: the expert 4294967295; expected 0 to 4294967294, the limit of the trace format",
                                 "a_2.jsonl:1, indices: 256 experts; expected 255 at most, the limit of the trace format",
                             }));
}

TEST(ReferenceJsonl, Records_that_ask_for_a_table_out_of_all_proportion_are_refused_before_it_is_written) {
  const TestFolder folder;
  write_runs(folder, {"a:0"});
  std::string text;
  for (std::uint64_t i = 0; i < 12000; i++) text += record("a:0", 0, i, i, "1,2,3,70000,5,6,7,8");
  folder.write("routes/a_0.jsonl", text);
  EXPECT_NE(refusal(folder).at(0).find(
                "12010 records that spread over 12005 rows and 12000 layers; expected most rows to have a record in most layers"),
            std::string::npos);
}

TEST(ReferenceJsonl, An_old_trace_is_replaced_only_when_asked_and_other_folders_never) {
  const TestFolder folder;
  write_runs(folder);
  ImportOptions options;
  import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace", options);
  const auto before = bytes_of_folder(folder / "x.trace");
  EXPECT_NE(problem_of([&] {
              import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace", options);
            }).find("something with this name"),
            std::string::npos);
  write_runs(folder, {"a:0"});
  folder.write("routes/a_0.jsonl", "damaged");
  options.replace = true;
  EXPECT_THROW(import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace", options), Error);
  EXPECT_EQ(bytes_of_folder(folder / "x.trace"), before);  // a failed import leaves the old trace
  folder.write("routes/a_0.jsonl", record("a:0", 0, 0, 4, "9"));
  import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace", options);
  EXPECT_EQ(Trace(folder / "x.trace").manifest().layers, (std::vector<std::uint32_t>{3, 4, 7}));
  folder.write("x.trace/thesis.txt", "precious");
  EXPECT_NE(problem_of([&] { import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace", options); }).find("thesis.txt"),
            std::string::npos);
  EXPECT_TRUE(fs::exists(folder / "x.trace/thesis.txt"));
  folder.write("y.trace.partial/thesis.txt", "precious");
  EXPECT_NE(problem_of([&] { import_reference_jsonl(folder / "routes", two_topics(), folder / "y.trace", options); }).find("thesis.txt"),
            std::string::npos);
  EXPECT_TRUE(fs::exists(folder / "y.trace.partial/thesis.txt"));
}

TEST(ReferenceJsonl, Progress_goes_from_nothing_to_both_passes_over_all_bytes) {
  const TestFolder folder;
  write_runs(folder);
  std::uint64_t last = 0, all = 0, calls = 0;
  import_reference_jsonl(folder / "routes", two_topics(), folder / "x.trace", {}, [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last);
    last = done;
    all = total;
    calls++;
  });
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder / "routes")) bytes += fs::file_size(entry);
  EXPECT_EQ(all, 2 * bytes);
  EXPECT_EQ(last, all);
  EXPECT_GE(calls, 2U);
}

}  // namespace
}  // namespace atlas
