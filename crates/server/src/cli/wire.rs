//! WIRING: where commands meet the running parts. One line per command, which calls its function in a file of its own.

use super::{Command, fail};
use crate::config::Config;
use std::process::ExitCode;

/// Runs a command that needs a configuration.
pub fn run(command: Command, config: Config) -> ExitCode {
    let _ = &config;
    match command {
        Command::Serve
        | Command::Migrate
        | Command::Openapi
        | Command::Token(_)
        | Command::User(_)
        | Command::Demo(_) => fail("this command is not part of this build"),
        // `cli::run` answers these before a configuration is needed.
        Command::Config(_) | Command::Completions(_) => ExitCode::SUCCESS,
    }
}
