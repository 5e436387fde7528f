//! The `bailiwick` process: configuration, logging, the HTTP front, shutdown, the command line.
//!
//! This crate only runs the process; the crates below it implement the service. To add a setting see [`config`]; to add
//! a command, add a variant in [`cli`] and a file beside it.

pub mod build;
pub mod cli;
pub mod config;
pub mod listen;
pub mod ports;
mod process;
mod reload;
pub mod settings;
pub mod shutdown;
mod supervisor;
pub mod telemetry;

/// Stack size of a thread that runs requests or background work; the system only allocates the used part. Without
/// optimisation, the nested futures of a request all lie on the stack.
pub(crate) const STACK: usize = 8 * 1024 * 1024;
