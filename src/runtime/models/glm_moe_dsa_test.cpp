// Parity of glm_moe_dsa with transformers 5.17 on tiny checkpoints, layer by layer, and its configuration's errors.
#include "runtime/models/glm_moe_dsa.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/golden_test_data.h"

namespace atlas {
namespace {

namespace fs = std::filesystem;

std::vector<Sequence> sequences_of(const std::vector<std::int64_t>& row_counts) {
  std::vector<Sequence> sequences;
  std::int64_t row = 0;
  for (const std::int64_t count : row_counts) {
    sequences.push_back({.row_begin = row, .row_count = count, .position_begin = 0, .selection = {}, .caches = {}, .capacity = 0});
    row += count;
  }
  return sequences;
}

struct Forward {
  std::vector<LayerOutput> layers;
  std::vector<at::Tensor> selections;  // [layer], of the first sequence
  at::Tensor logits;
};

Forward run_model(const Model& model, const at::Tensor& token_ids, std::vector<Sequence> sequences, const StepOptions& options = {}) {
  Forward forward;
  at::Tensor hidden = model.embed(token_ids);
  for (std::int64_t i = 0; i < model.shape().layer_count; i++) {
    forward.layers.push_back(model.load_layer(i)->run(hidden, sequences, options));
    forward.selections.push_back(sequences[0].selection);
    hidden = forward.layers.back().hidden;
  }
  forward.logits = model.logits(hidden);
  return forward;
}

// index_ids lists the chosen positions of each row, padded with -1.
at::Tensor golden_selection(const at::Tensor& index_ids) {
  at::Tensor mask = at::zeros({index_ids.size(0), index_ids.size(0) + 1}, at::kBool);  // the last column takes the padding
  mask.scatter_(1, index_ids.masked_fill(index_ids.lt(0), index_ids.size(0)), true);
  return mask.narrow(1, 0, index_ids.size(0));
}

void expect_text_agrees(const Golden& golden, const std::string& text, const Forward& forward) {
  for (std::size_t i = 0; i < forward.layers.size(); i++) {
    const std::string layer = text + ".layer." + std::to_string(i) + ".";
    SCOPED_TRACE(layer);
    EXPECT_LT(relative_difference(forward.layers[i].hidden, golden.tensor(layer + "hidden")), 1e-5);
    ASSERT_EQ(forward.layers[i].routing.has_value(), golden.has(layer + "expert_ids"));
    if (golden.has(layer + "index_ids") && forward.selections[i].defined()) {
      EXPECT_TRUE(forward.selections[i].equal(golden_selection(golden.tensor(layer + "index_ids"))));
    }
    if (!forward.layers[i].routing) continue;
    const Routing& routing = *forward.layers[i].routing;
    EXPECT_TRUE(routing.expert_ids.equal(golden.tensor(layer + "expert_ids")));
    EXPECT_LT(relative_difference(routing.router_weights, golden.tensor(layer + "router_weights")), 1e-5);
    const at::Tensor margin = golden.tensor(layer + "router_margin");
    EXPECT_TRUE(routing.selection_margin.isinf().equal(margin.isinf()));
    EXPECT_LT(routing.selection_margin.sub(margin).abs().nan_to_num(0, 0, 0).max().item<double>(), 1e-5);
  }
  EXPECT_LT(relative_difference(forward.logits, golden.tensor(text + ".logits")), 1e-5);
}

class GlmParity : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, GlmParity, testing::ValuesIn(golden_cases), [](const auto& golden_case) { return golden_case.param; });

TEST_P(GlmParity, every_text_alone_gives_the_layers_routes_and_logits_of_transformers) {
  const Golden golden(GetParam());
  const Checkpoint checkpoint(golden_folder(GetParam()));
  const auto model = open_model(checkpoint);
  ASSERT_GE(golden.texts("prompt").size(), 3U);
  for (const std::string& text : golden.texts()) {
    const at::Tensor ids = golden.tensor(text + ".token_ids");
    EXPECT_TRUE(model->embed(ids).equal(golden.tensor(text + ".embedding")));
    expect_text_agrees(golden, text, run_model(*model, ids, sequences_of({ids.size(0)})));
  }
}

TEST_P(GlmParity, texts_of_unequal_length_together_give_the_same_as_alone_for_every_block_size) {
  const Golden golden(GetParam());
  const Checkpoint checkpoint(golden_folder(GetParam()));
  const auto model = open_model(checkpoint);
  std::vector<at::Tensor> ids;
  std::vector<std::int64_t> counts;
  for (const std::string& text : golden.texts()) {
    ids.push_back(golden.tensor(text + ".token_ids"));
    counts.push_back(ids.back().size(0));
  }
  for (const StepOptions options : {StepOptions{}, StepOptions{.block_tokens = 7, .score_bytes = 600}}) {
    const Forward together = run_model(*model, at::cat(ids), sequences_of(counts), options);
    std::int64_t row = 0;
    for (std::size_t t = 0; t < counts.size(); row += counts[t], t++) {
      Forward one;
      one.logits = together.logits.narrow(0, row, counts[t]);
      for (const LayerOutput& layer : together.layers) {
        LayerOutput part{layer.hidden.narrow(0, row, counts[t]), std::nullopt};
        if (layer.routing)
          part.routing = Routing{layer.routing->expert_ids.narrow(0, row, counts[t]), layer.routing->router_weights.narrow(0, row, counts[t]),
                                 layer.routing->selection_margin.narrow(0, row, counts[t])};
        one.layers.push_back(part);
        one.selections.push_back({});
      }
      expect_text_agrees(golden, golden.texts()[t], one);
    }
  }
}

TEST(GlmIndexer, a_text_longer_than_index_topk_is_pruned_and_a_shorter_one_is_not) {
  const Golden golden("base");
  const Checkpoint checkpoint(golden_folder("base"));
  const auto model = open_model(checkpoint);
  const at::Tensor ids = golden.tensor("prompt.0.token_ids");
  EXPECT_FALSE(run_model(*model, ids.narrow(0, 0, 6), sequences_of({6})).selections[0].defined());  // index_topk is 6
  const Forward forward = run_model(*model, ids, sequences_of({ids.size(0)}));
  EXPECT_TRUE(forward.selections[0].sum(1).le(6).all().item<bool>());
  EXPECT_TRUE(forward.selections[2].equal(forward.selections[1]));   // a shared layer
  EXPECT_FALSE(forward.selections[3].equal(forward.selections[1]));  // an indexer of its own
}

// Worked by hand: sigmoid(0) = 0.5 for all, so only the biases choose and every tie is real.
TEST(GlmRouterTest, ties_go_to_the_smaller_id_and_the_bias_never_enters_the_weights) {
  GlmMoeDsaConfig config;
  config.n_routed_experts = 6, config.num_experts_per_tok = 3, config.routed_scaling_factor = 3;
  const GlmRouter router{at::zeros({6, 2}), at::tensor({0.F, 0.25F, 0.F, 0.5F, 0.F, 0.F})};
  const Routing routing = route(at::zeros({1, 2}), router, config);
  EXPECT_TRUE(routing.expert_ids.equal(at::tensor({0, 1, 3}, at::kLong).unsqueeze(0)));
  EXPECT_TRUE(routing.router_weights.allclose(at::full({1, 3}, 1.F)));
  EXPECT_EQ(routing.selection_margin.item<float>(), 0.F);
}

// Groups {0,1} {2,3} {4,5}: sums of the two best are 1.75, 1.5, 1.625, so experts 2 and 3 are out although 2 is the best of all.
TEST(GlmRouterTest, a_group_that_is_left_out_loses_even_the_best_expert) {
  GlmMoeDsaConfig config;
  config.n_routed_experts = 6, config.num_experts_per_tok = 2, config.n_group = 3, config.topk_group = 2;
  const GlmRouter router{at::zeros({6, 2}), at::tensor({0.375F, 0.375F, 0.5F, 0.F, 0.4375F, 0.1875F})};
  const Routing routing = route(at::zeros({1, 2}), router, config);
  EXPECT_TRUE(routing.expert_ids.equal(at::tensor({0, 4}, at::kLong).unsqueeze(0)));
  EXPECT_FLOAT_EQ(routing.selection_margin.item<float>(), 0.F);  // 4 with .4375, then 0 and 1 level at .375
}

std::string config_error(const std::function<void(Json&)>& change) {
  Json config = read_json_file((golden_folder("base") / "config.json").string());
  change(config);
  try {
    read_glm_moe_dsa_config(config, "config.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(GlmConfig, one_error_lists_every_key_that_is_missing_unknown_or_not_implemented) {
  const std::string error = config_error([](Json& config) {
    config.erase("kv_lora_rank");
    config["scoring_func"] = "softmax";
    config["tie_word_embeddings"] = true;
    config["rope_parameters"]["rope_type"] = "yarn";
    config["rope_parameters"]["factor"] = 4.0;
    config["indexer_types"][0] = "shared";
    config["head_router"] = 3;
    config["n_group"] = 5;
    config["quantization_config"] = Json::object();
  });
  for (const char* part : {"kv_lora_rank", "scoring_func", "softmax", "tie_word_embeddings", "rope_type", "yarn", "rope_parameters.factor",
                           "indexer_types", "head_router", "n_group", "quantization_config"})
    EXPECT_NE(error.find(part), std::string::npos) << part << " in:\n" << error;
}

TEST(GlmConfig, a_config_without_layers_or_with_a_list_of_the_wrong_length_is_refused) {
  EXPECT_NE(config_error([](Json& config) { config.erase("num_hidden_layers"); }).find("num_hidden_layers"), std::string::npos);
  EXPECT_NE(config_error([](Json& config) { config["mlp_layer_types"].erase(0); }).find("mlp_layer_types"), std::string::npos);
  EXPECT_NE(config_error([](Json& config) { config["q_lora_rank"] = nullptr; }).find("q_lora_rank"), std::string::npos);
  EXPECT_EQ(config_error([](Json&) {}), "");
}

// models.md 1.1: the schedules of GLM-5.2 (21 full layers of 78) and of transformers' own unit test.
TEST(GlmConfig, the_indexer_schedule_follows_types_then_pattern_then_frequency) {
  Json config = read_json_file((golden_folder("base") / "config.json").string());
  config.erase("indexer_types"), config.erase("mlp_layer_types"), config.erase("layer_types");
  config["num_hidden_layers"] = 78, config["index_topk_freq"] = 4, config["index_skip_topk_offset"] = 3, config["first_k_dense_replace"] = 3;
  const GlmMoeDsaConfig glm = read_glm_moe_dsa_config(config, "");
  EXPECT_EQ(std::count(glm.has_indexer.begin(), glm.has_indexer.end(), true), 21);
  EXPECT_TRUE(glm.has_indexer[0] && glm.has_indexer[2] && !glm.has_indexer[3] && glm.has_indexer[6] && glm.has_indexer[74]);
  EXPECT_EQ(std::count(glm.is_sparse.begin(), glm.is_sparse.end(), true), 75);
  config["num_hidden_layers"] = 8;
  EXPECT_EQ(read_glm_moe_dsa_config(config, "").has_indexer, (std::vector<bool>{1, 1, 1, 0, 0, 0, 1, 0}));
  config["index_topk_pattern"] = "FSSSFSSS";
  EXPECT_EQ(read_glm_moe_dsa_config(config, "").has_indexer, (std::vector<bool>{1, 0, 0, 0, 1, 0, 0, 0}));
}

// A copy of the base checkpoint as one file in which `change` may drop, rename or reshape tensors.
fs::path changed_checkpoint(const std::string& name, const std::function<void(std::vector<TensorOut>&)>& change) {
  const fs::path folder = fresh_folder(name);
  fs::copy_file(golden_folder("base") / "config.json", folder / "config.json");
  std::vector<SafetensorsFile> files;
  for (const auto& entry : fs::directory_iterator(golden_folder("base")))
    if (entry.path().filename().string().starts_with("model-")) files.emplace_back(entry.path());
  std::vector<TensorOut> tensors;
  for (const SafetensorsFile& file : files)
    for (const auto& [tensor, view] : file.tensors()) tensors.push_back({tensor, view.dtype, view.shape, view.bytes});
  change(tensors);
  write_safetensors(folder / "model.safetensors", tensors);
  return folder;
}

TEST(GlmCheckpoint, one_error_lists_missing_surplus_and_misshapen_tensors) {
  const fs::path folder = changed_checkpoint("glm-tensors", [](std::vector<TensorOut>& tensors) {
    for (TensorOut& tensor : tensors) {
      if (tensor.name == "model.norm.weight") tensor.name = "model.nrom.weight";
      if (tensor.name == "lm_head.weight") std::swap(tensor.shape[0], tensor.shape[1]);
      if (tensor.name == "model.layers.1.mlp.experts.11.up_proj.weight") tensor.name = "model.layers.5.mlp.experts.11.up_proj.weight";
    }
  });
  const Checkpoint checkpoint(folder);
  try {
    open_model(checkpoint);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.problems().size(), 5U) << error.what();
    for (const char* part : {"model.norm.weight", "model.nrom.weight", "lm_head.weight", "model.layers.1.mlp.experts.11.up_proj.weight",
                             "model.layers.5.mlp.experts.11.up_proj.weight"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part;
  }
  fs::remove_all(folder);
}

// Only the names differ; bits need not agree, because a matrix product's kernel depends on how its operands are aligned.
TEST(GlmCheckpoint, fused_experts_give_the_same_as_a_tensor_for_each) {
  std::vector<std::vector<std::byte>> kept;
  const fs::path folder = changed_checkpoint("glm-fused", [&kept](std::vector<TensorOut>& tensors) {
    std::map<std::string, TensorOut> by_name;
    for (const TensorOut& tensor : tensors) by_name[tensor.name] = tensor;
    std::erase_if(tensors, [](const TensorOut& tensor) {
      return tensor.name.find(".experts.") != std::string::npos && tensor.name.find("shared") == std::string::npos;
    });
    for (int layer = 1; layer < 5; layer++) {
      const std::string prefix = "model.layers." + std::to_string(layer) + ".mlp.experts.";
      std::vector<std::byte> gate_up, down;
      for (int e = 0; e < 12; e++) {
        for (const char* part : {"gate_proj", "up_proj", "down_proj"}) {
          const auto bytes = by_name.at(prefix + std::to_string(e) + "." + part + ".weight").bytes;
          std::vector<std::byte>& to = part[0] == 'd' ? down : gate_up;
          to.insert(to.end(), bytes.begin(), bytes.end());
        }
      }
      kept.push_back(std::move(gate_up)), kept.push_back(std::move(down));
    }
    for (std::size_t i = 0; i < kept.size(); i++) {
      const std::string prefix = "model.layers." + std::to_string(1 + i / 2) + ".mlp.experts.";
      const bool is_down = i % 2 == 1;
      const std::vector<std::uint64_t> shape = is_down ? std::vector<std::uint64_t>{12, 34, 7} : std::vector<std::uint64_t>{12, 14, 34};
      tensors.push_back({prefix + (is_down ? "down_proj" : "gate_up_proj"), Dtype::f32, shape, kept[i]});
    }
  });
  const Golden golden("base");
  const at::Tensor ids = golden.tensor("prompt.0.token_ids");
  const Checkpoint fused(folder), apart(golden_folder("base"));
  const Forward left = run_model(*open_model(fused), ids, sequences_of({ids.size(0)}));
  const Forward right = run_model(*open_model(apart), ids, sequences_of({ids.size(0)}));
  EXPECT_LT(relative_difference(left.logits, right.logits), 1e-6);
  fs::remove_all(folder);
}

TEST(OpenModel, an_architecture_that_is_not_implemented_is_named) {
  const fs::path folder = changed_checkpoint("glm-type", [](std::vector<TensorOut>&) {});
  std::ofstream(folder / "config.json") << R"({"model_type": "deepseek_v3"})";
  const Checkpoint checkpoint(folder);
  try {
    open_model(checkpoint);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("deepseek_v3"), std::string::npos);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace atlas
