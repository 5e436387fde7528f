//! Exports: the query of a list, answered with a file.

use crate::Params;
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bailiwick_directory::exports::{Asked, Content, File};
use bailiwick_domain::{Error, Result, SortDirection};
use http::{HeaderValue, header};

/// Marks an answer that must go out as it is.
#[derive(Clone, Copy, Debug)]
pub struct Uncompressed;

/// Filters by the names of their keys.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// One value, the first; blank = no filter.
    pub texts: &'static [&'static str],
    /// Each value counts, whatever it is.
    pub lists: &'static [&'static str],
    /// Whether organizations can stand for what is below them too.
    pub hierarchy: bool,
}

/// Filters of the list of systems.
pub const SYSTEMS: Keys = Keys {
    texts: &["search", "name", "system_key"],
    lists: &["type", "version", "status", "created_by", "organization_id"],
    hierarchy: true,
};

/// Filters of the list of users.
pub const USERS: Keys = Keys {
    texts: &["search"],
    lists: &["status", "organization_id", "role", "created_by"],
    hierarchy: false,
};

/// The order of a file: descending unless the query says otherwise; lists ascend.
pub fn export_direction(params: &Params) -> SortDirection {
    let sent = params.one("sort_direction");
    sent.and_then(|word| SortDirection::WORDS.parse(word)).unwrap_or(SortDirection::Desc)
}

/// What is asked for; the filters are named in the file.
pub fn asked(params: &Params, keys: &Keys) -> Asked {
    let texts = keys.texts.iter().filter_map(|key| Some((*key, params.text(key)?.to_owned())));
    let lists = keys.lists.iter().flat_map(|key| params.many(key).into_iter().map(|value| (*key, value)));
    let mut filters: Vec<_> = texts.chain(lists).map(|(key, value)| (key.to_owned(), value)).collect();
    let hierarchy = "include_hierarchy";
    if keys.hierarchy && params.is_true(hierarchy) {
        filters.push((hierarchy.to_owned(), "true".to_owned()));
    }
    Asked { format: params.one("format").unwrap_or_default().to_owned(), filters }
}

/// The uncompressed file: compression would remove the `Content-Length` of a whole file, and collect the portions of
/// others. A fault in a portion breaks the transfer off, so no client takes the file for complete.
///
/// # Errors
/// A name that no header can hold.
pub fn download(file: File) -> Result<Response> {
    let disposition = format!("attachment; filename=\"{}\"", file.name);
    let disposition = HeaderValue::from_str(&disposition).map_err(Error::internal)?;
    let (length, body) = match file.content {
        Content::Whole(bytes) => (Some(bytes.len()), Body::from(bytes)),
        Content::Portions(portions) => (None, Body::from_stream(portions)),
    };
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.format.media_type()));
    if let Some(length) = length {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    headers.insert(header::CONTENT_DISPOSITION, disposition);
    response.extensions_mut().insert(Uncompressed);
    Ok(response)
}
