//! Alerts as people read them.

use crate::{components::time::When, layout::Layout, links::segment};
use bailiwick_alertmanager::{Labels, listing::AlertState};
use bailiwick_alerts::manage::ActiveAlert;
use bailiwick_web::Language;
use serde_json::{Value, json};

/// Where an alert is.
pub(crate) fn address(organization: impl std::fmt::Display, fingerprint: impl std::fmt::Display) -> String {
    format!("/console/alerts/{}/{}", segment(organization), segment(fingerprint))
}

/// One of the severities that the console shows; any other word counts as the least one.
pub(crate) fn severity(word: &str) -> &'static str {
    ["critical", "warning"].into_iter().find(|severity| *severity == word).unwrap_or("info")
}

/// An annotation in the language, else in the one that it is written in.
pub(crate) fn text(language: Language, annotations: &Labels, name: &str) -> String {
    let names = [format!("{name}_{}", language.code()), name.to_owned(), format!("{name}_en")];
    let texts = names.iter().map(|name| annotations.value(name));
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned()
}

/// An active alert for a reader.
pub(crate) fn shown(layout: &Layout, active: &ActiveAlert) -> Value {
    let ActiveAlert { alert, assigned } = active;
    let label = |name: &str| alert.labels.value(name);
    json!({
        "href": address(label("organization_id"), alert.fingerprint),
        "name": label("alertname"),
        "severity": severity(label("severity")),
        "summary": text(layout.language, &alert.annotations, "summary"),
        "description": text(layout.language, &alert.annotations, "description"),
        "since": When::of(layout.language, layout.now, alert.starts_at.to_ts()),
        "is_silenced": alert.status.state == AlertState::Suppressed,
        "assigned": assigned.as_ref().map(|assigned| assigned.user_name.as_str()),
        "system": label("system_name"),
        "organization": label("organization_name"),
        "system_id": label("system_id"),
    })
}
