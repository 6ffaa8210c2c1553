// See glm_moe_dsa.h. Read in order: indexer, attention, router, feed-forward, layer, model, checkpoint names; the configuration is read in
// glm_moe_dsa_config.cpp. Parity is with transformers 5.17 (testdata/glm_moe_dsa).
#include "runtime/models/glm_moe_dsa.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace atlas {

namespace {

constexpr double inner_norm_eps = 1e-6;  // of q_a_layernorm, kv_a_layernorm and the indexer's k_norm, whatever rms_norm_eps says

// Sequences that go through attention together: neighbours, whose rows are [row_begin, row_begin + row_count) of the hidden matrix.
struct Group {
  std::span<Sequence> sequences;
  std::int64_t row_begin = 0, row_count = 0;
};

std::vector<Group> group_sequences(std::span<Sequence> sequences, std::int64_t block_tokens) {
  std::vector<Group> groups;
  std::size_t first = 0;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < sequences.size(); i++) {
    if (i > first && rows + sequences[i].row_count > block_tokens) {
      groups.push_back({sequences.subspan(first, i - first), sequences[first].row_begin, rows});
      first = i, rows = 0;
    }
    rows += sequences[i].row_count;
  }
  if (first < sequences.size()) groups.push_back({sequences.subspan(first), sequences[first].row_begin, rows});
  return groups;
}

at::Tensor positions_of(const Group& group) {
  std::vector<at::Tensor> parts;
  for (const Sequence& sequence : group.sequences)
    parts.push_back(at::arange(sequence.position_begin, sequence.position_begin + sequence.row_count, at::kLong));
  return at::cat(parts);
}

// Rows of `all` [group rows, ...] that belong to `sequence`.
at::Tensor rows_of(const at::Tensor& all, const Group& group, const Sequence& sequence) {
  return all.narrow(0, sequence.row_begin - group.row_begin, sequence.row_count);
}

// Puts `fresh` behind the cached positions and returns all positions so far; without a cache just `fresh`.
at::Tensor with_past(at::Tensor& cache, const at::Tensor& fresh, const Sequence& sequence) {
  if (!cache.defined()) cache = at::empty({sequence.capacity, fresh.size(1)}, fresh.options());
  cache.narrow(0, sequence.position_begin, sequence.row_count).copy_(fresh);
  return cache.narrow(0, 0, sequence.position_begin + sequence.row_count);
}

std::int64_t key_count_of(const Sequence& sequence) { return sequence.position_begin + sequence.row_count; }

// Queries whose scores (`bytes_per_query` each) stay in memory together.
std::int64_t query_block(const StepOptions& options, std::int64_t bytes_per_query) {
  return std::max<std::int64_t>(1, options.score_bytes / std::max<std::int64_t>(1, bytes_per_query));
}

// ---- Indexer: which earlier tokens a query may attend to ----

struct IndexerWeights {
  at::Tensor wq_b;           // [index_n_heads * index_head_dim, q_lora_rank]
  at::Tensor wk;             // [index_head_dim, hidden_size]
  at::Tensor k_norm_weight;  // [index_head_dim]
  at::Tensor k_norm_bias;    // [index_head_dim]
  at::Tensor weights_proj;   // [index_n_heads, hidden_size]
};

// Here the rotary part comes first, while in attention it comes last.
at::Tensor rope_first(const at::Tensor& x, std::int64_t rope_dim, const RotaryAngles& angles) {
  return at::cat({rope_interleaved(x.narrow(-1, 0, rope_dim), angles), x.narrow(-1, rope_dim, x.size(-1) - rope_dim)}, -1);
}

struct IndexerInputs {
  at::Tensor queries;  // f32 [rows, index_n_heads, index_head_dim]
  at::Tensor keys;     // f32 [rows, index_head_dim]
  at::Tensor weights;  // f32 [rows, index_n_heads], may be negative
};

// `q_residual` is the query's latent after its norm.
IndexerInputs project_for_indexer(const at::Tensor& x, const at::Tensor& q_residual, const RotaryAngles& angles, const IndexerWeights& w,
                                  const GlmMoeDsaConfig& config) {
  const at::Tensor queries = at::linear(q_residual, w.wq_b).unflatten(1, {config.index_n_heads, config.index_head_dim});
  const at::Tensor keys = at::layer_norm(at::linear(x, w.wk), {config.index_head_dim}, w.k_norm_weight, w.k_norm_bias, inner_norm_eps);
  const double scale = 1 / std::sqrt(static_cast<double>(config.index_n_heads));
  return {rope_first(queries, config.qk_rope_head_dim, angles), rope_first(keys, config.qk_rope_head_dim, angles),
          at::linear(x, w.weights_proj) * scale};
}

// score = sum over heads of weight * relu(query . key / sqrt(dim)); the index_topk best visible keys of each query. The query's own token
// is not forced in. `keys` [key_count, index_head_dim] are all positions so far.
at::Tensor choose_keys(const at::Tensor& queries, const at::Tensor& weights, const at::Tensor& keys, const Sequence& sequence,
                       const GlmMoeDsaConfig& config, const StepOptions& options) {
  const std::int64_t key_count = keys.size(0);
  const double scale = 1 / std::sqrt(static_cast<double>(config.index_head_dim));
  const std::int64_t block = query_block(options, config.index_n_heads * key_count * static_cast<std::int64_t>(sizeof(float)));
  at::Tensor selection = at::empty({sequence.row_count, key_count}, at::kBool);
  for (std::int64_t begin = 0; begin < sequence.row_count; begin += block) {
    const std::int64_t count = std::min(block, sequence.row_count - begin);
    const at::Tensor by_head = queries.narrow(0, begin, count).matmul(keys.t()).mul_(scale).relu_();  // [count, heads, keys]
    const at::Tensor scores = weights.narrow(0, begin, count).unsqueeze(1).matmul(by_head).squeeze(1);
    const at::Tensor visible = causal_mask(sequence.position_begin + begin, count, key_count);
    selection.narrow(0, begin, count).copy_(select_top(scores, visible, config.index_topk));
  }
  return selection;
}

// ---- Attention: latent keys and values (MLA) ----

struct AttentionWeights {
  at::Tensor q_a_proj;                    // [q_lora_rank, hidden_size]
  at::Tensor q_a_layernorm;               // [q_lora_rank]
  at::Tensor q_b_proj;                    // [heads * (qk_nope_head_dim + qk_rope_head_dim), q_lora_rank]
  at::Tensor kv_a_proj_with_mqa;          // [kv_lora_rank + qk_rope_head_dim, hidden_size]
  at::Tensor kv_a_layernorm;              // [kv_lora_rank]
  at::Tensor kv_b_proj;                   // [heads * (qk_nope_head_dim + v_head_dim), kv_lora_rank]
  at::Tensor o_proj;                      // [hidden_size, heads * v_head_dim]
  std::optional<IndexerWeights> indexer;  // none: the layer uses the latest selection
};

double score_scale(const GlmMoeDsaConfig& config) { return 1 / std::sqrt(static_cast<double>(config.qk_head_dim())); }

// The keys that query rows [begin, begin + count) may see, among the first `key_count`.
at::Tensor attention_mask(const Sequence& sequence, std::int64_t begin, std::int64_t count, std::int64_t key_count) {
  const at::Tensor causal = causal_mask(sequence.position_begin + begin, count, key_count);
  if (!sequence.selection.defined()) return causal;
  return causal.logical_and(sequence.selection.narrow(0, begin, count).narrow(1, 0, key_count));
}

// One sequence's rows against all its positions, keys and values expanded from their latents. Returns [row_count, heads * v_head_dim].
at::Tensor attend_expanded(const at::Tensor& queries,     // f32 [row_count, heads, qk_head_dim]
                           const at::Tensor& key_values,  // f32 [key_count, kv_lora_rank + qk_rope_head_dim]
                           const Sequence& sequence, const AttentionWeights& w, const GlmMoeDsaConfig& config, const StepOptions& options) {
  const std::int64_t key_count = key_values.size(0), heads = config.num_attention_heads;
  const at::Tensor latent = key_values.narrow(1, 0, config.kv_lora_rank);
  const at::Tensor k_rope = key_values.narrow(1, config.kv_lora_rank, config.qk_rope_head_dim);
  const at::Tensor expanded = at::linear(latent, w.kv_b_proj).unflatten(1, {heads, config.qk_nope_head_dim + config.v_head_dim});
  const at::Tensor k_nope = expanded.narrow(2, 0, config.qk_nope_head_dim);
  const at::Tensor values = expanded.narrow(2, config.qk_nope_head_dim, config.v_head_dim).transpose(0, 1);      // [heads, keys, v]
  const at::Tensor keys = at::cat({k_nope, k_rope.unsqueeze(1).expand({-1, heads, -1})}, 2).permute({1, 2, 0});  // [heads, qk, keys]
  const at::Tensor by_head = queries.transpose(0, 1);                                                            // [heads, rows, qk]
  at::Tensor out = at::empty({sequence.row_count, heads, config.v_head_dim}, queries.options());
  const std::int64_t block = query_block(options, heads * key_count * static_cast<std::int64_t>(sizeof(float)));
  for (std::int64_t begin = 0; begin < sequence.row_count; begin += block) {
    const std::int64_t count = std::min(block, sequence.row_count - begin);
    const std::int64_t seen = sequence.position_begin + begin + count;  // no later key is visible
    at::Tensor scores = by_head.narrow(1, begin, count).matmul(keys.narrow(2, 0, seen)).mul_(score_scale(config));
    const at::Tensor p = masked_softmax(std::move(scores), attention_mask(sequence, begin, count, seen));
    out.narrow(0, begin, count).copy_(p.matmul(values.narrow(1, 0, seen)).transpose(0, 1));
  }
  return out.flatten(1);
}

// A step of generation: one row a sequence. The latents themselves serve as keys and values, kv_b_proj is moved to the query's and the
// result's side; the same sums in another order. Returns [rows, heads * v_head_dim].
at::Tensor attend_absorbed(const at::Tensor& queries,                  // f32 [rows, heads, qk_head_dim]
                           const std::vector<at::Tensor>& key_values,  // [rows] of f32 [key_count, kv_lora_rank + qk_rope_head_dim]
                           const Group& group, const AttentionWeights& w, const GlmMoeDsaConfig& config) {
  const at::Tensor kv_b = w.kv_b_proj.unflatten(0, {config.num_attention_heads, config.qk_nope_head_dim + config.v_head_dim});
  const at::Tensor to_key = kv_b.narrow(1, 0, config.qk_nope_head_dim);                           // [heads, nope, latent]
  const at::Tensor to_value = kv_b.narrow(1, config.qk_nope_head_dim, config.v_head_dim);         // [heads, v, latent]
  const at::Tensor q_nope = queries.narrow(2, 0, config.qk_nope_head_dim).transpose(0, 1);        // [heads, rows, nope]
  const at::Tensor q_rope = queries.narrow(2, config.qk_nope_head_dim, config.qk_rope_head_dim);  // [rows, heads, rope]
  const at::Tensor q = at::cat({q_nope.matmul(to_key).transpose(0, 1), q_rope}, 2);               // [rows, heads, latent + rope]
  std::vector<at::Tensor> mixed;
  for (std::size_t i = 0; i < key_values.size(); i++) {
    at::Tensor scores = q[static_cast<std::int64_t>(i)].matmul(key_values[i].t()).mul_(score_scale(config));  // [heads, keys]
    const at::Tensor p = masked_softmax(std::move(scores), attention_mask(group.sequences[i], 0, 1, key_values[i].size(0)));
    mixed.push_back(p.matmul(key_values[i].narrow(1, 0, config.kv_lora_rank)));
  }
  return at::stack(mixed, 1).matmul(to_value.transpose(1, 2)).transpose(0, 1).flatten(1);
}

// Brings the sequences' selections up to date where this layer has an indexer.
void update_selections(const Group& group, const at::Tensor& x, const at::Tensor& q_residual, const RotaryAngles& angles, const AttentionWeights& w,
                       std::size_t layer, const GlmMoeDsaConfig& config, const StepOptions& options) {
  if (!w.indexer) return;
  const auto needs_none = [&](const Sequence& s) { return s.caches.empty() && key_count_of(s) <= config.index_topk; };
  if (std::all_of(group.sequences.begin(), group.sequences.end(), needs_none)) return;  // everything visible is chosen
  const IndexerInputs inputs = project_for_indexer(x, q_residual, angles, *w.indexer, config);
  for (Sequence& sequence : group.sequences) {
    at::Tensor keys = rows_of(inputs.keys, group, sequence);
    if (!sequence.caches.empty()) keys = with_past(sequence.caches[layer].index_keys, keys, sequence);
    if (key_count_of(sequence) <= config.index_topk) continue;
    sequence.selection =
        choose_keys(rows_of(inputs.queries, group, sequence), rows_of(inputs.weights, group, sequence), keys, sequence, config, options);
  }
}

// Attention of the normed rows `x` of a group. Returns [group rows, hidden_size].
at::Tensor attend(const at::Tensor& x, const Group& group, const AttentionWeights& w, std::size_t layer, const GlmMoeDsaConfig& config,
                  const StepOptions& options) {
  const RotaryAngles angles = rotary_angles(positions_of(group), config.qk_rope_head_dim, config.rope_theta);
  const at::Tensor q_residual = rms_norm(at::linear(x, w.q_a_proj), w.q_a_layernorm, inner_norm_eps);
  const at::Tensor q = at::linear(q_residual, w.q_b_proj).unflatten(1, {config.num_attention_heads, config.qk_head_dim()});
  const at::Tensor q_rope = rope_interleaved(q.narrow(2, config.qk_nope_head_dim, config.qk_rope_head_dim), angles);
  const at::Tensor queries = at::cat({q.narrow(2, 0, config.qk_nope_head_dim), q_rope}, 2);
  const at::Tensor kv = at::linear(x, w.kv_a_proj_with_mqa);
  const at::Tensor latent = rms_norm(kv.narrow(1, 0, config.kv_lora_rank), w.kv_a_layernorm, inner_norm_eps);
  const at::Tensor k_rope = rope_interleaved(kv.narrow(1, config.kv_lora_rank, config.qk_rope_head_dim), angles);
  const at::Tensor fresh = at::cat({latent, k_rope}, 1);  // one key for all heads
  update_selections(group, x, q_residual, angles, w, layer, config, options);

  std::vector<at::Tensor> key_values;  // [sequence]
  for (Sequence& sequence : group.sequences) {
    const at::Tensor rows = rows_of(fresh, group, sequence);
    key_values.push_back(sequence.caches.empty() ? rows : with_past(sequence.caches[layer].key_values, rows, sequence));
  }
  const bool one_row_each = std::all_of(group.sequences.begin(), group.sequences.end(), [](const Sequence& s) { return s.row_count == 1; });
  if (one_row_each) return at::linear(attend_absorbed(queries, key_values, group, w, config), w.o_proj);
  std::vector<at::Tensor> out;
  for (std::size_t i = 0; i < key_values.size(); i++)
    out.push_back(attend_expanded(rows_of(queries, group, group.sequences[i]), key_values[i], group.sequences[i], w, config, options));
  return at::linear(at::cat(out), w.o_proj);
}

// The groups of experts with the best sums of their two best scores stay; the scores of the others become -inf.
at::Tensor limit_groups(const at::Tensor& scores, const GlmMoeDsaConfig& config) {
  if (config.topk_group == config.n_group) return scores;
  const at::Tensor by_group = scores.unflatten(1, {config.n_group, -1});
  const at::Tensor group_scores = std::get<0>(by_group.topk(2, -1)).sum(-1);
  const at::Tensor best = group_scores.argsort(/*stable=*/true, -1, /*descending=*/true).narrow(1, 0, config.topk_group);
  const at::Tensor refused = at::zeros_like(group_scores, at::kBool).scatter(1, best, true).logical_not();
  return by_group.masked_fill(refused.unsqueeze(2), -std::numeric_limits<float>::infinity()).flatten(1);
}

Routing route_block(const at::Tensor& x, const GlmRouter& router, const GlmMoeDsaConfig& config) {
  const std::int64_t k = config.num_experts_per_tok;
  const at::Tensor scores = at::sigmoid(at::linear(x, router.weight));
  const at::Tensor choice = limit_groups(scores + router.e_score_correction_bias, config);  // the bias decides the choice, not the weights
  const auto [sorted, by_choice] = choice.sort(/*stable=*/true, -1, /*descending=*/true);   // ties: the smaller id first
  at::Tensor margin = at::empty({x.size(0)}, x.options()).fill_(std::numeric_limits<float>::infinity());
  if (k < config.n_routed_experts) margin = sorted.select(1, k - 1) - sorted.select(1, k);
  const at::Tensor ids = std::get<0>(by_choice.narrow(1, 0, k).sort(-1));
  at::Tensor weights = scores.gather(1, ids);
  if (config.norm_topk_prob) weights = weights / (weights.sum(-1, /*keepdim=*/true) + 1e-20);
  const auto [by_weight, order] = (weights * config.routed_scaling_factor).sort(/*stable=*/true, -1, /*descending=*/true);
  return {ids.gather(1, order), by_weight, margin};
}

}  // namespace

// ---- Router ----

Routing route(const at::Tensor& x, const GlmRouter& router, const GlmMoeDsaConfig& config) {
  constexpr std::int64_t block = 16'384;  // rows of scores in memory together
  std::vector<at::Tensor> ids, weights, margins;
  for (std::int64_t begin = 0; begin < x.size(0); begin += block) {
    const Routing part = route_block(x.narrow(0, begin, std::min(block, x.size(0) - begin)), router, config);
    ids.push_back(part.expert_ids), weights.push_back(part.router_weights), margins.push_back(part.selection_margin);
  }
  return {at::cat(ids), at::cat(weights), at::cat(margins)};
}

namespace {

// ---- Layer ----

struct MoeWeights {
  GlmRouter router;
  std::vector<Mlp> experts;  // [n_routed_experts], in their disk dtype: most bytes of a model, widened when an expert's turn comes
  Mlp shared_experts;        // one network of n_shared_experts times the width
};

class GlmLayer : public Layer {
 public:
  std::size_t index = 0;
  GlmMoeDsaConfig config;
  at::Tensor input_layernorm;           // [hidden_size]
  at::Tensor post_attention_layernorm;  // [hidden_size]
  AttentionWeights attention;
  Mlp mlp;                        // dense layers
  std::optional<MoeWeights> moe;  // sparse layers

  LayerOutput run(const at::Tensor& hidden, std::span<Sequence> sequences, const StepOptions& options) const override {
    at::Tensor out = at::empty_like(hidden);
    for (const Group& group : group_sequences(sequences, options.block_tokens)) {
      const at::Tensor rows = hidden.narrow(0, group.row_begin, group.row_count);
      const at::Tensor attended = attend(rms_norm(rows, input_layernorm, config.rms_norm_eps), group, attention, index, config, options);
      out.narrow(0, group.row_begin, group.row_count).copy_(rows + attended);
    }
    const at::Tensor x = rms_norm(out, post_attention_layernorm, config.rms_norm_eps);
    if (!moe) return {out.add_(run_mlp(x, mlp, options.block_tokens)), std::nullopt};
    Routing routing = route(x, moe->router, config);
    out.add_(mix_experts(x, routing.expert_ids, routing.router_weights, moe->experts, options.block_tokens));
    out.add_(run_mlp(x, moe->shared_experts, options.block_tokens));
    return {out, std::move(routing)};
  }
};

// ---- Model ----

class GlmModel : public Model {
 public:
  GlmModel(const Checkpoint& checkpoint, GlmMoeDsaConfig config);
  const ModelShape& shape() const override { return shape_; }
  at::Tensor embed(const at::Tensor& token_ids) const override;
  std::unique_ptr<Layer> load_layer(std::int64_t index) const override;
  at::Tensor logits(const at::Tensor& hidden) const override;
  std::uint64_t layer_bytes(std::int64_t index) const override;

 private:
  Mlp load_mlp(const std::string& prefix) const;
  AttentionWeights load_attention(const std::string& prefix, bool has_indexer) const;
  MoeWeights load_moe(const std::string& prefix) const;

  const Checkpoint& checkpoint_;
  GlmMoeDsaConfig config_;
  ModelShape shape_;
};

std::string layer_prefix(std::int64_t index) { return "model.layers." + std::to_string(index) + "."; }

GlmModel::GlmModel(const Checkpoint& checkpoint, GlmMoeDsaConfig config) : checkpoint_(checkpoint), config_(std::move(config)) {
  shape_.model_type = "glm_moe_dsa";
  shape_.hidden_size = config_.hidden_size;
  shape_.vocab_size = config_.vocab_size;
  shape_.layer_count = config_.num_hidden_layers;
  shape_.max_position_embeddings = config_.max_position_embeddings;
  shape_.expert_count = static_cast<std::uint32_t>(config_.n_routed_experts);
  shape_.expert_top_k = static_cast<std::uint32_t>(config_.num_experts_per_tok);
  shape_.eos_token_ids = config_.eos_token_ids;
  const std::int64_t indexer_count = std::count(config_.has_indexer.begin(), config_.has_indexer.end(), true);
  const std::int64_t cached = config_.num_hidden_layers * (config_.kv_lora_rank + config_.qk_rope_head_dim) + indexer_count * config_.index_head_dim;
  shape_.cache_bytes_per_token = static_cast<std::uint64_t>(cached) * sizeof(float);
  for (std::size_t i = 0; i < config_.is_sparse.size(); i++)
    if (config_.is_sparse[i]) shape_.moe_layers.push_back(static_cast<std::uint32_t>(i));
}

at::Tensor GlmModel::embed(const at::Tensor& token_ids) const {
  return checkpoint_.tensor("model.embed_tokens.weight").index_select(0, token_ids).to(at::kFloat);
}

at::Tensor GlmModel::logits(const at::Tensor& hidden) const {
  constexpr std::int64_t block = 16'384;  // vocabulary rows widened together
  const at::Tensor x = rms_norm(hidden, checkpoint_.tensor("model.norm.weight"), config_.rms_norm_eps);
  const at::Tensor lm_head = checkpoint_.tensor("lm_head.weight");
  std::vector<at::Tensor> parts;
  for (std::int64_t begin = 0; begin < config_.vocab_size; begin += block)
    parts.push_back(at::linear(x, lm_head.narrow(0, begin, std::min(block, config_.vocab_size - begin)).to(at::kFloat)));
  return at::cat(parts, 1);
}

std::uint64_t GlmModel::layer_bytes(std::int64_t index) const { return checkpoint_.tensor_bytes(layer_prefix(index)); }

Mlp GlmModel::load_mlp(const std::string& prefix) const {
  return {checkpoint_.tensor(prefix + "gate_proj.weight"), checkpoint_.tensor(prefix + "up_proj.weight"),
          checkpoint_.tensor(prefix + "down_proj.weight")};
}

AttentionWeights GlmModel::load_attention(const std::string& prefix, bool has_indexer) const {
  const auto weight = [&](const char* name) { return checkpoint_.tensor_f32(prefix + name); };
  AttentionWeights w{weight("q_a_proj.weight"),       weight("q_a_layernorm.weight"), weight("q_b_proj.weight"), weight("kv_a_proj_with_mqa.weight"),
                     weight("kv_a_layernorm.weight"), weight("kv_b_proj.weight"),     weight("o_proj.weight"),   std::nullopt};
  if (has_indexer) {
    w.indexer = IndexerWeights{weight("indexer.wq_b.weight"), weight("indexer.wk.weight"), weight("indexer.k_norm.weight"),
                               weight("indexer.k_norm.bias"), weight("indexer.weights_proj.weight")};
  }
  return w;
}

MoeWeights GlmModel::load_moe(const std::string& prefix) const {
  MoeWeights moe;
  moe.router = {checkpoint_.tensor_f32(prefix + "gate.weight"), checkpoint_.tensor_f32(prefix + "gate.e_score_correction_bias")};
  moe.shared_experts = load_mlp(prefix + "shared_experts.");
  const bool fused = checkpoint_.has(prefix + "experts.gate_up_proj");
  const at::Tensor gate_up = fused ? checkpoint_.tensor(prefix + "experts.gate_up_proj") : at::Tensor();
  const at::Tensor down = fused ? checkpoint_.tensor(prefix + "experts.down_proj") : at::Tensor();
  for (std::int64_t e = 0; e < config_.n_routed_experts; e++) {
    if (fused) {  // the gate's rows come first
      const std::int64_t width = config_.moe_intermediate_size;
      moe.experts.push_back({gate_up[e].narrow(0, 0, width), gate_up[e].narrow(0, width, width), down[e]});
    } else {
      moe.experts.push_back(load_mlp(prefix + "experts." + std::to_string(e) + "."));
    }
  }
  return moe;
}

std::unique_ptr<Layer> GlmModel::load_layer(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  const std::string prefix = layer_prefix(index);
  auto layer = std::make_unique<GlmLayer>();
  layer->index = i;
  layer->config = config_;
  layer->input_layernorm = checkpoint_.tensor_f32(prefix + "input_layernorm.weight");
  layer->post_attention_layernorm = checkpoint_.tensor_f32(prefix + "post_attention_layernorm.weight");
  layer->attention = load_attention(prefix + "self_attn.", config_.has_indexer[i]);
  if (config_.is_sparse[i]) {
    layer->moe = load_moe(prefix + "mlp.");
  } else {
    layer->mlp = load_mlp(prefix + "mlp.");
  }
  return layer;
}

// ---- Checkpoint names ----

using Shape = std::vector<std::int64_t>;

void expect(std::vector<TensorSpec>& specs, const std::string& name, const Shape& shape) { specs.push_back({name, {shape.begin(), shape.end()}}); }

void expect_mlp(std::vector<TensorSpec>& specs, const std::string& prefix, std::int64_t width, std::int64_t hidden) {
  expect(specs, prefix + "gate_proj.weight", {width, hidden});
  expect(specs, prefix + "up_proj.weight", {width, hidden});
  expect(specs, prefix + "down_proj.weight", {hidden, width});
}

void expect_attention(std::vector<TensorSpec>& specs, const std::string& prefix, bool has_indexer, const GlmMoeDsaConfig& c) {
  expect(specs, prefix + "q_a_proj.weight", {c.q_lora_rank, c.hidden_size});
  expect(specs, prefix + "q_a_layernorm.weight", {c.q_lora_rank});
  expect(specs, prefix + "q_b_proj.weight", {c.num_attention_heads * c.qk_head_dim(), c.q_lora_rank});
  expect(specs, prefix + "kv_a_proj_with_mqa.weight", {c.kv_lora_rank + c.qk_rope_head_dim, c.hidden_size});
  expect(specs, prefix + "kv_a_layernorm.weight", {c.kv_lora_rank});
  expect(specs, prefix + "kv_b_proj.weight", {c.num_attention_heads * (c.qk_nope_head_dim + c.v_head_dim), c.kv_lora_rank});
  expect(specs, prefix + "o_proj.weight", {c.hidden_size, c.num_attention_heads * c.v_head_dim});
  if (!has_indexer) return;
  expect(specs, prefix + "indexer.wq_b.weight", {c.index_n_heads * c.index_head_dim, c.q_lora_rank});
  expect(specs, prefix + "indexer.wk.weight", {c.index_head_dim, c.hidden_size});
  expect(specs, prefix + "indexer.k_norm.weight", {c.index_head_dim});
  expect(specs, prefix + "indexer.k_norm.bias", {c.index_head_dim});
  expect(specs, prefix + "indexer.weights_proj.weight", {c.index_n_heads, c.hidden_size});
}

void expect_moe(std::vector<TensorSpec>& specs, const std::string& prefix, bool fused, const GlmMoeDsaConfig& c) {
  expect(specs, prefix + "gate.weight", {c.n_routed_experts, c.hidden_size});
  expect(specs, prefix + "gate.e_score_correction_bias", {c.n_routed_experts});
  expect_mlp(specs, prefix + "shared_experts.", c.moe_intermediate_size * c.n_shared_experts, c.hidden_size);
  if (fused) {
    expect(specs, prefix + "experts.gate_up_proj", {c.n_routed_experts, 2 * c.moe_intermediate_size, c.hidden_size});
    expect(specs, prefix + "experts.down_proj", {c.n_routed_experts, c.hidden_size, c.moe_intermediate_size});
    return;
  }
  for (std::int64_t e = 0; e < c.n_routed_experts; e++)
    expect_mlp(specs, prefix + "experts." + std::to_string(e) + ".", c.moe_intermediate_size, c.hidden_size);
}

std::vector<TensorSpec> expected_tensors(const Checkpoint& checkpoint, const GlmMoeDsaConfig& c) {
  std::vector<TensorSpec> specs;
  expect(specs, "model.embed_tokens.weight", {c.vocab_size, c.hidden_size});
  expect(specs, "model.norm.weight", {c.hidden_size});
  expect(specs, "lm_head.weight", {c.vocab_size, c.hidden_size});
  for (std::int64_t i = 0; i < c.num_hidden_layers; i++) {
    const std::string prefix = layer_prefix(i);
    expect(specs, prefix + "input_layernorm.weight", {c.hidden_size});
    expect(specs, prefix + "post_attention_layernorm.weight", {c.hidden_size});
    expect_attention(specs, prefix + "self_attn.", c.has_indexer[static_cast<std::size_t>(i)], c);
    if (c.is_sparse[static_cast<std::size_t>(i)]) {
      expect_moe(specs, prefix + "mlp.", checkpoint.has(prefix + "mlp.experts.gate_up_proj"), c);
    } else {
      expect_mlp(specs, prefix + "mlp.", c.intermediate_size, c.hidden_size);
    }
  }
  return specs;
}

}  // namespace

std::unique_ptr<Model> open_glm_moe_dsa(const Checkpoint& checkpoint) {
  GlmMoeDsaConfig config = read_glm_moe_dsa_config(checkpoint.config(), checkpoint.config_path());
  // The layers behind the last one predict further tokens (MTP); as in transformers they are not run.
  std::vector<std::string> ignored;
  for (std::int64_t i = 0; i < config.num_nextn_predict_layers; i++) ignored.push_back(layer_prefix(config.num_hidden_layers + i));
  checkpoint.check(expected_tensors(checkpoint, config), [&](const std::string& name) {
    return std::any_of(ignored.begin(), ignored.end(), [&](const std::string& prefix) { return name.starts_with(prefix); });
  });
  return std::make_unique<GlmModel>(checkpoint, std::move(config));
}

}  // namespace atlas
