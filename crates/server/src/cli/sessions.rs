//! `bailiwick sessions …`

use super::{SessionsCommand, print};
use bailiwick_app::App;
use bailiwick_domain::Ts;
use bailiwick_identity::auth;
use bailiwick_platform::audit;
use serde_json::json;

/// Lists or ends the sessions of a user.
pub async fn run(app: &App, command: SessionsCommand) -> Result<(), String> {
    match command {
        SessionsCommand::List(args) => {
            let user = audit::actor(&app.platform, &args.user).await.map_err(|e| e.to_string())?;
            let open = auth::open_of(&app.identity, user).await.map_err(|e| e.to_string())?;
            print(&if args.json { json_lines(&open) } else { table(&open) });
        }
        SessionsCommand::End(args) => {
            let user = audit::actor(&app.platform, &args.user).await.map_err(|e| e.to_string())?;
            auth::end_open(&app.identity, user, args.id).await.map_err(|e| e.to_string())?;
            print("ended\n");
        }
    }
    Ok(())
}

fn table(open: &auth::OpenSessions) -> String {
    let line = |kind: &str, id: &str, since: &str, last: &str, until: &str, from: &str| {
        let line = format!("{kind:<8}  {id:<36}  {since:<20}  {last:<20}  {until:<20}  {from}");
        format!("{}\n", line.trim_end())
    };
    let at = |at: Ts| at.rfc3339(0);
    let mut out = line("KIND", "ID", "SINCE", "LAST", "UNTIL", "OF LOGIN");
    for l in &open.logins {
        let (since, last) = (at(l.created_at), at(l.authenticated_at));
        out += &line("login", &l.id.to_string(), &since, &last, &at(l.expires_at), "");
    }
    for c in &open.chains {
        let from = c.login_id.map(|id| id.to_string()).unwrap_or_default();
        let (since, last) = (at(c.created_at), at(c.last_used_at));
        out += &line(kind(c.device.by_operator), &c.id.to_string(), &since, &last, &at(c.expires_at), &from);
    }
    out
}

/// `token`: one of `bailiwick token`.
const fn kind(by_operator: bool) -> &'static str {
    if by_operator { "token" } else { "session" }
}

fn json_lines(open: &auth::OpenSessions) -> String {
    let logins = open.logins.iter().map(|l| {
        json!({"kind": "login", "id": l.id, "since": l.created_at, "last": l.authenticated_at, "until": l.expires_at})
    });
    let chains = open.chains.iter().map(|c| {
        json!({"kind": kind(c.device.by_operator), "id": c.id, "since": c.created_at, "last": c.last_used_at, "until": c.expires_at,
            "login": c.login_id})
    });
    logins.chain(chains).map(|value| format!("{value}\n")).collect()
}
