//! The command line. One file per command; the commands that need the running parts are called from [`compose`].

pub mod alerts;
pub mod assets;
pub mod audit;
pub mod backup;
pub mod completions;
pub mod compose;
pub mod config;
pub mod copy_db;
pub mod demo;
pub mod events;
mod first_start;
pub mod health;
pub mod inventory;
pub mod jobs;
pub mod keys;
pub mod logto;
pub mod mail;
mod messages;
pub mod openapi;
pub mod owner;
pub mod retention;
pub mod serve;
pub mod sessions;
mod sources;
pub mod system;
pub mod token;

pub use sources::Sources;

use bailiwick_domain::{OrgId, SystemId, Ts};
use clap::{Args, Parser, Subcommand};
use sources::name_and_value;
use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

/// Below the list of flags.
const AFTER_HELP: &str = "\
Exit status:
  0    done; of `serve`: stopped by SIGTERM or SIGINT
  1    it failed; `health`: the service is not well
  2    the command line is wrong
  78   the configuration is wrong, and another start changes nothing
  130  a second signal ended it at once

Examples:
  bailiwick --listen 127.0.0.1:8080 --data-dir ./data
  bailiwick --config /etc/bailiwick/bailiwick.toml config check
  bailiwick user create-owner --email noc@portal.example --name 'The NOC'
  bailiwick mail test noc@portal.example";

/// Fleet management for appliances: organizations, users, systems, inventory and alerts behind one API.
#[derive(Debug, Parser)]
#[command(name = "bailiwick", version, propagate_version = true, after_help = AFTER_HELP)]
pub struct Cli {
    /// Where settings come from.
    #[command(flatten)]
    pub sources: Sources,
    /// What to do; `serve` when left out.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the service (the default)
    Serve,
    /// Ask the running service of this configuration whether it is alive; exit status 1 if it is not
    Health(health::HealthArgs),
    /// Bring the database to this version's schema and exit
    Migrate,
    /// Copy database, secret and files into a new directory, also while the service runs (SQLite)
    Backup(BackupArgs),
    /// Put a backup in place where there is nothing yet (SQLite)
    Restore(BackupArgs),
    /// Copy the SQLite database into an empty PostgreSQL database, while no service runs
    CopyDb(CopyDbArgs),
    /// Inspect the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the OpenAPI document
    Openapi(openapi::OpenapiArgs),
    /// Print a short-lived access token of a user, for scripts
    Token(TokenArgs),
    /// Manage users
    #[command(subcommand)]
    User(UserCommand),
    /// Try the mail server
    #[command(subcommand)]
    Mail(mail::MailCommand),
    /// List the sessions of a user, or end them
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Manage the keys that sign tokens and seal secrets
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Manage users and organizations at a Logto tenant (identity.mode `logto`)
    #[command(subcommand)]
    Logto(LogtoCommand),
    /// Print the audit log, the newest entries first
    Audit(AuditArgs),
    /// Take over credentials that systems have from an earlier installation
    #[command(subcommand)]
    System(SystemCommand),
    /// Manage rebranding files and pictures of users
    #[command(subcommand)]
    Assets(AssetsCommand),
    /// Explain who is notified of alerts
    #[command(subcommand)]
    Alerts(AlertsCommand),
    /// Inspect event subscriptions and their deliveries
    #[command(subcommand)]
    Events(events::EventsCommand),
    /// Manage inventory documents that could not be processed
    #[command(subcommand)]
    Inventory(InventoryCommand),
    /// Print what background work has still to do, and the tasks that run regularly
    Jobs(JobsArgs),
    /// Delete data past its retention, as the service does every hour
    Retention(RetentionArgs),
    /// Fill the database with a realistic made-up tree
    Demo(demo::DemoArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
}

/// `bailiwick backup` and `bailiwick restore`
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// Directory of the backup
    pub directory: PathBuf,
}

/// `bailiwick copy-db`
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct CopyDbArgs {
    /// Address of the target: postgres://…
    #[arg(long, value_name = "URL")]
    pub to: Option<String>,
    /// File that holds the address, which may contain a password
    #[arg(long, value_name = "FILE")]
    pub to_file: Option<PathBuf>,
}

/// `bailiwick config …`
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the configuration in force, secrets covered, or everything that is wrong with it and with the files it
    /// names
    Check,
    /// Print the JSON schema of the configuration file
    Schema,
    /// Print the reference page of all settings (docs/configuration.md)
    Docs,
}

/// `bailiwick token`
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// E-mail address of the user
    pub email: String,
}

/// `bailiwick user …`
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Add a Super Admin to the owner organization; the API never does
    CreateOwner(CreateOwnerArgs),
    /// Set the password of a user who has lost it, where no mail can bring a new one; ends their sessions
    SetPassword(SetPasswordArgs),
    /// Unlink a user from their account at the identity provider; the next sign-in with their verified address links
    /// again
    Unlink(UnlinkArgs),
    /// Remove the passkeys, the authenticator application and the recovery codes of a user who has lost them; ends
    /// their sessions
    ResetSecondFactor(ResetSecondFactorArgs),
}

/// `bailiwick user set-password`
#[derive(Debug, Args)]
pub struct SetPasswordArgs {
    /// E-mail address or id of the user
    pub user: String,
    /// Generate a password and print it, instead of reading one from the terminal or the standard input
    #[arg(long)]
    pub generate: bool,
}

/// `bailiwick user reset-second-factor`
#[derive(Debug, Args)]
pub struct ResetSecondFactorArgs {
    /// E-mail address or id of the user
    pub user: String,
}

/// `bailiwick user unlink`
#[derive(Debug, Args)]
pub struct UnlinkArgs {
    /// E-mail address of the user
    pub email: String,
}

/// `bailiwick user create-owner`
#[derive(Debug, Args)]
pub struct CreateOwnerArgs {
    /// E-mail address, also for signing in
    #[arg(long)]
    pub email: String,
    /// Full name
    #[arg(long)]
    pub name: String,
    /// Name for signing in [default: made from the e-mail address]
    #[arg(long)]
    pub username: Option<String>,
    /// File that holds the password [default: one is made and printed once]
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

/// `bailiwick sessions …`
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List a user's active sign-ins and sessions
    List(SessionsListArgs),
    /// End them immediately in all processes; API keys stay
    End(SessionsEndArgs),
}

/// `bailiwick sessions list`
#[derive(Debug, Args)]
pub struct SessionsListArgs {
    /// The user, by id or e-mail address
    pub user: String,
    /// One JSON object for each line
    #[arg(long)]
    pub json: bool,
}

/// `bailiwick sessions end`
#[derive(Debug, Args)]
pub struct SessionsEndArgs {
    /// The user, by id or e-mail address
    pub user: String,
    /// Only this login (with everything that came of it) or this session [default: all]
    #[arg(long, value_name = "ID", value_parser = audit::id)]
    pub id: Option<uuid::Uuid>,
}

/// `bailiwick keys …`
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum KeysCommand {
    /// Sign with a new key from now on; the old one stays published until nothing it signed is valid
    Rotate,
    /// Seal stored secrets again with the current secret, so that `previous_secret` can be removed
    Reseal,
    /// Accept the configured secret although the previous one is lost; everything sealed with the lost one is lost too
    Adopt,
}

/// `bailiwick jobs`
#[derive(Clone, Copy, Debug, Args)]
pub struct JobsArgs {
    /// One JSON object for each line
    #[arg(long)]
    pub json: bool,
}

/// `bailiwick logto …`
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum LogtoCommand {
    /// Print the differences between Logto and this service, and repair them at Logto
    Sync(LogtoSyncArgs),
}

/// `bailiwick logto sync`
#[derive(Clone, Copy, Debug, Args)]
pub struct LogtoSyncArgs {
    /// Only print the differences
    #[arg(long)]
    pub dry_run: bool,
}

/// `bailiwick audit`
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Not before: 2026-03-04, or 2026-03-04T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = audit::time)]
    pub since: Option<Ts>,
    /// Before: 2026-03-05, or 2026-03-04T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = audit::time)]
    pub until: Option<Ts>,
    /// The user who acted, by id or e-mail address
    #[arg(long, value_name = "USER")]
    pub actor: Option<String>,
    /// Organization of the user whose rights were used
    #[arg(long, value_name = "ID")]
    pub organization: Option<OrgId>,
    /// Id of what was changed
    #[arg(long, value_name = "ID", value_parser = audit::id)]
    pub object: Option<uuid::Uuid>,
    /// Beginning of the action: user, user.create
    #[arg(long)]
    pub action: Option<String>,
    /// X-Request-Id of the request
    #[arg(long, value_name = "ID")]
    pub request_id: Option<String>,
    /// How many rows at most
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub limit: u64,
    /// One JSON object for each line, with the states before and after
    #[arg(long)]
    pub json: bool,
}

/// `bailiwick system …`
#[derive(Debug, Subcommand)]
pub enum SystemCommand {
    /// Give systems the older pairs, or the keys and hashed secrets, that a CSV file names (docs/import.md)
    ImportCredentials(ImportCredentialsArgs),
    /// Take older pairs away again
    ForgetLegacy(ForgetLegacyArgs),
}

/// `bailiwick system import-credentials`
#[derive(Debug, Args)]
pub struct ImportCredentialsArgs {
    /// The CSV file
    pub file: PathBuf,
}

/// `bailiwick system forget-legacy`
#[derive(Clone, Copy, Debug, Args)]
#[group(required = true, multiple = false)]
pub struct ForgetLegacyArgs {
    /// Only that of this system
    #[arg(long, value_name = "ID")]
    pub system: Option<SystemId>,
    /// Those of all systems
    #[arg(long)]
    pub all: bool,
}

/// `bailiwick assets …`
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum AssetsCommand {
    /// Move stored images to the place that assets.images names, also while the service runs
    Move(AssetsMoveArgs),
}

/// `bailiwick assets move`
#[derive(Clone, Copy, Debug, Args)]
pub struct AssetsMoveArgs {
    /// Only count them
    #[arg(long)]
    pub dry_run: bool,
}

/// `bailiwick alerts …`
#[derive(Debug, Subcommand)]
pub enum AlertsCommand {
    /// Print the recipients that an alert would notify, and why; secrets are left out
    Routes(AlertRoutesArgs),
    /// List tenants without alerts on a remote router; --apply deletes them there, and their next alert creates them
    /// again
    Prune(AlertPruneArgs),
}

/// `bailiwick alerts prune`
#[derive(Clone, Copy, Debug, Args)]
pub struct AlertPruneArgs {
    /// Days without an alert
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub idle_days: u32,
    /// Have the router forget them; without it they are only listed
    #[arg(long)]
    pub apply: bool,
}

/// `bailiwick alerts routes`
#[derive(Debug, Args)]
pub struct AlertRoutesArgs {
    /// The organization whose alert it is
    #[arg(long, value_name = "ID")]
    pub organization: OrgId,
    /// The alert's labels: severity=critical,system_key=SYS-1
    #[arg(long, value_name = "NAME=VALUE,…", value_delimiter = ',', value_parser = name_and_value)]
    pub labels: Vec<(String, String)>,
}

/// `bailiwick inventory …`
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum InventoryCommand {
    /// List the documents that were put aside after three failures, with the reason
    Quarantine,
    /// Put documents that were put aside back into the queue
    Replay(ReplayArgs),
}

/// `bailiwick inventory replay`
#[derive(Clone, Copy, Debug, Args)]
pub struct ReplayArgs {
    /// Only the entry with this number [default: all]
    #[arg(long, value_name = "NUMBER")]
    pub entry: Option<i64>,
}

/// `bailiwick retention`
#[derive(Clone, Copy, Debug, Args)]
pub struct RetentionArgs {
    /// Only count what would be removed
    #[arg(long)]
    pub dry_run: bool,
}

/// `bailiwick completions`
#[derive(Clone, Copy, Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Writes a command's output. A closed pipe (`| head`) is not a failure.
pub fn print(text: &str) -> ExitCode {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => fail(&why.to_string()),
        _ => ExitCode::SUCCESS,
    }
}

/// Tells the operator something on the standard error, beside a command's output.
pub fn note(message: &str) {
    // If the standard error is closed, there is no place left to report to.
    let _ = writeln!(io::stderr().lock(), "bailiwick: {message}");
}

/// Prints an error for the operator; exit status 1.
pub fn fail(message: &str) -> ExitCode {
    note(message);
    ExitCode::FAILURE
}

/// Exit status of a configuration that cannot be used: another start changes nothing (`EX_CONFIG` of sysexits.h).
pub const MISCONFIGURED: u8 = 78;

/// Prints what is wrong with the configuration.
pub fn misconfigured(message: &str) -> ExitCode {
    note(message);
    ExitCode::from(MISCONFIGURED)
}

/// Runs the command line; `environment` are the process's variables.
pub fn run(cli: Cli, environment: &[(String, String)]) -> ExitCode {
    match cli.command.unwrap_or(Command::Serve) {
        Command::Config(ConfigCommand::Schema) => config::schema(),
        Command::Config(ConfigCommand::Docs) => config::docs(),
        Command::Config(ConfigCommand::Check) => config::check(&cli.sources, environment),
        Command::Completions(args) => completions::run(args),
        Command::Serve => match cli.sources.load_for_service(environment) {
            Ok(config) => serve::run(&config),
            Err(problems) => misconfigured(&problems),
        },
        other => match cli.sources.load(environment) {
            Ok(config) => {
                config.ignored.iter().for_each(|ignored| note(&format!("warning: {ignored}")));
                compose::run(other, config)
            }
            Err(problems) => misconfigured(&problems),
        },
    }
}

#[cfg(test)]
mod tests;
