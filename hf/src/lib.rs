//! The C boundary of Expert Atlas to Hugging Face's tokenizers and to minijinja. Every function is described in
//! `expert_atlas_hf.h`, which src/runtime/tokenizer.cpp includes. No panic leaves this library: it becomes an error text.
//! Memory that a function hands out is given back to the free function that the header names.

mod template;

use std::ffi::{c_char, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::slice;

use tokenizers::Tokenizer;

/// Opaque to C.
pub struct HfTokenizer {
    tokenizer: Tokenizer,
}

/// Layout of `hf_encoding` in the header: three arrays of `count` entries.
#[repr(C)]
pub struct HfEncoding {
    ids: *mut u32,
    begin_bytes: *mut u32,
    end_bytes: *mut u32,
    count: usize,
}

/// Runs `work`, turns its error or panic into a C string at `error`, and says whether a result is there.
fn guard<T>(error: *mut *mut c_char, work: impl FnOnce() -> Result<T, String>) -> Option<T> {
    let message = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(result)) => return Some(result),
        Ok(Err(message)) => message,
        Err(panic) => format!("the tokenizer library failed: {}", panic_text(panic.as_ref())),
    };
    if !error.is_null() {
        unsafe { *error = to_c_string(message) };
    }
    None
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic without a message")
}

/// A C string ends at its first zero byte, so an error text that has one inside is shown with a mark instead.
fn to_c_string(text: String) -> *mut c_char {
    CString::new(text.replace('\0', "\u{fffd}")).expect("zero bytes were replaced").into_raw()
}

unsafe fn text_from(bytes: *const c_char, count: usize) -> Result<&'static str, String> {
    if bytes.is_null() && count > 0 {
        return Err("null text".into());
    }
    let bytes = if count == 0 { &[][..] } else { slice::from_raw_parts(bytes.cast::<u8>(), count) };
    std::str::from_utf8(bytes).map_err(|error| format!("text is not UTF-8: {error}"))
}

/// Hands a byte buffer to C: the text may hold zero bytes, so its length travels with it.
unsafe fn give_text(text: String, out: *mut *mut c_char, out_bytes: *mut usize) {
    *out_bytes = text.len();
    let boxed = text.into_bytes().into_boxed_slice();
    *out = Box::into_raw(boxed).cast::<c_char>();
}

fn give_array(values: Vec<u32>) -> *mut u32 {
    Box::into_raw(values.into_boxed_slice()).cast::<u32>()
}

unsafe fn take_array(values: *mut u32, count: usize) {
    if !values.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(values, count)));
    }
}

/// # Safety
/// `path` is a zero-terminated string, `error` null or writable.
#[no_mangle]
pub unsafe extern "C" fn hf_tokenizer_load(path: *const c_char, error: *mut *mut c_char) -> *mut HfTokenizer {
    let loaded = guard(error, || {
        let path = unsafe { CStr::from_ptr(path) }.to_str().map_err(|e| format!("path is not UTF-8: {e}"))?;
        let mut tokenizer = Tokenizer::from_file(path).map_err(|e| e.to_string())?;
        // transformers switches both off unless a call asks for them.
        tokenizer.with_padding(None).with_truncation(None).map_err(|e| e.to_string())?;
        Ok(HfTokenizer { tokenizer })
    });
    loaded.map_or(null_mut(), |tokenizer| Box::into_raw(Box::new(tokenizer)))
}

/// # Safety
/// `tokenizer` is null or comes from `hf_tokenizer_load` and is used no more.
#[no_mangle]
pub unsafe extern "C" fn hf_tokenizer_free(tokenizer: *mut HfTokenizer) {
    if !tokenizer.is_null() {
        drop(Box::from_raw(tokenizer));
    }
}

/// # Safety
/// `tokenizer` comes from `hf_tokenizer_load`.
#[no_mangle]
pub unsafe extern "C" fn hf_tokenizer_vocab_size(tokenizer: *const HfTokenizer) -> usize {
    (*tokenizer).tokenizer.get_vocab_size(true)
}

/// # Safety
/// `tokenizer` comes from `hf_tokenizer_load`, `token` has `token_bytes` bytes.
#[no_mangle]
pub unsafe extern "C" fn hf_tokenizer_token_id(
    tokenizer: *const HfTokenizer,
    token: *const c_char,
    token_bytes: usize,
) -> i64 {
    let found = guard(null_mut(), || {
        let token = unsafe { text_from(token, token_bytes) }?;
        Ok(unsafe { &*tokenizer }.tokenizer.token_to_id(token))
    });
    found.flatten().map_or(-1, i64::from)
}

/// # Safety
/// `tokenizer` comes from `hf_tokenizer_load`, `text` has `text_bytes` bytes, `out` is writable.
#[no_mangle]
pub unsafe extern "C" fn hf_tokenizer_encode(
    tokenizer: *const HfTokenizer,
    text: *const c_char,
    text_bytes: usize,
    add_special_tokens: bool,
    out: *mut HfEncoding,
    error: *mut *mut c_char,
) -> bool {
    let encoded = guard(error, || {
        let text = unsafe { text_from(text, text_bytes) }?;
        u32::try_from(text.len()).map_err(|_| format!("text of {} bytes is too long", text.len()))?;
        unsafe { &*tokenizer }.tokenizer.encode(text, add_special_tokens).map_err(|e| e.to_string())
    });
    let Some(encoding) = encoded else { return false };
    let (begins, ends) = encoding.get_offsets().iter().map(|&(begin, end)| (begin as u32, end as u32)).unzip();
    *out = HfEncoding {
        count: encoding.len(),
        ids: give_array(encoding.get_ids().to_vec()),
        begin_bytes: give_array(begins),
        end_bytes: give_array(ends),
    };
    true
}

/// # Safety
/// `encoding` was filled by `hf_tokenizer_encode` and not freed before.
#[no_mangle]
pub unsafe extern "C" fn hf_encoding_free(encoding: *mut HfEncoding) {
    let encoding = &mut *encoding;
    take_array(encoding.ids, encoding.count);
    take_array(encoding.begin_bytes, encoding.count);
    take_array(encoding.end_bytes, encoding.count);
    *encoding = HfEncoding { ids: null_mut(), begin_bytes: null_mut(), end_bytes: null_mut(), count: 0 };
}

/// # Safety
/// `tokenizer` comes from `hf_tokenizer_load`, `ids` has `count` entries, `out` and `out_bytes` are writable.
#[no_mangle]
pub unsafe extern "C" fn hf_tokenizer_decode(
    tokenizer: *const HfTokenizer,
    ids: *const u32,
    count: usize,
    skip_special_tokens: bool,
    out: *mut *mut c_char,
    out_bytes: *mut usize,
    error: *mut *mut c_char,
) -> bool {
    let decoded = guard(error, || {
        let ids = if count == 0 { &[][..] } else { unsafe { slice::from_raw_parts(ids, count) } };
        unsafe { &*tokenizer }.tokenizer.decode(ids, skip_special_tokens).map_err(|e| e.to_string())
    });
    decoded.map(|text| give_text(text, out, out_bytes)).is_some()
}

/// # Safety
/// `source` and `context` have as many bytes as said, `out` and `out_bytes` are writable.
#[no_mangle]
pub unsafe extern "C" fn hf_chat_template_render(
    source: *const c_char,
    source_bytes: usize,
    context: *const c_char,
    context_bytes: usize,
    out: *mut *mut c_char,
    out_bytes: *mut usize,
    error: *mut *mut c_char,
) -> bool {
    let rendered = guard(error, || {
        let source = unsafe { text_from(source, source_bytes) }?;
        let context = unsafe { text_from(context, context_bytes) }?;
        template::render_chat_template(source, context)
    });
    rendered.map(|text| give_text(text, out, out_bytes)).is_some()
}

/// # Safety
/// `text` and `text_bytes` were handed out together by a function above.
#[no_mangle]
pub unsafe extern "C" fn hf_text_free(text: *mut c_char, text_bytes: usize) {
    if !text.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(text.cast::<u8>(), text_bytes)));
    }
}

/// # Safety
/// `error` is null or an error text handed out by a function above.
#[no_mangle]
pub unsafe extern "C" fn hf_error_free(error: *mut c_char) {
    if !error.is_null() {
        drop(CString::from_raw(error));
    }
}

#[cfg(test)]
mod tests;
