//! Who would be notified of an alert with given labels.

use super::of;
use crate::{components::time::rough, failure::Outcome, page, pages::alerts::recipients, session::Session};
use axum::extract::State;
use bailiwick_alertmanager::{Labels, Severity};
use bailiwick_alerts::config;
use bailiwick_app::App;
use bailiwick_domain::{Error, OrgType};
use bailiwick_policy::Permission;
use bailiwick_web::Params;
use serde_json::json;
use std::time::Duration;

/// A wait for a reader.
fn span(session: &Session, wait: Duration) -> String {
    match wait.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        _ => rough(session.layout.language, wait),
    }
}

/// `GET /console/notifications/who`.
pub(crate) async fn show(State(app): State<App>, session: Session, params: Params) -> Outcome {
    session.needs(Permission::ConfigAlerts)?;
    let own = session.caller.org().ok_or_else(Error::insufficient_permissions)?;
    let own_id = own.id.to_string();
    let named = params.text("organization_id").filter(|_| own.org_type != OrgType::Customer);
    let organization = named.unwrap_or(&own_id);
    let word = |key: &str| params.text(key).unwrap_or_default().trim().to_owned();
    let (name, severity, system) = (word("alertname"), word("severity"), word("system_key"));
    let more = params.one("labels").unwrap_or_default();
    let given = [("alertname", &name), ("severity", &severity), ("system_key", &system)];
    let mut labels = Labels::default();
    for (key, value) in given.into_iter().filter(|(_, value)| !value.is_empty()) {
        labels.insert(key, value.clone());
    }
    for (key, value) in more.lines().filter_map(|line| line.split_once('=')) {
        labels.insert(key.trim(), value.trim());
    }
    let explanation = config::explain_to(&app.alerts, &session.caller, Some(organization), labels).await?;
    let severities: Vec<&str> = Severity::ALL.iter().map(|s| s.as_str()).collect();
    let counts_as = explanation.severity.as_str();
    let values = json!({
        "organization": explanation.organization.0.clone(),
        "organization_id": organization,
        "href": of("", organization),
        "alertname": name,
        "severity": severity,
        "severities": severities,
        "system_key": system,
        "labels": more,
        "counts_as": counts_as,
        "wait": explanation.waits.map(|wait| span(&session, wait)),
        "is_nobody": explanation.channels.iter().all(|channel| channel.recipients.is_empty()),
        "recipients": recipients(&session, explanation),
    });
    Ok(page::show(&session.layout, "notifications/who.html", values))
}
