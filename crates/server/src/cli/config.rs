//! `bailiwick config check|schema|docs`

use super::{Sources, fail, print};
use crate::config;
use std::process::ExitCode;

/// Prints the configuration in force, or all problems.
pub fn check(sources: &Sources, environment: &[(String, String)]) -> ExitCode {
    match sources.load(environment) {
        Ok(config) => print(&config::effective(&config)),
        Err(problems) => fail(&problems),
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
