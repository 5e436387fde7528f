//! The base of every use case: the database handle, the clock, randomness, the keys, the tracker of background tasks,
//! and the tools that use cases share.
//!
//! This crate knows no use case. Every service has the [`Platform`] as a field and passes it to the tools here.

pub mod answer_cache;
pub mod audit;
pub mod backoff;
pub mod clock_skew;
pub mod conditions;
mod context;
pub mod csv;
pub mod cursor;
pub mod group_commit;
pub mod http_metrics;
pub mod jobs;
pub mod keys;
pub mod limits;
pub mod list_filters;
pub mod metrics;
pub mod processes;
pub mod replica;
mod request;
pub mod request_hints;
pub mod retry_on_conflict;
pub mod secrets;
mod service;
pub mod shared_read;
pub mod tasks;
pub mod trend;
pub mod worker;
pub mod write_check;

pub use bailiwick_domain::Secret;
pub use context::{Parts, Platform, Secrets, ServiceNames};
pub use request::RequestContext;
