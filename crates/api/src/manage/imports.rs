//! CSV import: one set of handlers for organizations and users; the route determines which (spec:
//! imports-and-exports#imports, imports-and-exports#import-of-users).

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, Imported, JsonBody, Service, Who},
    wire::imports::{ConfirmInput, ImportPreview, ImportResult},
};
use axum::response::Response;
use bailiwick_directory::{
    Directory,
    imports::{self, Confirmation},
};
use bailiwick_domain::{Error, Result};
use bailiwick_web::{Upload, import_file, import_template};

/// `GET /{p}/import/template`.
pub async fn template(Imported(kind): Imported) -> Response {
    import_template(kind)
}

/// `POST /{p}/import/validate`.
pub async fn validate(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Imported(kind): Imported,
    upload: Upload,
) -> Outcome<Answer<ImportPreview>> {
    imports::allow(&caller, kind)?;
    let file = import_file(upload).await?;
    let preview = imports::validate(&directory, &caller, kind, file.into()).await?;
    Ok(Answer::ok(format!("{} import validated", kind.word()), preview.into()))
}

/// `POST /{p}/import/confirm`.
pub async fn confirm(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    Imported(kind): Imported,
    body: JsonBody,
) -> Outcome<Answer<ImportResult>> {
    let body = || confirmation(body);
    let confirmed = imports::confirm(&directory, &caller, &request, kind, body).await?;
    Ok(Answer::ok(format!("{} imported successfully", kind.word()), confirmed.into()))
}

/// The specification has one text for every body that cannot be read.
fn confirmation(body: JsonBody) -> Result<Confirmation> {
    match body.parse::<ConfirmInput>() {
        Ok(input) => Ok(input.into()),
        Err(Error::Invalid(_)) => Err(Error::bad_request("invalid request body")),
        Err(other) => Err(other),
    }
}
