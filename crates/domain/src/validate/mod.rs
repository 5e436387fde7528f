//! Field rules of the API (spec: conventions#validation-errors, conventions#limits, users#fields,
//! organizations#custom-data, organizations#create, systems#create, systems-interface#credentials).
//!
//! A rule is a plain function from the received text to the accepted form or the code that clients translate;
//! [`Fields`] collects the codes of one request. A value with a normal form becomes a type ([`Email`], [`Vat`],
//! [`SystemKey`], [`SystemSecret`]) and is not checked again further in. To add a field: a function in the file of its
//! subject, with every line of its table as a test.

mod api_key;
mod contact;
mod credential;
mod custom_data;
mod fields;
mod organization;
mod password;
mod username;

pub use api_key::ApiKeyToken;
pub use contact::{Email, contact_address, email, imported_phone, is_mailable, phone};
pub use credential::{DEFAULT_KEY_PREFIX, SystemKey, SystemSecret, is_key_prefix};
pub use custom_data::{Holder, client_keys, free_values, string_values};
pub use fields::{
    Code, Fields, MAX_FREE_TEXT_CHARS, MAX_NAME_CHARS, Rule, display_name, free_text, is_too_long, line,
    name, text,
};
pub use organization::{Vat, organization_custom_data};
pub use password::{generate_password, normal_password, password};
pub use username::{MAX_USERNAME_CHARS, OWNER_USERNAME, username, username_candidates};
