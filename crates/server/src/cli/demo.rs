//! `bailiwick demo`

use super::{DemoArgs, print};
use bailiwick_app::{App, bootstrap, demo};
use indicatif::{ProgressBar, ProgressStyle};

/// Fills the database and prints what is there to play with.
pub async fn run(app: &App, args: DemoArgs) -> Result<(), String> {
    bootstrap::ensure_owner(app).await.map_err(|e| e.to_string())?;
    let plan = demo::Plan::new(args.organizations, args.systems, args.seed);
    // Hidden by itself when the standard error is no terminal.
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg:14} {wide_bar} {human_pos}/{human_len} {eta}") {
        bar.set_style(style);
    }
    let summary = demo::fill(app, &plan, &mut |step: demo::Progress| {
        bar.set_length(step.total);
        bar.set_position(step.done);
        bar.set_message(step.what);
    })
    .await
    .map_err(|e| e.to_string())?;
    bar.finish_and_clear();
    print(&summary.to_string());
    Ok(())
}
