//! Where settings come from: a file, the environment, flags.

use crate::config::{self as settings, Config};
use clap::Args;
use std::{fs, path::PathBuf};

/// Flags that give settings. They win over the environment and the file.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Settings")]
pub struct Sources {
    /// Configuration file [default: $BAILIWICK_CONFIG, else bailiwick.toml when it exists]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Any setting by its name: --set http.workers=2
    #[arg(long, global = true, value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub set: Vec<(String, String)>,
    /// Address and port to listen on (http.listen)
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Address under which clients reach the service (http.public_url)
    #[arg(long, global = true, value_name = "URL")]
    pub public_url: Option<String>,
    /// Directory of the service's files (data_dir)
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<String>,
    /// sqlite:PATH or postgres://… (database.url)
    #[arg(long, global = true, value_name = "URL")]
    pub database_url: Option<String>,
    /// Log level: error, warn, info, debug, or a filter (log.level)
    #[arg(long, global = true, value_name = "LEVEL")]
    pub log_level: Option<String>,
}

/// Splits `name=value`.
pub(super) fn name_and_value(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.to_owned()));
    parts.filter(|(name, _)| !name.is_empty()).ok_or_else(|| "not NAME=VALUE".into())
}

/// How the file, the variables and the flags become a configuration.
type Load = fn(
    Option<&str>,
    std::vec::IntoIter<(String, String)>,
    &[(String, String)],
) -> Result<Config, Vec<settings::Problem>>;

impl Sources {
    /// The flags as settings; the named ones win over `--set`.
    pub(super) fn flags(&self) -> Vec<(String, String)> {
        let named = [
            ("http.listen", &self.listen),
            ("http.public_url", &self.public_url),
            ("data_dir", &self.data_dir),
            ("database.url", &self.database_url),
            ("log.level", &self.log_level),
        ];
        let given = named.iter().filter_map(|(name, text)| Some((name.to_string(), text.as_ref()?.clone())));
        self.set.iter().cloned().chain(given).collect()
    }

    /// Reads the configuration from file, the given environment and the flags. The error lists all problems, one line
    /// each, for the operator.
    pub fn load(&self, environment: &[(String, String)]) -> Result<Config, String> {
        self.read(environment, settings::load)
    }

    /// Reads the configuration, and checks the files that the service reads.
    pub fn load_for_service(&self, environment: &[(String, String)]) -> Result<Config, String> {
        self.read(environment, settings::load_for_service)
    }

    fn read(&self, environment: &[(String, String)], load: Load) -> Result<Config, String> {
        let named =
            environment.iter().find(|(name, text)| name == settings::FILE_VARIABLE && !text.is_empty());
        let path = self.config.clone().or_else(|| named.map(|(_, path)| path.into()));
        let path = path.or_else(|| {
            fs::exists(settings::DEFAULT_FILE).unwrap_or(true).then(|| settings::DEFAULT_FILE.into())
        });
        let read = |path: &PathBuf| {
            fs::read_to_string(path).map_err(|why| format!("cannot read {}: {why}", path.display()))
        };
        let text = path.as_ref().map(read).transpose()?;
        let variables = environment.to_vec();
        let loaded = load(text.as_deref(), variables.into_iter(), &self.flags());
        let named = |mut config: Config| {
            config.file = path;
            config
        };
        loaded.map(named).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(|problem| format!("  {problem}")).collect();
            format!("the configuration has {} problem(s):\n{}", lines.len(), lines.join("\n"))
        })
    }
}
