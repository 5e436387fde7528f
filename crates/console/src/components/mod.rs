//! What pages are made of, for templates: times, numbers, pages of lists, documents.

pub(crate) mod device;
pub(crate) mod document;
pub(crate) mod facts;
pub(crate) mod filters;
pub(crate) mod list;
pub(crate) mod organizations;
pub(crate) mod picture;
pub(crate) mod question;
pub(crate) mod time;
