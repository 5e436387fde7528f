//! `bailiwick demo`

use super::{DemoArgs, first_start, messages, print};
use bailiwick_app::{App, bootstrap};
use bailiwick_demo as demo;
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Write;

/// Fills the database with demo data and prints how to sign in and look around.
pub async fn run(app: &App, args: DemoArgs) -> Result<(), String> {
    let first = bootstrap::ensure_owner(app).await.map_err(|e| messages::of(&e, str::to_owned))?;
    first_start::tell(app, first);
    let plan = demo::Plan {
        organizations: args.organizations.into(),
        systems: args.systems.into(),
        users: args.users.map(u64::from),
        applications: !args.without_applications,
        seed: args.seed,
    };
    // Hidden if the standard error is not a terminal.
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg:14} {wide_bar} {human_pos}/{human_len} {eta}") {
        bar.set_style(style);
    }
    let summary = demo::fill(app, &plan, &mut |step: demo::Progress| {
        bar.set_length(step.total);
        bar.set_position(step.done);
        bar.set_message(step.stage.as_str());
    })
    .await
    .map_err(|e| e.to_string())?;
    bar.finish_and_clear();
    print(&text(&summary));
    Ok(())
}

fn text(summary: &demo::Summary) -> String {
    let demo::Summary { distributors, resellers, customers, users, systems, applications, .. } = summary;
    let mut text = format!(
        "made {distributors} distributors, {resellers} resellers, {customers} customers, {users} users, {systems} systems, \
         {applications} applications\n\
         the great distributor is {}\n",
        summary.great_distributor,
    );
    for example in &summary.examples {
        let (name, organization) = (&example.name, &example.organization);
        let (key, secret) = (&example.system_key, example.system_secret.reveal());
        // Writing to a text cannot fail.
        let _ = writeln!(text, "system {name} of {organization}: {key}:{secret}");
    }
    text
}
