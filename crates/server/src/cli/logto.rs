//! `bailiwick logto …`

use super::{LogtoCommand, LogtoSyncArgs, print};
use bailiwick_app::App;
use bailiwick_identity::logto_sync;

/// Prints the differences, one line for each object, and sends them to the tenant unless the command only compares.
pub async fn run(app: &App, command: LogtoCommand) -> Result<(), String> {
    let LogtoCommand::Sync(LogtoSyncArgs { dry_run }) = command;
    let each = |difference: &logto_sync::Difference| {
        let _ = print(&line(difference));
    };
    let figures = logto_sync::reconcile(&app.identity, dry_run, each).await.map_err(|e| e.to_string())?;
    let done = if dry_run { "" } else { " and corrected" };
    let waiting = match figures.waiting {
        0 => String::new(),
        n => format!(", {n} change(s) still to be sent, or refused"),
    };
    print(&format!(
        "{} looked at, {} otherwise at Logto{done}{waiting}\n",
        figures.looked_at, figures.different
    ));
    Ok(())
}

fn line(difference: &logto_sync::Difference) -> String {
    let logto_sync::Difference { kind, id, name, problems, .. } = difference;
    let line = format!("{kind:<12}  {id}  {name}: {}", problems.join("; "));
    // Control characters are replaced, because a terminal would obey them.
    let line: String = line.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("{line}\n")
}
