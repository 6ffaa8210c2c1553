// GLM-5, 5.1, 5.2 (config.json's model_type glm_moe_dsa): latent attention over keys that an indexer chooses, sigmoid-routed experts.
// The configuration, the router and the layer are here for their tests; loops use Model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/layers.h"
#include "runtime/models/model.h"

namespace atlas {

// Spelt as in config.json.
struct GlmMoeDsaConfig {
  std::int64_t vocab_size = 0, hidden_size = 0, num_hidden_layers = 0, max_position_embeddings = 0;
  std::int64_t intermediate_size = 0, moe_intermediate_size = 0;
  std::int64_t n_routed_experts = 0, n_shared_experts = 0, num_experts_per_tok = 0, n_group = 1, topk_group = 1;
  double routed_scaling_factor = 1;
  bool norm_topk_prob = true;
  std::int64_t num_attention_heads = 0, q_lora_rank = 0, kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0, qk_rope_head_dim = 0, v_head_dim = 0;
  double rope_theta = 0, rms_norm_eps = 1e-5;
  std::int64_t index_n_heads = 0, index_head_dim = 0, index_topk = 0;
  std::vector<bool> has_indexer;              // [num_hidden_layers], false: the layer uses the selection of the latest layer that has one
  std::vector<bool> is_sparse;                // [num_hidden_layers], true: experts, false: one dense feed-forward network
  std::int64_t num_nextn_predict_layers = 0;  // layers behind the last that predict further tokens: on disk, never run
  std::vector<std::int64_t> eos_token_ids;

  std::int64_t qk_head_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
};

// Throws Error that lists every key that is missing, unknown or has a value that is not implemented.
GlmMoeDsaConfig read_glm_moe_dsa_config(const Json& config, const std::string& where);

struct GlmRouter {
  at::Tensor weight;                   // f32 [n_routed_experts, hidden_size]
  at::Tensor e_score_correction_bias;  // f32 [n_routed_experts]
};
Routing route(const at::Tensor& x, const GlmRouter& router, const GlmMoeDsaConfig& config);

std::unique_ptr<Model> open_glm_moe_dsa(const Checkpoint& checkpoint);

}  // namespace atlas
