// The tokenizer and chat template of a model folder, over the Rust crate in hf/. Filled from tokenizer.json, chat_template.jinja and
// tokenizer_config.json; used to turn probes into tokens and generated tokens into text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace atlas {

struct Encoding {
  std::vector<std::int32_t> ids;           // [token_count]
  std::vector<std::uint32_t> begin_bytes;  // [token_count], of the token's first byte in the text
  std::vector<std::uint32_t> end_bytes;    // [token_count], behind its last byte; equal to the begin for tokens that were added
};

class Tokenizer {
 public:
  // Throws Error if the folder has no tokenizer.json that can be read, or a chat template in a form that is not known.
  explicit Tokenizer(const std::filesystem::path& folder);

  // Special tokens that the text spells out are recognised, as in transformers; `add_special_tokens` adds the tokenizer's own.
  Encoding encode(std::string_view text, bool add_special_tokens) const;
  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const;
  std::size_t vocab_size() const;
  std::optional<std::int32_t> token_id(std::string_view token) const;

  bool has_chat_template() const { return chat_template_.has_value(); }
  // What transformers' apply_chat_template gives as text: the template sees `arguments` (messages, add_generation_prompt, ...) and the
  // special tokens of tokenizer_config.json. Throws Error with the template's own words where it refuses.
  std::string render_chat_template(const Json& arguments) const;

  std::string tokenizer_sha256() const;      // of the bytes of tokenizer.json
  std::string chat_template_sha256() const;  // of the template's text; "" without one

 private:
  struct FreeTokenizer {
    void operator()(void* tokenizer) const;
  };
  std::filesystem::path folder_;
  std::unique_ptr<void, FreeTokenizer> tokenizer_;
  std::optional<std::string> chat_template_;
  Json special_tokens_ = Json::object();  // bos_token, eos_token, ... -> text
};

}  // namespace atlas
