//! Messages for people: e-mail and Telegram (spec: alert-delivery#generated-configuration,
//! alert-delivery#mail-and-telegram). Their content equals that of the templates for remote routers, in the same words;
//! a test has an Alertmanager render both.

use super::{Message, Taken, link};
use crate::{
    Labels, Nanos,
    texts::{Language, SHOWN, Surroundings, word},
};
use bailiwick_domain::{fold::one_line, visible::is_steering};
use std::borrow::Cow;

/// Longest subject, in characters: a mail's header must not grow with a label.
const SUBJECT_CHARS: usize = 250;
/// A mail lists no further alert beyond this many bytes: relays refuse large mails for good, so a large group would
/// notify no recipient at all.
const MAIL_BYTES: usize = 128 * 1024;
/// The shown parts of one alert: everything a layout needs, as plain text.
pub(crate) struct ShownAlert<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) severity: Cow<'a, str>,
    pub(crate) state: &'static str,
    /// The display values with their words, then the times.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) summary: Cow<'a, str>,
    pub(crate) description: Cow<'a, str>,
    pub(crate) link: Option<String>,
    /// The words of the link.
    pub(crate) open: &'static str,
}

impl Message<'_> {
    /// The subject of a mail: one line.
    pub fn subject(&self) -> String {
        let firing = self.snapshot.alerts.iter().filter(|a| !a.is_resolved).count();
        let head = if firing > 0 { format!("[FIRING:{firing}]") } else { "[RESOLVED]".to_owned() };
        let (labels, annotations) = (self.common_labels(), self.common_annotations());
        let system = annotations.get("system_name").unwrap_or_else(|| labels.value("system_key"));
        let line = format!("{head} {} {system}", labels.value("alertname"));
        cut(&one_line(&line), SUBJECT_CHARS)
    }

    /// The text of a mail.
    pub fn text(&self, language: Language, around: &Surroundings) -> String {
        let mut out = format!("{}\n", word(language, self.heading()));
        for (count, taken) in self.snapshot.alerts.iter().enumerate() {
            if out.len() > MAIL_BYTES {
                out.push_str(&format!("\n{}\n", self.others(count, language)));
                break;
            }
            let shown = ShownAlert::of(taken, language, around);
            out.push_str(&format!("\n{} ({}, {})\n", shown.name, shown.severity, shown.state));
            for text in [&shown.summary, &shown.description].into_iter().filter(|t| !t.is_empty()) {
                out.push_str(text);
                out.push('\n');
            }
            for (word, value) in &shown.facts {
                out.push_str(&format!("{word}: {value}\n"));
            }
            if let Some(link) = &shown.link {
                out.push_str(link);
                out.push('\n');
            }
        }
        out
    }

    /// The message as HTML.
    pub fn html(&self, language: Language, around: &Surroundings) -> String {
        let heading = word(language, self.heading());
        let colour = if self.snapshot.is_firing() { "#c0392b" } else { "#1e8449" };
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"{}\">\n<head><meta charset=\"utf-8\"><title>{heading}</title></head>\n\
             <body style=\"margin:0;padding:16px;font-family:sans-serif;font-size:14px;color:#1f2933;background:#f5f7fa\">\n\
             <h1 style=\"font-size:18px;color:{colour}\">{heading}</h1>\n",
            language.code()
        );
        for (count, taken) in self.snapshot.alerts.iter().enumerate() {
            if out.len() > MAIL_BYTES {
                out.push_str(&format!("<p>{}</p>\n", escaped(&self.others(count, language))));
                break;
            }
            let shown = ShownAlert::of(taken, language, around);
            out.push_str(&format!(
                "<div style=\"margin:0 0 16px;padding:12px 16px;background:#ffffff;border-left:4px solid {colour}\">\n\
                 <h2 style=\"margin:0 0 8px;font-size:16px\">{}</h2>\n",
                escaped(&shown.name)
            ));
            if !shown.summary.is_empty() {
                let summary = escaped(&shown.summary);
                out.push_str(&format!("<p style=\"margin:0 0 8px\"><strong>{summary}</strong></p>\n"));
            }
            if !shown.description.is_empty() {
                out.push_str(&format!("<p style=\"margin:0 0 8px\">{}</p>\n", escaped(&shown.description)));
            }
            out.push_str("<table style=\"border-collapse:collapse\">\n");
            let severity = format!("{} ({})", shown.severity, shown.state);
            let all = std::iter::once((word(language, "severity"), &severity))
                .chain(shown.facts.iter().map(|(word, value)| (*word, value)));
            for (word, value) in all {
                let (word, value) = (escaped(word), escaped(value));
                out.push_str(&format!(
                    "<tr><td style=\"padding:2px 12px 2px 0\">{word}</td><td>{value}</td></tr>\n"
                ));
            }
            out.push_str("</table>\n");
            if let Some(link) = &shown.link {
                let (link, open) = (escaped(link), escaped(shown.open));
                out.push_str(&format!("<p style=\"margin:8px 0 0\"><a href=\"{link}\">{open}</a></p>\n"));
            }
            out.push_str("</div>\n");
        }
        out.push_str("</body>\n</html>\n");
        out
    }

    /// A message to a chat: all alerts, as far as they fit.
    pub(crate) fn chat(
        &self,
        language: Language,
        around: &Surroundings,
        mut out: BoundedText,
        markup: &Markup,
    ) -> String {
        let Markup { firing, resolved, bold: [bold, end_of_bold], link: [link, behind_url, end_of_link] } =
            markup;
        for alert in &self.snapshot.alerts {
            let shown = ShownAlert::of(alert, language, around);
            let mark = if alert.is_resolved { resolved } else { firing };
            let tail = format!(" ({}, {})", shown.severity, shown.state);
            let is_whole = out.tagged(bold, &format!("{mark}{}", shown.name), end_of_bold) && out.line(&tail);
            let mut fits = is_whole;
            for text in [&shown.summary, &shown.description].into_iter().filter(|t| !t.is_empty()) {
                fits = fits && out.line(text);
            }
            for (word, value) in &shown.facts {
                fits = fits && out.line(&format!("{word}: {value}"));
            }
            if let Some(url) = &shown.link {
                let open = format!("{link}{}{behind_url}", escaped_by(url, out.escape));
                fits = fits && out.tagged(&open, shown.open, end_of_link) && out.line("");
            }
            if !(fits && out.line("")) {
                break;
            }
        }
        out.finish()
    }

    /// The number of alerts that a mail leaves out.
    pub(crate) fn others(&self, count: usize, language: Language) -> String {
        format!("{}: {}", word(language, "others"), self.snapshot.alerts.len() - count)
    }

    fn heading(&self) -> &'static str {
        if self.snapshot.is_firing() { "firing" } else { "resolved" }
    }
}

impl<'a> ShownAlert<'a> {
    pub(crate) fn of(taken: &'a Taken, language: Language, around: &Surroundings) -> ShownAlert<'a> {
        let (labels, annotations) = (&taken.alert.labels, &taken.alert.annotations);
        let mut facts: Vec<(&'static str, String)> = SHOWN
            .iter()
            .filter_map(|name| Some((word(language, name), visible(annotations.get(name)?).into_owned())))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        let shown_time = |time: Nanos| time_in(time, language, around);
        facts.push((word(language, "starts"), shown_time(taken.alert.starts_at)));
        if taken.is_resolved {
            facts.push((word(language, "ends"), shown_time(taken.alert.ends_at)));
        }
        let severity = labels.get("severity").unwrap_or("info");
        ShownAlert {
            name: visible(labels.value("alertname")),
            severity: visible(severity),
            state: word(language, if taken.is_resolved { "is_resolved" } else { "is_firing" }),
            facts,
            summary: visible(in_language(annotations, "summary", language)),
            description: visible(in_language(annotations, "description", language)),
            link: link::of(&around.pages, taken),
            open: word(language, link::word_key(&around.pages)),
        }
    }
}

/// The text with U+FFFD for each character that leads to other places or directions, but line breaks and tabs: a mail
/// program, a terminal or a chat may obey it.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| is_steering(c) && !matches!(c, '\n' | '\t');
    if text.contains(is_hidden) {
        Cow::Owned(text.replace("\r\n", "\n").replace(is_hidden, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// `summary_it`, else `summary`, else `summary_en`.
fn in_language<'a>(annotations: &'a Labels, name: &str, language: Language) -> &'a str {
    let own = format!("{name}_{}", language.code());
    let english = format!("{name}_en");
    [own.as_str(), name, &english]
        .into_iter()
        .filter_map(|key| annotations.get(key))
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

/// `20 Nov 2026 23:19 CET`, `20/11/2026 23:19 CET`.
fn time_in(at: Nanos, language: Language, around: &Surroundings) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let offset = around.zone.at(at.secs());
    let local = Nanos::from_parts(at.secs().saturating_add(offset.seconds), 0).exact();
    let part = |range| local.get(range).unwrap_or_default();
    let (year, month, day, time) = (part(0..4), part(5..7), part(8..10), part(11..16));
    match language {
        Language::English => {
            let name = month.parse().ok().and_then(|m: usize| MONTHS.get(m.checked_sub(1)?));
            format!("{day} {} {year} {time} {}", name.copied().unwrap_or_default(), offset.name)
        }
        Language::Italian => format!("{day}/{month}/{year} {time} {}", offset.name),
    }
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars - 1).chain(['…']).collect(),
    }
}

pub(crate) const fn entity(c: char) -> Option<&'static str> {
    Some(match c {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '"' => "&quot;",
        '\'' => "&#39;",
        '\0' => "\u{fffd}",
        _ => return None,
    })
}

pub(crate) fn escaped(text: &str) -> String {
    escaped_by(text, entity)
}

/// A text with its characters escaped.
pub(crate) fn escaped_by(text: &str, escape: fn(char) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match escape(c) {
            Some(entity) => out.push_str(entity),
            None => out.push(c),
        }
    }
    out
}

/// How a chat writes what is not plain text.
pub(crate) struct Markup {
    /// In front of the name of an alert that fires.
    pub(crate) firing: &'static str,
    /// In front of the name of an alert that is resolved.
    pub(crate) resolved: &'static str,
    /// Around bold text.
    pub(crate) bold: [&'static str; 2],
    /// Before the address of a link, between it and its text, and after that.
    pub(crate) link: [&'static str; 3],
}

/// A text of a bounded length, in which some characters are escaped. Each method returns whether its text fitted.
pub(crate) struct BoundedText {
    text: String,
    /// Characters that still fit.
    left: usize,
    escape: fn(char) -> Option<&'static str>,
}

impl BoundedText {
    /// `most`: in characters. `escape`: what is written for a character.
    pub(crate) const fn new(most: usize, escape: fn(char) -> Option<&'static str>) -> BoundedText {
        BoundedText { text: String::new(), left: most, escape }
    }

    /// The text without spaces and empty lines at its end.
    pub(crate) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text
    }

    /// Plain text and the end of the line.
    pub(crate) fn line(&mut self, text: &str) -> bool {
        self.plain(text) && self.raw("\n")
    }

    /// Plain text between two marks; the closing one always fits.
    pub(crate) fn tagged(&mut self, open: &str, text: &str, close: &str) -> bool {
        let marks = open.chars().count() + close.chars().count();
        if self.left < marks {
            self.left = 0;
            return false;
        }
        self.left -= close.chars().count();
        let fits = self.raw(open) && self.plain(text);
        self.text.push_str(close);
        fits
    }

    fn plain(&mut self, text: &str) -> bool {
        let mut single = [0; 4];
        text.chars().all(|c| {
            let piece = (self.escape)(c).unwrap_or_else(|| c.encode_utf8(&mut single));
            self.raw(piece)
        })
    }

    fn raw(&mut self, piece: &str) -> bool {
        let chars = piece.chars().count();
        let fits = chars <= self.left;
        if fits {
            self.text.push_str(piece);
            self.left -= chars;
        } else {
            self.left = 0;
        }
        fits
    }
}
