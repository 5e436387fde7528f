//! `bailiwick config check|schema|docs`

use super::{Sources, misconfigured, note, print};
use crate::config;
use std::process::ExitCode;

/// Prints the configuration in force, or all problems.
pub fn check(sources: &Sources, environment: &[(String, String)]) -> ExitCode {
    match sources.load_for_service(environment) {
        Ok(config) => {
            config.hints().iter().for_each(|hint| note(&format!("warning: {hint}")));
            print(&config::effective(&config))
        }
        Err(problems) => misconfigured(&problems),
    }
}

/// Prints the JSON schema of the configuration file.
pub fn schema() -> ExitCode {
    print(&format!("{:#}\n", config::schema()))
}

/// Prints the reference page.
pub fn docs() -> ExitCode {
    print(&config::reference())
}
