//! Imports: a template, a file, the effect of each row, and its result.

mod progress;

use super::organizations;
use crate::{
    components::question::Crumb,
    failure::Outcome,
    form::Form,
    page,
    rows::{PageRow, get, post},
    session::Session,
    texts,
};
use axum::{
    extract::{Path, State},
    response::Response,
};
use bailiwick_app::App;
use bailiwick_directory::imports::{
    self, Confirmation, ImportKind, Issue, Outcome as Became, Preview, Row, Status, allow,
};
use bailiwick_domain::{Error, ObjectKind, OrgType, Result};
use bailiwick_web::{Language, Upload, import_file, import_template, status_and_text};
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Before the number of a row in the name of its choice.
const CHOICE: &str = "row_";

/// The pages.
pub(crate) fn rows() -> Vec<PageRow> {
    vec![
        get("/console/imports/{kind}", show),
        post("/console/imports/{kind}", preview),
        get("/console/imports/{kind}/template", template),
        post("/console/imports/{kind}/confirm", confirm),
    ]
}

/// Where an import begins.
pub(crate) fn address(kind: ImportKind) -> String {
    format!("/console/imports/{}", kind.word())
}

/// The kind that an address names, if the person may import it.
fn kind(session: &Session, word: &str) -> Result<ImportKind> {
    let families = OrgType::FAMILIES.into_iter().map(ImportKind::Organizations);
    let import_kind = families.chain([ImportKind::Users]).find(|kind| kind.word() == word);
    let kind = import_kind.ok_or(Error::NotFound(ObjectKind::Page))?;
    allow(&session.caller, kind)?;
    Ok(kind)
}

/// `GET /console/imports/{kind}`.
async fn show(session: Session, Path(word): Path<String>) -> Outcome {
    Ok(begin(&session, kind(&session, &word)?, None))
}

/// `GET /console/imports/{kind}/template`.
async fn template(session: Session, Path(word): Path<String>) -> Outcome {
    Ok(import_template(kind(&session, &word)?))
}

/// `POST /console/imports/{kind}`: the effect that each row of the file would have.
async fn preview(
    State(app): State<App>,
    session: Session,
    Path(word): Path<String>,
    upload: Upload,
) -> Outcome {
    let kind = kind(&session, &word)?;
    let validated = match import_file(upload).await {
        Ok(file) => imports::validate(&app.directory, &session.caller, kind, file.into()).await,
        Err(error) => Err(error),
    };
    match validated {
        Ok(preview) => Ok(previewed(&session, kind, &preview)),
        // The file as a whole is wrong.
        Err(error @ (Error::BadRequest { .. } | Error::TooLarge { .. })) => {
            let (_, text) = status_and_text(&error, None);
            Ok(begin(&session, kind, Some(text)))
        }
        Err(error) => Err(error.into()),
    }
}

/// `POST /console/imports/{kind}/confirm`.
async fn confirm(State(app): State<App>, session: Session, Path(word): Path<String>, form: Form) -> Outcome {
    let kind = kind(&session, &word)?;
    let chosen: HashMap<String, String> =
        form.pairs_after(CHOICE).filter(|(_, organization)| !organization.is_empty()).collect();
    let body = Confirmation {
        import_id: form.text("import_id"),
        overrides: form.has("override"),
        resolutions: chosen,
    };
    let import = imports::start(&app.directory, &session.caller, kind, || Ok(body)).await?;
    Ok(progress::show(app, session, kind, import).await)
}

fn text(language: Language, key: &str) -> String {
    texts::find(language, key).unwrap_or(key).to_owned()
}

/// The values that every step shows.
fn frame(session: &Session, kind: ImportKind, step: &str) -> Value {
    let language = session.layout.language;
    let word = kind.word();
    let has_users = session.layout.has_area("users");
    let (list, crumbs) = match kind {
        ImportKind::Organizations(family) => {
            let list = organizations::list_address(family);
            let crumbs = vec![
                Crumb::link("/console/organizations", text(language, "nav_organizations")),
                Crumb::link(&*list, text(language, &format!("count_{word}"))),
            ];
            (list, crumbs)
        }
        ImportKind::Users if has_users => {
            let list = "/console/users".to_owned();
            (list.clone(), vec![Crumb::link(list, text(language, "count_users"))])
        }
        ImportKind::Users => ("/console/".to_owned(), vec![Crumb::text(text(language, "count_users"))]),
    };
    json!({
        "title": text(language, &format!("import_{word}")),
        "crumbs": crumbs,
        "here": address(kind),
        "list": list,
        "step": step,
        "kind": word,
    })
}

/// The first step. `fault`: the reason for the refusal of a file.
fn begin(session: &Session, kind: ImportKind, fault: Option<&str>) -> Response {
    let mut values = frame(session, kind, "file");
    values["columns"] = json!(kind.columns());
    values["fault"] = json!(fault);
    let status = if fault.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    page::render(&session.layout, status, "imports/file.html", values)
}

/// The second step.
fn previewed(session: &Session, kind: ImportKind, preview: &Preview) -> Response {
    let count = |status| preview.rows.iter().filter(|row| row.status() == status).count();
    let (valid, existing) = (count(Status::Valid), count(Status::Warning));
    let ambiguous = count(Status::Ambiguous);
    let mut values = frame(session, kind, "check");
    values["import_id"] = json!(preview.import_id.to_string());
    values["counts"] = json!([
        {"word": "valid", "number": valid},
        {"word": "exists", "number": existing},
        {"word": "ambiguous", "number": ambiguous},
        {"word": "error", "number": count(Status::Error)},
    ]);
    values["existing"] = json!(existing);
    values["has_something"] = json!(valid + existing + ambiguous > 0);
    values["rows"] = preview.rows.iter().map(|row| shown(session.layout.language, kind, row)).collect();
    page::show(&session.layout, "imports/check.html", values)
}

fn shown(language: Language, kind: ImportKind, row: &Row) -> Value {
    let cell = |column: &str| match row.data.get(column) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let (name, detail) = match kind {
        ImportKind::Organizations(_) => (cell("company_name"), joined([cell("vat_number"), cell("city")])),
        ImportKind::Users => (cell("name"), joined([cell("email"), cell("company_name"), cell("roles")])),
    };
    let status = match row.status() {
        Status::Valid => "valid",
        Status::Warning => "exists",
        Status::Ambiguous => "ambiguous",
        Status::Error => "error",
    };
    let candidates = row.errors.iter().find(|issue| !issue.candidates.is_empty());
    let candidates = candidates.map(|issue| {
        let label = |org_type: OrgType| text(language, &format!("role_{}", org_type.as_str()));
        let rows = issue.candidates.iter();
        rows.map(|o| (o.id.to_string(), format!("{} · {}", o.name, label(o.org_type)))).collect::<Vec<_>>()
    });
    json!({
        "number": row.number,
        "status": status,
        "name": name,
        "detail": detail,
        "issues": row.errors.iter().chain(&row.warnings).map(|issue| in_words(language, issue)).collect::<Vec<_>>(),
        "choice": candidates.map(|rows| json!({"name": format!("{CHOICE}{}", row.number), "rows": rows})),
    })
}

fn joined<const N: usize>(parts: [String; N]) -> String {
    let shown: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    shown.join(" · ")
}

/// An issue in words: the column, the problem, the values.
fn in_words(language: Language, issue: &Issue) -> Value {
    let key = format!("issue_{}", issue.message.replace(' ', "_"));
    let values: Vec<&str> = issue
        .value
        .iter()
        .chain(&issue.values)
        .map(String::as_str)
        .filter(|value| !value.is_empty())
        .collect();
    json!({
        "field": text(language, &format!("csv_{}", issue.field)),
        "text": text(language, &key),
        "said": values.join(" · "),
    })
}

/// The last step.
fn became(session: &Session, kind: ImportKind, outcomes: &[(usize, Became)]) -> Value {
    let language = session.layout.language;
    let word = |outcome: &Became| match outcome {
        Became::Created(_) => "created",
        Became::Updated(_) => "updated",
        Became::Skipped(_) => "skipped",
        Became::Failed(_) => "failed",
    };
    let has_users = session.layout.has_area("users");
    let row = |(number, outcome): &(usize, Became)| {
        let (href, why) = match outcome {
            Became::Created(id) | Became::Updated(id) => match kind {
                ImportKind::Organizations(_) => (Some(organizations::address(id)), String::new()),
                ImportKind::Users => (has_users.then(|| format!("/console/users/{id}")), String::new()),
            },
            Became::Skipped(reason) => (None, text(language, &format!("reason_{reason}"))),
            Became::Failed(error) => (None, error.clone()),
        };
        json!({"number": number, "status": word(outcome), "href": href, "why": why})
    };
    let count = |status: &str| outcomes.iter().filter(|(_, outcome)| word(outcome) == status).count();
    let counts = ["created", "updated", "skipped", "failed"];
    let mut values = frame(session, kind, "result");
    values["counts"] = counts.iter().map(|word| json!({"word": word, "number": count(word)})).collect();
    values["rows"] = outcomes.iter().map(row).collect();
    values
}
