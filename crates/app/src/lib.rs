//! Use cases: authorize, read, write, audit, commit. HTTP, workers and the command line call the same functions.
//!
//! To add one: a function in the module of its resource that takes `&App` and the `Caller`, loads its target, asks
//! `policy::decide`, opens one write transaction, writes the audit row in it and commits.

mod background;
pub mod bootstrap;
pub mod context;
pub mod demo;
pub mod metrics;
mod purging;
pub mod retention;
pub mod site;

pub use background::LONGEST_WAITS;
pub use context::App;

/// The storage handle, for the process that opens it.
pub mod database {
    pub use bailiwick_store::{
        Db, Options, lock_file,
        transfer::{analyze, analyze_restored, transfer},
    };
}
/// Traces, for the process that starts them.
pub mod traces {
    pub use bailiwick_outbound::traces::{TraceConfig, TraceLayer, Traces, Wanted};
}
pub use bailiwick_policy::{Caller, Catalogue};
