//! `bailiwick jobs`

use super::{JobsArgs, print};
use bailiwick_app::{
    App,
    backlog::{self, Queue, ScheduledTask},
};
use serde_json::json;

/// Prints what waits in the database, and the tasks that run regularly.
pub async fn run(app: &App, args: JobsArgs) -> Result<(), String> {
    let queues = backlog::queues(app).await.ok_or("the database does not answer")?;
    let tasks = backlog::tasks(app);
    print(&if args.json { json_lines(&queues, &tasks) } else { table(&queues, &tasks) });
    Ok(())
}

fn table(queues: &[Queue], tasks: &[ScheduledTask]) -> String {
    let mut out = format!("{:<24}  {:>8}  {:>8}  SINCE\n", "QUEUE", "WAITING", "GIVEN UP");
    for Queue { name, waiting, oldest, given_up } in queues {
        let since = oldest.map_or_else(|| "-".to_owned(), |at| at.rfc3339(0));
        out += &format!("{name:<24}  {waiting:>8}  {given_up:>8}  {since}\n");
    }
    out += &format!("\n{:<24}  {:>8}  PROCESSES\n", "TASK", "EVERY");
    for ScheduledTask { name, interval, is_exclusive } in tasks {
        let processes = if *is_exclusive { "one" } else { "each" };
        out += &format!("{name:<24}  {:>8}  {processes}\n", format!("{}s", interval.as_secs()));
    }
    out
}

fn json_lines(queues: &[Queue], tasks: &[ScheduledTask]) -> String {
    let queues = queues.iter().map(|queue| {
        json!({"queue": queue.name, "waiting": queue.waiting, "given_up": queue.given_up, "since": queue.oldest})
    });
    let tasks = tasks.iter().map(|task| {
        json!({"task": task.name, "interval_seconds": task.interval.as_secs_f64(), "exclusive": task.is_exclusive})
    });
    queues.chain(tasks).map(|value| format!("{value}\n")).collect()
}
