// See layers.h.
#include "runtime/layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <limits>

namespace atlas {

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return x * (x.square().mean(-1, /*keepdim=*/true) + eps).rsqrt() * weight.to(at::kFloat);
}

RotaryAngles rotary_angles(const at::Tensor& positions, std::int64_t dim, double theta) {
  // In fp32 from the first step on, as the reference implementation has it: far positions round alike.
  const at::Tensor exponent = at::arange(0, dim, 2, at::kFloat) / static_cast<double>(dim);
  const at::Tensor frequency = at::pow(theta, exponent).reciprocal();
  const at::Tensor angle = positions.to(at::kFloat).unsqueeze(1) * frequency;
  return {angle.cos(), angle.sin()};
}

at::Tensor rope_interleaved(const at::Tensor& x, const RotaryAngles& angles) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);  // rows first, pairs last, 1 between
  shape.front() = angles.cos.size(0);
  shape.back() = angles.cos.size(1);
  const at::Tensor cos = angles.cos.view(shape), sin = angles.sin.view(shape);
  const at::Tensor pairs = x.unflatten(-1, {-1, 2});
  const at::Tensor even = pairs.select(-1, 0), odd = pairs.select(-1, 1);
  return at::stack({even * cos - odd * sin, odd * cos + even * sin}, -1).flatten(-2);
}

static at::Tensor run_mlp_block(const at::Tensor& x, const Mlp& mlp) {
  return at::linear(at::silu(at::linear(x, mlp.gate_proj)).mul_(at::linear(x, mlp.up_proj)), mlp.down_proj);
}

static Mlp widened(const Mlp& mlp) { return {mlp.gate_proj.to(at::kFloat), mlp.up_proj.to(at::kFloat), mlp.down_proj.to(at::kFloat)}; }

at::Tensor run_mlp(const at::Tensor& x, const Mlp& mlp, std::int64_t block_tokens) {
  const Mlp wide = widened(mlp);
  if (x.size(0) <= block_tokens) return run_mlp_block(x, wide);
  at::Tensor out = at::empty_like(x);
  for (std::int64_t begin = 0; begin < x.size(0); begin += block_tokens) {
    const std::int64_t count = std::min(block_tokens, x.size(0) - begin);
    out.narrow(0, begin, count).copy_(run_mlp_block(x.narrow(0, begin, count), wide));
  }
  return out;
}

at::Tensor mix_experts(const at::Tensor& x, const at::Tensor& expert_ids, const at::Tensor& router_weights, std::span<const Mlp> experts,
                       std::int64_t block_tokens) {
  const std::int64_t expert_top_k = expert_ids.size(1);
  const at::Tensor flat_ids = expert_ids.reshape({-1});
  const at::Tensor order = flat_ids.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/false);  // [selections], by expert, then by token
  const at::Tensor tokens = order.div(expert_top_k, "floor");
  const at::Tensor weights = router_weights.reshape({-1}).index_select(0, order).unsqueeze(1);
  const at::Tensor counts = at::bincount(flat_ids, /*weights=*/{}, static_cast<std::int64_t>(experts.size()));
  const std::int64_t* count_of = counts.const_data_ptr<std::int64_t>();
  at::Tensor out = at::zeros_like(x);
  std::int64_t begin = 0;
  for (std::size_t expert = 0; expert < experts.size(); begin += count_of[expert], expert++) {
    if (count_of[expert] == 0) continue;
    const Mlp wide = widened(experts[expert]);
    for (std::int64_t done = 0; done < count_of[expert]; done += block_tokens) {
      const std::int64_t count = std::min(block_tokens, count_of[expert] - done);
      const at::Tensor rows = tokens.narrow(0, begin + done, count);
      const at::Tensor y = run_mlp_block(x.index_select(0, rows), wide).mul_(weights.narrow(0, begin + done, count));
      out.index_add_(0, rows, y);
    }
  }
  return out;
}

at::Tensor causal_mask(std::int64_t query_begin, std::int64_t query_count, std::int64_t key_count) {
  const at::Tensor query = at::arange(query_begin, query_begin + query_count, at::kLong).unsqueeze(1);
  return at::arange(key_count, at::kLong).unsqueeze(0).le(query);
}

at::Tensor select_top(const at::Tensor& scores, const at::Tensor& visible, std::int64_t count) {
  if (scores.size(-1) <= count) return visible;
  const at::Tensor seen = scores.masked_fill(visible.logical_not(), -std::numeric_limits<float>::infinity());
  const at::Tensor least = std::get<0>(seen.topk(count, -1)).narrow(-1, count - 1, 1);  // [rows, 1], the last score that is taken
  const at::Tensor above = seen.gt(least), level = seen.eq(least);
  const at::Tensor room = above.sum(-1, /*keepdim=*/true).neg_().add_(count);
  return above.logical_or(level.logical_and(level.cumsum(-1).le(room))).logical_and_(visible);
}

at::Tensor masked_softmax(at::Tensor scores, const at::Tensor& mask) {
  return scores.masked_fill_(mask.logical_not(), -std::numeric_limits<float>::infinity()).softmax(-1);
}

}  // namespace atlas
