//! `bailiwick demo`

use super::{DemoArgs, first_start, messages, print};
use crate::config::LogFormat;
use bailiwick_app::{App, bootstrap};
use bailiwick_demo as demo;
use bailiwick_domain::Error;
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    fmt::Write as _,
    fs,
    io::{self, BufWriter, Write as _},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

/// Fills the database with demo data and prints how to sign in and look around.
pub async fn run(app: &App, args: DemoArgs) -> Result<(), String> {
    let mut credentials = args.credentials.map(Credentials::create).transpose()?;
    let first = bootstrap::ensure_owner(app).await.map_err(|e| messages::of(&e, str::to_owned))?;
    first_start::tell(app, first, LogFormat::Text);
    if !args.into_existing && !bootstrap::is_untouched(app).await.map_err(|e| e.to_string())? {
        credentials.map_or(Ok(()), Credentials::remove)?;
        return Err("this database has more than its first owner, and nothing takes the made-up data out again: use a database of \
             its own, or --into-existing (with another --seed, where this data is in it already)"
            .to_owned());
    }
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
    let mut show = |step: demo::Progress| {
        bar.set_length(step.total);
        bar.set_position(step.done);
        bar.set_message(step.stage.as_str());
    };
    let mut list = |credential: &demo::Credential| {
        credentials.as_mut().map_or(Ok(()), |file| file.add(credential)).map_err(Error::internal)
    };
    let filled = demo::fill_and_list(app, &plan, &mut show, &mut list).await;
    bar.finish_and_clear();
    let summary = match filled {
        Ok(summary) => summary,
        Err(why) => {
            credentials.map_or(Ok(()), Credentials::remove)?;
            return Err(why.to_string());
        }
    };
    if let Some(file) = credentials {
        file.finish()?;
    }
    print(&text(&summary));
    Ok(())
}

/// The file of `--credentials`, which only its owner can read: a line for each system that can call the service or
/// register, with tabs between `key:secret`, the id of the system, the ids of its organization and those above it from
/// the owner downwards (joined by `/`), and `registered` or `new`.
struct Credentials {
    path: PathBuf,
    file: BufWriter<fs::File>,
}

impl Credentials {
    fn create(path: PathBuf) -> Result<Credentials, String> {
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|why| format!("{}: {why}", path.display()))?;
        Ok(Credentials { path, file: BufWriter::new(file) })
    }

    fn add(&mut self, credential: &demo::Credential) -> io::Result<()> {
        let (key, secret) = (&credential.system_key, credential.system_secret.reveal());
        let line: Vec<String> = credential.line.iter().map(ToString::to_string).collect();
        let state = if credential.is_registered { "registered" } else { "new" };
        writeln!(self.file, "{key}:{secret}\t{}\t{}\t{state}", credential.system, line.join("/"))
    }

    fn finish(mut self) -> Result<(), String> {
        self.file.flush().map_err(|why| {
            format!(
                "{}: {why}; the data is in the database, but this file is incomplete",
                self.path.display()
            )
        })
    }

    fn remove(self) -> Result<(), String> {
        fs::remove_file(&self.path).map_err(|why| format!("{}: {why}", self.path.display()))
    }
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
