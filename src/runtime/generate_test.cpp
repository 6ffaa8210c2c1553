// Greedy answers with caches against transformers' own, alone and together.
#include "runtime/generate.h"

#include <gtest/gtest.h>

#include "runtime/golden_test_data.h"

namespace atlas {
namespace {

std::vector<std::int32_t> ids_of(const at::Tensor& tensor) {
  const at::Tensor ids = tensor.to(at::kInt).contiguous();
  return {ids.const_data_ptr<std::int32_t>(), ids.const_data_ptr<std::int32_t>() + ids.numel()};
}

class GenerateParity : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, GenerateParity, testing::ValuesIn(golden_cases), [](const auto& golden_case) { return golden_case.param; });

TEST_P(GenerateParity, prompts_together_are_continued_with_transformers_tokens) {
  const Golden golden(GetParam());
  const Checkpoint checkpoint(golden_folder(GetParam()));
  const auto model = open_model(checkpoint);
  std::vector<std::vector<std::int32_t>> prompts, expected;
  for (const std::string& text : golden.texts("decode")) {
    expected.push_back(ids_of(golden.tensor(text + ".generated_ids")));
    prompts.push_back(ids_of(golden.tensor(text + ".token_ids")));
    prompts.back().resize(prompts.back().size() - expected.back().size());
  }
  ASSERT_EQ(prompts.size(), 2U);
  std::uint64_t last_done = 0, last_total = 0;
  const auto report = [&](const char*, std::uint64_t done, std::uint64_t total) { last_done = done, last_total = total; };
  const GenerateOptions options{.step = {}, .answer_tokens = 10, .eos_token_ids = {}};
  EXPECT_EQ(generate_answers(*model, prompts, options, report), expected);
  EXPECT_EQ(last_done, last_total);
  for (std::size_t i = 0; i < prompts.size(); i++)
    EXPECT_EQ(generate_answers(*model, std::span(prompts).subspan(i, 1), options, report).front(), expected[i]);
}

// step_logits are the logits with cache that chose each token; ours must agree step by step, not only in the token that wins.
TEST_P(GenerateParity, the_cached_steps_give_transformers_logits) {
  const Golden golden(GetParam());
  const Checkpoint checkpoint(golden_folder(GetParam()));
  const auto model = open_model(checkpoint);
  for (const std::string& text : golden.texts("decode")) {
    const at::Tensor ids = golden.tensor(text + ".token_ids"), expected = golden.tensor(text + ".step_logits");
    const std::int64_t prompt_count = ids.size(0) - expected.size(0);
    std::vector<Sequence> sequences(1);
    sequences[0].row_count = prompt_count;
    sequences[0].capacity = ids.size(0);
    sequences[0].caches.resize(static_cast<std::size_t>(model->shape().layer_count));
    for (std::int64_t step = 0; step < expected.size(0); step++) {
      at::Tensor hidden = model->embed(ids.narrow(0, sequences[0].position_begin, sequences[0].row_count));
      for (std::int64_t i = 0; i < model->shape().layer_count; i++) hidden = model->load_layer(i)->run(hidden, sequences, {}).hidden;
      const at::Tensor logits = model->logits(hidden.narrow(0, sequences[0].row_count - 1, 1)).squeeze(0);
      EXPECT_LT(relative_difference(logits, expected[step]), 1e-5) << text << " step " << step;
      sequences[0].position_begin += sequences[0].row_count;
      sequences[0].row_count = 1;
      sequences[0].selection = at::Tensor();
    }
  }
}

TEST(Generate, an_answer_ends_with_its_first_end_of_text_token_while_the_others_go_on) {
  const Golden golden("base");
  const Checkpoint checkpoint(golden_folder("base"));
  const auto model = open_model(checkpoint);
  std::vector<std::vector<std::int32_t>> prompts, full;
  for (const std::string& text : golden.texts("decode")) {
    full.push_back(ids_of(golden.tensor(text + ".generated_ids")));
    prompts.push_back(ids_of(golden.tensor(text + ".token_ids")));
    prompts.back().resize(prompts.back().size() - full.back().size());
  }
  const std::int32_t end = full[0][3];
  std::vector<std::vector<std::int32_t>> expected = full;
  for (std::vector<std::int32_t>& answer : expected) {
    const auto found = std::find(answer.begin(), answer.end(), end);
    if (found != answer.end()) answer.erase(found + 1, answer.end());
  }
  ASSERT_LT(expected[0].size(), full[0].size());
  const auto silent = [](const char*, std::uint64_t, std::uint64_t) {};
  EXPECT_EQ(generate_answers(*model, prompts, {.step = {}, .answer_tokens = 10, .eos_token_ids = {end}}, silent), expected);
}

}  // namespace
}  // namespace atlas
