//! HTTP tests: one module for each area, one body for both engines.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail anywhere"
)]

mod alert_config;
mod alert_layers;
mod alerts;
mod answer_cache;
mod api_keys;
mod applications;
mod attacks;
mod audit;
mod audit_record;
mod avatars;
mod cases;
mod choices;
mod clients;
mod clock_skew;
mod conditions;
mod coverage;
mod cursors;
mod delivery;
mod demo;
mod events;
mod examples;
mod explain;
mod exports;
mod filters;
mod guide;
mod http;
mod images;
mod impersonation;
mod imports;
mod ingest;
mod keywords;
mod leaks;
mod leases;
mod limits;
mod logto;
mod mail;
mod operations;
mod organizations;
mod outage;
mod processes;
mod provider;
mod proxy;
mod rebranding;
mod reference;
mod relying_party;
mod rules;
mod schema;
mod search;
mod session;
mod silent_systems;
mod specification;
mod sweep;
mod systems;
mod users;
mod write_faults;
