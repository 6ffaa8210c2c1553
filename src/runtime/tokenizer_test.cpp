// Tokens, offsets, decoded texts and rendered conversations as transformers has them (testdata/tokenizers), and the phases drawn from them.
#include "runtime/tokenizer.h"

#include <gtest/gtest.h>

#include <fstream>

#include "runtime/golden_test_data.h"
#include "runtime/probe_tokens.h"

namespace atlas {
namespace {

namespace fs = std::filesystem;

fs::path tokenizers() { return fs::path(ATLAS_TESTDATA_DIR) / "tokenizers"; }
Json golden() { return read_json_file((tokenizers() / "golden.json").string()); }

void expect_encoded(const Json& expected, const Encoding& encoding) {
  EXPECT_EQ(encoding.ids, expected["ids"].get<std::vector<std::int32_t>>());
  Json offsets = Json::array();
  for (std::size_t i = 0; i < encoding.ids.size(); i++) offsets.push_back({encoding.begin_bytes[i], encoding.end_bytes[i]});
  EXPECT_EQ(offsets, expected["offsets_bytes"]);
}

TEST(TokenizerGoldens, texts_have_the_ids_offsets_and_decoded_forms_of_transformers) {
  const Tokenizer tokenizer(tokenizers() / "glm_like");
  const Json all = golden();
  EXPECT_EQ(tokenizer.vocab_size(), all["vocab_size"].get<std::size_t>());
  for (const auto& [token, id] : all["special_ids"].items()) EXPECT_EQ(tokenizer.token_id(token), id.get<std::int32_t>());
  EXPECT_EQ(tokenizer.token_id("no such token"), std::nullopt);
  ASSERT_GE(all["texts"].size(), 15U);
  for (const Json& text : all["texts"]) {
    SCOPED_TRACE(text["name"].get<std::string>());
    const Encoding encoding = tokenizer.encode(text["text"].get<std::string>(), true);
    expect_encoded(text, encoding);
    EXPECT_EQ(tokenizer.decode(encoding.ids, false), text["decoded"].get<std::string>());
    EXPECT_EQ(tokenizer.decode(encoding.ids, true), text["decoded_without_special"].get<std::string>());
  }
}

TEST(TokenizerGoldens, conversations_render_and_encode_as_in_transformers_and_refusals_keep_the_templates_words) {
  const Tokenizer tokenizer(tokenizers() / "glm_like");
  const Json all = golden();
  ASSERT_GE(all["chats"].size(), 20U);
  for (const Json& chat : all["chats"]) {
    SCOPED_TRACE(chat["name"].get<std::string>());
    Json arguments = chat["arguments"];
    arguments["messages"] = chat["messages"];
    arguments["add_generation_prompt"] = chat["add_generation_prompt"];
    if (chat.contains("error")) {
      try {
        tokenizer.render_chat_template(arguments);
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(chat["error"].get<std::string>()), std::string::npos) << error.what();
      }
      continue;
    }
    const std::string rendered = tokenizer.render_chat_template(arguments);
    EXPECT_EQ(rendered, chat["rendered"].get<std::string>());
    expect_encoded(chat, tokenizer.encode(rendered, false));
  }
}

std::string phase_letters(const ProbeTokens& probe) {
  std::string letters;
  for (const Phase phase : probe.phases) letters += phase_names[static_cast<std::size_t>(phase)][0];
  return letters;
}

TEST(ProbeTokensTest, the_templates_own_tokens_are_told_from_the_prompts) {
  const Tokenizer tokenizer(tokenizers() / "glm_like");
  const ProbeTokens probe = tokenise_prompt(tokenizer, "How many", true);
  // [gMASK] <sop> <|user|> \n | H o w _ m an y | <|assistant|> \n <think>
  EXPECT_EQ(tokenizer.decode(probe.token_ids, false), "[gMASK]<sop><|user|>\nHow many<|assistant|>\n<think>");
  const std::string letters = phase_letters(probe);
  EXPECT_EQ(letters.substr(0, 4), "tttt");
  EXPECT_EQ(letters.substr(letters.size() - 3), "ttt");
  EXPECT_EQ(letters.substr(4, letters.size() - 7), std::string(letters.size() - 7, 'p'));
  EXPECT_EQ(probe.unknown_reason, "");
}

TEST(ProbeTokensTest, without_a_template_every_token_is_the_prompts) {
  const Tokenizer tokenizer(tokenizers() / "glm_like");
  const ProbeTokens probe = tokenise_prompt(tokenizer, "one <|user|> é", false);
  EXPECT_EQ(phase_letters(probe), std::string(probe.token_ids.size(), 'p'));
}

TEST(ProbeTokensTest, the_last_token_of_an_answer_has_no_row) {
  const Tokenizer tokenizer(tokenizers() / "glm_like");
  ProbeTokens probe = tokenise_prompt(tokenizer, "ab", false);
  const std::size_t prompt_count = probe.token_ids.size();
  EXPECT_EQ(probe.row_count(), prompt_count);
  append_answer(probe, {});
  EXPECT_EQ(probe.row_count(), prompt_count);
  append_answer(probe, {7});
  EXPECT_EQ(probe.row_count(), prompt_count);
  append_answer(probe, {8, 9});
  EXPECT_EQ(probe.row_count(), prompt_count + 2);
  EXPECT_EQ(phase_letters(probe).substr(prompt_count), "aaa");
  EXPECT_EQ(probe.prompt_token_count, prompt_count);
}

// A folder with the golden tokenizer and another template.
fs::path folder_with_template(const std::string& source) {
  const fs::path folder = fresh_folder("template");
  fs::copy_file(tokenizers() / "glm_like" / "tokenizer.json", folder / "tokenizer.json");
  std::ofstream(folder / "chat_template.jinja") << source;
  return folder;
}

TEST(ProbeTokensTest, a_template_that_trims_the_prompt_is_followed) {
  const Tokenizer tokenizer(folder_with_template("<|user|>{{ messages[0].content.strip() }}<|assistant|>"));
  const ProbeTokens probe = tokenise_prompt(tokenizer, "  ab\n", true);
  EXPECT_EQ(tokenizer.decode(probe.token_ids, false), "<|user|>ab<|assistant|>");
  EXPECT_EQ(phase_letters(probe).front(), 't');
  EXPECT_EQ(phase_letters(probe).back(), 't');
  EXPECT_EQ(phase_letters(probe)[1], 'p');
}

TEST(ProbeTokensTest, where_template_and_prompt_cannot_be_told_apart_phases_are_unknown_with_the_reason) {
  const std::vector<std::pair<std::string, std::string>>
      templates{{"<|user|>{{ messages[0].content | upper }}", "prompt as it is"},
                {"{{ messages[0].content }}<|user|>{{ messages[0].content }}", "more than once"},
                {"{% if 'ab' in messages[0].content %}<sop>{% endif %}<|user|>{{ messages[0].content }}", "depends on the prompt"},
                {"<|user|>{{ messages[0].content | replace('b', 'x') }}", "changes the prompt"}};
  for (const auto& [source, reason] : templates) {
    const Tokenizer tokenizer(folder_with_template(source));
    const ProbeTokens probe = tokenise_prompt(tokenizer, "ab", true);
    EXPECT_EQ(phase_letters(probe), std::string(probe.token_ids.size(), 'u')) << source;
    EXPECT_NE(probe.unknown_reason.find(reason), std::string::npos) << probe.unknown_reason;
  }
}

TEST(TokenizerErrors, a_folder_without_tokenizer_or_with_a_damaged_one_is_refused) {
  const fs::path folder = fresh_folder("tokenizer");
  EXPECT_THROW(Tokenizer{folder}, Error);
  std::ofstream(folder / "tokenizer.json") << "{";
  EXPECT_THROW(Tokenizer{folder}, Error);
  fs::copy_file(tokenizers() / "glm_like" / "tokenizer.json", folder / "tokenizer.json", fs::copy_options::overwrite_existing);
  EXPECT_FALSE(Tokenizer(folder).has_chat_template());
  std::ofstream(folder / "tokenizer_config.json") << R"({"chat_template": [{"name": "tool_use", "template": "x"}]})";
  EXPECT_THROW(Tokenizer{folder}, Error);
  std::ofstream(folder / "tokenizer_config.json")
      << R"({"bos_token": {"content": "<b>"}, "chat_template": [{"name": "default", "template": "{{ bos_token }}y"}]})";
  EXPECT_EQ(Tokenizer(folder).render_chat_template(Json::object()), "<b>y");
}

}  // namespace
}  // namespace atlas
