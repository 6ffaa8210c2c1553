// See probe_tokens.h.
#include "runtime/probe_tokens.h"

#include <optional>
#include <string_view>

namespace atlas {

namespace {

struct ByteSpan {
  std::size_t begin = 0, end = 0;
};

struct RenderedPrompt {
  std::string text;
  std::optional<ByteSpan> prompt;  // where the prompt lies in it
  std::string unknown_reason;
};

std::string render_user_message(const Tokenizer& tokenizer, const std::string& content) {
  Json arguments = chat_template_arguments();
  arguments["messages"] = Json::array({Json{{"role", "user"}, {"content", content}}});
  return tokenizer.render_chat_template(arguments);
}

// What is left of the prompt is the prompt without blanks at its ends.
bool is_trimmed(std::string_view prompt, std::string_view left) {
  const std::size_t at = prompt.find(left);
  return at != std::string_view::npos && is_blank(prompt.substr(0, at)) && is_blank(prompt.substr(at + left.size()));
}

// Renders a stand-in of the prompt as well: what stands before and behind it is the template's own text.
RenderedPrompt render_prompt(const Tokenizer& tokenizer, const std::string& prompt) {
  const std::string stand_in = "Kq7zStandInForThePrompt7zqK";
  RenderedPrompt rendered{render_user_message(tokenizer, prompt), std::nullopt, ""};
  const std::string frame = render_user_message(tokenizer, stand_in);
  const std::size_t at = frame.find(stand_in);
  if (at == std::string::npos || frame.find(stand_in, at + 1) != std::string::npos) {
    rendered.unknown_reason =
        at == std::string::npos ? "the chat template does not print the prompt as it is" : "the chat template prints the prompt more than once";
    return rendered;
  }
  const std::string before = frame.substr(0, at), behind = frame.substr(at + stand_in.size());
  const bool framed = rendered.text.size() >= before.size() + behind.size() && rendered.text.starts_with(before) && rendered.text.ends_with(behind);
  if (!framed) {
    rendered.unknown_reason = "the chat template's own text depends on the prompt";
    return rendered;
  }
  const ByteSpan span{before.size(), rendered.text.size() - behind.size()};
  if (is_trimmed(prompt, std::string_view(rendered.text).substr(span.begin, span.end - span.begin))) {
    rendered.prompt = span;
  } else {
    rendered.unknown_reason = "the chat template changes the prompt's text";
  }
  return rendered;
}

ProbeTokens with_phases(const Encoding& encoding, const std::optional<ByteSpan>& prompt) {
  ProbeTokens probe;
  probe.token_ids = encoding.ids;
  probe.prompt_token_count = encoding.ids.size();
  for (std::size_t i = 0; i < encoding.ids.size(); i++) {
    const std::size_t begin = encoding.begin_bytes[i], end = encoding.end_bytes[i];
    const bool in_prompt = prompt && begin < end && begin < prompt->end && end > prompt->begin;
    probe.phases.push_back(!prompt ? Phase::unknown : in_prompt ? Phase::prompt : Phase::template_text);
  }
  return probe;
}

}  // namespace

Json chat_template_arguments() { return Json{{"add_generation_prompt", true}}; }

ProbeTokens tokenise_prompt(const Tokenizer& tokenizer, const std::string& prompt, bool use_chat_template) {
  if (!use_chat_template) return with_phases(tokenizer.encode(prompt, /*add_special_tokens=*/true), ByteSpan{0, prompt.size()});
  const RenderedPrompt rendered = render_prompt(tokenizer, prompt);
  ProbeTokens probe = with_phases(tokenizer.encode(rendered.text, /*add_special_tokens=*/false), rendered.prompt);
  probe.unknown_reason = rendered.unknown_reason;
  return probe;
}

void append_answer(ProbeTokens& probe, const std::vector<std::int32_t>& answer_ids) {
  probe.token_ids.insert(probe.token_ids.end(), answer_ids.begin(), answer_ids.end());
  probe.phases.insert(probe.phases.end(), answer_ids.size(), Phase::answer);
}

}  // namespace atlas
