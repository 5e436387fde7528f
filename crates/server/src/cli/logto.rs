//! `bailiwick logto …`

use super::{LogtoCommand, LogtoSyncArgs, print};
use bailiwick_app::App;
use bailiwick_identity::logto_sync;

/// Prints what differs, one line for each object, and tells the tenant unless it is asked not to.
pub async fn run(app: &App, command: LogtoCommand) -> Result<(), String> {
    let LogtoCommand::Sync(LogtoSyncArgs { dry_run }) = command;
    let each = |difference: &logto_sync::Difference| {
        let _ = print(&line(difference));
    };
    let figures = logto_sync::reconcile(app, dry_run, each).await.map_err(|e| e.to_string())?;
    let done = if dry_run { "" } else { " and told" };
    let waiting = match figures.waiting {
        0 => String::new(),
        n => format!(", {n} change(s) still to be told or refused"),
    };
    print(&format!(
        "{} looked at, {} otherwise at Logto{done}{waiting}\n",
        figures.looked_at, figures.different
    ));
    Ok(())
}

fn line(difference: &logto_sync::Difference) -> String {
    let logto_sync::Difference { kind, id, name, what, .. } = difference;
    let line = format!("{kind:<12}  {id}  {name}: {}", what.join("; "));
    // What a terminal would obey is not printed.
    let line: String = line.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("{line}\n")
}
