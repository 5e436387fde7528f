//! Applications by type and version, as a picture with a table behind it.

use crate::{
    chart::{StackedBar, stacked_bars},
    failure::Outcome,
    page,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_fleet::applications::{self, ModuleCount};
use bailiwick_web::Language;
use serde_json::json;

/// Types in the picture; the table has them all.
const SHOWN: usize = 20;

/// `GET /console/applications/summary`.
pub(crate) async fn show(State(app): State<App>, session: Session) -> Outcome {
    let kinds = applications::kinds(&app.fleet, &session.caller).await?;
    let language = session.layout.language;
    let rows: Vec<_> = kinds.iter().map(|kind| row(language, kind)).collect();
    let values = json!({
        "bars": stacked_bars(rows.iter().take(SHOWN)),
        "rows": rows,
        "more": rows.len().saturating_sub(SHOWN),
        "types": kinds.len(),
        "total": kinds.iter().map(|kind| kind.count).sum::<u64>(),
        "tab": "summary",
    });
    Ok(page::show(&session.layout, "applications/summary.html", values))
}

fn row(language: Language, kind: &ModuleCount) -> StackedBar {
    let address = |key: &str, value: &str| {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair(key, value).finish();
        format!("/console/applications?{query}")
    };
    let unknown = texts::find(language, "version_unknown").unwrap_or_default();
    let part = |version: &applications::VersionCount| match version.version.as_str() {
        "" => (unknown.to_owned(), None, version.count),
        shown_version => {
            let href = address("version", &format!("{}:{shown_version}", kind.instance_of));
            (shown_version.to_owned(), Some(href), version.count)
        }
    };
    StackedBar {
        label: kind.name.clone(),
        href: address("type", &kind.instance_of),
        number: kind.count,
        parts: kind.versions.iter().map(part).collect(),
    }
}
