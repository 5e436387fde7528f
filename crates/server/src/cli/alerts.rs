//! `bailiwick alerts …`

use super::{AlertRoutesArgs, AlertsCommand, print};
use bailiwick_alerts::config;
use bailiwick_app::App;
use std::fmt::Write as _;

/// Prints the recipients that an alert would notify, and why.
pub async fn run(app: &App, command: AlertsCommand) -> Result<(), String> {
    let AlertsCommand::Routes(AlertRoutesArgs { organization, labels }) = command;
    let labels = labels.into_iter().collect();
    let found = config::explain(app, organization, labels).await.map_err(|e| e.to_string())?;
    print(&shown(&found).map_err(|e| e.to_string())?);
    Ok(())
}

fn shown(found: &config::Explanation) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let (name, org_type) = &found.organization;
    let labels: Vec<String> = found.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let [first, next, again] = found.waits.map(|wait| wait.as_secs());
    writeln!(out, "organization  {name} ({org_type})")?;
    writeln!(out, "labels        {}", labels.join(", "))?;
    writeln!(out, "counts as     {}", found.severity.as_str())?;
    writeln!(out, "route         {}", found.route)?;
    writeln!(out, "receiver      {}", found.receiver.as_deref().unwrap_or("nobody"))?;
    writeln!(
        out,
        "messages      after {first} s, then every {next} s when something is new, else every {again} s"
    )?;
    for channel in &found.channels {
        writeln!(out, "{:<13} {}", channel.name, channel.why)?;
        for notified in &channel.told {
            let who = notified.recipient.as_deref().unwrap_or("a recipient of an organization above");
            writeln!(out, "  {who}, named by {}", notified.source())?;
        }
    }
    Ok(out)
}
