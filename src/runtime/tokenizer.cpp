// See tokenizer.h.
#include "runtime/tokenizer.h"

#include <expert_atlas_hf.h>

#include <utility>

#include "base/mapped_file.h"
#include "base/sha256.h"

namespace atlas {

namespace {

namespace fs = std::filesystem;

// Takes over the library's error text.
std::string taken(char* error) {
  std::string text = error != nullptr ? error : "no reason given";
  hf_error_free(error);
  return text;
}

std::string taken(char* text, std::size_t text_bytes) {
  std::string copy(text, text_bytes);
  hf_text_free(text, text_bytes);
  return copy;
}

// chat_template of tokenizer_config.json: a text, or a list of named ones of which "default" is meant.
std::optional<std::string> template_of(const Json& config, const std::string& where) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array()) {
    for (const Json& entry : *found)
      if (entry.is_object() && entry.value("name", Json()) == "default" && entry.value("template", Json()).is_string()) return entry["template"];
  }
  throw Error(Problem{where + ", chat_template", json_type_name(*found), "a text, or a list with a template named \"default\"", ""});
}

// The names and texts that transformers hands to every template.
Json special_tokens_of(const Json& config) {
  Json tokens = Json::object();
  for (const char* name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const auto found = config.find(name);
    if (found == config.end()) continue;
    if (found->is_string()) tokens[name] = *found;
    if (found->is_object() && found->value("content", Json()).is_string()) tokens[name] = (*found)["content"];
  }
  return tokens;
}

const hf_tokenizer* handle(const void* tokenizer) { return static_cast<const hf_tokenizer*>(tokenizer); }

}  // namespace

void Tokenizer::FreeTokenizer::operator()(void* tokenizer) const { hf_tokenizer_free(static_cast<hf_tokenizer*>(tokenizer)); }

Tokenizer::Tokenizer(const fs::path& folder) : folder_(folder) {
  const fs::path file = folder / "tokenizer.json", config_file = folder / "tokenizer_config.json", jinja = folder / "chat_template.jinja";
  if (!fs::exists(file)) throw Error(Problem{file.string(), "no file", "the model's tokenizer", "an incomplete download"});
  char* error = nullptr;
  tokenizer_.reset(hf_tokenizer_load(file.c_str(), &error));
  if (!tokenizer_) throw Error(Problem{file.string(), taken(error), "a tokenizer of Hugging Face's tokenizers library", ""});
  if (fs::exists(config_file)) {
    const Json config = read_json_file(config_file.string());
    if (!config.is_object()) throw Error(Problem{config_file.string(), json_type_name(config), "an object", ""});
    chat_template_ = template_of(config, config_file.string());
    special_tokens_ = special_tokens_of(config);
  }
  if (fs::exists(jinja)) chat_template_ = std::string(MappedFile(jinja).text());
}

Encoding Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  hf_encoding encoding{};
  char* error = nullptr;
  if (!hf_tokenizer_encode(handle(tokenizer_.get()), text.data(), text.size(), add_special_tokens, &encoding, &error))
    throw Error(Problem{(folder_ / "tokenizer.json").string(), taken(error), "a text that can be encoded", ""});
  Encoding result{{encoding.ids, encoding.ids + encoding.count},
                  {encoding.begin_bytes, encoding.begin_bytes + encoding.count},
                  {encoding.end_bytes, encoding.end_bytes + encoding.count}};
  hf_encoding_free(&encoding);
  return result;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const {
  const std::vector<std::uint32_t> unsigned_ids(ids.begin(), ids.end());
  char* text = nullptr;
  char* error = nullptr;
  std::size_t text_bytes = 0;
  if (!hf_tokenizer_decode(handle(tokenizer_.get()), unsigned_ids.data(), unsigned_ids.size(), skip_special_tokens, &text, &text_bytes, &error))
    throw Error(Problem{(folder_ / "tokenizer.json").string(), taken(error), "token ids that can be decoded", ""});
  return taken(text, text_bytes);
}

std::size_t Tokenizer::vocab_size() const { return hf_tokenizer_vocab_size(handle(tokenizer_.get())); }

std::optional<std::int32_t> Tokenizer::token_id(std::string_view token) const {
  const std::int64_t id = hf_tokenizer_token_id(handle(tokenizer_.get()), token.data(), token.size());
  return id < 0 ? std::nullopt : std::optional(static_cast<std::int32_t>(id));
}

std::string Tokenizer::render_chat_template(const Json& arguments) const {
  const std::string where = folder_.string() + ", chat template";
  if (!chat_template_) throw Error(Problem{where, "none", "chat_template.jinja, or chat_template in tokenizer_config.json", ""});
  Json context = special_tokens_;
  context.update(Json{{"tools", nullptr}, {"documents", nullptr}});  // transformers always defines them
  context.update(arguments);
  const std::string context_text = context.dump();
  char* text = nullptr;
  char* error = nullptr;
  std::size_t text_bytes = 0;
  if (!hf_chat_template_render(chat_template_->data(), chat_template_->size(), context_text.data(), context_text.size(), &text, &text_bytes, &error))
    throw Error(Problem{where, taken(error), "a template that renders", ""});
  return taken(text, text_bytes);
}

std::string Tokenizer::tokenizer_sha256() const { return sha256_hex(MappedFile(folder_ / "tokenizer.json").text()); }

std::string Tokenizer::chat_template_sha256() const { return chat_template_ ? sha256_hex(*chat_template_) : ""; }

}  // namespace atlas
