//! The page of metrics for Prometheus (docs/observability.md), family by family.
//!
//! Every part of the service has counters of its own; [`page`] reads them. To add a family: a counter in the part, a
//! function that reads it, its lines here, its row in docs/observability.md (a test compares the two). Labels are fixed
//! words, never an id, a tenant or a text from a client.

use crate::App;
use bailiwick_alerts::{self as alerts, notify};
use bailiwick_domain::{
    Ts,
    metrics::{MetricKind, Page},
};
use bailiwick_events::mail;
use bailiwick_platform::{http_metrics::RouteMetrics, metrics::work, write_check};
use bailiwick_store::stats::{Connections, Jobs, Subscriptions, Waiting, Work};

/// Everything. `build` are the labels of the build.
pub async fn page(app: &App, build: &[(&str, &str)]) -> String {
    let mut page = Page::default();
    page.family("bailiwick_build_info", MetricKind::Gauge, "What runs here; always 1.").value(build, 1);
    let started = app.platform.started_at.0 as f64 / 1e6;
    page.single(
        "bailiwick_start_time_seconds",
        MetricKind::Gauge,
        "When the process began to serve, Unix time.",
        started,
    );
    let stopping = u8::from(app.platform.is_leaving());
    page.single(
        "bailiwick_stopping",
        MetricKind::Gauge,
        "1 while the process finishes what is in flight.",
        stopping,
    );
    requests(app, &mut page);
    rejections(app, &mut page);
    connections(&app.platform.db.connections(), &mut page);
    routers(app, &mut page);
    notifications(app, &mut page);
    deliveries(app, &mut page);
    tasks(app, &mut page);
    let counts = work(&app.platform).await;
    let up = u8::from(counts.is_some());
    page.single("bailiwick_database_up", MetricKind::Gauge, "Whether the database answered last time.", up);
    let is_writable = u8::from(write_check::was_writable(&app.platform).await);
    let help = "Whether the last check could write to the database.";
    page.single("bailiwick_database_writable", MetricKind::Gauge, help, is_writable);
    if let Some(counts) = counts {
        waiting(app, &counts, &mut page);
    }
    page.finish()
}

fn requests(app: &App, page: &mut Page) {
    let http = &app.platform.metrics.http;
    let in_flight = http.in_flight();
    page.single("bailiwick_http_requests_in_flight", MetricKind::Gauge, "Requests in work.", in_flight);
    let answered = http.answered();
    let help = "Requests answered, by route and class of status.";
    let mut family = page.family("bailiwick_http_requests_total", MetricKind::Counter, help);
    for RouteMetrics { name, classes, .. } in &answered {
        for (class, count) in classes {
            family.value(&[("method", &name.method), ("route", &name.route), ("status", class)], count);
        }
    }
    let help = "Time from the head of a request to the head of its answer.";
    let mut family = page.family("bailiwick_http_request_duration_seconds", MetricKind::Histogram, help);
    for RouteMetrics { name, times, .. } in &answered {
        family.times(&[("method", &name.method), ("route", &name.route)], times);
    }
}

fn rejections(app: &App, page: &mut Page) {
    let throttle = &app.alerts.state.throttle;
    let help = "Requests refused because there were too many, by the limit they met.";
    let mut family = page.family("bailiwick_http_rejected_total", MetricKind::Counter, help);
    for (class, count) in [
        ("alert_in_flight", throttle.crowded()),
        ("alert_system", throttle.refused()),
        ("api_key", app.identity.api_keys.refused()),
        ("avatar", app.directory.avatar_requests.refused()),
        ("backup", app.fleet.backups.refused()),
        ("password", app.identity.passwords.refused()),
        ("reachability", app.fleet.reachability_checks.refused()),
        ("system_auth", app.identity.refused_credentials()),
        ("test_message", app.alerts.state.test_messages.refused()),
        ("token", app.identity.token_requests.refused()),
    ] {
        family.value(&[("limit", class)], count);
    }
}

fn connections(connections: &Connections, page: &mut Page) {
    let mut family =
        page.family("bailiwick_database_connections", MetricKind::Gauge, "Connections by pool and state.");
    for pool in &connections.pools {
        let used = pool.open.saturating_sub(pool.idle);
        family.value(&[("pool", pool.name), ("state", "idle")], pool.idle);
        family.value(&[("pool", pool.name), ("state", "used")], used);
    }
    let help = "Connections that a pool may open.";
    let mut family = page.family("bailiwick_database_connections_max", MetricKind::Gauge, help);
    for pool in &connections.pools {
        family.value(&[("pool", pool.name)], pool.most);
    }
    let help =
        "Wait for a connection to read with, or for a transaction to begin (on SQLite: the turn at writing).";
    let mut family = page.family("bailiwick_database_wait_seconds", MetricKind::Histogram, help);
    family.times(&[("for", "read")], &connections.read);
    family.times(&[("for", "write")], &connections.write);
    let help = "Requests for a connection that got none.";
    page.single("bailiwick_database_wait_failures_total", MetricKind::Counter, help, connections.failed);
    let help = "Transactions that the database could not write: it was full, broken or out of reach.";
    page.single(
        "bailiwick_database_write_failures_total",
        MetricKind::Counter,
        help,
        connections.write_faults,
    );
    let help =
        "Requests that only read, where there is a replica, by the database that they began to read from.";
    let mut family = page.family("bailiwick_database_replica_requests_total", MetricKind::Counter, help);
    let (used, unused) = connections.replica;
    family.value(&[("reads_from", "replica")], used);
    family.value(&[("reads_from", "primary")], unused);
}

fn routers(app: &App, page: &mut Page) {
    let health = app.alerts.state.router_health();
    let help = "State of the circuit breaker before a remote alert router; 1 for the present one.";
    let mut family = page.family("bailiwick_alert_router_breaker", MetricKind::Gauge, help);
    for (client, health) in &health {
        for state in ["closed", "open", "probing"] {
            family.value(&[("client", client), ("state", state)], u8::from(health.breaker == state));
        }
    }
    let help = "Requests in flight to a remote alert router.";
    let mut family = page.family("bailiwick_alert_router_in_flight", MetricKind::Gauge, help);
    for (client, health) in &health {
        family.value(&[("client", client)], health.in_flight.0);
    }
    let help = "Requests that may be in flight to a remote alert router.";
    let mut family = page.family("bailiwick_alert_router_in_flight_max", MetricKind::Gauge, help);
    for (client, health) in &health {
        family.value(&[("client", client)], health.in_flight.1);
    }
    let help = "Requests to a remote alert router by outcome; the tries of one together.";
    let mut family = page.family("bailiwick_alert_router_requests_total", MetricKind::Counter, help);
    for (client, health) in &health {
        for (outcome, count) in &health.outcomes {
            family.value(&[("client", client), ("outcome", outcome)], count);
        }
    }
    let help = "Time of requests to a remote alert router, all tries together.";
    let mut family =
        page.family("bailiwick_alert_router_request_duration_seconds", MetricKind::Histogram, help);
    for (client, health) in &health {
        family.times(&[("client", client)], &health.times);
    }
    let help = "Alerts held for tenants a remote router does not run yet that were dropped, by reason.";
    let mut family = page.family("bailiwick_held_alerts_dropped_total", MetricKind::Counter, help);
    for (reason, count) in app.alerts.state.dropped() {
        family.value(&[("reason", reason)], count);
    }
}

fn notifications(app: &App, page: &mut Page) {
    let help = "Notifications of the embedded alert router by channel and outcome.";
    let mut family = page.family("bailiwick_notifications_total", MetricKind::Counter, help);
    for count in notify::figures(&app.alerts).counts() {
        for (outcome, n) in [("sent", count.sent), ("retried", count.retried), ("failed", count.failed)] {
            family.value(&[("channel", count.channel), ("outcome", outcome)], n);
        }
    }
    let mails = &app.events.outbox.figures;
    let help = "Mails about accounts by outcome of a try.";
    let mut family = page.family("bailiwick_mails_total", MetricKind::Counter, help);
    for (outcome, n) in [
        ("sent", &mails.sent),
        ("delayed", &mails.delayed),
        ("failed", &mails.failed),
        ("dropped", &mails.dropped),
    ] {
        family.value(&[("outcome", outcome)], n.get());
    }
}

fn deliveries(app: &App, page: &mut Page) {
    let help = "Events for subscribers by outcome of a try; withheld ones could not be read by the subscriber any more.";
    let mut family = page.family("bailiwick_event_deliveries_total", MetricKind::Counter, help);
    for (outcome, n) in app.events.deliveries.figures.counts() {
        family.value(&[("outcome", outcome)], n);
    }
}

/// Events for subscribers, and Logto sync.
fn others(work: &Work, page: &mut Page) {
    let help = "Deliveries of events that were given up and are kept to be seen; counted up to 100000.";
    page.single("bailiwick_event_deliveries_dead", MetricKind::Gauge, help, work.dead_deliveries);
    let Subscriptions { working, failing, off } = work.subscriptions;
    let help = "Subscriptions of events; failing ones have not been reached since something was last tried.";
    let mut family = page.family("bailiwick_event_subscriptions", MetricKind::Gauge, help);
    for (state, count) in [("working", working), ("failing", failing), ("off", off)] {
        family.value(&[("state", state)], count);
    }
    let help = "Users and organizations whose last transfer to the Logto tenant failed.";
    let mut family = page.family("bailiwick_logto_failures", MetricKind::Gauge, help);
    for (outcome, count) in [("retried", work.logto.retried), ("refused", work.logto.refused)] {
        family.value(&[("outcome", outcome)], count);
    }
}

fn tasks(app: &App, page: &mut Page) {
    let runs = app.platform.metrics.tasks.read();
    let help = "Runs of regular tasks in this process, by outcome.";
    let mut family = page.family("bailiwick_task_runs_total", MetricKind::Counter, help);
    for (task, figures) in &runs {
        family.value(&[("task", task), ("outcome", "succeeded")], figures.succeeded);
        family.value(&[("task", task), ("outcome", "failed")], figures.failed);
    }
    let help = "Time that the runs of regular tasks took.";
    let mut family = page.family("bailiwick_task_seconds_total", MetricKind::Counter, help);
    for (task, figures) in &runs {
        family.value(&[("task", task)], figures.took.as_secs_f64());
    }
    let help = "End of the last run of a regular task that succeeded in this process, Unix time.";
    let mut family = page.family("bailiwick_task_last_success_time_seconds", MetricKind::Gauge, help);
    for (task, figures) in &runs {
        if let Some(at) = figures.last_success {
            family.value(&[("task", task)], at.0 as f64 / 1e6);
        }
    }
}

fn waiting(app: &App, work: &Work, page: &mut Page) {
    let now = app.platform.now();
    let jobs = jobs(work);
    let help = "Jobs to be done, by kind; also those not due yet.";
    let mut family = page.family("bailiwick_jobs_waiting", MetricKind::Gauge, help);
    for jobs in &jobs {
        family.value(&[("kind", &jobs.kind)], jobs.all);
    }
    let mut family = page.family("bailiwick_jobs_due", MetricKind::Gauge, "Jobs that are due, by kind.");
    for jobs in &jobs {
        family.value(&[("kind", &jobs.kind)], jobs.due.count);
    }
    let help = "How long the longest overdue job has been due, by kind.";
    let mut family = page.family("bailiwick_jobs_overdue_seconds", MetricKind::Gauge, help);
    for jobs in &jobs {
        family.value(&[("kind", &jobs.kind)], age(jobs.due, now));
    }
    let help = "Jobs that were given up and are kept to be seen, by kind.";
    let mut family = page.family("bailiwick_jobs_given_up", MetricKind::Gauge, help);
    for jobs in &jobs {
        family.value(&[("kind", &jobs.kind)], jobs.ended);
    }
    let queues = queues(work);
    let help = "Entries of a queue: accepted inventories, pushes held for tenants a remote router does not run yet, \
        configurations to be given to it, groups of alerts to be sent, events without a number, deliveries of events, \
        changes for a Logto tenant.";
    let mut family = page.family("bailiwick_queue_waiting", MetricKind::Gauge, help);
    for (queue, waiting) in queues {
        family.value(&[("queue", queue)], waiting.count);
    }
    let help = "How long the oldest entry of a queue has waited; for inventories this is how far the differ is behind.";
    let mut family = page.family("bailiwick_queue_oldest_seconds", MetricKind::Gauge, help);
    for (queue, waiting) in queues {
        family.value(&[("queue", queue)], age(waiting, now));
    }
    let help = "Inventories that could not be worked on.";
    page.single("bailiwick_inventory_quarantined", MetricKind::Gauge, help, work.quarantined);
    others(work, page);
    if app.alerts.state.is_embedded() {
        alerts(work, page);
    }
    let help = "Events of the alert history that wait in memory to be written.";
    page.single(
        "bailiwick_alert_history_pending",
        MetricKind::Gauge,
        help,
        alerts::history_waiting(&app.alerts),
    );
}

/// The jobs by kind, mails also before the first mail.
pub(crate) fn jobs(work: &Work) -> Vec<Jobs> {
    let mut jobs = work.jobs.clone();
    if !jobs.iter().any(|jobs| jobs.kind == mail::KIND) {
        jobs.push(Jobs { kind: mail::KIND.to_owned(), ..Jobs::default() });
    }
    jobs
}

/// The queues beside the jobs, by the name that the metrics have for them.
pub(crate) const fn queues(work: &Work) -> [(&'static str, Waiting); 7] {
    [
        ("inventory", work.documents),
        ("held_pushes", work.held_pushes),
        ("router_configurations", work.configurations),
        ("notifications", work.groups),
        ("events", work.events),
        ("event_deliveries", work.deliveries),
        ("logto", work.logto.waiting),
    ]
}

fn alerts(work: &Work, page: &mut Page) {
    let help = "Active alerts of the embedded alert router.";
    page.single("bailiwick_alerts_active", MetricKind::Gauge, help, work.alerts);
    let help = "Pending and active silences of the embedded alert router.";
    page.single("bailiwick_silences", MetricKind::Gauge, help, work.silences);
    let help = "Recipients whose last try failed.";
    page.single("bailiwick_recipients_unreached", MetricKind::Gauge, help, work.unreached);
}

fn age(waiting: Waiting, now: Ts) -> f64 {
    waiting.oldest.map_or(0.0, |oldest| now.since(oldest).as_secs_f64())
}
