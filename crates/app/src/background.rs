//! The background work of a process: workers on queues, and tasks at regular times.

use crate::{App, retention};
use bailiwick_alerts::{self as alerts, config, liveness_monitor, manage, transfer_cleanup};
use bailiwick_directory::{imports, objects};
use bailiwick_events::{self as events, mail};
use bailiwick_fleet::inventory;
use bailiwick_identity::{auth, impersonation, logto_sync, oidc, relying_party};
use bailiwick_platform::{
    clock_skew, jobs,
    limits::shared,
    processes,
    tasks::{self, Processes, Task, TaskFn},
};
use bailiwick_store::clock_skew::LongestDelays;
use std::time::Duration;

/// The longest time for which each kind of work is ever put off. Code that puts work off for longer must say so here.
pub const LONGEST_WAITS: LongestDelays = LongestDelays {
    jobs: jobs::RETRY.longest(),
    inventory: inventory::LONGEST_DELAY,
    held_alerts: alerts::LONGEST_HELD,
    configurations: config::LONGEST_WAIT,
    logto: jobs::RETRY.longest(),
    subscriptions: events::deliver::LONGEST_ASKED,
    events: events::deliver::LONGEST_WAIT,
    retention: retention::EVERY,
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// All tasks.
pub const TASKS: &[Task<App>] = &[
    Task {
        name: liveness_monitor::STATUSES,
        by: Processes::One,
        interval: |app| Some(app.settings.systems.check_interval),
        run: |app| Box::pin(async { liveness_monitor::update_statuses(&app.alerts).await.map(u64::from) }),
    },
    Task {
        name: liveness_monitor::ALERTS,
        by: Processes::One,
        interval: |app| Some(app.settings.systems.check_interval),
        run: |app| Box::pin(async { Ok(liveness_monitor::check_alerts(&app.alerts).await?.posted) }),
    },
    Task {
        name: clock_skew::NAME,
        by: Processes::One,
        interval: |_| Some(clock_skew::INTERVAL),
        run: |app| Box::pin(clock_skew::set_back(&app.platform, LONGEST_WAITS)),
    },
    Task {
        name: alerts::HISTORY_EXPIRY,
        by: Processes::One,
        interval: |_| Some(MINUTE),
        run: |app| Box::pin(async { Ok(alerts::sweep_history(&app.alerts).await?.unwrap_or(0)) }),
    },
    Task {
        name: "signs of life",
        by: Processes::Each,
        interval: |app| app.alerts.state.is_embedded().then_some(alerts::SIGN_INTERVAL),
        run: |app| Box::pin(async { Ok(alerts::note_alive(&app.alerts).await.map(|()| 1)?) }),
    },
    Task {
        name: "ended alerts",
        by: Processes::Each,
        interval: |app| app.alerts.state.is_embedded().then_some(MINUTE),
        run: |app| Box::pin(async { Ok(alerts::purge_ended(&app.alerts).await?) }),
    },
    Task {
        name: "held pushes",
        by: Processes::Each,
        interval: |app| (!app.alerts.state.is_embedded()).then_some(SECOND),
        run: |app| Box::pin(async { Ok(alerts::deliver_queued(&app.alerts).await? as u64) }),
    },
    Task {
        name: manage::TOTALS,
        by: Processes::One,
        interval: |app| (!app.alerts.state.is_embedded()).then_some(MINUTE),
        run: |app| Box::pin(async { Ok(manage::refresh_totals(&app.alerts).await?.unwrap_or(0)) }),
    },
    Task {
        name: config::READ_BACK,
        by: Processes::One,
        interval: |app| app.settings.alerting.router.is_provisioned().then_some(MINUTE),
        run: |app| Box::pin(async { Ok(config::read_back(&app.alerts).await?.unwrap_or(0)) }),
    },
    Task {
        name: events::PURGE,
        by: Processes::One,
        interval: |_| Some(events::PURGE_INTERVAL),
        run: |app| Box::pin(events::purge(&app.events)),
    },
    Task {
        name: retention::NAME,
        by: Processes::One,
        interval: |_| Some(retention::LOOK),
        run: |app| {
            Box::pin(async { Ok(retention::run_if_due(app).await?.map_or(0, |figures| figures.records)) })
        },
    },
    hourly("expired sessions", |app| Box::pin(auth::purge_expired(&app.identity))),
    hourly("expired codes and tokens", |app| Box::pin(oidc::purge_expired(&app.identity))),
    hourly("expired imports", |app| Box::pin(imports::purge_expired(&app.directory))),
    hourly("expired mail", |app| Box::pin(mail::purge(&app.events))),
    hourly("expired limits", |app| Box::pin(shared::purge(app.as_ref()))),
    hourly("expired impersonations", |app| {
        Box::pin(async {
            impersonation::purge(&app.identity).await.map(|p| p.sessions + p.entries + p.consents)
        })
    }),
];

/// Removes expired rows.
const fn hourly(name: &'static str, run: TaskFn<App>) -> Task<App> {
    Task { name, by: Processes::Each, interval: |_| Some(HOUR), run }
}

impl App {
    /// Starts the work that runs beside the requests, on the tracker that shutdown drains. Called once for each
    /// process.
    pub async fn start_background(&self) {
        if let Err(e) = processes::end_leases_of_dead(&self.platform).await {
            tracing::warn!(error = %e, "leases of an earlier process cannot be ended; they end by themselves");
        }
        relying_party::start(&self.identity);
        events::start(&self.events);
        inventory::start_worker(&self.fleet);
        mail::start_worker(&self.events);
        logto_sync::start(&self.identity);
        objects::start_worker(&self.directory);
        transfer_cleanup::start_worker(&self.alerts);
        alerts::start_workers(&self.alerts);
        tasks::start(self, TASKS);
    }
}
