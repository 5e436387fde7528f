//! What has changed on a system from one document to the next, and the documents themselves.

use super::{address, head};
use crate::{
    components::{
        document,
        list::{Address, Chip, Filter, PAGE_SIZE, Pager},
        time::When,
    },
    failure::{Failure, Outcome},
    page,
    session::Session,
    texts,
};
use axum::extract::{FromRequestParts, RawPathParams, State};
use bailiwick_app::App;
use bailiwick_domain::SystemId;
use bailiwick_fleet::inventory::{self, Category, ChangeKind, DiffFilter, DiffRow, Severity};
use bailiwick_web::{Language, Params, diff_filter};
use http::{Uri, request::Parts};
use serde::Serialize;
use serde_json::{Value, json};

/// Characters of a value that are shown; the document has the rest.
const VALUE_CHARS: usize = 1_500;

/// One difference.
#[derive(Serialize)]
struct Difference {
    kind: &'static str,
    severity: &'static str,
    category: String,
    path: String,
    old: Option<String>,
    new: Option<String>,
}

/// The differences of one document.
#[derive(Serialize)]
struct Batch {
    at: When,
    document: Option<String>,
    differences: Vec<Difference>,
    #[serde(skip)]
    record: Option<i64>,
}

/// `GET /console/systems/{id}/changes`.
pub(crate) async fn show(
    State(app): State<App>,
    session: Session,
    path: SystemPath,
    uri: Uri,
    params: Params,
) -> Outcome {
    let record = head::load(&app, &session, path.system).await?;
    let here = Address::of(&format!("{}/changes", address(record.system.id)), uri.query());
    let filter = diff_filter(&params);
    let (_, chosen) =
        inventory::diffs(&app.fleet, &session.caller, path.system, &filter, params.page(PAGE_SIZE)).await?;
    let pager = Pager::of(&chosen, &here)?;
    let ids: Vec<i64> = chosen.rows.iter().map(|(id, _)| *id).collect();
    let rows = inventory::diff_rows(&app.fleet, &ids).await?;
    let summary = inventory::changes(&app.fleet, &session.caller, path.system).await?;
    let filters = filters(session.layout.language, &here);
    let mut chips: Vec<Chip> = filters.iter().flat_map(|filter| filter.chips(&here)).collect();
    chips.extend(here.value_chips("inventory_id", "document"));
    let kept = ["inventory_id", "page_size"].map(|key| here.values(key).map(move |value| (key, value)));
    let counts = summary.as_ref().map(|summary| json!({"total": summary.total, "recent": summary.recent}));
    let values = json!({
        "head": head::head(&app, &session, &record, "changes").await?,
        "batches": batches(&session, &address(record.system.id), rows),
        "filters": filters,
        "chips": chips,
        "pager": pager,
        "bare": here.bare(),
        "search": params.text("search").unwrap_or_default(),
        "kept": kept.into_iter().flatten().collect::<Vec<_>>(),
        "is_filtered": filter != DiffFilter::default(),
        "counts": counts,
    });
    Ok(page::show(&session.layout, "systems/changes.html", values))
}

fn filters(language: Language, here: &Address) -> [Filter; 2] {
    let label = |kind: &str, word: &str| {
        texts::find(language, &format!("{kind}_{word}")).map_or_else(|| word.to_owned(), str::to_owned)
    };
    let severities = Severity::ALL.iter().map(|s| (s.word().to_owned(), label("severity", s.word())));
    let categories = Category::ALL.iter().map(|c| (c.word().to_owned(), label("category", c.word())));
    [
        Filter::of("severity", "filter_severity", severities, here),
        Filter::of("category", "filter_category", categories, here),
    ]
}

fn batches(session: &Session, system: &str, rows: Vec<DiffRow>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for row in rows {
        let (record, created_at) = (row.current_id, row.created_at);
        if batches.last().is_none_or(|batch| batch.record != record) {
            batches.push(Batch {
                at: When::of(session.layout.language, session.layout.now, created_at),
                document: record.map(|id| format!("{system}/documents/{id}")),
                differences: Vec::new(),
                record,
            });
        }
        if let Some(batch) = batches.last_mut() {
            batch.differences.push(difference(session.layout.language, row));
        }
    }
    batches
}

fn difference(language: Language, row: DiffRow) -> Difference {
    let index = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
    let category = texts::find(language, &format!("category_{}", row.category));
    Difference {
        kind: ChangeKind::ALL.get(index(row.kind)).map_or("update", |kind| kind.word()),
        severity: Severity::ALL.get(index(row.severity)).map_or("low", |severity| severity.word()),
        category: category.map_or(row.category, str::to_owned),
        path: row.field_path,
        old: row.previous_value.map(|value| shown(&value)),
        new: row.current_value.map(|value| shown(&value)),
    }
}

/// A value for a reader: text without its quotes, the rest as JSON on several lines.
fn shown(json: &str) -> String {
    let text = match serde_json::from_str::<Value>(json) {
        Ok(Value::String(text)) => text,
        Ok(value) => serde_json::to_string_pretty(&value).unwrap_or_else(|_| json.to_owned()),
        Err(_) => json.to_owned(),
    };
    match text.char_indices().nth(VALUE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// The system and the document of a path.
#[derive(Debug)]
pub(crate) struct SystemPath {
    system: Option<SystemId>,
    record: String,
}

impl<S: Send + Sync> FromRequestParts<S> for SystemPath {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<SystemPath, Failure> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let mut path = SystemPath { system: None, record: String::new() };
        for (name, value) in params.iter().flat_map(RawPathParams::iter) {
            match name {
                "id" => path.system = value.parse().ok(),
                "record" => path.record = value.to_owned(),
                _ => {}
            }
        }
        Ok(path)
    }
}

/// `GET /console/systems/{id}/documents/{record}`.
pub(crate) async fn document(State(app): State<App>, session: Session, path: SystemPath) -> Outcome {
    let record = head::load(&app, &session, path.system).await?;
    let (_, latest) = inventory::record(&app.fleet, &session.caller, path.system, &path.record).await?;
    let is_folded = latest.document.len() <= document::FOLDED_UP_TO;
    let value: Value =
        if is_folded { serde_json::from_str(&latest.document).unwrap_or_default() } else { Value::Null };
    let values = json!({
        "head": head::head(&app, &session, &record, "changes").await?,
        "at": When::of(session.layout.language, session.layout.now, latest.record.timestamp),
        "size": latest.record.data_size,
        "changes": latest.record.change_count,
        "number": latest.record.id,
        "folded": is_folded.then(|| document::folded(&value)),
        "text": if is_folded { "" } else { latest.document.as_str() },
    });
    Ok(page::show(&session.layout, "systems/document.html", values))
}
