//! A raw document, folded: each object and list opens at a click, without a script.

use super::filters::escape;
use serde_json::Value;
use std::fmt::Write;

/// Documents up to this many bytes are folded; longer ones are shown as their text.
pub(crate) const FOLDED_UP_TO: usize = 512 * 1024;
/// Levels that are open at first.
const OPEN: usize = 2;
/// Levels that fold; what is deeper is written on one line.
const DEEPEST: usize = 12;

/// The document as HTML. Everything of it is escaped.
pub(crate) fn folded(document: &Value) -> String {
    let mut out = String::new();
    write(&mut out, None, document, 0);
    out
}

fn write(out: &mut String, key: Option<&str>, value: &Value, depth: usize) {
    let inner: Vec<(Option<&str>, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (Some(key.as_str()), value)).collect(),
        Value::Array(list) => list.iter().map(|value| (None, value)).collect(),
        _ => Vec::new(),
    };
    let (open, close) = if value.is_object() { ("{", "}") } else { ("[", "]") };
    if inner.is_empty() || depth >= DEEPEST {
        out.push_str("<div class=\"leaf\">");
        label(out, key);
        let kind = match value {
            Value::String(_) => "text",
            Value::Number(_) => "number",
            _ => "word",
        };
        // Writing to a text cannot fail.
        let _ = write!(out, "<span class=\"{kind}\">");
        let _ = escape(out, &value.to_string());
        out.push_str("</span></div>");
        return;
    }
    let state = if depth < OPEN { " open" } else { "" };
    let _ = write!(out, "<details{state}><summary>");
    label(out, key);
    let _ = write!(
        out,
        "<span class=\"count\">{open}{}{close}</span></summary><div class=\"nest\">",
        inner.len()
    );
    for (key, value) in inner {
        write(out, key, value, depth + 1);
    }
    out.push_str("</div></details>");
}

fn label(out: &mut String, key: Option<&str>) {
    if let Some(key) = key {
        out.push_str("<span class=\"key\">");
        let _ = escape(out, key);
        out.push_str("</span>: ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_document_holds_is_text_and_nothing_else() {
        let html = folded(&json!({"<script>": ["</details><b onclick='x'>", {"a": 1}, {}], "é": null}));
        assert!(!html.contains("<script") && !html.contains("<b "), "{html}");
        assert_eq!(html.matches("<details").count(), html.matches("</details>").count());
        assert_eq!(html.matches("<div").count(), html.matches("</div>").count());
    }
}
