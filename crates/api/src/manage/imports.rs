//! CSV import: one set of handlers for organizations and users; the route determines which (spec:
//! imports-and-exports#imports, imports-and-exports#import-of-users).

use crate::{
    envelope::Answer,
    error::{Failure, Outcome},
    extract::{Ctx, Imported, JsonBody, Service, Who},
    wire::imports::{ConfirmInput, ImportPreview, ImportResult},
};
use axum::response::{IntoResponse, Response};
use bailiwick_directory::{
    Directory,
    imports::{self, Confirmation, MAX_FILE_BYTES},
};
use bailiwick_domain::{Error, Result};
use bailiwick_web::{Upload, UploadFault};
use http::header;
use serde_json::Value;
use std::time::Duration;

/// Longest time for the file (spec: conventions#limits).
const BODY_TIME: Duration = Duration::from_secs(180);

/// `GET /{p}/import/template`.
pub async fn template(Imported(kind): Imported) -> Response {
    let disposition = format!("attachment; filename=\"{}_import_template.csv\"", kind.word());
    let headers = [(header::CONTENT_TYPE, "text/csv".to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    (headers, kind.template()).into_response()
}

/// `POST /{p}/import/validate`.
pub async fn validate(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Imported(kind): Imported,
    upload: Upload,
) -> Outcome<Answer<ImportPreview>> {
    imports::allow(&caller, kind)?;
    let file = upload.part("file", MAX_FILE_BYTES, BODY_TIME).await.map_err(refused)?;
    let preview = imports::validate(&directory, &caller, kind, file.into()).await?;
    Ok(Answer::ok(format!("{} import validated", kind.word()), preview.into()))
}

fn refused(fault: UploadFault) -> Failure {
    let error = match fault {
        UploadFault::Malformed | UploadFault::Missing => Error::bad_request("file parameter required"),
        UploadFault::TimedOut => Error::SlowBody,
        UploadFault::TooLarge(size) => Error::TooLarge {
            message: format!("file too large ({size} bytes). maximum allowed: {MAX_FILE_BYTES} bytes").into(),
            data: Value::Null,
        },
    };
    error.into()
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
