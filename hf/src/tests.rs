//! Tests of the C boundary through its own functions, on a small byte-level BPE written here.

use super::*;
use std::path::PathBuf;

/// Byte-level BPE with GLM-4's split expression (it has a lookahead), three merges and one special token.
fn write_tokenizer(name: &str) -> PathBuf {
    let mut vocabulary = serde_json::Map::new();
    for c in ["a", "b", "c", "Ġ", "1", "2", "3", "4", "Ã", "©", "ab", "Ġab", "12"] {
        vocabulary.insert(c.into(), vocabulary.len().into());
    }
    let file = serde_json::json!({
        "version": "1.0", "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
        "padding": null, "normalizer": null,
        "added_tokens": [{"id": 13, "content": "<|user|>", "single_word": false, "lstrip": false, "rstrip": false,
                          "normalized": false, "special": true}],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": concat!(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
                                                          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")},
             "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|user|>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}},
            {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<|user|>": {"id": "<|user|>", "ids": [13], "tokens": ["<|user|>"]}}},
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                  "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                  "vocab": vocabulary, "merges": [["a", "b"], ["Ġ", "ab"], ["1", "2"]]}});
    let path = std::env::temp_dir().join(format!("expert-atlas-hf-{}-{name}.json", std::process::id()));
    std::fs::write(&path, file.to_string()).unwrap();
    path
}

fn load(path: &std::path::Path) -> Result<*mut HfTokenizer, String> {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let mut error = null_mut();
    let tokenizer = unsafe { hf_tokenizer_load(path.as_ptr(), &mut error) };
    if tokenizer.is_null() {
        Err(take_error(error))
    } else {
        Ok(tokenizer)
    }
}

fn take_error(error: *mut c_char) -> String {
    let text = unsafe { CStr::from_ptr(error) }.to_str().unwrap().to_owned();
    unsafe { hf_error_free(error) };
    text
}

fn encode(tokenizer: *const HfTokenizer, text: &[u8], special: bool) -> Result<Vec<(u32, u32, u32)>, String> {
    let mut out = HfEncoding { ids: null_mut(), begin_bytes: null_mut(), end_bytes: null_mut(), count: 0 };
    let mut error = null_mut();
    unsafe {
        if !hf_tokenizer_encode(tokenizer, text.as_ptr().cast(), text.len(), special, &mut out, &mut error) {
            return Err(take_error(error));
        }
        let rows = (0..out.count).map(|i| (*out.ids.add(i), *out.begin_bytes.add(i), *out.end_bytes.add(i))).collect();
        hf_encoding_free(&mut out);
        assert!(out.ids.is_null() && out.count == 0);
        Ok(rows)
    }
}

#[test]
fn encoding_gives_ids_and_byte_offsets_and_knows_special_tokens() {
    let path = write_tokenizer("encode");
    let tokenizer = load(&path).unwrap();
    // "ab" | special | " ab" | é as its two bytes with the offsets of the whole character | "123" split 12 + 3 | "4"
    let rows = encode(tokenizer, "ab<|user|> abé1234".as_bytes(), false).unwrap();
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), [10, 13, 11, 8, 9, 12, 6, 7]);
    assert_eq!(rows[1], (13, 2, 10));
    assert_eq!(rows[2].2, 13);
    assert_eq!((rows[3].1, rows[3].2, rows[5].1), (13, 15, 15));
    assert_eq!(encode(tokenizer, b"a", true).unwrap(), [(13, 0, 0), (0, 0, 1)]);
    assert_eq!(encode(tokenizer, b"", false).unwrap(), []);
    unsafe {
        assert_eq!(hf_tokenizer_vocab_size(tokenizer), 14);
        assert_eq!(hf_tokenizer_token_id(tokenizer, c"<|user|>".as_ptr(), 8), 13);
        assert_eq!(hf_tokenizer_token_id(tokenizer, c"none".as_ptr(), 4), -1);
        hf_tokenizer_free(tokenizer);
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn decoding_gives_the_text_with_or_without_special_tokens() {
    let path = write_tokenizer("decode");
    let tokenizer = load(&path).unwrap();
    for (skip, expected) in [(false, "<|user|> abé"), (true, " abé")] {
        let (mut out, mut bytes, mut error) = (null_mut(), 0, null_mut());
        let ids = [13u32, 11, 8, 9];
        unsafe {
            assert!(hf_tokenizer_decode(tokenizer, ids.as_ptr(), 4, skip, &mut out, &mut bytes, &mut error));
            assert_eq!(text_from(out, bytes).unwrap(), expected);
            hf_text_free(out, bytes);
        }
    }
    unsafe { hf_tokenizer_free(tokenizer) };
    std::fs::remove_file(path).unwrap();
}

#[test]
fn faults_come_back_as_texts() {
    assert!(load(std::path::Path::new("/no/such/tokenizer.json")).is_err());
    let path = write_tokenizer("faults");
    let tokenizer = load(&path).unwrap();
    assert!(encode(tokenizer, b"\xff", false).unwrap_err().contains("UTF-8"));
    unsafe { hf_tokenizer_free(tokenizer) };
    std::fs::write(&path, "{").unwrap();
    assert!(load(&path).is_err());
    std::fs::remove_file(path).unwrap();

    let mut error = null_mut();
    let nothing: Option<()> = guard(&mut error, || panic!("lost {}", 1));
    assert!(nothing.is_none());
    assert_eq!(take_error(error), "the tokenizer library failed: lost 1");
}

#[test]
fn templates_render_through_the_boundary() {
    let (source, context) = ("{{ a }}!", r#"{"a": "x"}"#);
    let (mut out, mut bytes, mut error) = (null_mut(), 0, null_mut());
    unsafe {
        assert!(hf_chat_template_render(
            source.as_ptr().cast(),
            source.len(),
            context.as_ptr().cast(),
            context.len(),
            &mut out,
            &mut bytes,
            &mut error
        ));
        assert_eq!(text_from(out, bytes).unwrap(), "x!");
        hf_text_free(out, bytes);
        assert!(!hf_chat_template_render(
            "{% if".as_ptr().cast(),
            5,
            context.as_ptr().cast(),
            context.len(),
            &mut out,
            &mut bytes,
            &mut error
        ));
    }
    assert!(take_error(error).starts_with("chat template: "));
}
