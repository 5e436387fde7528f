//! What the interface and the console read of requests and say of errors, in one place for both.

pub mod alerts;
mod body;
mod context;
mod cookies;
mod exports;
mod imports;
mod inventory;
mod language;
mod organizations;
mod params;
mod path;
mod rebranding;
mod refusal;
mod systems;
mod upload;
mod users;

pub use body::read;
pub use context::{Service, client_ip};
pub use cookies::{Cookie, cookie, set_cookie};
pub use exports::{Keys, SYSTEMS, USERS, Uncompressed, asked, download, export_direction};
pub use imports::{file as import_file, template as import_template};
pub use inventory::filter as diff_filter;
pub use inventory::range as time_range;
pub use language::Language;
pub use organizations::{keys as organization_keys, query as organization_query};
pub use params::{Params, values};
pub use path::{PathId, PathText};
pub use rebranding::{file as rebranding_file, form as rebranding_form, known as known_version};
pub use refusal::{retry_after, status_and_text, whole_seconds};
pub use systems::{query as system_query, version};
pub use upload::{Part, Upload, UploadFault, picture};
pub use users::query as user_query;
