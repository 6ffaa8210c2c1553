#pragma once
// C interface of the Rust crate in hf/: Hugging Face tokenizers and chat templates. Written by hand to match
// hf/src/lib.rs; included by src/runtime/tokenizer.cpp only. Texts are UTF-8 and carry their length. A function that
// returns false or null has put a zero-terminated text at *error, to be freed with hf_error_free. Functions may be
// called from several threads; a tokenizer is constant after loading.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HfTokenizer hf_tokenizer;

typedef struct {
  uint32_t *ids;          // [count]
  uint32_t *begin_bytes;  // [count], offset of the token's first byte in the text; 0 for tokens that were added
  uint32_t *end_bytes;    // [count], offset behind the token's last byte; equal to begin_bytes for added tokens
  size_t count;
} hf_encoding;

// Reads a tokenizer.json. Padding and truncation of the file are switched off, as in transformers.
hf_tokenizer *hf_tokenizer_load(const char *path, char **error);
void hf_tokenizer_free(hf_tokenizer *tokenizer);

// Number of tokens, added tokens included.
size_t hf_tokenizer_vocab_size(const hf_tokenizer *tokenizer);

// Id of a token given as it is spelt in the vocabulary, or -1.
int64_t hf_tokenizer_token_id(const hf_tokenizer *tokenizer, const char *token, size_t token_bytes);

// Special tokens spelt out in the text are recognised; add_special_tokens also adds those of the post-processor.
bool hf_tokenizer_encode(const hf_tokenizer *tokenizer, const char *text, size_t text_bytes, bool add_special_tokens,
                         hf_encoding *out, char **error);
void hf_encoding_free(hf_encoding *encoding);

bool hf_tokenizer_decode(const hf_tokenizer *tokenizer, const uint32_t *ids, size_t count, bool skip_special_tokens,
                         char **out, size_t *out_bytes, char **error);

// Renders a chat template with the members of one JSON object: messages, add_generation_prompt, bos_token, ...
bool hf_chat_template_render(const char *source, size_t source_bytes, const char *context, size_t context_bytes,
                             char **out, size_t *out_bytes, char **error);

void hf_text_free(char *text, size_t text_bytes);
void hf_error_free(char *error);

#ifdef __cplusplus
}
#endif
