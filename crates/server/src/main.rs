//! The `bailiwick` binary.

use bailiwick_server::{
    cli::{self, Cli},
    config::VARIABLE_PREFIX,
};
use clap::Parser;
use std::{env, process::ExitCode};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut environment = Vec::new();
    for (name, text) in env::vars_os() {
        match (name.into_string(), text.into_string()) {
            (Ok(name), Ok(text)) => environment.push((name, text)),
            (Ok(name), Err(_)) if name.starts_with(VARIABLE_PREFIX) => {
                return cli::fail(&format!("the variable {name} is not UTF-8"));
            }
            // A variable of another program.
            _ => {}
        }
    }
    cli::run(cli, &environment)
}
