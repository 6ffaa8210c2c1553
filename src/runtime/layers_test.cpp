// The shared boxes against values worked by hand or by the plain definition, one element at a time.
#include "runtime/layers.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "runtime/golden_test_data.h"

namespace atlas {
namespace {

at::Tensor random_tensor(at::IntArrayRef shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  at::Tensor tensor = at::empty(shape);
  for (std::int64_t i = 0; i < tensor.numel(); i++) tensor.data_ptr<float>()[i] = uniform(generator);
  return tensor;
}

at::Tensor mask_of(std::vector<std::vector<int>> rows) {
  at::Tensor mask = at::empty({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())}, at::kBool);
  for (std::size_t i = 0; i < rows.size(); i++)
    for (std::size_t j = 0; j < rows[i].size(); j++) mask[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(j)] = rows[i][j] != 0;
  return mask;
}

TEST(RmsNorm, divides_by_the_root_of_the_mean_square_with_eps_inside) {
  // mean square of (3, 4) is 12.5; with eps 3.5 the root is 4
  const at::Tensor out = rms_norm(at::tensor({3.F, 4.F}).unsqueeze(0), at::tensor({2.F, 1.F}), 3.5);
  EXPECT_TRUE(out.allclose(at::tensor({1.5F, 1.F}).unsqueeze(0)));
}

TEST(Rope, turns_neighbouring_pairs_and_not_halves) {
  // dim 4, theta 100: at position 3 pair 0 turns by 3, pair 1 by 3 / sqrt(100) = 0.3
  const RotaryAngles angles = rotary_angles(at::tensor({3}, at::kLong), 4, 100);
  const at::Tensor out = rope_interleaved(at::tensor({1.F, 0.F, 0.F, 2.F}).unsqueeze(0), angles);
  const at::Tensor expected = at::tensor({std::cos(3.F), std::sin(3.F), -2 * std::sin(0.3F), 2 * std::cos(0.3F)}).unsqueeze(0);
  EXPECT_TRUE(out.allclose(expected, 1e-5, 1e-6));
}

TEST(Rope, a_middle_axis_of_heads_shares_its_rows_angle) {
  const at::Tensor x = random_tensor({5, 3, 6}, 1);
  const RotaryAngles angles = rotary_angles(at::arange(5, at::kLong), 6, 10000);
  const at::Tensor all = rope_interleaved(x, angles);
  for (std::int64_t head = 0; head < 3; head++) EXPECT_TRUE(all.select(1, head).equal(rope_interleaved(x.select(1, head).contiguous(), angles)));
}

float silu(float x) { return x / (1 + std::exp(-x)); }

// down(silu(gate(x)) * up(x)) by loops.
at::Tensor mlp_by_loops(const at::Tensor& x, const Mlp& mlp) {
  const at::Tensor gate = mlp.gate_proj.to(at::kFloat), up = mlp.up_proj.to(at::kFloat), down = mlp.down_proj.to(at::kFloat);
  const at::Tensor out = at::zeros({x.size(0), down.size(0)});
  for (std::int64_t t = 0; t < x.size(0); t++) {
    for (std::int64_t i = 0; i < gate.size(0); i++) {
      float g = 0, u = 0;
      for (std::int64_t h = 0; h < x.size(1); h++) {
        g += gate[i][h].item<float>() * x[t][h].item<float>();
        u += up[i][h].item<float>() * x[t][h].item<float>();
      }
      for (std::int64_t h = 0; h < x.size(1); h++) out.data_ptr<float>()[t * x.size(1) + h] += down[h][i].item<float>() * silu(g) * u;
    }
  }
  return out;
}

std::vector<Mlp> random_experts(std::size_t count, at::ScalarType dtype) {
  std::vector<Mlp> experts;
  for (unsigned e = 0; e < count; e++)
    experts.push_back({random_tensor({3, 4}, 10 + e).to(dtype), random_tensor({3, 4}, 40 + e).to(dtype), random_tensor({4, 3}, 70 + e).to(dtype)});
  return experts;
}

TEST(RunMlp, blocks_give_the_same_and_bf16_weights_are_widened) {
  const at::Tensor x = random_tensor({7, 4}, 2);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const Mlp mlp = random_experts(1, dtype).front();
    EXPECT_TRUE(run_mlp(x, mlp, 100).allclose(mlp_by_loops(x, mlp), 1e-5, 1e-6));
    EXPECT_TRUE(run_mlp(x, mlp, 2).allclose(run_mlp(x, mlp, 100), 1e-6, 1e-7));
  }
}

TEST(MixExperts, each_token_gets_the_weighted_sum_of_its_experts_whatever_the_block) {
  const at::Tensor x = random_tensor({6, 4}, 3), weights = random_tensor({6, 2}, 4);
  const at::Tensor ids = at::tensor({0, 4, 4, 1, 1, 0, 4, 0, 0, 1, 1, 4}, at::kLong).view({6, 2});  // experts 2 and 3: none
  std::vector<Mlp> experts = random_experts(5, at::kBFloat16);
  at::Tensor expected = at::zeros({6, 4});
  for (std::int64_t t = 0; t < 6; t++)
    for (std::int64_t k = 0; k < 2; k++)
      expected[t] += mlp_by_loops(x.narrow(0, t, 1), experts[static_cast<std::size_t>(ids[t][k].item<std::int64_t>())])[0] * weights[t][k];
  experts[2] = experts[3] = Mlp{};  // never touched
  for (const std::int64_t block : {1, 2, 100}) EXPECT_TRUE(mix_experts(x, ids, weights, experts, block).allclose(expected, 1e-5, 1e-6)) << block;
}

TEST(CausalMask, a_query_sees_its_own_key_and_the_earlier_ones) { EXPECT_TRUE(causal_mask(1, 2, 4).equal(mask_of({{1, 1, 0, 0}, {1, 1, 1, 0}}))); }

TEST(SelectTop, takes_the_best_visible_scores_and_breaks_ties_by_position) {
  const float high = 9;
  const at::Tensor scores = at::tensor({1.F, 3.F, 2.F, 3.F, high,  // the last is not visible
                                        0.F, 0.F, 0.F, 0.F, high,  // all level: the first two
                                        2.F, 0.F, 0.F, 5.F, high})
                                .view({3, 5});
  const at::Tensor visible = mask_of({{1, 1, 1, 1, 0}, {1, 1, 1, 1, 0}, {1, 0, 0, 0, 0}});  // the last row sees one key only
  EXPECT_TRUE(select_top(scores, visible, 2).equal(mask_of({{0, 1, 0, 1, 0}, {1, 1, 0, 0, 0}, {1, 0, 0, 0, 0}})));
  EXPECT_TRUE(select_top(scores, visible, 5).equal(visible));
}

TEST(MaskedSoftmax, hidden_keys_get_nothing_and_the_rest_sums_to_one) {
  const at::Tensor p = masked_softmax(at::tensor({std::log(1.F), std::log(3.F), 50.F}).unsqueeze(0), mask_of({{1, 1, 0}}));
  EXPECT_TRUE(p.allclose(at::tensor({0.25F, 0.75F, 0.F}).unsqueeze(0)));
}

}  // namespace
}  // namespace atlas
