//! `bailiwick retention`

use super::{RetentionArgs, print};
use bailiwick_app::{App, retention};

/// Removes data that is past its retention, or counts it.
pub async fn run(app: &App, args: RetentionArgs) -> Result<(), String> {
    let figures = if args.dry_run {
        retention::dry_run(app).await.map_err(|e| e.to_string())?
    } else {
        let done = retention::run(app).await.map_err(|e| e.to_string())?;
        done.ok_or("another process is at it")?
    };
    let would = if args.dry_run { "would be " } else { "" };
    for (count, what, done) in [
        (figures.records, "inventory records", "thinned out"),
        (figures.alerts_ended, "inventory alerts", "ended"),
        (figures.alerts_removed, "inventory alerts", "removed"),
        (figures.quarantined, "documents put aside", "removed"),
        (figures.history, "resolved alerts", "removed"),
        (figures.activity, "records of what people did about alerts", "removed"),
        (figures.impersonations, "sessions of people who acted as others", "removed"),
        (figures.impersonation_entries, "records of what was done in them", "removed"),
        (figures.key_refusals, "refusals of API keys that do not work any more", "removed"),
    ] {
        print(&format!("{count} {what} {would}{done}\n"));
    }
    Ok(())
}
