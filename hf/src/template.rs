//! Chat templates rendered as transformers' `apply_chat_template` renders them: jinja with trimmed blocks, Python's
//! string methods, `raise_exception`, loop controls, and a `tojson` that writes what Python's `json.dumps` writes.
//! `strftime_now` is left undefined on purpose: a date of today in the prompt would make two captures differ.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Value};

/// Renders `source` with the members of the JSON object `context` (messages, add_generation_prompt, bos_token, ...).
pub fn render_chat_template(source: &str, context: &str) -> Result<String, String> {
    let context: serde_json::Value =
        serde_json::from_str(context).map_err(|error| format!("template arguments are not JSON: {error}"))?;
    if !context.is_object() {
        return Err("template arguments must be one JSON object".into());
    }
    let source = replace_generation_tags(source);
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.add_filter("tojson", to_json);
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment
        .render_str(&source, Value::from_serialize(&context))
        .map_err(|error| format!("chat template: {error:#}"))
}

/// transformers marks the assistant's text with `{% generation %}` ... `{% endgeneration %}`, which print their body.
/// A block that always prints says the same, and keeps the whitespace control of the tag.
fn replace_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(begin) = rest.find("{%") {
        let Some(length) = rest[begin..].find("%}") else { break };
        let tag = &rest[begin + 2..begin + length];
        let name = tag.trim_matches(|c: char| c.is_whitespace() || c == '-' || c == '+');
        out.push_str(&rest[..begin + 2]);
        match name {
            "generation" => out.push_str(&tag.replacen("generation", "if true", 1)),
            "endgeneration" => out.push_str(&tag.replacen("endgeneration", "endif", 1)),
            _ => out.push_str(tag),
        }
        rest = &rest[begin + length..];
    }
    out.push_str(rest);
    out
}

/// How `json.dumps` was asked to write.
struct JsonStyle {
    ensure_ascii: bool,
    sort_keys: bool,
    indent: Option<usize>,
    item_separator: String,
    key_separator: String,
}

fn to_json(value: Value, kwargs: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = kwargs.get("indent")?;
    let separators: Option<Vec<String>> = kwargs.get("separators")?;
    let mut style = JsonStyle {
        ensure_ascii: kwargs.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        sort_keys: kwargs.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        item_separator: if indent.is_some() { "," } else { ", " }.into(),
        key_separator: ": ".into(),
        indent,
    };
    kwargs.assert_all_used()?;
    if let Some(pair) = separators {
        let [item, key] = <[String; 2]>::try_from(pair)
            .map_err(|_| Error::new(ErrorKind::InvalidOperation, "tojson: separators must be a pair"))?;
        (style.item_separator, style.key_separator) = (item, key);
    }
    let mut out = String::new();
    write_json(&value, &style, 0, &mut out)?;
    Ok(out)
}

fn write_json(value: &Value, style: &JsonStyle, depth: usize, out: &mut String) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Map => write_json_map(value, style, depth, out),
        ValueKind::Seq | ValueKind::Iterable => write_json_list(value, style, depth, out),
        ValueKind::String => {
            write_json_string(value.as_str().unwrap_or_default(), style.ensure_ascii, out);
            Ok(())
        }
        ValueKind::None | ValueKind::Bool | ValueKind::Number => {
            out.push_str(&serde_json::to_string(value).map_err(cannot_write)?);
            Ok(())
        }
        _ => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("tojson: a value of kind {} has no JSON form", value.kind()),
        )),
    }
}

fn cannot_write(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::BadSerialization, error.to_string())
}

fn write_json_map(map: &Value, style: &JsonStyle, depth: usize, out: &mut String) -> Result<(), Error> {
    let mut keys: Vec<Value> = map.try_iter()?.collect();
    if style.sort_keys {
        keys.sort();
    }
    out.push('{');
    for (i, key) in keys.iter().enumerate() {
        begin_json_item(i, style, depth + 1, out);
        write_json_string(&key.to_string(), style.ensure_ascii, out);
        out.push_str(&style.key_separator);
        write_json(&map.get_item(key)?, style, depth + 1, out)?;
    }
    end_json_items(keys.is_empty(), style, depth, out);
    out.push('}');
    Ok(())
}

fn write_json_list(list: &Value, style: &JsonStyle, depth: usize, out: &mut String) -> Result<(), Error> {
    let items: Vec<Value> = list.try_iter()?.collect();
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        begin_json_item(i, style, depth + 1, out);
        write_json(item, style, depth + 1, out)?;
    }
    end_json_items(items.is_empty(), style, depth, out);
    out.push(']');
    Ok(())
}

fn begin_json_item(i: usize, style: &JsonStyle, depth: usize, out: &mut String) {
    if i > 0 {
        out.push_str(&style.item_separator);
    }
    break_json_line(style, depth, out);
}

fn end_json_items(empty: bool, style: &JsonStyle, depth: usize, out: &mut String) {
    if !empty {
        break_json_line(style, depth, out);
    }
}

fn break_json_line(style: &JsonStyle, depth: usize, out: &mut String) {
    if let Some(width) = style.indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', width * depth));
    }
}

fn write_json_string(text: &str, ensure_ascii: bool, out: &mut String) {
    let quoted = serde_json::Value::from(text).to_string();
    if !ensure_ascii {
        out.push_str(&quoted);
        return;
    }
    for c in quoted.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            let mut units = [0u16; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::render_chat_template as render;

    #[test]
    fn a_template_sees_its_arguments_and_pythons_string_methods() {
        let template =
            "{% for m in messages %}\n<|{{ m.role }}|>{{ m['content'].strip().split('|')[-1] }}\n{% endfor %}";
        let context = r#"{"messages": [{"role": "user", "content": " a|b "}, {"role": "assistant", "content": "c"}]}"#;
        assert_eq!(render(template, context).unwrap(), "<|user|>b\n<|assistant|>c\n");
    }

    #[test]
    fn raise_exception_reports_the_templates_own_words() {
        let error = render("{{ raise_exception('no system role') }}", "{}").unwrap_err();
        assert!(error.contains("no system role"), "{error}");
    }

    // Expected text: Python 3.11, json.dumps(x, ensure_ascii=False) and the other settings named.
    #[test]
    fn tojson_writes_what_python_writes() {
        let context = r#"{"x": {"b": [1, 2.5, null, true], "a": "é<\u0001\"", "e": {}}}"#;
        assert_eq!(
            render("{{ x | tojson }}", context).unwrap(),
            r#"{"b": [1, 2.5, null, true], "a": "é<\u0001\"", "e": {}}"#
        );
        assert_eq!(
            render("{{ x | tojson(ensure_ascii=True, sort_keys=True) }}", context).unwrap(),
            r#"{"a": "\u00e9<\u0001\"", "b": [1, 2.5, null, true], "e": {}}"#
        );
        assert_eq!(render("{{ [1, {}] | tojson(indent=2) }}", "{}").unwrap(), "[\n  1,\n  {}\n]");
        assert_eq!(render("{{ [1, 2] | tojson(separators=(',', ':')) }}", "{}").unwrap(), "[1,2]");
        assert!(render("{{ 1 | tojson(colour=2) }}", "{}").is_err());
    }

    #[test]
    fn generation_blocks_print_their_body() {
        assert_eq!(render("a {%- generation -%} b {% endgeneration %}c", "{}").unwrap(), "ab c");
    }

    #[test]
    fn arguments_that_are_no_object_are_an_error() {
        assert!(render("x", "[1]").unwrap_err().contains("object"));
        assert!(render("x", "{").unwrap_err().contains("not JSON"));
    }

    #[test]
    fn the_macros_and_namespaces_of_glm_templates_work() {
        let template = "[gMASK]<sop>\n{%- macro visible_text(content) -%}{%- if content is string -%}{{- content }}\
            {%- elif content is iterable and content is not mapping -%}{%- for item in content -%}\
            {%- if item is mapping and item.type == 'text' -%}{{- item.text }}{%- endif -%}{%- endfor -%}{%- endif -%}\
            {%- endmacro -%}{%- set ns = namespace(last=-1) %}{%- for m in messages %}{% if m.role == 'user' -%}\
            {% set ns.last = loop.index0 -%}{%- endif %}{%- endfor %}{%- for m in messages -%}<|{{ m.role }}|>\
            {{ visible_text(m.content) }}{{ '/nothink' if ns.last == loop.index0 and not think is defined }}{%- endfor -%}\
            {%- if add_generation_prompt -%}<|assistant|>{%- endif -%}";
        let context = r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "add_generation_prompt": true}"#;
        assert_eq!(render(template, context).unwrap(), "[gMASK]<sop><|user|>hi/nothink<|assistant|>");
    }
}
