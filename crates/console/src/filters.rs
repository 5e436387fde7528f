//! Filters of templates.

use crate::texts;
use bailiwick_web::Language;
use minijinja::{AutoEscape, Environment, Output, State, escape_formatter, value::Value};
use std::fmt;

/// Adds them all.
pub(crate) fn add(all: &mut Environment<'static>) {
    all.set_formatter(format);
    all.add_filter("num", num);
    all.add_filter("count", count);
    all.add_filter("fill", fill);
    all.add_filter("bytes", bytes);
}

/// Writes a value into a page. Like the engine's own, but slashes stay: every address is full of them.
fn format(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), minijinja::Error> {
    match value.as_str() {
        Some(text) if !value.is_safe() && matches!(state.auto_escape(), AutoEscape::Html) => {
            escape(out, text).map_err(minijinja::Error::from)
        }
        _ => escape_formatter(out, state, value),
    }
}

/// Text between tags or in a quoted attribute.
pub(crate) fn escape(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    for c in text.chars() {
        match c {
            '<' => out.write_str("&lt;")?,
            '>' => out.write_str("&gt;")?,
            '&' => out.write_str("&amp;")?,
            '"' => out.write_str("&quot;")?,
            '\'' => out.write_str("&#39;")?,
            c => out.write_char(c)?,
        }
    }
    Ok(())
}

/// A whole number with its thousands apart, as the language writes it.
#[expect(clippy::needless_pass_by_value, reason = "the engine hands values over")]
fn num(state: &State<'_, '_>, number: Value) -> String {
    texts::grouped(language(state), &number.to_string())
}

/// The text of a key that says a number: [`texts::count`].
#[expect(clippy::needless_pass_by_value, reason = "the engine hands values over")]
fn count(state: &State<'_, '_>, key: String, number: u64) -> String {
    texts::count(language(state), &key, number)
}

fn language(state: &State<'_, '_>) -> Language {
    let code = state.lookup("lang");
    code.as_ref().and_then(Value::as_str).and_then(Language::parse).unwrap_or(Language::English)
}

/// `{name}` in a text replaced, for each named argument.
fn fill(text: String, values: minijinja::value::Kwargs) -> Result<String, minijinja::Error> {
    let mut text = text;
    for name in values.args() {
        let value: Value = values.get(name)?;
        text = text.replace(&format!("{{{name}}}"), &value.to_string());
    }
    values.assert_all_used()?;
    Ok(text)
}

/// A size in the unit that keeps it short.
#[expect(clippy::needless_pass_by_value, reason = "the engine hands values over")]
fn bytes(size: Value) -> String {
    let size = size.as_i64().and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
    size_of(size)
}

/// `12.4 GiB`.
pub(crate) fn size_of(size: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let (mut whole, mut tenths) = (size, 0);
    while whole >= 1024 && unit + 1 < UNITS.len() {
        tenths = whole % 1024 * 10 / 1024;
        whole /= 1024;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    if unit == 0 || whole >= 100 { format!("{whole} {name}") } else { format!("{whole}.{tenths} {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_keeps_them_short() {
        assert_eq!(size_of(1536), "1.5 KiB");
        assert_eq!(size_of(12), "12 B");
        assert_eq!(size_of(16 * 1024 * 1024 * 1024), "16.0 GiB");
    }
}
