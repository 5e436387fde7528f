//! What pages are made of, for templates: times, numbers, pages of lists, documents.

pub(crate) mod author;
pub(crate) mod creators;
pub(crate) mod device;
pub(crate) mod document;
pub(crate) mod facts;
pub(crate) mod list;
pub(crate) mod organizations;
pub(crate) mod picture;
pub(crate) mod question;
pub(crate) mod versions;

// Every page needs these two, with or without components.
pub(crate) use crate::{filters, time};
