//! Configuration: defaults, then a TOML file, then the environment, then flags. Variables with the names of older
//! deployments come before the file. Plain data; all mistakes are reported
//! at once.
//!
//! To add a setting, add a row to [`sections`]; a rule over several settings goes into `check`. The only map, OpenID
//! clients by id, is in `clients`.

mod addresses;
mod alerting;
mod assets;
mod check;
mod clients;
mod files;
mod hints;
mod identity;
mod legacy_names;
mod log_filter;
mod products;
mod render;
mod secret;
mod section;
mod sections;
mod sources;
mod value;
mod value_types;

#[cfg(test)]
mod tests;

pub use addresses::{BasePath, ClientUri, DatabaseUrl, HostName, HttpUrl, Origin};
pub use alerting::{AllowedHost, TimeZone};
pub use assets::KeyPrefix;
pub(crate) use check::inventory_rules;
pub use identity::{Identity, IdentityLogto, IdentityOidc};
pub use log_filter::LogFilter;
pub use render::{effective, reference, schema};
pub use secret::{LocatedSecret, find_secret, make_secret, secret_file};
pub use section::{SectionTable, Setting, Target, VARIABLE_PREFIX};
pub use sections::{
    Alerting, AlertingHistory, AlertingLimits, AlertingRemote, AlertingTelegram, AlertingWebhook, Assets,
    Console, Database, Events, General, Http, Impersonation, Limits, Log, Metrics, Owner, Rebranding, Smtp,
    Systems, Telemetry, Tokens,
};
pub use sources::FILE_VARIABLE;
pub use value::{Choice, Fills, Form, Size, Text, Value, ValueType};
pub use value_types::{LogFormat, Ratio, Secret, Word};

use bailiwick_settings::Client;
use sources::SourceEntry;
use std::{fmt, path::PathBuf};

/// The configuration file that is read from the working directory if it exists.
pub const DEFAULT_FILE: &str = "bailiwick.toml";

/// One mistake in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The setting's name as given; empty for the file as a whole.
    pub setting: String,
    /// Where it was given.
    pub origin: String,
    /// The problem, without secrets.
    pub message: String,
}

impl Problem {
    /// A mistake in one setting.
    pub fn new(setting: &str, origin: &str, message: impl Into<String>) -> Problem {
        Problem { setting: setting.into(), origin: origin.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.setting.as_str() {
            "" => write!(f, "{} {}", self.origin, self.message),
            setting => write!(f, "{setting} ({}): {}", self.origin, self.message),
        }
    }
}

/// Declares the configuration: the sections in the order of the reference.
macro_rules! configuration {
    ($($field:ident: $section:ident,)+) => {
        /// The whole configuration, checked.
        #[derive(Clone, Debug)]
        pub struct Config {
            $(#[doc = concat!("Section [`", stringify!($section), "`].")] pub $field: $section,)+
            /// `identity.clients`
            pub clients: Vec<Client>,
            /// The origin of each setting that is not a default.
            origins: Vec<(&'static str, String)>,
            /// The configuration file that was read; [`crate::cli::Sources`] sets it.
            pub file: Option<PathBuf>,
            /// The files of secrets that are given by file, with their settings.
            secret_files: Vec<(&'static str, PathBuf)>,
            /// Variables of older deployments that count for nothing, with the setting in the file that wins.
            pub ignored: Vec<String>,
        }

        /// Every section's rows, in the order of the reference.
        pub const TABLES: &[SectionTable] = &[$($section::TABLE),+];

        impl Config {
            fn read(found: &sources::GivenSettings, problems: &mut Vec<Problem>) -> Option<Config> {
                // All sections are read before any error returns, so that all problems are reported.
                $(let $field = $section::read(found, problems);)+
                Some(Config {
                    $($field: $field?,)+
                    clients: Vec::new(),
                    ignored: Vec::new(),
                    file: None,
                    secret_files: found.iter().filter_map(|(path, given)| Some((*path, given.file.clone()?))).collect(),
                    origins: found.iter().map(|(path, given)| (*path, given.origin.clone())).collect(),
                })
            }

            /// The values of each section of [`TABLES`] as text, secrets covered.
            fn shown(&self) -> Vec<Vec<Option<String>>> {
                vec![$(self.$field.shown()),+]
            }
        }
    };
}

configuration! {
    general: General,
    http: Http,
    console: Console,
    database: Database,
    identity: Identity,
    identity_oidc: IdentityOidc,
    identity_logto: IdentityLogto,
    owner: Owner,
    tokens: Tokens,
    impersonation: Impersonation,
    events: Events,
    alerting: Alerting,
    alerting_remote: AlertingRemote,
    alerting_history: AlertingHistory,
    alerting_webhook: AlertingWebhook,
    alerting_telegram: AlertingTelegram,
    alerting_limits: AlertingLimits,
    systems: Systems,
    assets: Assets,
    rebranding: Rebranding,
    smtp: Smtp,
    limits: Limits,
    metrics: Metrics,
    telemetry: Telemetry,
    log: Log,
}

/// Every setting.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    TABLES.iter().flat_map(|table| table.settings)
}

/// Reads the configuration from a file's text, the environment and flags (`("http.listen", "…")`). It reads no other
/// state of the process, except the files that `…_file` settings name and those of its rules.
pub fn load(
    file: Option<&str>,
    environment: impl Iterator<Item = (String, String)>,
    flags: &[(String, String)],
) -> Result<Config, Vec<Problem>> {
    load_and(file, environment, flags, check::rules)
}

/// Like [`load`], and also checks the files that only the service reads.
pub fn load_for_service(
    file: Option<&str>,
    environment: impl Iterator<Item = (String, String)>,
    flags: &[(String, String)],
) -> Result<Config, Vec<Problem>> {
    load_and(file, environment, flags, |config, problems| {
        check::rules(config, problems);
        files::check(config, problems);
    })
}

fn load_and(
    file: Option<&str>,
    environment: impl Iterator<Item = (String, String)>,
    flags: &[(String, String)],
    check: impl Fn(&Config, &mut Vec<Problem>),
) -> Result<Config, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut given = sources::GivenSettings::new();
    let (in_file, clients) = file.map(|text| sources::from_file(text, &mut problems)).unwrap_or_default();
    let (old, ours) = sources::from_environment(environment, &mut problems);
    let flag = |(path, text): &(String, String)| SourceEntry {
        path: path.clone(),
        text: text.clone(),
        origin: "flag".into(),
    };
    let flags: Vec<SourceEntry> = flags.iter().map(flag).collect();
    let old_names_win = sources::is_on("older_names", [&in_file, &ours, &flags]);
    let ignored = if old_names_win { Vec::new() } else { sources::ignored(&old, &in_file) };
    let (first, second) = if old_names_win { (in_file, old) } else { (old, in_file) };
    for source in [first, second, ours, flags] {
        sources::add(&mut given, source, &mut problems);
    }
    let config = Config::read(&given, &mut problems).or_else(|| {
        // Unreadable values are replaced by defaults, so that the rules can check the rest.
        given.retain(|path, _| !problems.iter().any(|problem| problem.setting == *path));
        Config::read(&given, &mut Vec::new())
    });
    let config = config.map(|config| Config { clients, ignored, ..config });
    if let Some(config) = &config {
        check(config, &mut problems);
    }
    config.filter(|_| problems.is_empty()).ok_or(problems)
}

impl Config {
    /// The origin of a setting; "default" when it was not given.
    fn origin(&self, path: &str) -> &str {
        self.origins.iter().find(|(name, _)| *name == path).map_or("default", |(_, origin)| origin)
    }

    /// A setting with its origin, for messages: `owner.email (variable BAILIWICK_OWNER_EMAIL)`.
    pub fn with_origin(&self, path: &str) -> String {
        format!("{path} ({})", self.origin(path))
    }

    /// The settings of a section that were given, as [`Config::with_origin`] names them.
    pub fn given(&self, section: &str) -> Vec<String> {
        let own = self.origins.iter().filter(|(path, _)| path.starts_with(section));
        own.map(|(path, _)| self.with_origin(path)).collect()
    }

    /// The address clients use, without a trailing slash: `http.public_url`, or `http://` and the listening address.
    pub fn public_url(&self) -> String {
        let listen = self.http.listen;
        let scheme = if self.http.tls_certificate.is_some() { "https" } else { "http" };
        match &self.http.public_url {
            Some(origin) => origin.as_str().to_owned(),
            None if listen.ip().is_unspecified() => format!("{scheme}://localhost:{}", listen.port()),
            None => format!("{scheme}://{listen}"),
        }
    }

    /// The address of the user interface, without a trailing slash: `app_url`, or the public address.
    pub fn app_url(&self) -> String {
        self.general.app_url.as_ref().map_or_else(|| self.public_url(), |url| url.as_str().to_owned())
    }

    /// The address of the database: `database.url`, or the SQLite file in the data directory.
    pub fn database_url(&self) -> DatabaseUrl {
        let default = || DatabaseUrl::Sqlite(self.general.data_dir.join("bailiwick.db"));
        self.database.url.clone().unwrap_or_else(default)
    }

    /// `iss` of the service's tokens (spec: authentication#service-tokens).
    pub fn token_issuer(&self) -> String {
        let host =
            || url::Url::parse(&self.public_url()).ok().and_then(|url| url.host_str().map(str::to_owned));
        self.tokens.issuer.clone().or_else(host).unwrap_or_default()
    }

    /// `aud` of the service's tokens (spec: authentication#service-tokens).
    pub fn token_audience(&self) -> String {
        self.tokens.audience.clone().unwrap_or_else(|| format!("{}/api", self.public_url()))
    }
}
