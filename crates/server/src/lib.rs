//! The `bailiwick` process: configuration, logging, the HTTP front, shutdown, the command line.
//!
//! Everything here is about the process; what the service does is in the crates below. To add a setting see
//! [`config`]; to add a command, add a variant in [`cli`] and a file beside it.

pub mod build;
pub mod cli;
pub mod config;
pub mod listen;
pub mod ports;
mod process;
mod reload;
pub mod settings;
pub mod shutdown;
pub mod telemetry;

/// Bytes of stack of a thread that runs requests or background work; only what is used is ever taken. Built without
/// optimisation, the futures of a request lie in it one in another.
pub(crate) const STACK: usize = 8 * 1024 * 1024;
