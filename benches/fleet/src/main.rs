//! `bench-fleet`: behaves like a fleet of systems and the people who watch it, with a load that does not wait for the
//! service, and checks what it gets: own data only, and nothing lost. docs/internals/testing.md explains it.
//!
//! Exit codes: 0 = all is well; 1 = acknowledged data is lost, or an answer held foreign data; 2 = the run could not be made.

mod answers;
mod check;
mod client;
mod documents;
mod fleet;
mod ledger;
mod measures;
mod options;
mod processes;
mod random;
mod report;
mod run;
mod schedule;
mod world;

use clap::Parser;
use client::{Call, Connection};
use fleet::Fleet;
use measures::Measures;
use options::Options;
use report::Report;
use schedule::{Schedule, Size, streams};
use std::{
    fs,
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};
use world::{Person, World};

fn main() -> ExitCode {
    match start(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            // Nothing can be said when this fails.
            let _ = writeln!(io::stderr(), "bench-fleet: {why}");
            ExitCode::from(2)
        }
    }
}

fn start(options: &Options) -> Result<bool, String> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = options.threads {
        runtime.worker_threads(usize::from(threads));
    }
    let runtime = runtime.enable_all().build().map_err(|why| why.to_string())?;
    runtime.block_on(bench(options))
}

/// Makes the run and reports; whether all is well.
async fn bench(options: &Options) -> Result<bool, String> {
    let read =
        |path: &std::path::Path| fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()));
    let world = World::read(&read(&options.credentials)?, options.systems as usize)?;
    if world.fleet() == 0 {
        return Err("the file of credentials has no registered system".to_owned());
    }
    let plan = run::Plan {
        services: options.services.clone(),
        connections: options.connections,
        patience: Duration::from_secs(options.patience),
        length: options.length(),
        drain: Duration::from_secs(options.drain),
        processes: options.processes.clone(),
    };
    let people = introduce(&plan, &read(&options.people)?).await?;
    let size = size(&world, options);
    let fleet = Arc::new(Fleet::new(world, people, size.alerting, options.seed, Measures::new()?));
    let schedule = Schedule::new(options.seed, options.pace().of(streams(size)), options.length());
    let outcome = run::run(&fleet, &plan, schedule).await?;
    let checked = check::check(&fleet, &plan, options.check, Duration::from_secs(options.settle)).await?;
    let report = Report {
        options,
        systems: fleet.world.fleet(),
        organizations: fleet.world.organizations(),
        alerting: fleet.alerting(),
        watchers: size.people,
        measures: &fleet.measures,
        outcome: &outcome,
        checked: &checked,
    };
    publish(&report.markdown(), options).map_err(|why| why.to_string())?;
    Ok(report.is_good())
}

fn size(world: &World, options: &Options) -> Size {
    let systems = u32::try_from(world.fleet()).unwrap_or(u32::MAX);
    let thousands = f64::from(systems) / 1000.0;
    // From 0 to the fleet; a fraction of a system is one.
    let alerting = (thousands * options.alerting).ceil().min(f64::from(systems));
    Size { systems, alerting: alerting as u32, people: options.watchers.unwrap_or((systems / 1000).max(10)) }
}

/// Asks the service which organization each token belongs to.
async fn introduce(plan: &run::Plan, tokens: &str) -> Result<Vec<Person>, String> {
    let mut connection: Connection = plan.connections().next().ok_or("there is no service")?;
    let mut people = Vec::new();
    for (n, token) in tokens.lines().enumerate() {
        let bearer = format!("Bearer {token}");
        let answer = connection.ask(&Call::get("/api/me", &bearer)).await;
        let answer = answer.map_err(|failure| format!("a service: {}", failure.word()))?;
        if answer.status != 200 {
            return Err(format!("token {}: the service answers {}", n + 1, answer.status));
        }
        let me = answers::me(&answer.body).map_err(|_| "/api/me cannot be read")?;
        people.push(Person { bearer, organization: me.0, sees_all: me.1 });
    }
    match people.first() {
        Some(first) if first.sees_all => Ok(people),
        _ => Err("the first token does not belong to a user of the owner organization".to_owned()),
    }
}

fn publish(text: &str, options: &Options) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())?;
    if let Some(path) = &options.report {
        fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())?;
    }
    Ok(())
}
