//! Exports: the query of a list, answered with a file.

use crate::Params;
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bailiwick_directory::exports::{Asked, Content, File};
use bailiwick_domain::{Error, Parameter, Result, Set, SortDirection};
use http::{HeaderValue, header};

/// Marks an answer that must go out as it is.
#[derive(Clone, Copy, Debug)]
pub struct Uncompressed;

/// The order of a file: descending unless the query says otherwise; lists ascend.
pub fn export_direction(params: &Params) -> SortDirection {
    let sent = params.one("sort_direction");
    sent.and_then(|word| SortDirection::WORDS.parse(word)).unwrap_or(SortDirection::Desc)
}

/// What is asked for; the filters are named in the file.
pub fn asked<F: 'static>(params: &Params, filters: impl IntoIterator<Item = &'static Parameter<F>>) -> Asked {
    let values = |parameter: &Parameter<F>| match parameter.set {
        Set::Text(_) => params.text(parameter.key).into_iter().map(str::to_owned).collect(),
        Set::Each(_) => params.many(parameter.key),
        Set::Flag(_) if params.is_true(parameter.key) => vec!["true".to_owned()],
        Set::Flag(_) => Vec::new(),
    };
    let named = |parameter| values(parameter).into_iter().map(|value| (parameter.key.to_owned(), value));
    Asked {
        format: params.one("format").unwrap_or_default().to_owned(),
        filters: filters.into_iter().flat_map(named).collect(),
    }
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
