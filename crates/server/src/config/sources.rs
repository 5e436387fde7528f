//! The sources of settings: file, environment, flags, the later ones winning.

use super::{
    Problem, clients, legacy_names,
    section::{Setting, VARIABLE_PREFIX},
    settings,
    value::Form,
};
use bailiwick_settings::Client;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

/// A setting's text and where it was given.
#[derive(Clone, Debug)]
pub struct Given {
    /// As written; may be a secret.
    pub text: String,
    /// For messages: "configuration file", "variable X", "flag".
    pub origin: String,
    /// The file that holds it, of a secret that is given by file.
    pub file: Option<PathBuf>,
}

/// The given settings, by path.
pub type GivenSettings = BTreeMap<&'static str, Given>;

/// The variable that names the configuration file; not a setting.
pub const FILE_VARIABLE: &str = "BAILIWICK_CONFIG";

/// One entry of a source, before its name is looked up.
pub(super) struct SourceEntry {
    /// Path of the setting, possibly with `_file` at the end.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Where it stands.
    pub origin: String,
}

/// The setting that may be meant by a name that is none: `; did you mean http.listen?`.
fn meant(path: &str) -> String {
    let alike = |setting: &'static Setting| (strsim::jaro_winkler(path, setting.path), setting.path);
    let best = settings().map(alike).max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.filter(|(alike, _)| *alike > 0.9)
        .map_or_else(String::new, |(_, path)| format!("; did you mean {path}?"))
}

/// The setting of a path, and whether the path is its `_file` form.
fn resolve(path: &str) -> Option<(&'static Setting, bool)> {
    let named = |name: &str| settings().find(|setting| setting.path == name);
    let by_file = || path.strip_suffix("_file").and_then(named).filter(|setting| setting.kind.secret);
    named(path).map(|setting| (setting, false)).or_else(|| by_file().map(|setting| (setting, true)))
}

/// Whether a setting of yes and no is on, by the last of these sources that gives it.
pub(super) fn is_on(path: &str, sources: [&Vec<SourceEntry>; 3]) -> bool {
    let mut given = sources.into_iter().flatten().filter(|entry| entry.path == path);
    given.next_back().is_some_and(|entry| entry.text == "true")
}

/// What to say of each variable of older deployments whose setting the file gives too.
pub(super) fn ignored(old: &[SourceEntry], file: &[SourceEntry]) -> Vec<String> {
    let setting = |entry: &SourceEntry| resolve(&entry.path).map(|(setting, _)| setting.path);
    let in_file: BTreeSet<&str> = file.iter().filter_map(setting).collect();
    let lost =
        old.iter().filter_map(|entry| Some((entry, setting(entry).filter(|path| in_file.contains(path))?)));
    lost.map(|(entry, path)| {
        format!(
            "the {} counts for nothing: the configuration file has {path} (older_names = true lets it win)",
            entry.origin
        )
    })
    .collect()
}

/// Adds one source over the ones before it.
pub(super) fn add(given: &mut GivenSettings, entries: Vec<SourceEntry>, problems: &mut Vec<Problem>) {
    let mut layer = GivenSettings::new();
    for SourceEntry { path, text, origin } in entries {
        let Some((setting, by_file)) = resolve(&path) else {
            problems.push(Problem::new(
                &path,
                &origin,
                format!("is not a setting of this version{}", meant(&path)),
            ));
            continue;
        };
        let file = by_file.then(|| PathBuf::from(&text));
        let text = match if by_file { secret_file(&text) } else { Ok(text) } {
            Ok(text) => text,
            Err(why) => {
                problems.push(Problem::new(&path, &origin, why));
                continue;
            }
        };
        if let Some(other) = layer.insert(setting.path, Given { text, origin: origin.clone(), file }) {
            let message = format!("is given twice: also by {}", other.origin);
            problems.push(Problem::new(setting.path, &origin, message));
        }
    }
    given.append(&mut layer);
}

/// The secret in a file, without the line end that editors add.
fn secret_file(path: &str) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|why| format!("cannot read the file `{path}`: {why}"))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// The entries and the clients of a TOML text. A syntax error is reported by line number only: the line itself may hold
/// a secret.
pub(super) fn from_file(text: &str, problems: &mut Vec<Problem>) -> (Vec<SourceEntry>, Vec<Client>) {
    let (mut entries, mut found) = (Vec::new(), Vec::new());
    match text.parse::<toml::Table>() {
        Ok(mut table) => {
            found = clients::take(&mut table, problems);
            walk("", &table, &mut entries, problems);
        }
        Err(why) => {
            let before = why.span().and_then(|span| text.get(..span.start)).unwrap_or("");
            let line = before.matches('\n').count() + 1;
            let message = format!("is not TOML, line {line}: {}", why.message());
            problems.push(Problem::new("", "configuration file", message));
        }
    }
    (entries, found)
}

/// Collects the leaves of a table.
fn walk(prefix: &str, table: &toml::Table, entries: &mut Vec<SourceEntry>, problems: &mut Vec<Problem>) {
    for (key, value) in table {
        let path = format!("{prefix}{key}");
        let origin = "configuration file".to_owned();
        match (value, resolve(&path)) {
            (toml::Value::Table(inner), None) => walk(&format!("{path}."), inner, entries, problems),
            (_, None) => entries.push(SourceEntry { path, text: String::new(), origin }),
            (value, Some((setting, by_file))) => {
                let form = if by_file { Form::Text } else { setting.kind.form };
                match toml_text(value, form) {
                    Some(text) => entries.push(SourceEntry { path, text, origin }),
                    None => problems.push(Problem::new(&path, &origin, wrong_form(form))),
                }
            }
        }
    }
}

/// The text of a TOML value of the right form.
fn toml_text(value: &toml::Value, form: Form) -> Option<String> {
    match (value, form) {
        (toml::Value::String(text), Form::Text | Form::Size) => Some(text.clone()),
        (toml::Value::Integer(number), Form::Integer | Form::Size) => Some(number.to_string()),
        (toml::Value::Integer(number), Form::Number) => Some(number.to_string()),
        (toml::Value::Float(number), Form::Number) => Some(number.to_string()),
        (toml::Value::Boolean(is_true), Form::Boolean) => Some(is_true.to_string()),
        (toml::Value::Array(items), Form::List) => {
            let texts: Option<Vec<&str>> = items.iter().map(toml::Value::as_str).collect();
            texts.filter(|texts| texts.iter().all(|text| !text.contains(','))).map(|texts| texts.join(","))
        }
        _ => None,
    }
}

/// The message about a file entry of another form.
fn wrong_form(form: Form) -> &'static str {
    match form {
        Form::Text => "must be a string",
        Form::Integer => "must be a whole number",
        Form::Number => "must be a number",
        Form::Boolean => "must be true or false",
        Form::Size => "must be a whole number of bytes or a string like \"10 MiB\"",
        Form::List => "must be a list of strings without commas",
    }
}

/// The entries of the environment, the names of older deployments first so that the service's own names win over them.
/// An empty variable counts as not set, because container files turn an undefined variable into an empty one.
pub(super) fn from_environment(
    variables: impl Iterator<Item = (String, String)>,
    problems: &mut Vec<Problem>,
) -> (Vec<SourceEntry>, Vec<SourceEntry>) {
    let (mut old, mut ours) = (Vec::new(), Vec::new());
    for (name, text) in variables.filter(|(_, text)| !text.is_empty()) {
        let origin = format!("variable {name}");
        if let Some(rest) = name.strip_prefix(VARIABLE_PREFIX) {
            if name != FILE_VARIABLE {
                ours.push(SourceEntry { path: our_path(rest), text, origin });
            }
        } else {
            old.extend(legacy_names::entries(&name, text, origin, problems));
        }
    }
    (old, ours)
}

/// `ALERTING__REMOTE__URL` → `alerting.remote.url`; the owner's two variables may also be written with one `_`.
fn our_path(rest: &str) -> String {
    let path = rest.replace("__", ".").to_ascii_lowercase();
    match path.as_str() {
        "owner_email" => "owner.email".into(),
        "owner_password" => "owner.password".into(),
        "owner_password_file" => "owner.password_file".into(),
        _ => path,
    }
}
