//! Finds retries that lie further ahead than any retry is ever postponed. A clock that has been set back since has
//! written them, and they would come far too late. (The router's own times are in [`crate::delivery::clock_skew`].)

use crate::{StoreError, Tx, sql::Q};
use bailiwick_domain::Ts;
use std::time::Duration;

// Rows that a worker has leased are left to it, and no statement waits for a lock.
macro_rules! set_back {
    ($table:literal, $key:literal, $time:literal, $which:literal, $order:literal) => {
        concat!(
            "UPDATE ",
            $table,
            " SET ",
            $time,
            " = ? WHERE [[ctid = ANY(ARRAY(SELECT ctid||(",
            $key,
            ") IN (SELECT ",
            $key,
            "]] FROM ",
            $table,
            " WHERE ",
            $time,
            " > ?",
            $which,
            " ORDER BY ",
            $order,
            " LIMIT ? [[FOR NO KEY UPDATE SKIP LOCKED))||)]]"
        )
    };
}
const JOBS: &str = set_back!("jobs", "id", "next_at", " AND ended_at IS NULL", "ended_at, next_at");
const INVENTORY: &str =
    set_back!("inventory_queue", "id", "next_at", " AND [[||+]]quarantined_at IS NULL", "next_at");
const HELD_ALERTS: &str =
    set_back!("alert_queue", "organization_id, fingerprint", "next_attempt_at", "", "next_attempt_at");
const CONFIGURATIONS: &str =
    set_back!("alert_tenants", "organization_id", "next_attempt_at", "", "next_attempt_at");
const LOGTO: &str = set_back!("logto_outbox", "issuer, kind, object_id", "next_at", "", "next_at");
const SUBSCRIPTIONS: &str = set_back!("event_subscriptions", "id", "next_at", "", "next_at");
const EVENTS: &str = set_back!(
    "event_deliveries",
    "subscription_id, event_seq",
    "next_at",
    " AND state = 'pending'",
    "next_at"
);
const RETENTION: &str = set_back!("retention", "id", "next_at", "", "next_at");

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    JOBS,
    INVENTORY,
    HELD_ALERTS,
    CONFIGURATIONS,
    LOGTO,
    SUBSCRIPTIONS,
    EVENTS,
    RETENTION
];

/// The longest postponement of each kind of work.
#[derive(Clone, Copy, Debug)]
pub struct LongestDelays {
    /// `jobs.next_at`.
    pub jobs: Duration,
    /// `inventory_queue.next_at`.
    pub inventory: Duration,
    /// `alert_queue.next_attempt_at`.
    pub held_alerts: Duration,
    /// `alert_tenants.next_attempt_at`.
    pub configurations: Duration,
    /// `logto_outbox.next_at`.
    pub logto: Duration,
    /// `event_subscriptions.next_at`.
    pub subscriptions: Duration,
    /// `event_deliveries.next_at`.
    pub events: Duration,
    /// `retention.next_at`.
    pub retention: Duration,
}

/// Makes rows due `now` that are postponed for longer than that and `skew`. Up to `limit` rows of each table; returns
/// how many in all.
pub async fn set_back(
    tx: &mut Tx,
    now: Ts,
    longest: LongestDelays,
    skew: Duration,
    limit: i64,
) -> Result<u64, StoreError> {
    let all = [
        (JOBS, longest.jobs),
        (INVENTORY, longest.inventory),
        (HELD_ALERTS, longest.held_alerts),
        (CONFIGURATIONS, longest.configurations),
        (LOGTO, longest.logto),
        (SUBSCRIPTIONS, longest.subscriptions),
        (EVENTS, longest.events),
        (RETENTION, longest.retention),
    ];
    let mut count = 0;
    for (text, longest) in all {
        let latest = now.plus(longest).plus(skew);
        count += Q::by_index(text).bind(now).bind(latest).bind(limit).run(&mut *tx).await?;
    }
    Ok(count)
}
