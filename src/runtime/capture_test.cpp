// A whole capture: the trace holds transformers' routes, whatever the block size; a killed capture goes on to the same bytes.
#include "runtime/capture.h"

#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/golden_test_data.h"
#include "runtime/models/model.h"
#include "runtime/prefill.h"
#include "runtime/probe_tokens.h"

namespace atlas {
namespace {

namespace fs = std::filesystem;

const ReportProgress silent = [](const char*, std::uint64_t, std::uint64_t) {};

std::vector<std::int32_t> ids_of(const at::Tensor& tensor) {
  const at::Tensor ids = tensor.to(at::kInt).contiguous();
  return {ids.const_data_ptr<std::int32_t>(), ids.const_data_ptr<std::int32_t>() + ids.numel()};
}

// Every text of the base case as a probe of its own tokens; the writer's manifest and table to match.
struct BaseCase {
  Golden golden{"base"};
  Checkpoint checkpoint{golden_folder("base")};
  std::unique_ptr<Model> model = open_model(checkpoint);
  std::vector<std::int64_t> row_counts;
  TokenTable tokens;
  TraceManifest manifest;

  BaseCase() {
    manifest.layers = model->shape().moe_layers;
    manifest.expert_count = model->shape().expert_count;
    manifest.expert_top_k = model->shape().expert_top_k;
    manifest.has_router_weights = manifest.ordered_by_weight = true;
    for (const std::string& text : golden.texts()) {
      const std::vector<std::int32_t> ids = ids_of(golden.tensor(text + ".token_ids"));
      TraceProbe probe{text, "topic", {}, tokens.token_ids.size(), tokens.token_ids.size() + ids.size(), {}};
      probe.token_count[static_cast<std::size_t>(Phase::prompt)] = ids.size();
      for (std::size_t i = 0; i < ids.size(); i++) {
        tokens.probe_index.push_back(static_cast<std::int32_t>(manifest.probes.size()));
        tokens.position.push_back(static_cast<std::int32_t>(i));
        tokens.phase.push_back(static_cast<std::uint8_t>(Phase::prompt));
        tokens.token_ids.push_back(ids[i]);
      }
      row_counts.push_back(static_cast<std::int64_t>(ids.size()));
      manifest.probes.push_back(probe);
    }
  }
};

std::map<std::string, std::string> bytes_of_files(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files[entry.path().filename().string()] = std::string(MappedFile(entry.path()).text());
  return files;
}

TEST(Prefill, the_trace_holds_transformers_experts_and_weights_of_every_row) {
  const BaseCase base;
  const fs::path folder = fresh_folder("prefill") / "a.trace";
  TraceWriter writer(folder, base.manifest, base.tokens);
  prefill(*base.model, base.tokens.token_ids, base.row_counts, writer, {}, silent);
  const Trace trace(folder);
  for (std::size_t l = 0; l < trace.manifest().layers.size(); l++) {
    SafetensorsFile file = trace.open_layer(l);
    const LayerView layer = trace.layer(l, file);
    for (const TraceProbe& probe : trace.manifest().probes) {
      const std::string name = probe.id + ".layer." + std::to_string(layer.layer) + ".";
      const std::vector<std::int32_t> expected = ids_of(base.golden.tensor(name + "expert_ids"));
      const at::Tensor weights = base.golden.tensor(name + "router_weights").flatten();
      for (std::size_t i = 0; i < expected.size(); i++) {
        const std::uint64_t slot = probe.row_begin * layer.expert_top_k + i;
        ASSERT_EQ(layer.expert_id(slot / layer.expert_top_k, static_cast<std::uint32_t>(slot % layer.expert_top_k)),
                  static_cast<std::uint32_t>(expected[i]))
            << name;
        ASSERT_NEAR(layer.router_weights[slot], weights[static_cast<std::int64_t>(i)].item<float>(), 1e-5) << name;
      }
    }
    check_layer_ids(trace, layer);
  }
}

// Stops the pass by an exception after `layers` layers, as a kill would.
struct Killed {};

void run_until_killed(const BaseCase& base, TraceWriter& writer, int layers, double state_seconds) {
  PrefillOptions options;
  options.state_seconds = state_seconds;
  int done = 0;
  const auto report = [&](const char*, std::uint64_t, std::uint64_t) {
    if (++done == layers) throw Killed{};
  };
  EXPECT_THROW(prefill(*base.model, base.tokens.token_ids, base.row_counts, writer, options, report), Killed);
}

TEST(Prefill, a_killed_pass_goes_on_to_the_same_bytes_with_and_without_kept_states) {
  const BaseCase base;
  const fs::path parent = fresh_folder("resume");
  TraceWriter whole(parent / "whole.trace", base.manifest, base.tokens);
  prefill(*base.model, base.tokens.token_ids, base.row_counts, whole, {}, silent);
  for (const double state_seconds : {0.0, 1e9}) {
    for (const int killed_after : {1, 3, 4}) {
      const fs::path folder = parent / ("killed-" + std::to_string(state_seconds) + "-" + std::to_string(killed_after) + ".trace");
      TraceWriter first(folder, base.manifest, base.tokens);
      run_until_killed(base, first, killed_after, state_seconds);
      EXPECT_THROW(Trace{folder}, Error);
      TraceWriter second(folder, base.manifest, base.tokens, Existing::resume);
      int layers_run = 0;
      prefill(*base.model, base.tokens.token_ids, base.row_counts, second, {}, [&](const char*, std::uint64_t, std::uint64_t) { layers_run++; });
      // The report comes before the state is kept, so that the states of the layer before are the latest.
      EXPECT_EQ(layers_run, state_seconds == 0.0 ? 5 - killed_after + 1 : 5);
      EXPECT_EQ(bytes_of_files(folder), bytes_of_files(parent / "whole.trace"));
    }
  }
}

// The many_experts checkpoint (bf16) with the golden tokenizer: its ids must lie below vocab_size, so the model's table is made to fit.
fs::path model_with_tokenizer(const std::string& name) {
  const fs::path folder = fresh_folder(name);
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"})
    fs::copy_file(fs::path(ATLAS_TESTDATA_DIR) / "tokenizers" / "glm_like" / file, folder / file);
  Json config = read_json_file((golden_folder("many_experts") / "config.json").string());
  const SafetensorsFile small(golden_folder("many_experts") / "model.safetensors");
  const std::uint64_t vocab_size = 400, hidden = config["hidden_size"].get<std::uint64_t>();
  config["vocab_size"] = vocab_size;
  std::ofstream(folder / "config.json") << config.dump();
  std::vector<TensorOut> tensors;
  std::vector<std::vector<std::byte>> grown;
  grown.reserve(2);
  for (const auto& [tensor, view] : small.tensors()) {
    TensorOut out{tensor, view.dtype, view.shape, view.bytes};
    if (view.shape[0] == 73) {  // the rows again and again
      grown.emplace_back();
      while (grown.back().size() < vocab_size * hidden * 2) grown.back().insert(grown.back().end(), view.bytes.begin(), view.bytes.end());
      grown.back().resize(vocab_size * hidden * 2);
      out.shape[0] = vocab_size, out.bytes = grown.back();
    }
    tensors.push_back(out);
  }
  write_safetensors(folder / "model.safetensors", tensors);
  return folder;
}

ProbeSet small_probe_set() {
  return parse_probe_set(R"({"schemaVersion": 2, "provenance": {"source": "s", "sourceCommit": "c", "method": "m"}, "topic_axis": "topic", "probes": [
    {"id": "a0", "prompt": "The router sends each token.", "labels": {"topic": "a"}},
    {"id": "a1", "prompt": "thirty ways", "answer": "to bake bread", "labels": {"topic": "a"}},
    {"id": "a2", "prompt": "x", "labels": {"topic": "a"}},
    {"id": "b0", "prompt": "Der Router schickt jedes Wort", "labels": {"topic": "b"}},
    {"id": "b1", "prompt": "Маленький город", "labels": {"topic": "b"}},
    {"id": "b2", "prompt": "def count(text): return 1", "labels": {"topic": "b"}}]})",
                         "probes.json");
}

TEST(CaptureTest, answers_are_generated_kept_and_captured_teacher_forced) {
  const fs::path model = model_with_tokenizer("capture-model"), out = fresh_folder("capture") / "a.trace";
  CaptureOptions options;
  options.model_folder = model;
  options.out = out;
  options.answer_tokens = 5;
  options.engine_version = "test";
  Capture capture(options, small_probe_set());
  EXPECT_EQ(capture.plan().pass_count, 6U);
  EXPECT_EQ(capture.plan().generated_count, 5U);
  EXPECT_TRUE(capture.plan().uses_chat_template);
  capture.run(silent);

  const Trace trace(out);
  const Tokenizer tokenizer(model);
  const ProbeTexts texts = texts_of(trace.manifest());
  const std::vector<Probe> probes = small_probe_set().probes;
  for (std::size_t i = 0; i < probes.size(); i++) {
    const TraceProbe& probe = trace.manifest().probes[i];
    const ProbeTokens prompt = tokenise_prompt(tokenizer, probes[i].prompt, true);
    const std::size_t answer_rows = probe.token_count[static_cast<std::size_t>(Phase::answer)];
    EXPECT_EQ(probe.row_end - probe.row_begin, prompt.token_ids.size() + answer_rows) << probes[i].id;
    if (probes[i].answer) {
      EXPECT_EQ(answer_rows, tokenizer.encode(*probes[i].answer, false).ids.size() - 1);
    } else {
      EXPECT_LE(answer_rows, 4U);
      ASSERT_TRUE(texts.answers[i].has_value());
    }
    for (std::size_t t = 0; t < prompt.token_ids.size(); t++) EXPECT_EQ(trace.token_ids()[probe.row_begin + t], prompt.token_ids[t]);
  }
  EXPECT_EQ(trace.manifest().settings["decoding"]["answer_tokens"], 5);
  EXPECT_EQ(trace.manifest().model.weights_sha256.size(), 64U);
}

TEST(CaptureTest, a_capture_that_is_resumed_keeps_its_answers_and_ends_with_the_same_bytes) {
  const fs::path model = model_with_tokenizer("resume-model"), parent = fresh_folder("capture-resume");
  CaptureOptions options;
  options.model_folder = model;
  options.answer_tokens = 4;
  options.out = parent / "whole.trace";
  Capture(options, small_probe_set()).run(silent);
  options.out = parent / "killed.trace";
  const auto kill_in_capture = [](const char* stage, std::uint64_t, std::uint64_t) {
    if (std::string(stage) == "capture") throw Killed{};
  };
  EXPECT_THROW(Capture(options, small_probe_set()).run(kill_in_capture), Killed);
  EXPECT_THROW(Capture(options, small_probe_set()).run(silent), Error);  // it is there, and nobody said resume
  options.existing = Existing::resume;
  std::vector<std::string> stages;
  Capture(options, small_probe_set()).run([&](const char* stage, std::uint64_t, std::uint64_t) { stages.push_back(stage); });
  EXPECT_EQ(std::count(stages.begin(), stages.end(), "answers"), 0);
  EXPECT_EQ(bytes_of_files(parent / "killed.trace"), bytes_of_files(parent / "whole.trace"));
  options.answer_tokens = 3;
  EXPECT_THROW(Capture(options, small_probe_set()).run(silent), Error);
}

TEST(CaptureTest, all_probes_that_the_model_cannot_take_are_listed) {
  const fs::path model = model_with_tokenizer("refusing-model");
  Json config = read_json_file((model / "config.json").string());
  config["max_position_embeddings"] = 20;
  std::ofstream(model / "config.json") << config.dump();
  ProbeSet probe_set = small_probe_set();
  probe_set.probes[2].images = {"x.png"};
  CaptureOptions options;
  options.model_folder = model;
  options.out = fresh_folder("refused") / "a.trace";
  try {
    Capture(options, probe_set);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_GE(error.problems().size(), 3U);
    for (const char* part : {"probe a1: 24 tokens", "probe b0", "probe b1", "pictures", "max_position_embeddings"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in\n" << error.what();
  }
}

TEST(CaptureTest, texts_are_left_out_when_told_and_the_template_too) {
  const fs::path model = model_with_tokenizer("no-text-model");
  CaptureOptions options;
  options.model_folder = model;
  options.out = fresh_folder("no-text") / "a.trace";
  options.with_texts = options.use_chat_template = false;
  options.answer_tokens = 2;
  Capture(options, small_probe_set()).run(silent);
  const Trace trace(options.out);
  for (const auto& [name, bytes] : bytes_of_files(options.out)) EXPECT_EQ(bytes.find("bread"), std::string::npos) << name;
  EXPECT_TRUE(trace.manifest().settings["chat_template_sha256"].is_null());
  EXPECT_EQ(trace.manifest().probes[2].token_count[static_cast<std::size_t>(Phase::template_text)], 0U);
}

}  // namespace
}  // namespace atlas
