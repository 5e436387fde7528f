//! The configuration as text: the effective one, its JSON schema, its reference.

use super::{
    Config, DEFAULT_FILE, Identity, SectionTable, Setting, TABLES, clients,
    value::{Form, Value, ValueType},
};
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// The configuration in force as a TOML file, each line with its origin, secrets covered.
pub fn effective(config: &Config) -> String {
    let mut out = String::new();
    for (table, values) in TABLES.iter().zip(config.shown()) {
        if !table.name.is_empty() {
            let _ = writeln!(out, "\n[{}]", table.name);
        }
        for (setting, value) in table.settings.iter().zip(values) {
            let key = key_of(table, setting);
            let _ = match value {
                Some(value) => {
                    let value = toml_value(&value, setting.kind.form);
                    writeln!(out, "{key} = {value} # {}", config.origin(setting.path))
                }
                None => match derived(config, setting.path) {
                    Some(value) => writeln!(out, "# {key} is not set: {value}"),
                    None => writeln!(out, "# {key} is not set"),
                },
            };
        }
    }
    for client in &config.clients {
        out.push_str(&clients::effective(client));
    }
    out
}

/// The value derived from other settings for a setting that is not set.
fn derived(config: &Config, path: &str) -> Option<String> {
    match path {
        "secret" => Some(format!("kept in {}", config.general.data_dir.join("secret").display())),
        "app_url" => Some(config.app_url()),
        "http.public_url" => Some(config.public_url()),
        "database.url" => config.database_url().show(),
        "tokens.issuer" => Some(config.token_issuer()),
        "tokens.audience" => Some(config.token_audience()),
        _ => None,
    }
}

/// The last part of a setting's path.
fn key_of(table: &SectionTable, setting: &Setting) -> &'static str {
    setting.path.strip_prefix(table.name).map_or(setting.path, |rest| rest.trim_start_matches('.'))
}

/// A shown value as TOML.
fn toml_value(text: &str, form: Form) -> String {
    match form {
        Form::Integer | Form::Number | Form::Boolean => text.to_owned(),
        Form::Text | Form::Size => toml::Value::from(text).to_string(),
        Form::List => {
            toml::Value::from(text.split(',').filter(|item| !item.is_empty()).collect::<Vec<_>>()).to_string()
        }
    }
}

/// The JSON schema (2020-12) of the configuration file.
pub fn schema() -> Json {
    let mut root = object("Configuration of bailiwick");
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    for table in TABLES {
        let mut table_schema = &mut root;
        for part in table.name.split('.').filter(|part| !part.is_empty()) {
            table_schema = &mut table_schema["properties"][part];
            if table_schema.is_null() {
                *table_schema = object(&tidy(table.about));
            }
        }
        for setting in table.settings {
            let key = key_of(table, setting);
            table_schema["properties"][key] = setting_schema(setting);
            if setting.kind.secret {
                let about = format!("File that holds `{}`.", setting.path);
                table_schema["properties"][format!("{key}_file")] =
                    json!({ "type": "string", "description": about });
            }
        }
    }
    root["properties"]["identity"]["properties"]["clients"] = clients::schema();
    root
}

/// An object schema that refuses keys it does not name.
fn object(about: &str) -> Json {
    json!({ "type": "object", "description": about, "additionalProperties": false, "properties": {} })
}

/// The schema of one setting.
fn setting_schema(setting: &Setting) -> Json {
    let kind = setting.kind;
    let mut schema = match kind.form {
        Form::Text => text_schema(kind),
        Form::Integer => json!({ "type": "integer", "minimum": 0 }),
        Form::Number => json!({ "type": "number", "minimum": 0 }),
        Form::Boolean => json!({ "type": "boolean" }),
        Form::Size => json!({ "type": ["integer", "string"], "minimum": 1, "pattern": kind.pattern }),
        Form::List => json!({ "type": "array", "items": text_schema(kind) }),
    };
    schema["description"] = tidy(setting.about).into();
    if let Some(default) = setting.default() {
        schema["default"] = match kind.form {
            Form::Text | Form::Size => default.into(),
            Form::Integer => default.parse::<u64>().map_or(Json::Null, Json::from),
            Form::Number => default.parse::<f64>().map_or(Json::Null, Json::from),
            Form::Boolean => default.parse::<bool>().map_or(Json::Null, Json::from),
            Form::List => default.split(',').collect::<Vec<_>>().into(),
        };
    }
    schema
}

/// The schema of a text of this kind.
fn text_schema(kind: ValueType) -> Json {
    let mut schema = json!({ "type": "string" });
    if !kind.choices.is_empty() {
        schema["enum"] = kind.choices.into();
    }
    if let Some(pattern) = kind.pattern {
        schema["pattern"] = pattern.into();
    }
    schema
}

/// A description from its comment lines.
fn tidy(about: &str) -> String {
    about.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The settings that most installations need, and when to set each.
const FIRST: [(&str, &str); 10] = [
    ("data_dir", "the data is to be elsewhere than in the working directory"),
    ("owner.email", "before the first start: the first user signs in with it"),
    ("http.listen", "others than this machine are to reach the service, or another program has the port"),
    (
        "http.public_url",
        "people type another address than the one of `http.listen`: a host name, https, a proxy",
    ),
    ("http.tls_certificate", "the service itself is to speak TLS, with `http.tls_key`"),
    ("http.trusted_proxies", "there is a reverse proxy in front: otherwise all clients share its limits"),
    ("smtp.host", "mails are to be sent, with `smtp.from`: forgotten passwords, welcomes, alerts"),
    ("language", "mails and alerts are to be Italian where nobody has chosen a language"),
    ("database.url", "PostgreSQL is to keep the data, which several processes need"),
    ("metrics.listen", "Prometheus, a load balancer or Kubernetes is to watch the service"),
];

/// The table of [`FIRST`], each with a link to its section.
fn first_settings() -> String {
    let mut out = "\n## Start with these ten settings\n\n| Setting | Set it when |\n|---|---|\n".to_owned();
    for (path, when) in FIRST {
        let section = path.rsplit_once('.').map_or("top-level", |(section, _)| section).replace('.', "");
        let _ = writeln!(out, "| [`{path}`](#{section}) | {when} |");
    }
    out
}

/// The reference page, `docs/configuration.md`.
pub fn reference() -> String {
    let first = first_settings();
    let mut out = format!(
        "# Configuration\n\n\
        <!-- Written by `bailiwick config docs`. Edit the settings table in the code, not this page. -->\n\n\
        The service starts without any configuration: SQLite, embedded identity, embedded alert router, everything in \
        `./data`, reachable from this machine only.\n\
        {first}\n\
        ## How to set them\n\n\
        Settings come from a TOML file (`--config <file>`, the variable `BAILIWICK_CONFIG`, or `{DEFAULT_FILE}` in the \
        working directory when it is there), over it from the environment, over that from flags (`--set http.workers=2`, \
        and the ones `bailiwick --help` lists). The setting `alerting.remote.url` is the key `url` of the table \
        `[alerting.remote]` and the variable `BAILIWICK_ALERTING__REMOTE__URL`. An empty variable counts as not set; \
        lists are written with commas in variables and flags.\n\n\
        A mistake stops the start, and all mistakes are listed at once; unknown keys and unknown `BAILIWICK_…` variables \
        are mistakes. `bailiwick config check` prints the configuration in force, secrets covered; \
        `bailiwick config schema` prints a JSON schema of the file.\n\n\
        Durations are written `30s`, `20m`, `6h`, `7d` or `1h30m`, sizes `64 KiB`, `10 MiB` or a number of bytes. \
        A setting marked *secret* may be given by file instead: `secret_file = \"/run/secrets/bailiwick\"`, \
        `BAILIWICK_SECRET_FILE=…`.\n"
    );
    for table in TABLES {
        let name = if table.name.is_empty() { "Top level".into() } else { format!("`[{}]`", table.name) };
        let _ = write!(out, "\n## {name}\n\n{}\n\n", tidy(table.about));
        out.push_str("| Setting | Type | Default | Meaning |\n|---|---|---|---|\n");
        for setting in table.settings {
            out.push_str(&reference_row(setting));
        }
        if table.name == Identity::TABLE.name {
            out.push_str(&clients::reference());
        }
    }
    out.push_str(
        "\n## Names of older deployments\n\nThese variables are accepted too. The \
         service's own names win over them, and so does the configuration file unless `older_names` is set.\n\n\
        | Variable | Setting |\n|---|---|\n| `BAILIWICK_OWNER_EMAIL` | `owner.email` |\n\
        | `BAILIWICK_OWNER_PASSWORD`, `BAILIWICK_OWNER_PASSWORD_FILE` | `owner.password` |\n",
    );
    for setting in super::settings() {
        for name in setting.older {
            let _ = writeln!(out, "| `{name}` | `{}` |", setting.path);
        }
    }
    out.push_str(
        "| `API_BASE_URL` | its path joins `http.base_paths`; an address is `http.public_url` too |\n",
    );
    out
}

/// One row of the reference.
fn reference_row(setting: &Setting) -> String {
    let kind = setting.kind;
    let list = if kind.form == Form::List { "list of " } else { "" };
    let secret = if kind.secret && kind.name != "secret" { ", *secret*" } else { "" };
    let name = if kind.name == "secret" { "*secret*" } else { kind.name };
    let words: Vec<String> = kind.choices.iter().map(|word| format!("`{word}`")).collect();
    let kind = if words.is_empty() { format!("{list}{name}{secret}") } else { words.join(", ") };
    let default = setting.default().map_or_else(|| "–".into(), |default| format!("`{default}`"));
    format!("| `{}` | {kind} | {default} | {} |\n", setting.path, tidy(setting.about))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_settings_exist_and_lead_to_their_sections() {
        let page = reference();
        for (path, _) in FIRST {
            assert!(page.contains(&format!("\n| `{path}` | ")), "{path} is not a setting");
        }
        for heading in ["Top level", "`[http]`", "`[owner]`", "`[smtp]`", "`[database]`", "`[metrics]`"] {
            assert!(page.contains(&format!("\n## {heading}\n")), "{heading}");
        }
    }
}
