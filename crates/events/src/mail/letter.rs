//! The texts of mails. They are in `templates/mail/texts.json`, one object for each language; the two layouts (text and
//! HTML) serve all mails, so both forms of a mail always have the same content.
//!
//! A text is filled in as plain text first; the HTML layout then escapes all of it. To add a mail, add an object of the
//! same shape in both languages and its name in [`MailKind`].

use bailiwick_domain::{Error, Language, Organization, Result, Ts, visible::is_steering};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, value::Serde};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

static TEXTS: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../templates/mail/texts.json")).unwrap_or_default()
});

static LAYOUTS: LazyLock<Environment<'static>> =
    LazyLock::new(|| {
        let mut all = Environment::new();
        // A misspelled name in a text is an error, which the test that renders all texts finds.
        all.set_undefined_behavior(UndefinedBehavior::Strict);
        all.set_auto_escape_callback(|name| {
            if name.ends_with(".html") { AutoEscape::Html } else { AutoEscape::None }
        });
        for (name, text) in [
            ("mail.html", include_str!("../../templates/mail/mail.html")),
            ("mail.txt", include_str!("../../templates/mail/mail.txt")),
        ] {
            if let Err(error) = all.add_template(name, text) {
                tracing::error!(%error, name, "a mail template cannot be read");
            }
        }
        all
    });

/// Which mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailKind {
    /// A new account with its password.
    Welcome,
    /// A new account of a user who signs in at an external provider.
    WelcomeElsewhere,
    /// A new account that the service made at an external provider, with its password.
    WelcomeAtProvider,
    /// The link to a new password.
    PasswordLink,
    /// The address of an account was changed.
    AddressChanged,
    /// A second factor was added.
    SecondFactorAdded,
    /// A recovery code was used.
    RecoveryCodeUsed,
    /// All second factors were removed.
    SecondFactorsReset,
    /// The link that confirms a changed address.
    AddressLink,
}

impl MailKind {
    const fn key(self) -> &'static str {
        match self {
            MailKind::Welcome => "welcome",
            MailKind::WelcomeElsewhere => "welcome_elsewhere",
            MailKind::WelcomeAtProvider => "welcome_at_provider",
            MailKind::PasswordLink => "password_link",
            MailKind::AddressChanged => "address_changed",
            MailKind::SecondFactorAdded => "second_factor_added",
            MailKind::RecoveryCodeUsed => "recovery_code_used",
            MailKind::SecondFactorsReset => "second_factors_reset",
            MailKind::AddressLink => "address_link",
        }
    }
}

/// The language of an organization's mails: `custom_data.language` if it is one, else the default (spec: users#create).
pub fn language_of(organization: &Organization, default: Language) -> Language {
    let code = organization.custom_data.get("language").and_then(Value::as_str);
    code.and_then(|code| Language::parse(&code.trim().to_ascii_lowercase())).unwrap_or(default)
}

/// The word for a level of the tree.
pub fn word_of(language: Language, org_type: &str) -> &'static str {
    TEXTS[language.code()]["types"][org_type].as_str().unwrap_or_default()
}

/// A mail, filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filled {
    pub subject: String,
    /// As text.
    pub text: String,
    /// As HTML.
    pub html: String,
}

/// Fills a mail in. `link` is the target of its button.
pub fn fill(
    kind: MailKind,
    language: Language,
    values: &Map<String, Value>,
    link: Option<&str>,
) -> Result<Filled> {
    let all = &TEXTS[language.code()];
    let texts = &all[kind.key()];
    // A user's name is part of a line, whatever characters it has.
    let plain: Map<String, Value> =
        values.iter().map(|(key, value)| (key.clone(), value.as_str().map_or(json!(""), clean))).collect();
    let mut values = plain.clone();
    for name in WRITTEN {
        if let Some(Value::String(text)) = values.get_mut(name) {
            *text = unlinked(text);
        }
    }
    let with = |text: &Value, values: &Map<String, Value>| -> Result<Value> {
        let rendered = LAYOUTS.render_str(text.as_str().unwrap_or_default(), Serde(values));
        rendered.map(Value::String).map_err(Error::internal)
    };
    let one = |text: &Value| with(text, &values);
    let many = |texts: &Value| -> Result<Value> {
        texts.as_array().into_iter().flatten().map(&one).collect::<Result<Vec<_>>>().map(Value::Array)
    };
    let facts = texts["facts"].as_array().into_iter().flatten().map(&many).collect::<Result<Vec<_>>>()?;
    let context = json!({
        "lang": language.code(),
        // Programs make no links in a subject.
        "subject": with(&texts["subject"], &plain)?,
        "title": one(&texts["title"])?,
        "paragraphs": many(&texts["paragraphs"])?,
        "facts": facts,
        "secret": many(&texts["secret"])?,
        "button": one(&texts["button"])?,
        "link": link,
        "by_hand": one(&all["by_hand"])?,
        "notes": many(&texts["notes"])?,
        "support": one(&all["support"])?,
        "footer": one(&all["footer"])?,
    });
    let layout = |name| -> Result<String> {
        let filled = LAYOUTS.get_template(name).and_then(|layout| layout.render(Serde(&context)));
        filled.map_err(Error::internal)
    };
    Ok(Filled {
        subject: context["subject"].as_str().unwrap_or_default().to_owned(),
        text: layout("mail.txt")?,
        html: layout("mail.html")?,
    })
}

/// The values that people write as they like.
const WRITTEN: [&str; 2] = ["name", "organization"];
/// The most characters of such a value in a mail.
const WRITTEN_CHARS: usize = 64;

fn clean(text: &str) -> Value {
    let spaced: String = text.chars().map(|c| if is_steering(c) { ' ' } else { c }).collect();
    Value::String(spaced.trim().to_owned())
}

/// A name as a mail shows it: short, and without anything that mail programs make a link of. Behind each dot, colon,
/// slash and `@` within a word stands a mark that shows nothing (U+200C) and belongs to no address.
fn unlinked(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    for _ in 0..WRITTEN_CHARS {
        let Some(c) = chars.next() else { return text };
        text.push(c);
        let goes_on = chars.peek().is_some_and(|next| !next.is_whitespace());
        if goes_on && matches!(c, '.' | ':' | '/' | '@') {
            text.push('\u{200c}');
        }
    }
    if chars.peek().is_some() {
        text.push('…');
    }
    text
}

/// A time as people read it: `2026-03-11 10:00 UTC`.
pub fn shown(at: Ts) -> String {
    let text = at.rfc3339(0);
    let part = |range| text.get(range).unwrap_or_default();
    format!("{} {} UTC", part(0..10), part(11..16))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
    use super::*;

    const KINDS: [MailKind; 9] = [
        MailKind::Welcome,
        MailKind::WelcomeElsewhere,
        MailKind::WelcomeAtProvider,
        MailKind::PasswordLink,
        MailKind::AddressChanged,
        MailKind::SecondFactorAdded,
        MailKind::RecoveryCodeUsed,
        MailKind::SecondFactorsReset,
        MailKind::AddressLink,
    ];

    fn values() -> Map<String, Value> {
        let names = [
            "name",
            "email",
            "username",
            "organization",
            "type",
            "roles",
            "password",
            "until",
            "old",
            "new",
            "support",
            "app_url",
        ];
        names.iter().map(|name| ((*name).to_owned(), json!(format!("<{name}&>")))).collect()
    }

    fn shape(value: &Value) -> Value {
        match value {
            Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), shape(v))).collect(),
            Value::Array(items) => items.iter().map(shape).collect(),
            other => json!(other.is_string()),
        }
    }

    #[test]
    fn both_languages_have_the_same_mails() {
        assert!(TEXTS["en"].is_object());
        assert_eq!(shape(&TEXTS["en"]), shape(&TEXTS["it"]));
    }

    #[test]
    fn every_mail_can_be_filled_in_and_escapes_what_people_have_written() {
        for kind in KINDS {
            for language in Language::ALL {
                let filled = fill(kind, language, &values(), Some("https://x.example/y?a=b")).unwrap();
                assert!(!filled.subject.is_empty() && filled.text.contains("<username&>"), "{kind:?}");
                assert!(filled.html.contains("&lt;username&amp;&gt;"), "{kind:?}");
                assert!(!filled.html.contains("<username"), "{kind:?}");
                assert!(!filled.text.contains("{{") && !filled.html.contains("{{"), "{kind:?}");
            }
        }
    }

    #[test]
    fn names_stay_on_their_line() {
        let mut values = values();
        values.insert("organization".into(), json!("A\r\nBcc: x\u{2028}y"));
        let filled = fill(MailKind::Welcome, Language::English, &values, None).unwrap();
        assert_eq!(filled.subject, "Welcome to A  Bcc: x y - Account Created");
        assert!(filled.text.lines().all(|line| !line.starts_with("Bcc")));
    }

    #[test]
    fn names_are_short_and_no_links() {
        let mut values = values();
        let name = "You have won: https://evil.example/a or www.evil.example, evil@x.example";
        values.insert("name".into(), json!(name));
        values.insert("organization".into(), json!("Rossi S.r.l."));
        let filled = fill(MailKind::Welcome, Language::English, &values, None).unwrap();
        for link in ["https://evil", "evil.example", "www.", "evil@x", "https:/"] {
            let has = |text: &str| text.contains(link) && !text.contains(&format!("{link}\u{200c}"));
            assert!(!has(&filled.text) && !has(&filled.html), "{link}: {}", filled.text);
        }
        assert!(filled.text.contains('…') && filled.text.replace('\u{200c}', "").contains("Rossi S.r.l."));
        assert_eq!(filled.subject, "Welcome to Rossi S.r.l. - Account Created");
    }

    #[test]
    fn a_time_is_shown_for_people() {
        assert_eq!(shown(Ts::from_secs(1_772_618_400)), "2026-03-04 10:00 UTC");
    }
}
