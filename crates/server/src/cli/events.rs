//! `bailiwick events …`

use super::{audit, print};
use bailiwick_app::{App, Caller};
use bailiwick_domain::{PageRequest, SortDirection};
use bailiwick_events::{
    self as events, ListQuery,
    signatures::Message,
    subscriptions::{self, View},
    test_and_replay::{self, Replay},
};
use bailiwick_platform::RequestContext;
use clap::{Args, Subcommand};
use serde_json::json;
use uuid::Uuid;

/// `bailiwick events …`
#[derive(Debug, Subcommand)]
pub enum EventsCommand {
    /// Print events, the oldest first, one JSON object for each line
    List(ListArgs),
    /// Print the subscriptions of all organizations and how they fare
    Subscriptions(SubscriptionsArgs),
    /// Deliver events again to a subscription; the running service does it
    Replay(ReplayArgs),
}

/// `bailiwick events list`
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only this type, or these: system.created, 'system.*'; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    pub types: Vec<String>,
    /// Only those after this sequence number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub after: u64,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    pub limit: u64,
}

/// `bailiwick events subscriptions`
#[derive(Debug, Args)]
pub struct SubscriptionsArgs {
    /// One JSON object for each line
    #[arg(long)]
    pub json: bool,
}

/// `bailiwick events replay`
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Id of the subscription
    #[arg(value_parser = audit::id)]
    pub subscription: Uuid,
    /// This event
    #[arg(long, value_name = "ID", value_parser = audit::id, conflicts_with = "since", required_unless_present = "since")]
    pub event: Option<Uuid>,
    /// The events of this day (UTC) or moment and later
    #[arg(long, value_name = "TIME", value_parser = audit::time)]
    pub since: Option<bailiwick_domain::Ts>,
}

/// Runs the command.
pub async fn run(app: &App, command: EventsCommand) -> Result<(), String> {
    match command {
        EventsCommand::List(args) => list(app, args).await,
        EventsCommand::Subscriptions(args) => show(app, &args).await,
        EventsCommand::Replay(args) => replay(app, args).await,
    }
    .map_err(|e| e.to_string())
}

fn page(number: u64) -> PageRequest {
    PageRequest { page: number, page_size: PageRequest::MAX_SIZE }
}

async fn list(app: &App, args: ListArgs) -> bailiwick_domain::Result<()> {
    let (mut left, mut after) = (args.limit, args.after);
    while left > 0 {
        let query = ListQuery {
            page: page(1),
            types: args.types.clone(),
            organization_id: Vec::new(),
            with_descendants: false,
            object_id: Vec::new(),
            after: Some(after.to_string()),
            direction: SortDirection::Asc,
        };
        let found = events::list(&app.events, &Caller::Worker, query).await?.page;
        let Some(last) = found.rows.last() else { break };
        after = u64::try_from(last.seq).unwrap_or(u64::MAX);
        let take = usize::try_from(left).unwrap_or(usize::MAX);
        let rows = found.rows.into_iter().take(take);
        let lines: Vec<String> = rows
            .map(|event| json!(Message::of(event, &app.settings.public_url)).to_string() + "\n")
            .collect();
        left = left.saturating_sub(lines.len() as u64);
        print(&lines.concat());
    }
    Ok(())
}

async fn show(app: &App, args: &SubscriptionsArgs) -> bailiwick_domain::Result<()> {
    if !args.json {
        print(&line("ID", "ORGANIZATION", "STATE", "PENDING", "DEAD", "NAME"));
    }
    let mut number = 1;
    loop {
        let found = subscriptions::list(&app.events, &Caller::Worker, page(number)).await?;
        let is_last = found.total_pages() <= number;
        let lines: Vec<String> =
            found.rows.iter().map(if args.json { json_line } else { table_line }).collect();
        print(&lines.concat());
        if is_last {
            return Ok(());
        }
        number += 1;
    }
}

fn state(view: &View) -> &'static str {
    match (&view.subscription.failing_since, view.subscription.is_enabled) {
        (_, false) => "disabled",
        (Some(_), true) => "failing",
        (None, true) => "enabled",
    }
}

fn line(id: &str, organization: &str, state: &str, pending: &str, dead: &str, name: &str) -> String {
    // Control characters are replaced, because a terminal would obey them.
    let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("{id:<36}  {organization:<36}  {state:<8}  {pending:>8}  {dead:>6}  {name}\n")
}

fn table_line(view: &View) -> String {
    let (s, counts) = (&view.subscription, view.counts);
    let (pending, dead) = (counts.pending.to_string(), counts.dead.to_string());
    line(&s.id.to_string(), &s.path.id.to_string(), state(view), &pending, &dead, &s.name)
}

/// Without the address, which may be a secret.
fn json_line(view: &View) -> String {
    let (s, counts) = (&view.subscription, view.counts);
    let value = json!({
        "id": s.id, "organization_id": s.path.id, "name": s.name, "types": s.types, "enabled": s.is_enabled,
        "disabled_at": s.disabled_at, "disabled_reason": s.disabled_reason, "failing_since": s.failing_since,
        "last_error": s.last_error, "last_success_at": s.last_success_at, "pending": counts.pending,
        "dead": counts.dead,
    });
    format!("{value}\n")
}

async fn replay(app: &App, args: ReplayArgs) -> bailiwick_domain::Result<()> {
    let ctx = RequestContext::of_command(&app.platform);
    let wanted =
        Replay { event_id: args.event.map(|id| id.to_string()), since: args.since.map(|at| at.to_string()) };
    let count =
        test_and_replay::replay(&app.events, &Caller::Worker, &ctx, Some(args.subscription), || Ok(wanted))
            .await?;
    print(&format!("{count} event(s) will be delivered again\n"));
    Ok(())
}
