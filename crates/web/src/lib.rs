//! What the interface and the console read of requests and say of errors, in one place for both.

mod applications;
mod audit;
mod body;
mod context;
mod cookies;
mod exports;
mod inventory;
mod language;
mod params;
mod path;
mod refusal;
mod systems;

pub use applications::query as application_query;
pub use audit::query as audit_query;
pub use body::read;
pub use context::{Service, client_ip};
pub use cookies::{Cookie, cookie, set_cookie};
pub use exports::{Keys, SYSTEMS, Uncompressed, asked, download};
pub use inventory::filter as diff_filter;
pub use inventory::range as time_range;
pub use language::Language;
pub use params::{Params, values};
pub use path::{PathId, PathText};
pub use refusal::{retry_after, status_and_text, whole_seconds};
pub use systems::{query as system_query, version};
