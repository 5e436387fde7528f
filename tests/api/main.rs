//! HTTP tests: one module for each area, one body for both engines.

mod coverage;
mod http;
mod organizations;
mod session;
mod sweep;
mod users;
