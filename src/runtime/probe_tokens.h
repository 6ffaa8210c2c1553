// Probes as token sequences with a phase for each token. Filled by tokenise_probe() and append_answer(); read by generate and prefill.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tokenizer.h"
#include "trace/trace.h"

namespace atlas {

struct ProbeTokens {
  std::vector<std::int32_t> token_ids;  // [token_count], template and prompt, then the answer
  std::vector<Phase> phases;            // [token_count]
  std::size_t prompt_token_count = 0;   // tokens before the answer
  std::string unknown_reason;           // why template and prompt could not be told apart; "" where they could

  // Tokens that the model is fed, each of which gets a row. A row belongs to its input token. The last token of an answer is predicted but,
  // as in every engine, never fed, so it has no row; without an answer all tokens of the prompt are fed.
  std::size_t row_count() const { return token_ids.size() - (token_ids.size() > prompt_token_count ? 1 : 0); }
};

// The prompt as the tokenizer has it: with the chat template (one user message and the generation prompt) every token that lies wholly
// outside the prompt's text is of the phase template; without it, only tokens that the tokenizer adds are. Where the template changes the
// prompt by more than the blanks at its ends, the phases of all tokens are unknown.
ProbeTokens tokenise_prompt(const Tokenizer& tokenizer, const std::string& prompt, bool use_chat_template);

// The answer's tokens follow the prompt's, encoded by themselves, as generation would have made them.
void append_answer(ProbeTokens& probe, const std::vector<std::int32_t>& answer_ids);

// Arguments that tokenise_prompt gives to the chat template beside the messages.
Json chat_template_arguments();

}  // namespace atlas
