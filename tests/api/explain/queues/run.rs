//! The statements that claim, lease and give back, of every queue.

use super::{super::*, Cost, Room};
use bailiwick_domain::SystemId;
use bailiwick_store::{
    StoreError, Tx, alert_queue,
    alert_tenants::{self, Whose},
    delivery, events, inventory,
    jobs::{self, Job},
    leases,
    logto::outbox,
};

/// The rows that one step claims.
pub const LIMIT: i64 = 16;
pub const LEASE: Duration = Duration::from_secs(30);

/// A transaction of one step.
pub async fn write<T>(db: &Db, step: impl AsyncFnOnce(&mut Tx) -> Result<T, StoreError>) -> T {
    let mut tx = db.begin().await.unwrap();
    let done = step(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    done
}

pub async fn all(room: &mut Room<'_>) {
    documents(room).await;
    jobs_and_leases(room).await;
    held_pushes(room).await;
    configurations(room).await;
    notifications(room).await;
    events_without_number(room).await;
    deliveries(room).await;
    mirror(room).await;
}

async fn documents(room: &mut Room<'_>) {
    let (db, now) = (room.db, room.now);
    let mut claimed = Vec::new();
    room.repeat("documents: claim", Cost::Claim, async || {
        claimed = write(db, async |tx| inventory::claim(tx, now, LEASE, LIMIT).await).await;
        claimed.len()
    })
    .await;
    let (until, ids) = (now.plus(LEASE), claimed.iter().map(|c| c.id).collect::<Vec<_>>());
    let entry = claimed.into_iter().next().unwrap_or_else(|| inventory::Claimed {
        id: 1,
        system_id: SystemId(Uuid::nil()),
        received_at: now,
        data_hash: String::new(),
        data_size: 1,
        same_as: None,
        attempts: 0,
        claimed_until: until,
    });
    room.repeat("documents: work", Cost::Claim, async || {
        inventory::bodies(db, &ids).await.unwrap();
        write(db, async |tx| {
            inventory::hold(tx, &entry).await?;
            inventory::hold_all(tx, until, &ids).await?;
            inventory::retry(tx, &entry, now.plus(LEASE), "later").await?;
            inventory::quarantine(tx, &entry, now, "never").await?;
            inventory::release(tx, &entry).await?;
            inventory::remove(tx, &ids).await?;
            inventory::retention::remove_records(tx, &ids).await
        })
        .await;
        inventory::retention::count_records(db, &ids).await.unwrap();
        0
    })
    .await;
}

async fn jobs_and_leases(room: &mut Room<'_>) {
    let (db, now) = (room.db, room.now);
    let until = now.plus(LEASE);
    let mut claimed: Vec<Job> = Vec::new();
    room.repeat("jobs: claim", Cost::Claim, async || {
        claimed = jobs::claim(db, "other", now, until, LIMIT).await.unwrap();
        claimed.len()
    })
    .await;
    let job = claimed.into_iter().next().unwrap_or_else(|| Job {
        id: bailiwick_domain::JobId(Uuid::nil()),
        kind: "other".to_owned(),
        key: None,
        payload: Value::Null,
        attempts: 1,
        claimed_until: until,
    });
    room.repeat("jobs: work", Cost::Claim, async || {
        write(db, async |tx| {
            jobs::postpone(tx, &job, now, "later").await?;
            jobs::end(tx, &job, now, "never", Value::Null).await?;
            jobs::finish(tx, &job).await?;
            jobs::take_back(tx, "mail", "nobody").await
        })
        .await;
        0
    })
    .await;
    let me = Uuid::nil();
    room.repeat("leases", Cost::Claim, async || {
        leases::take(db, "test", me, now, until).await.unwrap();
        leases::release(db, "test", me).await.unwrap();
        write(db, async |tx| leases::give_back(tx, "test", me, now).await).await;
        0
    })
    .await;
}

async fn held_pushes(room: &mut Room<'_>) {
    let (db, now) = (room.db, room.now);
    let until = now.plus(LEASE);
    let mut due = Vec::new();
    room.repeat("held pushes: tenants", Cost::Tenants, async || {
        due = alert_queue::due(db, now, until).await.unwrap();
        alert_queue::tenants(db).await.unwrap();
        due.len().min(LIMIT as usize)
    })
    .await;
    let tenant = due.first().copied().unwrap_or(OrgId(Uuid::nil()));
    let mut claimed = alert_queue::Claimed { tenant, until, alerts: Vec::new() };
    room.repeat("held pushes: claim", Cost::Claim, async || {
        let one = alert_queue::claim(db, tenant, now, until, 2).await.unwrap();
        if !one.alerts.is_empty() {
            claimed = one;
        }
        0
    })
    .await;
    claimed.alerts.push(alert_queue::Queued {
        fingerprint: "f".to_owned(),
        payload: "{}".to_owned(),
        attempts: 1,
    });
    let names: Vec<String> = claimed.alerts.iter().map(|a| a.fingerprint.clone()).collect();
    room.repeat("held pushes: work", Cost::Claim, async || {
        write(db, async |tx| {
            alert_queue::postpone(tx, &claimed, |_| now).await?;
            alert_queue::finish(tx, &claimed).await?;
            alert_queue::counts(tx, tenant, "k1").await?;
            alert_queue::remove_of_system(tx, tenant, "none").await
        })
        .await;
        alert_queue::waiting(db, tenant, &names).await.unwrap();
        0
    })
    .await;
}

async fn configurations(room: &mut Room<'_>) {
    let (db, now) = (room.db, room.now);
    let until = now.plus(LEASE);
    let mut claimed = Vec::new();
    room.repeat("configurations: claim", Cost::Claim, async || {
        claimed = alert_tenants::claim(db, Whose::All, now, until, LIMIT).await.unwrap();
        claimed.len()
    })
    .await;
    let top = Whose::Below(OrgId(Uuid::nil()), OrgType::Distributor);
    let due = claimed.into_iter().next().unwrap_or_else(|| alert_tenants::Due {
        organization_id: OrgId(Uuid::nil()),
        wanted: 1,
        is_gone: false,
        attempts: 1,
        claimed_until: until,
        pushed: None,
    });
    room.repeat("configurations: work", Cost::Claim, async || {
        write(db, async |tx| {
            alert_tenants::postpone(tx, &due, "later", now).await?;
            alert_tenants::finish(tx, &due, b"digest", now).await?;
            let gone = alert_tenants::Due { is_gone: true, ..due.clone() };
            alert_tenants::finish(tx, &gone, b"", now).await?;
            alert_tenants::queue_lost(tx, due.organization_id, now, now).await
        })
        .await;
        0
    })
    .await;
    room.repeat("configurations: read back", Cost::Claim, async || {
        alert_tenants::to_read_back(db, now, now, LIMIT).await.unwrap();
        0
    })
    .await;
    // No tenant of the claim is below that organization: the statement looks through the backlog.
    room.repeat("configurations: claim below", Cost::Waiting, async || {
        alert_tenants::claim(db, top, now, until, LIMIT).await.unwrap();
        0
    })
    .await;
}

async fn notifications(room: &mut Room<'_>) {
    let (db, now) = (room.db, room.now);
    let (me, until) = (Uuid::from_u128(1), now.plus(LEASE));
    let mut tenants = Vec::new();
    room.repeat("notifications: tenants", Cost::Waiting, async || {
        tenants = delivery::due_tenants(db, me, now, 1, LIMIT).await.unwrap();
        tenants.len()
    })
    .await;
    room.repeat("notifications: claim", Cost::Claim, async || {
        write(db, async |tx| {
            delivery::acquire(tx, me, now, until, &tenants).await?;
            delivery::renew(tx, me, until, &tenants).await
        })
        .await;
        delivery::fresh(db, &tenants, LIMIT).await.unwrap();
        0
    })
    .await;
    let mut due = Vec::new();
    room.repeat("notifications: groups", Cost::Claim, async || {
        due = delivery::due_groups(db, me, now, &[], LIMIT).await.unwrap();
        due.len()
    })
    .await;
    let keys: Vec<delivery::GroupKey> = due.iter().map(|d| d.key.clone()).collect();
    let started: Vec<(delivery::GroupKey, Ts)> = keys.iter().map(|key| (key.clone(), until)).collect();
    let finished: Vec<delivery::Finished> = keys
        .iter()
        .map(|key| delivery::Finished {
            key: key.clone(),
            started_at: Some(now),
            leaving: vec![("none".to_owned(), 0)],
            is_misplaced: false,
            due_at: Some(now),
        })
        .collect();
    // Many keys at once are joined with the table: where it is believed to be empty it may be read once, whole.
    room.repeat("notifications: work", Cost::Waiting, async || {
        delivery::members(db, &keys).await.unwrap();
        delivery::notification_log::notices(db, &keys).await.unwrap();
        write(db, async |tx| {
            delivery::start(tx, &started, now).await?;
            delivery::finish(tx, &finished).await?;
            delivery::recover(tx, &tenants, now).await?;
            delivery::retry_unreadable(tx).await?;
            delivery::release(tx, me, &tenants, now).await
        })
        .await;
        0
    })
    .await;
}

async fn events_without_number(room: &mut Room<'_>) {
    let db = room.db;
    room.repeat("events: is there one", Cost::Claim, async || {
        usize::from(events::is_waiting(db).await.unwrap()) * LIMIT as usize
    })
    .await;
    room.repeat("events: number", Cost::Step, async || {
        let numbered = write(db, async |tx| {
            let from = events::position(&mut *tx).await? as u128;
            let mut next = from << 32;
            events::number(tx, || {
                next += 1;
                Uuid::from_u128(next)
            })
            .await
        });
        numbered.await.map_or(0, |numbered| numbered.len())
    })
    .await;
}

async fn deliveries(room: &mut Room<'_>) {
    let (db, now) = (room.db, room.now);
    let (me, until) = (Uuid::from_u128(1), now.plus(LEASE));
    let shares = events::subscriptions::Shares { organization: 4, subtree: 8 };
    let mut due_ids = Vec::new();
    room.repeat("deliveries: claim", Cost::Claim, async || {
        events::subscriptions::is_any_due(db, (now, until)).await.unwrap();
        let full = events::subscriptions::Full::default();
        let due = events::subscriptions::candidates(db, &full, (now, until), shares, LIMIT).await.unwrap();
        if !due.is_empty() {
            due_ids = due.iter().map(|(id, _)| *id).collect();
        }
        let ids = &due_ids;
        write(db, async |tx| events::subscriptions::claim(tx, ids, me, (now, until)).await).await;
        0
    })
    .await;
    let id = due_ids.first().copied().unwrap_or(Uuid::nil());
    let sight =
        events::Visibility { scope: Scope::Everything, types: vec!["system.updated".to_owned()], own: None };
    let mut seqs = Vec::new();
    room.repeat("deliveries: due", Cost::Claim, async || {
        let due = events::deliveries::due(db, id, &sight, now, LIMIT).await.unwrap();
        seqs = due.iter().map(|d| d.seq).collect();
        due.len()
    })
    .await;
    let outcomes: Vec<events::deliveries::Outcome> = seqs
        .iter()
        .map(|seq| events::deliveries::Outcome {
            seq: *seq,
            state: "pending",
            attempts: 1,
            next_at: now,
            status: None,
            error: None,
        })
        .collect();
    room.repeat("deliveries: work", Cost::Claim, async || {
        write(db, async |tx| {
            events::deliveries::record(tx, id, &outcomes, now).await?;
            events::deliveries::make_due_now(tx, id, now).await?;
            events::subscriptions::renew(tx, id, me, (now, until)).await?;
            events::subscriptions::release(tx, id, me).await
        })
        .await;
        0
    })
    .await;
}

async fn mirror(room: &mut Room<'_>) {
    let (db, now) = (room.db, room.now);
    let mut claimed = Vec::new();
    room.repeat("mirror: claim", Cost::Claim, async || {
        claimed = outbox::claim(db, "here", now, now.plus(LEASE), LIMIT).await.unwrap();
        claimed.len()
    })
    .await;
    room.repeat("mirror: work", Cost::Claim, async || {
        write(db, async |tx| {
            for due in claimed.iter().take(1) {
                outbox::postpone(tx, "here", due, Some(now), "later").await?;
                outbox::go_on(tx, "here", due, Uuid::nil()).await?;
                outbox::finish(tx, "here", due).await?;
            }
            Ok(())
        })
        .await;
        0
    })
    .await;
}
