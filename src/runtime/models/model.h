// The one interface that model files implement and the loops (prefill, generate) use. A model lends a layer at a time; a layer is a function
// from hidden states to hidden states and, where it has experts, the routing that it decided: capture is that return value.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/checkpoint.h"
#include "runtime/options.h"

namespace atlas {

struct ModelShape {
  std::string model_type;  // as in config.json
  std::int64_t hidden_size = 0;
  std::int64_t vocab_size = 0;
  std::int64_t layer_count = 0;
  std::int64_t max_position_embeddings = 0;  // no sequence may be longer
  std::vector<std::uint32_t> moe_layers;     // absolute indices, rising
  std::uint32_t expert_count = 0;
  std::uint32_t expert_top_k = 0;
  std::vector<std::int64_t> eos_token_ids;  // config.json's; generation_config.json may say otherwise
  std::uint64_t cache_bytes_per_token = 0;  // of all layers together, while answers are generated
};

// What a MoE layer decided for its tokens.
struct Routing {
  at::Tensor expert_ids;        // i64 [token_count, expert_top_k], largest router weight first, ties by id
  at::Tensor router_weights;    // f32 [token_count, expert_top_k], the weight applied (after normalising and scaling)
  at::Tensor selection_margin;  // f32 [token_count], k-th minus k+1-th score of the choice within the groups allowed; inf: none was refused
};

struct LayerOutput {
  at::Tensor hidden;               // f32 [token_count, hidden]
  std::optional<Routing> routing;  // none for a dense layer
};

// What a layer keeps of past tokens while answers are generated. What the two hold is the model's own matter.
struct LayerCache {
  at::Tensor key_values;  // [capacity, ...]
  at::Tensor index_keys;  // [capacity, ...]
};

// One probe's tokens within a step: rows of the hidden matrix, and what its layers hand on. Rows of all sequences follow one another.
struct Sequence {
  std::int64_t row_begin = 0;
  std::int64_t row_count = 0;
  std::int64_t position_begin = 0;  // of its first row; earlier positions are in `caches`
  at::Tensor selection;             // bool [row_count, position_begin + row_count], the keys that the latest indexer chose; undefined: all
  std::vector<LayerCache> caches;   // [layer], or empty when only prompts pass through once
  std::int64_t capacity = 0;        // positions that the caches must hold
};

class Layer {
 public:
  virtual ~Layer() = default;
  // `hidden` [token_count, hidden] holds the rows of all `sequences`; their selection and caches are brought up to date.
  virtual LayerOutput run(const at::Tensor& hidden, std::span<Sequence> sequences, const StepOptions& options) const = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelShape& shape() const = 0;
  virtual at::Tensor embed(const at::Tensor& token_ids) const = 0;  // i64 [token_count] -> f32 [token_count, hidden]
  virtual std::unique_ptr<Layer> load_layer(std::int64_t index) const = 0;
  virtual at::Tensor logits(const at::Tensor& hidden) const = 0;    // of the last layer's output: f32 [token_count, vocab_size]
  virtual std::uint64_t layer_bytes(std::int64_t index) const = 0;  // on disk
};

// The model of a checkpoint, by config.json's model_type. Throws Error that lists every key, value and tensor that does not fit. Keeps a
// reference to `checkpoint`.
std::unique_ptr<Model> open_model(const Checkpoint& checkpoint);

}  // namespace atlas
