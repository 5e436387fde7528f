//! `bailiwick completions <shell>`

use super::{Cli, CompletionsArgs, print};
use clap::CommandFactory;
use std::process::ExitCode;

/// Prints the completion script of a shell.
pub fn run(args: CompletionsArgs) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bailiwick", &mut script);
    print(&String::from_utf8_lossy(&script))
}
