//! Starts the background tasks of a process.

use crate::{App, purge, retention};
use bailiwick_alerts::{self as alerting, liveness_monitor, transfer_cleanup};
use bailiwick_directory::objects;
use bailiwick_events::{self as events, mail};
use bailiwick_fleet::inventory;
use bailiwick_identity::{logto_sync, relying_party};
use bailiwick_platform::{clock_skew, jobs, processes};
use bailiwick_store::clock_skew::LongestDelays;

/// The longest time for which each kind of work is ever put off. Code that puts work off for longer must say so here.
pub const LONGEST_WAITS: LongestDelays = LongestDelays {
    jobs: jobs::RETRY.longest(),
    inventory: inventory::LONGEST_DELAY,
    held_alerts: alerting::LONGEST_HELD,
    configurations: alerting::config::LONGEST_WAIT,
    logto: jobs::RETRY.longest(),
    subscriptions: events::deliver::LONGEST_ASKED,
    events: events::deliver::LONGEST_WAIT,
    retention: retention::EVERY,
};

impl App {
    /// Starts the tasks that run beside the requests, on the tracker that shutdown drains. Called once for each
    /// process.
    pub async fn start_background(&self) {
        if let Err(e) = processes::end_leases_of_dead(self).await {
            tracing::warn!(error = %e, "leases of an earlier process cannot be ended; they end by themselves");
        }
        relying_party::start(self);
        purge::start(self);
        events::start(self);
        inventory::start_worker(self);
        liveness_monitor::start_monitor(self);
        clock_skew::start(self, LONGEST_WAITS);
        retention::start(self);
        mail::start_worker(self);
        logto_sync::start(self);
        objects::start_worker(self);
        transfer_cleanup::start_worker(self);
        alerting::start_background(self);
    }
}
