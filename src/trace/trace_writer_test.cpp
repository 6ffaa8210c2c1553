// Tests of writing traces: round trips at every id width, going on after a kill, and what may be replaced.
#include "trace/trace_writer.h"

#include <gtest/gtest.h>

#include <random>

#include "base/test_support.h"
#include "trace/trace_test_data.h"

namespace atlas {
namespace {

namespace fs = std::filesystem;

TEST(TraceWriter, What_is_written_is_read_back) {
  const TestFolder folder;
  write_small_trace(folder / "x.trace");
  const Trace trace(folder / "x.trace");
  EXPECT_EQ(manifest_to_json(trace.manifest()), manifest_to_json(small_manifest()));
  const TokenTable tokens = small_tokens();
  EXPECT_EQ(std::vector<std::int32_t>(trace.token_ids().begin(), trace.token_ids().end()), tokens.token_ids);
  EXPECT_EQ(std::vector<std::int32_t>(trace.position().begin(), trace.position().end()), tokens.position);
  EXPECT_EQ(std::vector<std::uint8_t>(trace.phase().begin(), trace.phase().end()), tokens.phase);
  SafetensorsFile file = trace.open_layer(1);
  const LayerView layer = trace.layer(1, file);
  check_layer_ids(trace, layer);
  EXPECT_EQ(layer.layer, 7U);
  EXPECT_EQ(layer.expert_id(3, 0), 2U);
  EXPECT_EQ(layer.router_weights[7], 0.25F);
  EXPECT_TRUE(layer.selected_count.empty());
  EXPECT_TRUE(layer.selection_margin.empty());
  EXPECT_EQ(layer.selected(3), 2U);
}

TEST(TraceWriter, Ids_of_every_width_and_short_rows_come_back) {
  std::mt19937 random(3);
  for (const std::uint32_t expert_count : {6U, 255U, 256U, 65535U, 65536U, 4294967295U}) {
    const TestFolder folder;
    TraceManifest manifest = small_manifest();
    manifest.expert_count = expert_count;
    manifest.has_router_weights = false;
    LayerRoutes routes;
    routes.layer = 3;
    routes.selected_count = {2, 1, 0, 2};
    routes.selection_margin = {0.5F, 0.25F, 0, 1};
    routes.expert_output_norm = std::vector<float>(8, 2.0F);
    for (int i = 0; i < 4; i++) {
      const auto first = static_cast<std::uint32_t>(random() % (expert_count - 1));
      routes.expert_ids.insert(routes.expert_ids.end(), {first, expert_count - 1});
    }
    TraceWriter writer(folder / "x.trace", manifest, small_tokens());
    writer.write_layer(routes);
    routes.layer = 7;
    writer.write_layer(routes);
    const Trace trace(folder / "x.trace");
    SafetensorsFile file = trace.open_layer(0);
    const LayerView layer = trace.layer(0, file);
    check_layer_ids(trace, layer);
    EXPECT_EQ(layer.id_dtype, expert_id_dtype(expert_count));
    for (std::uint64_t row = 0; row < 4; row++) {
      EXPECT_EQ(layer.selected(row), routes.selected_count[row]);
      for (std::uint32_t slot = 0; slot < layer.selected(row); slot++) EXPECT_EQ(layer.expert_id(row, slot), routes.expert_ids[row * 2 + slot]);
    }
    EXPECT_EQ(layer.selection_margin[3], 1);
    EXPECT_EQ(layer.expert_output_norm.size(), 8U);
  }
}

TEST(TraceWriter, Arrays_of_the_wrong_size_are_refused_by_name) {
  const TestFolder folder;
  TraceWriter writer(folder / "x.trace", small_manifest(), small_tokens());
  LayerRoutes routes = small_layer(3);
  routes.expert_ids.pop_back();
  EXPECT_EQ(problem_of([&] { writer.write_layer(routes); }), "layer 3, expert_ids: 7 elements; expected 8");
  routes = small_layer(3);
  routes.router_weights.clear();
  EXPECT_EQ(problem_of([&] { writer.write_layer(routes); }), "layer 3, router_weights: 0 elements; expected 8");
  routes = small_layer(3);
  routes.selected_count = {1};
  EXPECT_EQ(problem_of([&] { writer.write_layer(routes); }), "layer 3, selected_count: 1 elements; expected 4");
  EXPECT_FALSE(writer.has_layer(3));
}

TEST(TraceWriter, A_killed_capture_goes_on_with_the_layers_that_are_not_there) {
  const TestFolder folder;
  write_small_trace(folder / "whole.trace");
  {
    TraceWriter writer(folder / "x.trace", small_manifest(), small_tokens());
    writer.write_layer(small_layer(3));
    folder.write("x.trace/layer-007.safetensors.partial-99999", "the layer in hand when it was killed");
  }
  EXPECT_NE(problem_of([&] { Trace trace(folder / "x.trace"); }).find("no file for layer 7"), std::string::npos);
  const auto written = fs::last_write_time(folder / "x.trace/layer-003.safetensors");
  TraceWriter writer(folder / "x.trace", small_manifest(), small_tokens(), Existing::resume);
  EXPECT_TRUE(writer.has_layer(3));
  EXPECT_FALSE(writer.has_layer(7));
  writer.write_layer(small_layer(7));
  EXPECT_EQ(fs::last_write_time(folder / "x.trace/layer-003.safetensors"), written);
  for (const char* name : {"manifest.json", "tokens.safetensors", "layer-003.safetensors", "layer-007.safetensors"})
    EXPECT_EQ(file_bytes(folder / "x.trace" / name), file_bytes(folder / "whole.trace" / name)) << name;
  EXPECT_NO_THROW(Trace(folder / "x.trace"));
}

TEST(TraceWriter, Resuming_another_capture_is_refused_and_says_what_differs) {
  const TestFolder folder;
  write_small_trace(folder / "x.trace");
  TraceManifest other = small_manifest();
  other.settings = {{"temperature", 1}};
  other.model.name = "another";
  EXPECT_EQ(problem_of([&] { TraceWriter(folder / "x.trace", other, small_tokens(), Existing::resume); }),
            (folder / "x.trace").string() +
                ": a trace that differs in model, settings; expected the same capture, to go on with it (likely cause: other options, another model "
                "or another probe set)");
  TraceManifest with_missing = small_manifest();
  with_missing.missing = {{0, 7, 1, "r"}};
  EXPECT_NO_THROW(TraceWriter(folder / "x.trace", with_missing, small_tokens(), Existing::resume));  // learnt on the way
}

TEST(TraceWriter, Resuming_where_nothing_is_begins_anew) {
  const TestFolder folder;
  TraceWriter writer(folder / "x.trace", small_manifest(), small_tokens(), Existing::resume);
  EXPECT_FALSE(writer.has_layer(3));
  EXPECT_TRUE(fs::exists(folder / "x.trace/manifest.json"));
}

TEST(TraceWriter, A_damaged_layer_is_not_taken_for_finished) {
  const TestFolder folder;
  write_small_trace(folder / "x.trace");
  const std::string layer = file_bytes(folder / "x.trace/layer-003.safetensors");
  folder.write("x.trace/layer-003.safetensors", layer.substr(0, layer.size() - 1));
  TraceWriter writer(folder / "x.trace", small_manifest(), small_tokens(), Existing::resume);
  EXPECT_FALSE(writer.has_layer(3));
  EXPECT_TRUE(writer.has_layer(7));
  writer.write_layer(small_layer(3));
  EXPECT_TRUE(writer.has_layer(3));
}

TEST(TraceWriter, An_existing_trace_or_anything_else_of_the_name_is_refused) {
  const TestFolder folder;
  write_small_trace(folder / "x.trace");
  EXPECT_EQ(problem_of([&] { TraceWriter(folder / "x.trace", small_manifest(), small_tokens()); }),
            (folder / "x.trace").string() +
                ": something with this name; expected a new name (likely cause: an earlier run; remove it, or choose another --out)");
  folder.write("file.trace", "x");
  EXPECT_THROW(TraceWriter(folder / "file.trace", small_manifest(), small_tokens()), Error);
  fs::create_directory(folder / "empty.trace");
  EXPECT_NO_THROW(TraceWriter(folder / "empty.trace", small_manifest(), small_tokens()));
}

TEST(TraceWriter, Replacing_deletes_a_trace_with_its_leftovers_and_nothing_else) {
  const TestFolder folder;
  write_small_trace(folder / "x.trace");
  folder.write("x.trace/layer-009.safetensors", "of an older capture");
  folder.write("x.trace/tokens.safetensors.partial-123", "left by a kill");
  TraceWriter(folder / "x.trace", small_manifest(), small_tokens(), Existing::replace);
  EXPECT_FALSE(fs::exists(folder / "x.trace/layer-009.safetensors"));
  EXPECT_TRUE(fs::exists(folder / "x.trace/manifest.json"));
  for (const char* foreign : {"notes.txt", "layer-notes.txt", "my.partial-draft", "model-00001.safetensors"}) {
    folder.write("x.trace/" + std::string(foreign), "precious");
    EXPECT_NE(problem_of([&] { TraceWriter(folder / "x.trace", small_manifest(), small_tokens(), Existing::replace); }).find(foreign),
              std::string::npos);
    EXPECT_TRUE(fs::exists(folder / "x.trace" / foreign));
    EXPECT_TRUE(fs::exists(folder / "x.trace/manifest.json"));
    fs::remove(folder / "x.trace" / foreign);
  }
  fs::create_directory(folder / "x.trace/layer-x.safetensors");
  EXPECT_THROW(TraceWriter(folder / "x.trace", small_manifest(), small_tokens(), Existing::replace), Error);
  folder.write("file.trace", "precious");
  EXPECT_THROW(TraceWriter(folder / "file.trace", small_manifest(), small_tokens(), Existing::replace), Error);
  EXPECT_EQ(file_bytes(folder / "file.trace"), "precious");
}

TEST(TraceWriter, Missing_rows_learnt_on_the_way_are_kept) {
  const TestFolder folder;
  TraceWriter writer(folder / "x.trace", small_manifest(), small_tokens());
  writer.set_missing({{1, 3, 1, "cut off"}});
  writer.write_layer(small_layer(3));
  writer.write_layer(small_layer(7));
  const Trace trace(folder / "x.trace");
  ASSERT_EQ(trace.manifest().missing.size(), 1U);
  EXPECT_EQ(trace.manifest().missing[0].reason, "cut off");
}

TEST(TraceWriter, A_folder_that_cannot_be_made_is_an_error) {
  const TestFolder folder;
  folder.write("file", "x");
  EXPECT_NE(problem_of([&] { TraceWriter(folder / "file/x.trace", small_manifest(), small_tokens()); }).find("cannot create it"), std::string::npos);
}

TEST(TraceWriter, A_name_that_is_no_UTF_8_can_still_be_kept) {
  const TestFolder folder;
  TraceManifest manifest = small_manifest();
  manifest.model.name = "to\xFFy";
  TraceWriter(folder / "x.trace", manifest, small_tokens());
  EXPECT_NE(file_bytes(folder / "x.trace/manifest.json").find("to\uFFFDy"), std::string::npos);
}

}  // namespace
}  // namespace atlas
