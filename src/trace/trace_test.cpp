// Tests of reading traces: manifests with every fault, the token table, layers, and the check of every id.
#include "trace/trace.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/test_support.h"
#include "trace/trace_test_data.h"

namespace atlas {
namespace {

using Texts = std::vector<std::string>;

Json small_json() { return manifest_to_json(small_manifest()); }

Texts manifest_faults(const std::function<void(Json&)>& change) {
  Json json = small_json();
  change(json);
  return problems_of([&] { manifest_from_json(json, "m"); });
}

// --- The manifest ---

TEST(Manifest, Comes_back_the_same_from_its_JSON) {
  TraceManifest manifest = small_manifest();
  manifest.missing = {{1, 7, 1, "lost"}, {0, std::nullopt, 0, "no file"}};
  const TraceManifest again = manifest_from_json(manifest_to_json(manifest), "m");
  EXPECT_EQ(manifest_to_json(again).dump(), manifest_to_json(manifest).dump());
  EXPECT_EQ(again.layers, manifest.layers);
  EXPECT_EQ(again.expert_count, 6U);
  EXPECT_EQ(again.model.name, "toy");
  EXPECT_EQ(again.probes[0].token_count, manifest.probes[0].token_count);
  EXPECT_EQ(again.missing[0].layer, 7U);
  EXPECT_FALSE(again.missing[1].layer);
  EXPECT_EQ(again.row_count(), 4U);
}

TEST(Manifest, Of_another_format_or_version_is_refused_before_its_fields_are_read) {
  const std::string expected = "; expected 'expert-atlas route trace', version 1 (likely cause: another program's file, or a newer version)";
  EXPECT_EQ(manifest_faults([](Json& json) {
              json["version"] = 2;
              json.erase("layers");
            }),
            (Texts{"m: format 'expert-atlas route trace', version 2" + expected}));
  EXPECT_EQ(manifest_faults([](Json& json) { json["format"] = "gguf"; }), (Texts{"m: format 'gguf', version 1" + expected}));
  EXPECT_EQ(manifest_faults([](Json& json) { json.erase("format"); }).size(), 1U);
  EXPECT_EQ(manifest_faults([](Json& json) { json = Json::array(); }), (Texts{"m: no trace manifest" + expected}));
  EXPECT_EQ(manifest_faults([](Json& json) { json = nullptr; }), (Texts{"m: no trace manifest" + expected}));
}

TEST(Manifest, Every_required_field_is_missed) {
  for (const char* key : {"model", "engine", "settings", "probe_set", "layers", "expert_count", "expert_top_k", "weights", "order", "probes"}) {
    const Texts faults = manifest_faults([&](Json& json) { json.erase(key); });
    EXPECT_EQ(faults.at(0), "m: $." + std::string(key) + ": nothing; expected a value");
  }
}

TEST(Manifest, Unknown_fields_are_refused_at_every_level) {
  const std::string cause = ": a field that is not known here; expected no such field (likely cause: a spelling slip, or a newer format)";
  EXPECT_EQ(manifest_faults([](Json& json) {
              json["x"] = 1;
              json["model"]["x"] = 1;
              json["engine"]["x"] = 1;
              json["probes"][1]["x"] = 1;
              json["probes"][0]["tokens"]["x"] = 1;
              json["missing"] = {{{"probe", 0}, {"rows", 0}, {"reason", "r"}, {"x", 1}}};
            }),
            (Texts{"m: $.model.x" + cause, "m: $.engine.x" + cause, "m: $.probes[0].tokens.x" + cause, "m: $.probes[1].x" + cause,
                   "m: $.missing[0].x" + cause, "m: $.x" + cause}));
}

TEST(Manifest, Layers_must_rise_and_fit_32_bits) {
  for (const Json& layers : {Json{7, 3}, Json{3, 3}, Json{-1}, Json{1.5}, Json{"3"}, Json{4294967295U}})
    EXPECT_NE(manifest_faults([&](Json& json) { json["layers"] = layers; }).at(0).find("expected whole numbers that rise"), std::string::npos)
        << layers;
  EXPECT_EQ(manifest_faults([](Json& json) { json["layers"] = "3"; }), (Texts{"m: $.layers: a text; expected a list of layer indices"}));
  Json json = small_json();
  json["layers"] = {0, 4294967294U};
  EXPECT_EQ(manifest_from_json(json, "m").layers, (std::vector<std::uint32_t>{0, 4294967294U}));
}

TEST(Manifest, Counts_of_experts_must_fit_each_other) {
  EXPECT_EQ(manifest_faults([](Json& json) { json["expert_top_k"] = 0; }), (Texts{"m: $.expert_top_k: 0; expected 1 to 255"}));
  EXPECT_EQ(manifest_faults([](Json& json) { json["expert_top_k"] = 256; }).at(0), "m: $.expert_top_k: 256; expected a whole number from 0 to 255");
  EXPECT_EQ(manifest_faults([](Json& json) { json["expert_count"] = 1; }), (Texts{"m: $.expert_count: 1; expected at least expert_top_k"}));
  EXPECT_EQ(manifest_faults([](Json& json) { json["expert_count"] = 4294967296U; }).at(0),
            "m: $.expert_count: 4294967296; expected a whole number from 0 to 4294967295");
}

TEST(Manifest, Words_of_which_there_are_two_are_no_others) {
  EXPECT_EQ(manifest_faults([](Json& json) {
              json["weights"] = "some";
              json["order"] = "random";
            }),
            (Texts{"m: $.weights: some; expected applied or none", "m: $.order: random; expected weight or as given"}));
}

TEST(Manifest, Objects_lists_and_texts_must_be_such) {
  EXPECT_EQ(manifest_faults([](Json& json) {
              json["settings"] = Json::array();
              json["probe_set"] = "x";
            }),
            (Texts{"m: $.settings: a list; expected an object", "m: $.probe_set: a text; expected an object"}));
  EXPECT_EQ(manifest_faults([](Json& json) { json["model"] = 5; }).at(0), "m: $.model: a number; expected an object");
  EXPECT_EQ(manifest_faults([](Json& json) { json["model"]["name"] = 5; }), (Texts{"m: $.model.name: 5; expected a text"}));
  EXPECT_EQ(manifest_faults([](Json& json) { json["probes"] = Json::object(); }), (Texts{"m: $.probes: an object; expected a list"}));
  EXPECT_EQ(manifest_faults([](Json& json) { json["missing"] = 1; }), (Texts{"m: $.missing: a number; expected a list"}));
}

TEST(Manifest, Probes_must_have_sound_topics_labels_and_ids_that_differ) {
  EXPECT_EQ(manifest_faults([](Json& json) {
              json["probes"][0]["topic"] = "Bad";
              json["probes"][0]["labels"] = {"x"};
              json["probes"][1]["id"] = "a:0";
              json["probes"][1]["labels"] = {{"topic", 5}};
            }),
            (Texts{"m: $.probes[0].topic: 'Bad'; expected a topic name", "m: $.probes[0].labels: a list; expected an object {axis: value}",
                   "m: $.probes[1].labels: a number; expected texts", "m: $.probes[1].id: 'a:0' once more; expected ids that differ"}));
  EXPECT_EQ(manifest_faults([](Json& json) { json["probes"][0]["topic"] = ""; }), (Texts{"m: $.probes[0].topic: ''; expected a topic name"}));
}

TEST(Manifest, Rows_must_follow_one_another_and_number_the_tokens) {
  const auto fault = [](std::uint64_t probe, const char* key, const Json& value) {
    return manifest_faults([&](Json& json) { json["probes"][probe][key] = value; });
  };
  EXPECT_EQ(fault(1, "row_begin", 2), (Texts{"m: $.probes[1]: rows [2, 4) for 1 tokens; expected rows that begin at 3 and number its tokens"}));
  EXPECT_EQ(fault(0, "row_begin", 1).size(), 1U);
  EXPECT_EQ(fault(0, "row_end", 2).size(), 1U);
  EXPECT_EQ(fault(1, "row_end", 2).size(), 1U);  // before its begin
  EXPECT_EQ(fault(1, "tokens", {{"unknown", 2}}).size(), 1U);
  EXPECT_EQ(fault(1, "row_end", 2147483648U).at(0), "m: $.probes[1].row_end: 2147483648; expected a whole number from 0 to 2147483647");
}

TEST(Manifest, Missing_rows_must_name_a_probe_and_a_layer_of_the_trace) {
  EXPECT_EQ(manifest_faults([](Json& json) {
              json["missing"] = {{{"probe", 2}, {"layer", 4}, {"rows", 1}, {"reason", "r"}}};
            }),
            (Texts{"m: $.missing[0].probe: 2; expected the index of a probe", "m: $.missing[0].layer: 4; expected one of the trace's layers"}));
  EXPECT_EQ(manifest_faults([](Json& json) {
              json["missing"] = {{{"probe", 0}}};
            }),
            (Texts{"m: $.missing[0].rows: nothing; expected a value", "m: $.missing[0].reason: nothing; expected a value"}));
}

TEST(Manifest, Texts_are_given_back_only_if_there_is_one_for_each_probe) {
  TraceManifest manifest = small_manifest();
  EXPECT_TRUE(texts_of(manifest).prompts.empty());
  manifest.probe_set["texts"] = {{{"prompt", "p"}}, {{"prompt", "q"}, {"answer", "r"}}};
  EXPECT_EQ(texts_of(manifest).prompts, (Texts{"p", "q"}));
  EXPECT_EQ(texts_of(manifest).answers, (std::vector<std::optional<std::string>>{std::nullopt, "r"}));
  manifest.probe_set["texts"] = {{{"prompt", "p"}}};
  EXPECT_TRUE(texts_of(manifest).prompts.empty());
}

// --- A trace on disk ---

std::string trace_fault(const TestFolder& folder, const std::function<void()>& damage) {
  write_small_trace(folder / "x.trace");
  damage();
  std::string text = problem_of([&] {
    const Trace trace(folder / "x.trace");
    for (std::size_t i = 0; i < trace.manifest().layers.size(); i++) {
      SafetensorsFile file = trace.open_layer(i);
      check_layer_ids(trace, trace.layer(i, file));
    }
  });
  std::filesystem::remove_all(folder / "x.trace");
  const std::string lead = (folder / "x.trace").string();
  return text.starts_with(lead) ? text.substr(lead.size()) : text;
}

TEST(Trace, That_is_absent_or_no_folder_is_refused) {
  const TestFolder folder;
  EXPECT_EQ(problem_of([&] { Trace trace(folder / "absent.trace"); }),
            (folder / "absent.trace").string() + ": no folder; expected a trace, which is a folder NAME.trace");
  folder.write("file.trace", "x");
  EXPECT_NE(problem_of([&] { Trace trace(folder / "file.trace"); }).find("no folder"), std::string::npos);
  std::filesystem::create_directory(folder / "empty.trace");
  EXPECT_NE(problem_of([&] { Trace trace(folder / "empty.trace"); }).find("manifest.json: cannot open it"), std::string::npos);
}

TEST(Trace, Of_an_interrupted_capture_says_which_layers_are_not_there_and_how_to_go_on) {
  const TestFolder folder;
  EXPECT_EQ(trace_fault(folder, [&] { std::filesystem::remove(folder / "x.trace/layer-007.safetensors"); }),
            ": no file for layer 7; expected one for each layer of the manifest (likely cause: an interrupted capture: run the same capture again "
            "with --resume)");
}

TEST(Trace, A_token_table_that_contradicts_the_manifest_is_refused) {
  const TestFolder folder;
  const auto with = [&](const std::function<void(TokenTable&)>& change) {
    return trace_fault(folder, [&] {
      TokenTable tokens = small_tokens();
      change(tokens);
      const std::vector<std::uint64_t> shape{tokens.probe_index.size()};
      write_safetensors(folder / "x.trace/tokens.safetensors", {{"probe_index", Dtype::i32, shape, std::as_bytes(std::span(tokens.probe_index))},
                                                                {"position", Dtype::i32, shape, std::as_bytes(std::span(tokens.position))},
                                                                {"phase", Dtype::u8, shape, std::as_bytes(std::span(tokens.phase))}});
    });
  };
  const std::string file = "/tokens.safetensors";
  EXPECT_EQ(with([](TokenTable& tokens) { tokens.probe_index[2] = 1; }), file + ", row 2: probe 1; expected 0, as the manifest says");
  EXPECT_EQ(with([](TokenTable& tokens) { tokens.probe_index[3] = -1; }), file + ", row 3: probe -1; expected 1, as the manifest says");
  EXPECT_EQ(with([](TokenTable& tokens) { tokens.phase[1] = 5; }), file + ", row 1: phase 5; expected 0 to 4");
  EXPECT_EQ(with([](TokenTable& tokens) { tokens.phase[0] = 3; }),
            file + ", probe a:0: other phases; expected the tokens by phase that the manifest says");
  EXPECT_EQ(with([](TokenTable& tokens) {
              for (auto* column : {&tokens.probe_index, &tokens.position}) column->push_back(1);
              tokens.phase.push_back(4);
            }),
            file + ", tensor probe_index: I32 [5]; expected I32 [4]");
}

TEST(Trace, A_layer_of_another_shape_or_dtype_is_refused_by_name) {
  const TestFolder folder;
  const std::vector<std::uint8_t> bytes(64, 0);
  const auto with = [&](std::vector<TensorOut> tensors) {
    for (TensorOut& tensor : tensors) {
      std::size_t size = dtype_bytes(tensor.dtype);
      for (const std::uint64_t extent : tensor.shape) size *= extent;
      tensor.bytes = std::as_bytes(std::span(bytes)).first(size);
    }
    return trace_fault(folder, [&] { write_safetensors(folder / "x.trace/layer-003.safetensors", tensors); });
  };
  const std::string file = "/layer-003.safetensors";
  const TensorOut ids{"expert_ids", Dtype::u8, {4, 2}, {}}, weights{"router_weights", Dtype::f32, {4, 2}, {}};
  EXPECT_EQ(with({weights}), file + ": no tensor expert_ids; expected U8 [4, 2]");
  EXPECT_EQ(with({{"expert_ids", Dtype::u16, {4, 2}, {}}, weights}), file + ", tensor expert_ids: U16 [4, 2]; expected U8 [4, 2]");
  EXPECT_EQ(with({{"expert_ids", Dtype::u8, {8}, {}}, weights}), file + ", tensor expert_ids: U8 [8]; expected U8 [4, 2]");
  EXPECT_EQ(with({{"expert_ids", Dtype::u8, {3, 2}, {}}, weights}), file + ", tensor expert_ids: U8 [3, 2]; expected U8 [4, 2]");
  EXPECT_EQ(with({ids}), file + ": no tensor router_weights; expected F32 [4, 2]");
  EXPECT_EQ(with({ids, weights, {"selected_count", Dtype::u8, {3}, {}}}), file + ", tensor selected_count: U8 [3]; expected U8 [4]");
  EXPECT_EQ(with({ids, weights, {"selection_margin", Dtype::f32, {4, 2}, {}}}), file + ", tensor selection_margin: F32 [4, 2]; expected F32 [4]");
  EXPECT_EQ(with({ids, weights, {"expert_output_norm", Dtype::f32, {4}, {}}}), file + ", tensor expert_output_norm: F32 [4]; expected F32 [4, 2]");
  EXPECT_NE(trace_fault(folder, [&] { folder.write("x.trace/layer-003.safetensors", "short"); }).find("5 bytes"), std::string::npos);
}

TEST(Trace, Ids_are_checked_one_by_one_when_asked) {
  const TestFolder folder;
  const auto with = [&](const std::vector<std::uint8_t>& ids, const std::vector<std::uint8_t>& counts) {
    return trace_fault(folder, [&] {
      const std::vector<float> weights(8, 0.5F);
      write_safetensors(folder / "x.trace/layer-007.safetensors", {{"expert_ids", Dtype::u8, {4, 2}, std::as_bytes(std::span(ids))},
                                                                   {"router_weights", Dtype::f32, {4, 2}, std::as_bytes(std::span(weights))},
                                                                   {"selected_count", Dtype::u8, {4}, std::as_bytes(std::span(counts))}});
    });
  };
  const std::string expected = "; expected different ids below 6 (likely cause: a damaged file)", file = "/layer-007.safetensors, row ";
  EXPECT_EQ(with({0, 1, 2, 6, 4, 5, 0, 1}, {2, 2, 2, 2}), file + "1 (probe a:0): the id 6" + expected);
  EXPECT_EQ(with({0, 1, 2, 3, 4, 5, 1, 1}, {2, 2, 2, 2}), file + "3 (probe b:0): the id 1 twice" + expected);
  EXPECT_EQ(with({0, 255, 2, 3, 4, 5, 0, 1}, {2, 2, 2, 2}), file + "0 (probe a:0): the id 255" + expected);
  EXPECT_EQ(with({0, 1, 2, 3, 4, 5, 0, 1}, {2, 3, 2, 2}), file + "1 (probe a:0): a count of 3" + expected);
  EXPECT_EQ(with({0, 1, 2, 3, 4, 5, 0, 1}, {2, 2, 1, 2}), file + "2 (probe a:0): the id 5 beyond the row's count" + expected);
}

TEST(Trace, Id_types_keep_one_value_that_is_no_id) {
  EXPECT_EQ(expert_id_dtype(1), Dtype::u8);
  EXPECT_EQ(expert_id_dtype(255), Dtype::u8);
  EXPECT_EQ(expert_id_dtype(256), Dtype::u16);
  EXPECT_EQ(expert_id_dtype(65535), Dtype::u16);
  EXPECT_EQ(expert_id_dtype(65536), Dtype::u32);
  EXPECT_EQ(expert_id_dtype(4294967295U), Dtype::u32);
}

TEST(Trace, Layer_files_are_named_by_the_absolute_index) {
  EXPECT_EQ(layer_file_name(3), "layer-003.safetensors");
  EXPECT_EQ(layer_file_name(4294967294U), "layer-4294967294.safetensors");
}

TEST(Trace, A_probe_set_is_described_with_or_without_its_texts) {
  const ProbeSet set = parse_probe_set(
      R"({"schemaVersion":2,"provenance":{"source":"s","sourceCommit":"c","method":"m"},"topic_axis":"topic","probes":[)"
      R"({"id":"1","prompt":"p1","answer":"r","labels":{"topic":"a"}},{"id":"2","prompt":"p2","images":["i.png"],"labels":{"topic":"a"}},)"
      R"({"id":"3","prompt":"p3","labels":{"topic":"a"}},{"id":"4","prompt":"p4","labels":{"topic":"b"}},)"
      R"({"id":"5","prompt":"p5","labels":{"topic":"b"}},{"id":"6","prompt":"p6","labels":{"topic":"b","language":"de"}}]})",
      "f");
  const Json with = describe_probe_set(set, true);
  EXPECT_EQ(with["sha256"], set.sha256);
  EXPECT_EQ(with["provenance"].dump(), R"({"source":"s","source_commit":"c","method":"m"})");
  EXPECT_EQ(with["texts"].size(), 6U);
  EXPECT_EQ(with["texts"][0].dump(), R"({"prompt":"p1","answer":"r"})");
  EXPECT_EQ(with["texts"][1].dump(), R"({"prompt":"p2","images":["i.png"]})");
  EXPECT_FALSE(describe_probe_set(set, false).contains("texts"));
  const std::vector<TraceProbe> probes = trace_probes(set);
  EXPECT_EQ(probes[5].id, "6");
  EXPECT_EQ(probes[5].topic, "b");
  EXPECT_EQ(probes[5].labels.at("language"), "de");
  EXPECT_EQ(probes[5].row_end, 0U);
}

}  // namespace
}  // namespace atlas
