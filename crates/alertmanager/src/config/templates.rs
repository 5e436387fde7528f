//! The message templates that are uploaded with a document (spec: alert-delivery#generated-configuration). They use
//! only functions that every Alertmanager since 0.25 has. Newer functions for times are not among them, so the offsets
//! of the time zone are written out.
//!
//! The files in `templates/` are the templates of all languages: `@lang@`, `@state@` and the words of `texts.json` are
//! filled in here, and a line that begins with `@each@` is repeated (with the lines that continue it) for every display
//! value.

use crate::{
    notify::link,
    receivers::{Recipient as _, for_each_kind},
    texts::{Language, Offset, SHOWN, Surroundings, Zone, word},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

const DISPATCHER: &str = include_str!("../../templates/dispatcher.tmpl");
const ALERT_TXT: &str = include_str!("../../templates/alert.txt");
const ALERT_HTML: &str = include_str!("../../templates/alert.html");

/// What replaces `@visible@`: the text without characters that steer, as [`visible`](crate::notify::text::visible) does
/// it.
const VISIBLE: &str = r#"reReplaceAll "\r\n" "\n" | reReplaceAll "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x{9f}\\x{61c}\\x{200e}\\x{200f}\\x{2028}-\\x{202e}\\x{2066}-\\x{2069}]" "\ufffd""#;
/// What replaces `@line@`: the text on [one line](bailiwick_domain::fold::one_line).
const LINE: &str = r#"reReplaceAll "[\\s\\pZ\\x00-\\x1f\\x7f-\\x{9f}\\x{61c}\\x{200e}\\x{200f}\\x{202a}-\\x{202e}\\x{2066}-\\x{2069}]+" " " | reReplaceAll "^ | $" """#;

/// The template files for these languages; none for none.
pub(super) fn files(languages: &BTreeSet<Language>, around: &Surroundings) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    if languages.is_empty() {
        return files;
    }
    let mut dispatcher = String::new();
    for language in languages {
        let fill = |template, state| filled(template, *language, state, around);
        let code = language.code();
        dispatcher.push_str(&fill(DISPATCHER, "firing"));
        for state in ["firing", "resolved"] {
            files.insert(format!("{state}_{code}.html"), fill(ALERT_HTML, state));
            files.insert(format!("{state}_{code}.txt"), fill(ALERT_TXT, state));
        }
        for_each_kind!(R => if let Some((name, text)) = R::TEMPLATE {
            files.insert(format!("{name}_{code}.tmpl"), fill(text, "firing"));
        });
    }
    files.insert("_dispatcher.tmpl".to_owned(), dispatcher);
    files.insert("_datetime.tmpl".to_owned(), datetime(&around.zone));
    files
}

fn filled(template: &str, language: Language, state: &str, around: &Surroundings) -> String {
    let word = |key: &str| word(language, key);
    let mut out = repeated(template, word)
        .replace("@visible@", VISIBLE)
        .replace("@line@", LINE)
        .replace("@lang@", language.code())
        .replace("@state@", state)
        .replace("@heading@", word(state))
        .replace("@colour@", if state == "firing" { "#c0392b" } else { "#1e8449" });
    for key in ["is_firing", "is_resolved", "severity", "starts", "ends"] {
        out = out.replace(&format!("@{key}@"), word(key));
    }
    let pages = &around.pages;
    let base = constant(pages.base());
    let escaped = |shown: &str| format!("{{{{ template \"slack_{}.escaped\" {shown} }}}}", language.code());
    out.replace("@open@", word(link::word_key(pages)))
        .replace("@link@", &link::template(pages, &base, |shown| format!("{{{{ {shown} }}}}")))
        .replace("@slack_link@", &link::template(pages, &base, escaped))
}

/// Writes the lines with `@each@` out for every display value.
fn repeated<'w>(template: &str, word: impl Fn(&str) -> &'w str) -> String {
    let mut out = String::with_capacity(template.len() * 2);
    let mut block: Vec<&str> = Vec::new();
    let write_block = |block: &mut Vec<&str>, out: &mut String| {
        for name in SHOWN.iter().filter(|_| !block.is_empty()) {
            for line in block.iter() {
                out.push_str(&line.replace("@name@", name).replace("@word@", word(name)));
                out.push('\n');
            }
        }
        block.clear();
    };
    for line in template.lines() {
        match line.strip_prefix("@each@") {
            Some(line) => block.push(line),
            None => {
                write_block(&mut block, &mut out);
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    write_block(&mut block, &mut out);
    out
}

/// A text as a constant of the template language, with any characters escaped.
fn constant(text: &str) -> String {
    Value::from(text).to_string()
}

/// `ts_en`, `ts_it` in the time zone, `ts_utc`.
fn datetime(zone: &Zone) -> String {
    let mut out = String::new();
    for (language, layout) in [("en", "02 Jan 2006 15:04"), ("it", "02/01/2006 15:04")] {
        let shown = |offset: &Offset| {
            let nanos = offset.seconds.saturating_mul(1_000_000_000);
            format!("{{{{ (.UTC.Add {nanos}).Format \"{layout}\" }}}} {}", offset.name)
        };
        let mut branches = String::new();
        for (offset, spans) in &zone.others {
            let spans: Vec<String> = spans
                .iter()
                .map(|(from, until)| format!("(and (ge .Unix {from}) (lt .Unix {until}))"))
                .collect();
            // `or` takes one argument and more.
            let _ = write!(branches, "{{{{ if or {} }}}}{}{{{{ else }}}}", spans.join(" "), shown(offset));
        }
        let ends = "{{ end }}".repeat(zone.others.len());
        let _ = writeln!(
            out,
            "{{{{ define \"ts_{language}\" }}}}{branches}{}{ends}{{{{ end }}}}",
            shown(&zone.base)
        );
    }
    out.push_str("{{ define \"ts_utc\" }}{{ .UTC.Format \"2006-01-02T15:04:05Z\" }}{{ end }}\n");
    out
}
