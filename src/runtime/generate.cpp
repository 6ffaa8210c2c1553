// See generate.h.
#include "runtime/generate.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "runtime/prefill.h"

namespace atlas {

namespace {

struct Answering {
  std::vector<Sequence> sequences;                 // [prompt still being answered]
  std::vector<std::size_t> prompt_of;              // [sequence], its index in `answers`
  std::vector<std::int64_t> fed_ids;               // token ids of the next step, sequence after sequence
  std::vector<std::vector<std::int32_t>> answers;  // [prompt]
};

Answering begin_answers(const Model& model, std::span<const std::vector<std::int32_t>> prompts, std::int64_t answer_tokens) {
  std::vector<std::int64_t> row_counts;
  Answering state;
  for (const std::vector<std::int32_t>& prompt : prompts) {
    row_counts.push_back(static_cast<std::int64_t>(prompt.size()));
    state.fed_ids.insert(state.fed_ids.end(), prompt.begin(), prompt.end());
    state.prompt_of.push_back(state.prompt_of.size());
  }
  state.sequences = new_sequences(row_counts);
  for (Sequence& sequence : state.sequences) {
    sequence.caches.resize(static_cast<std::size_t>(model.shape().layer_count));
    sequence.capacity = sequence.row_count + answer_tokens;
  }
  state.answers.resize(prompts.size());
  return state;
}

at::Tensor last_rows(const at::Tensor& hidden, const std::vector<Sequence>& sequences) {
  std::vector<std::int64_t> rows;
  for (const Sequence& sequence : sequences) rows.push_back(sequence.row_begin + sequence.row_count - 1);
  return hidden.index_select(0, at::tensor(rows, at::kLong));
}

// Most likely token of each row. In blocks of rows, since the logits of thousands of probes over a large vocabulary are large.
std::vector<std::int64_t> best_tokens(const Model& model, const at::Tensor& hidden) {
  constexpr std::int64_t block = 256;
  std::vector<std::int64_t> best;
  for (std::int64_t begin = 0; begin < hidden.size(0); begin += block) {
    const at::Tensor logits = model.logits(hidden.narrow(0, begin, std::min(block, hidden.size(0) - begin)));
    const at::Tensor ids = logits.argmax(1);  // the first of several
    for (std::int64_t i = 0; i < ids.size(0); i++) best.push_back(ids[i].item<std::int64_t>());
  }
  return best;
}

// Takes each sequence's next token; drops the sequences whose answer is at its end.
void take_tokens(Answering& state, const std::vector<std::int64_t>& next, const GenerateOptions& options) {
  Answering going;
  for (std::size_t i = 0; i < next.size(); i++) {
    std::vector<std::int32_t>& answer = state.answers[state.prompt_of[i]];
    answer.push_back(static_cast<std::int32_t>(next[i]));
    const bool is_end = std::count(options.eos_token_ids.begin(), options.eos_token_ids.end(), next[i]) > 0;
    if (is_end || static_cast<std::int64_t>(answer.size()) >= options.answer_tokens) continue;
    Sequence sequence = std::move(state.sequences[i]);
    sequence.position_begin += sequence.row_count;
    sequence.row_begin = static_cast<std::int64_t>(going.sequences.size());
    sequence.row_count = 1;
    sequence.selection = at::Tensor();
    going.sequences.push_back(std::move(sequence));
    going.prompt_of.push_back(state.prompt_of[i]);
    going.fed_ids.push_back(next[i]);
  }
  going.answers = std::move(state.answers);
  state = std::move(going);
}

}  // namespace

std::vector<std::vector<std::int32_t>> generate_answers(const Model& model, std::span<const std::vector<std::int32_t>> prompts,
                                                        const GenerateOptions& options, const ReportProgress& report) {
  const c10::InferenceMode inference;
  if (prompts.empty() || options.answer_tokens <= 0) return std::vector<std::vector<std::int32_t>>(prompts.size());
  std::uint64_t pass_bytes = 0, done_bytes = 0;
  for (std::int64_t i = 0; i < model.shape().layer_count; i++) pass_bytes += model.layer_bytes(i);
  const std::uint64_t total_bytes = pass_bytes * static_cast<std::uint64_t>(options.answer_tokens);
  Answering state = begin_answers(model, prompts, options.answer_tokens);
  while (!state.sequences.empty()) {
    at::Tensor hidden = model.embed(at::tensor(state.fed_ids, at::kLong));
    for (std::int64_t i = 0; i < model.shape().layer_count; i++) {
      hidden = model.load_layer(i)->run(hidden, state.sequences, options.step).hidden;
      done_bytes += model.layer_bytes(i);
      report("answers", done_bytes, total_bytes);
    }
    take_tokens(state, best_tokens(model, last_rows(hidden, state.sequences)), options);
  }
  return std::move(state.answers);
}

}  // namespace atlas
