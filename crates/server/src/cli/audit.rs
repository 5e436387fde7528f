//! `bailiwick audit`

use super::AuditArgs;
use bailiwick_app::App;
use bailiwick_domain::{OrgId, Ts};
use bailiwick_platform::audit::{self, Filter, Recorded};
use serde_json::json;
use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

/// A day (its beginning, UTC) or a moment.
pub fn time(text: &str) -> Result<Ts, String> {
    let moment = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    moment.parse().map_err(|_| "neither a day (2026-03-04) nor a moment (2026-03-04T10:00:00Z)".to_owned())
}

/// An id of any kind; all have the same form.
pub fn id(text: &str) -> Result<uuid::Uuid, String> {
    text.parse::<OrgId>().map(|id| id.0).map_err(|e| e.to_string())
}

/// Prints the rows that fit, a page at a time.
pub async fn run(app: &App, args: AuditArgs) -> Result<(), String> {
    let actor = match &args.actor {
        Some(named) => Some(audit::actor(&app.platform, named).await.map_err(|e| e.to_string())?),
        None => None,
    };
    let filter = Filter {
        since: args.since,
        until: args.until,
        actor,
        organization: args.organization,
        object: args.object,
        action: args.action,
        request_id: args.request_id,
    };
    let mut written = if args.json { Ok(()) } else { write(&heading()) };
    if written.is_ok() {
        let each = |rows: &[Recorded]| {
            let text: String = rows.iter().map(if args.json { json_line } else { table_line }).collect();
            written = write(&text);
            written.is_ok()
        };
        audit::read(&app.platform, &filter, args.limit, each).await.map_err(|e| e.to_string())?;
    }
    match written {
        // The reader has closed the pipe (`| head`).
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(e.to_string()),
        _ => Ok(()),
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn line(columns: [&str; 5]) -> String {
    let [at, actor, action, object, request] = columns;
    let mut line = String::new();
    // Writing to a text cannot fail.
    let _ = write!(line, "{at:<20}  {actor:<32}  {action:<26}  {object:<48}  {request}");
    // Control characters are replaced, because a terminal would obey them.
    line = line.trim_end().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    line.push('\n');
    line
}

fn heading() -> String {
    line(["TIME", "ACTOR", "ACTION", "OBJECT", "REQUEST"])
}

fn table_line(row: &Recorded) -> String {
    let id = row.actor_user_id.map(|id| id.to_string());
    let mut actor = row.actor_email.clone().or(id).unwrap_or_else(|| "(the service)".to_owned());
    if let Some(target) = row.acting_for_user_id {
        actor.push_str(&format!(" as {target}"));
    }
    let id = row.object_id.map(|id| id.to_string()).unwrap_or_default();
    let object = format!("{} {id}", row.object_type);
    let request = row.request_id.as_deref().unwrap_or_default();
    line([&row.at.rfc3339(0), &actor, &row.action, &object, request])
}

fn json_line(row: &Recorded) -> String {
    let value = json!({
        "id": row.id, "at": row.at, "actor_user_id": row.actor_user_id, "actor_email": row.actor_email,
        "acting_for_user_id": row.acting_for_user_id, "actor_organization_id": row.actor_organization_id,
        "action": row.action, "object_type": row.object_type, "object_id": row.object_id,
        "before": row.before, "after": row.after, "request_id": row.request_id,
    });
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_days_or_moments() {
        assert_eq!(time("2026-03-04").unwrap().to_string(), "2026-03-04T00:00:00.000000Z");
        assert_eq!(time("2026-03-04T10:00:00+01:00").unwrap().to_string(), "2026-03-04T09:00:00.000000Z");
        for wrong in ["", "yesterday", "2026-13-01", "2026-03-04T10"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
        assert!(id("x").is_err());
    }

    #[test]
    fn a_line_has_no_control_characters() {
        assert_eq!(line(["a", "b\u{1b}[2J", "c", "d", "e"]).matches(char::is_control).count(), 1);
    }
}
