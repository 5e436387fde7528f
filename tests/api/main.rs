//! HTTP tests: one module for each area, one body for both engines.

mod coverage;
mod http;
mod ingest;
mod organizations;
mod provider;
mod proxy;
mod session;
mod sweep;
mod systems;
mod users;
