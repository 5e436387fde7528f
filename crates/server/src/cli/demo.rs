//! `bailiwick demo`

use super::{first_start, messages, print};
use crate::config::LogFormat;
use bailiwick_app::{App, operator};
use bailiwick_demo::{
    self as demo,
    life::{self, HistoryClock},
    remove::{self as removal, ObjectCounts},
};
use bailiwick_domain::Error;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    fmt::Write as _,
    fs,
    io::{self, BufWriter, Write as _},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

/// `bailiwick demo`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DemoArgs {
    /// What to do; fill the database when left out
    #[command(subcommand)]
    pub command: Option<DemoCommand>,
    /// How many organizations to make
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=i64::from(demo::MAX_ORGANIZATIONS)))]
    pub organizations: u32,
    /// How many systems to make
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=i64::from(demo::MAX_SYSTEMS)))]
    pub systems: u32,
    /// How many users to make [default: three for two organizations]
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..1_000_000))]
    pub users: Option<u32>,
    /// Fill a database that has other data than the first owner
    #[arg(long)]
    pub into_existing: bool,
    /// Leave out the applications on systems
    #[arg(long)]
    pub without_applications: bool,
    /// Make systems without a past that stand still: `serve` does not keep them alive (always so above 20000 systems)
    #[arg(long)]
    pub still: bool,
    /// The same seed makes the same tree; another one can be added to it
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// New file for the credentials of the systems, for programs that behave like a fleet
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,
}

/// `bailiwick demo …`
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum DemoCommand {
    /// Show what `bailiwick demo` has made, and with --yes take it out; everything else stays
    Remove(RemoveDemoArgs),
}

/// `bailiwick demo remove`
#[derive(Clone, Copy, Debug, Args)]
pub struct RemoveDemoArgs {
    /// Take it out; without this flag nothing changes
    #[arg(long)]
    pub yes: bool,
    /// Also what others have put into the made organizations
    #[arg(long)]
    pub with_added: bool,
}

/// Fills the database with demo data, lets it have lived for a while unless it is to stand still, and prints how to
/// sign in and look around.
pub async fn run(app: &App, args: DemoArgs, clock: &HistoryClock) -> Result<(), String> {
    let mut credentials = args.credentials.map(Credentials::create).transpose()?;
    let first = operator::ensure_owner(app).await.map_err(|e| messages::of(&e, str::to_owned))?;
    first_start::print_without_address(app, first, LogFormat::Text);
    if !args.into_existing && !operator::is_untouched(app).await.map_err(|e| e.to_string())? {
        credentials.map_or(Ok(()), Credentials::remove)?;
        return Err("this database has more than its first owner: use a database of its own, or --into-existing (with another \
             --seed, where this data is in it already)"
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
    let filled = demo::fill_and_list(&app.fleet, &plan, &mut show, &mut list).await;
    let is_alive = !args.still && plan.systems <= life::MOST_ALIVE;
    if filled.is_ok() && is_alive {
        wake(app, plan.seed, clock, &bar).await?;
    }
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
    let life = if is_alive { "`bailiwick serve` keeps the systems alive" } else { "the systems stand still" };
    print(&format!("{life}; `bailiwick demo remove` takes everything out again\n"));
    Ok(())
}

/// Makes the past.
async fn wake(app: &App, seed: u64, clock: &HistoryClock, bar: &ProgressBar) -> Result<(), String> {
    bar.set_message("history");
    let mut show = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    };
    life::wake(&app.alerts, seed, life::HISTORY, &|at| clock.set(at), &mut show).await.map_err(|why| {
        format!("the tree is made, but not its history, so `bailiwick serve` does not keep it alive: {why}")
    })
}

/// `bailiwick demo remove`
pub async fn remove(app: &App, args: RemoveDemoArgs) -> Result<(), String> {
    let found = removal::find_installation(&app.fleet).await.map_err(|why| why.to_string())?;
    let Some(removal::Removal { made, added }) = found else {
        print("bailiwick demo has made nothing in this database\n");
        return Ok(());
    };
    print(&format!("made by bailiwick demo: {}\n", counted(&made)));
    if added != ObjectCounts::default() {
        print(&format!("put into its organizations by others: {}\n", counted(&added)));
        if !args.with_added {
            return Err("move that first, or give --with-added to take it out too".to_owned());
        }
    }
    if args.yes {
        removal::remove(&app.fleet, args.with_added).await.map_err(|why| why.to_string())?;
        print("taken out\n");
    } else {
        print("nothing has changed: `bailiwick demo remove --yes` takes it out\n");
    }
    Ok(())
}

fn counted(extent: &ObjectCounts) -> String {
    let ObjectCounts { organizations, users, systems } = extent;
    format!("{organizations} organizations, {users} users, {systems} systems")
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
