//! Work that goes through queues by the clock, and the figures of the backlogs in them.

use super::{
    super::*,
    Cost, Room,
    run::{LIMIT, write},
};
use bailiwick_store::{
    alert_handling, alert_queue, clock_skew, delivery, events, history, imports, inventory, jobs, leases,
    logto, mail_links, router, shared_limits, stats,
};

/// Before everything there is.
const LONG_AGO: &str = "2026-02-01T00:00:00Z";
const HOUR: Duration = Duration::from_secs(3600);

pub async fn all(room: &mut Room<'_>) {
    sweep(room).await;
    sweep_alerts(room).await;
    set_back(room).await;
    let (db, now) = (room.db, room.now);
    room.repeat("figures", Cost::Waiting, async || {
        stats::work(db, now).await.unwrap();
        events::counts_beyond(db, 0).await.unwrap();
        events::next_after(db, 0).await.unwrap();
        inventory::state(db).await.unwrap();
        logto::outbox::waiting(db, "here").await.unwrap();
        0
    })
    .await;
}

async fn sweep(room: &mut Room<'_>) {
    let (db, now) = (room.db, room.now);
    let before: Ts = LONG_AGO.parse().unwrap();
    room.repeat("sweep: nothing to remove", Cost::Claim, async || {
        write(db, async |tx| {
            jobs::purge_ended(tx, before).await?;
            alert_queue::expire(tx, before).await?;
            mail_links::purge(tx, before).await?;
            imports::purge(tx, before).await?;
            delivery::notification_log::purge_failures(tx, before).await
        })
        .await;
        0
    })
    .await;
    // Each that was refused, as each of them may be a removal.
    room.repeat("sweep: refused removals", Cost::Tenants, async || {
        write(db, async |tx| logto::outbox::retry_gone(tx, "here", now).await).await;
        0
    })
    .await;
    let (organization,): (Uuid,) =
        Q::new("SELECT o.id FROM organizations o ORDER BY o.id LIMIT 1").one(db).await.unwrap();
    let organization = OrgId(organization);
    room.repeat("sweep: some of much", Cost::Claim, async || {
        write(db, async |tx| {
            inventory::retention::remove_quarantined(tx, now, LIMIT).await?;
            inventory::retention::end_alerts(tx, now, now, LIMIT).await?;
            inventory::retention::remove_alerts(tx, now.plus(1000 * HOUR), LIMIT).await?;
            alert_handling::purge(tx, now, LIMIT).await?;
            delivery::notification_log::purge(tx, now, LIMIT).await?;
            shared_limits::purge(tx, now, LIMIT).await?;
            logto::purge_others(tx, "there", now, LIMIT).await
        })
        .await;
        history::expiry::sweep(db, now, None, LIMIT).await.unwrap();
        history::expiry::purge(db, now, LIMIT).await.unwrap();
        events::purge(db, now, LIMIT).await.unwrap();
        events::purge_of(db, organization, LIMIT).await.unwrap();
        shared_limits::refused(db, LIMIT).await.unwrap();
        0
    })
    .await;
}

async fn sweep_alerts(room: &mut Room<'_>) {
    let (db, now) = (room.db, room.now);
    room.repeat("sweep: alerts and silences", Cost::Claim, async || {
        write(db, async |tx| {
            router::purge_alerts(tx, now, now, LIMIT).await?;
            router::purge_silences(tx, now, LIMIT).await
        })
        .await;
        0
    })
    .await;
    room.repeat("sweep: tenants", Cost::Tenants, async || {
        write(db, async |tx| delivery::purge_tenants(tx).await).await;
        0
    })
    .await;
}

/// Nothing is further ahead than it may be. The service finds that out without looking through the backlog.
async fn set_back(room: &mut Room<'_>) {
    let (db, now) = (room.db, room.now);
    let longest = clock_skew::LongestDelays {
        jobs: HOUR,
        inventory: HOUR,
        held_alerts: HOUR,
        configurations: HOUR,
        logto: HOUR,
        subscriptions: HOUR,
        events: HOUR,
        retention: HOUR,
    };
    let far = now.plus(1000 * HOUR);
    let latest = delivery::clock_skew::Latest { due_at: far, held_until: far, told_at: far };
    room.repeat("set back", Cost::Claim, async || {
        write(db, async |tx| {
            clock_skew::set_back(tx, now, longest, leases::SKEW, LIMIT).await?;
            delivery::clock_skew::set_back(tx, now, latest, LIMIT).await
        })
        .await;
        0
    })
    .await;
}
