//! `bailiwick alerts …`

use super::{AlertPruneArgs, AlertRoutesArgs, AlertsCommand, print};
use bailiwick_alerts::config;
use bailiwick_app::App;
use std::{fmt::Write as _, time::Duration};

/// Runs one of the commands.
pub async fn run(app: &App, command: AlertsCommand) -> Result<(), String> {
    match command {
        AlertsCommand::Routes(args) => routes(app, args).await,
        AlertsCommand::Prune(args) => prune(app, args).await,
    }
}

/// Lists idle tenants of a remote router, and has it forget them.
async fn prune(app: &App, AlertPruneArgs { idle_days, apply }: AlertPruneArgs) -> Result<(), String> {
    let idle = Duration::from_secs(u64::from(idle_days) * 24 * 3600);
    let pruned = config::prune(&app.alerts, idle, apply).await.map_err(|e| e.to_string())?;
    let pruned =
        pruned.ok_or("the configuration names no remote router with tenants (alerting.remote.url)")?;
    let mut out = String::new();
    for (id, name) in &pruned.idle {
        let _ = writeln!(out, "{id}  {name}");
    }
    for (id, why) in &pruned.kept {
        let _ = writeln!(out, "{id}  stays: {why}");
    }
    let what = if apply {
        "idle; the running service has the router forget them"
    } else {
        "idle; --apply has the router forget them"
    };
    let _ = writeln!(out, "{} {what}", pruned.idle.len());
    print(&out);
    Ok(())
}

/// Prints the recipients that an alert would notify, and why.
async fn routes(app: &App, AlertRoutesArgs { organization, labels }: AlertRoutesArgs) -> Result<(), String> {
    let labels = labels.into_iter().collect();
    let found = config::explain(&app.alerts, organization, labels).await.map_err(|e| e.to_string())?;
    print(&shown(&found).map_err(|e| e.to_string())?);
    Ok(())
}

fn shown(explanation: &config::Explanation) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let (name, org_type) = &explanation.organization;
    let labels: Vec<String> =
        explanation.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let [first, next, again] = explanation.waits.map(|wait| wait.as_secs());
    writeln!(out, "organization  {name} ({org_type})")?;
    writeln!(out, "labels        {}", labels.join(", "))?;
    writeln!(out, "counts as     {}", explanation.severity.as_str())?;
    writeln!(out, "route         {}", explanation.route)?;
    writeln!(out, "receiver      {}", explanation.receiver.as_deref().unwrap_or("nobody"))?;
    writeln!(
        out,
        "messages      after {first} s, then every {next} s when something is new, else every {again} s"
    )?;
    for channel in &explanation.channels {
        writeln!(out, "{:<13} {}", channel.name, channel.why)?;
        for notified in &channel.recipients {
            let who = notified.recipient.as_deref().unwrap_or("a recipient of an organization above");
            writeln!(out, "  {who}, named by {}", notified.source())?;
        }
    }
    Ok(out)
}
