//! All SQL of the service, for SQLite and PostgreSQL.
//!
//! * [`Db`] is the handle, [`Tx`] a write transaction, [`sql::Q`] a statement: one text for both engines.
//! * One module for each aggregate holds its rows (private), its statements and the functions the use cases call.
//! * Lists take a `Scope`, writes by id take a `Granted`: only `policy` creates either.
//!
//! To add a table: two files of the same number in `migrations/`, a module here, its fixed statements in its
//! `STATEMENTS` and that list in [`catalogue`].

pub mod alert_handling;
pub mod alert_layers;
pub mod alert_queue;
pub mod alert_rows;
pub mod alert_tenants;
pub mod api_keys;
pub mod applications;
pub mod audit;
pub mod avatars;
pub mod backups;
pub mod catalogue;
mod changes_by_day;
pub mod clock_skew;
mod connection_waits;
pub mod console_sessions;
pub mod copy_to_postgres;
mod creator_row;
pub mod creators;
pub mod credentials;
pub mod db;
pub mod delivery;
pub mod demo;
mod engine;
pub mod epoch;
pub mod error;
pub mod events;
pub mod factors;
mod filters;
mod folding;
pub mod heartbeats;
pub mod history;
pub mod identities;
pub mod images;
pub mod impersonation;
pub mod imports;
pub mod inventory;
pub mod jobs;
pub mod lease_recovery;
pub mod leases;
pub mod legacy;
mod list_epochs;
pub mod logto;
pub mod mail_links;
pub mod migrate;
pub mod oidc;
pub mod organizations;
pub mod processes;
pub mod rebranding;
pub mod router;
mod scope;
pub mod secrets;
pub mod sessions;
pub mod shared_limits;
pub mod silent_systems;
mod snapshot;
pub mod sql;
pub mod stats;
pub mod systems;
pub mod time;
mod tree;
pub mod users;
pub mod walk;
mod write_faults;

pub use db::{Db, Tx};
pub use engine::{Options, QUEUES, lock_file};
pub use error::StoreError;
pub use list_epochs::ListEpochs;
pub use sql::replica;
