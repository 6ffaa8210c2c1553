// The boxes that model files share: norms, rotary positions, gated feed-forward, experts, masked attention. Free functions on
// tensors, called by models/*.cpp. Matrices may be in their disk dtype (bf16, fp16, fp32); all arithmetic is fp32.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace atlas {

// x / sqrt(mean(x^2) + eps) * weight, over the last axis.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

// Angles of rotary positions: entry i of a row at position p is p * theta^(-2i / dim).
struct RotaryAngles {
  at::Tensor cos;  // f32 [token_count, dim / 2]
  at::Tensor sin;  // f32 [token_count, dim / 2]
};
RotaryAngles rotary_angles(const at::Tensor& positions, std::int64_t dim, double theta);  // positions: i64 [token_count]

// Turns the pairs (x[2i], x[2i+1]) of the last axis by angle i of their row. x: [token_count, ..., dim].
at::Tensor rope_interleaved(const at::Tensor& x, const RotaryAngles& angles);

// A gated feed-forward network, the dense kind and every expert: down(silu(gate(x)) * up(x)).
struct Mlp {
  at::Tensor gate_proj;  // [intermediate, hidden]
  at::Tensor up_proj;    // [intermediate, hidden]
  at::Tensor down_proj;  // [hidden, intermediate]
};
// In blocks of at most `block_tokens` rows, so that the intermediate values stay small.
at::Tensor run_mlp(const at::Tensor& x, const Mlp& mlp, std::int64_t block_tokens);

// out[t] = sum over k of router_weights[t, k] * experts[expert_ids[t, k]](x[t]). The selections are sorted by expert, so that an expert's
// matrices are used for all of its tokens at once, and those of an expert that no token chose are never touched.
at::Tensor mix_experts(const at::Tensor& x,               // f32 [token_count, hidden]
                       const at::Tensor& expert_ids,      // i64 [token_count, expert_top_k]
                       const at::Tensor& router_weights,  // f32 [token_count, expert_top_k]
                       std::span<const Mlp> experts, std::int64_t block_tokens);

// True where the query at position `query_begin + row` may see the key at position `column`: keys up to its own. bool [query_count, key_count].
at::Tensor causal_mask(std::int64_t query_begin, std::int64_t query_count, std::int64_t key_count);

// The `count` largest visible scores of each row as a mask, ties to the earlier column; rows with fewer visible take all of them.
at::Tensor select_top(const at::Tensor& scores,   // f32 [rows, columns]
                      const at::Tensor& visible,  // bool [rows, columns]
                      std::int64_t count);

// softmax(scores where the mask is true) over the last axis; every row has at least one true entry. Overwrites `scores`.
at::Tensor masked_softmax(at::Tensor scores, const at::Tensor& mask);

}  // namespace atlas
