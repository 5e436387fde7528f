//! Rows of every queue, and the states in which a server's statistics of them may be.

use super::super::*;

pub use bailiwick_store::QUEUES;

const ROWS: [&str; 20] = [
    "INSERT INTO inventory_queue (system_id, received_at, data_hash, data_size, body, next_at) \
     SELECT s.id, T(n), md5(n::text), 10, '\\x00', T(n) FROM generate_series(1, N) n JOIN (SELECT id, \
     row_number() OVER (ORDER BY id) - 1 AS r FROM systems) s ON s.r = n % (SELECT count(*) FROM systems)",
    "INSERT INTO inventory_alerts (system_id, diff_id, record_id, alert_type, message, severity, structural_path, \
     field_path, created_at, updated_at) SELECT system_id, 1, 1, 't', 'm', 'critical', 'p', 'p', received_at, received_at \
     FROM inventory_queue",
    "INSERT INTO jobs (id, kind, key, payload, next_at, created_at) SELECT gen_random_uuid(), \
     CASE WHEN n % 2 = 0 THEN 'mail' ELSE 'other' END, 'k' || n, '{}', T(n), T(n) FROM generate_series(1, N) n",
    "INSERT INTO leases (name, holder, until) SELECT 'l' || n, gen_random_uuid(), T(n) FROM generate_series(1, N) n",
    "INSERT INTO alert_queue (organization_id, fingerprint, system_key, payload, next_attempt_at, queued_at) \
     SELECT o.id, md5(n::text), 'k' || n % 100, '{}', T(n), T(n) FROM generate_series(1, N) n JOIN O",
    "INSERT INTO alert_tenants (organization_id, wanted, is_gone, attempts, next_attempt_at, pushed_at) \
     SELECT gen_random_uuid(), 1, n % 2 = 0, 0, CASE WHEN n % 4 <> 1 THEN T(n) END, T(0) FROM generate_series(1, N) n",
    "INSERT INTO alert_history (organization_id, p2, p3, system_key, alertname, severity, status, fingerprint, starts_at, \
     ends_at, expires_at, labels, annotations, created_at) SELECT o.id, o.p2, o.p3, 'k' || n % 100, 'A', 'critical', \
     CASE WHEN n % 2 = 0 THEN 'firing' ELSE 'resolved' END, md5(n::text), T(n), CASE WHEN n % 2 = 1 THEN T(n) END, \
     CASE WHEN n % 2 = 0 THEN T(n) END, '{}', '{}', T(n) FROM generate_series(1, N) n JOIN O",
    "INSERT INTO alert_activity (organization_id, fingerprint, action, details, created_at) \
     SELECT organization_id, fingerprint, 'a', '{}', queued_at FROM alert_queue",
    "INSERT INTO router_alerts (organization_id, fingerprint, system_key, ends_at, payload, group_id) \
     SELECT organization_id, fingerprint, system_key, 1000000 + row_number() OVER (), '{}', \
     CASE WHEN row_number() OVER () % 2 = 0 THEN 'left' ELSE 'g' END FROM alert_queue",
    "INSERT INTO router_silences (organization_id, id, system_key, ends_at, payload) \
     SELECT organization_id, gen_random_uuid(), system_key, ends_at, '{}' FROM router_alerts",
    "INSERT INTO router_tenants (organization_id, held_until, version, plan) SELECT id, T(0), 1, '' FROM organizations \
     ON CONFLICT DO NOTHING",
    "INSERT INTO router_groups (organization_id, id, due_at) SELECT organization_id, fingerprint, queued_at \
     FROM alert_queue",
    "INSERT INTO router_notices (organization_id, group_id, receiver, integration, firing, resolved, told_at) \
     SELECT organization_id, id, 'r', 'i', '', '', due_at FROM router_groups",
    "INSERT INTO router_failures (recipient, reason, failed_at) SELECT id, '', due_at FROM router_groups",
    "INSERT INTO event_outbox (at, type, organization_id, object_id, data) SELECT T(n), 'system.updated', o.id, 'x', '{}' \
     FROM generate_series(1, N) n JOIN O",
    "INSERT INTO events (seq, id, at, type, organization_id, p2, p3, object_id, data) SELECT n, gen_random_uuid(), T(n), \
     'system.updated', o.id, o.p2, o.p3, 'x', '{}' FROM generate_series(1, N) n JOIN O",
    "INSERT INTO event_subscriptions (id, organization_id, p2, p3, name, url, secret, types, is_enabled, next_at, \
     created_at, updated_at) SELECT gen_random_uuid(), o.id, o.p2, o.p3, '', '', '', '[]', true, T(0), T(0), T(0) \
     FROM organizations o WHERE o.type IN ('owner', 'distributor') ORDER BY o.id LIMIT 8",
    "INSERT INTO event_deliveries (subscription_id, event_seq, state, attempts, next_at, created_at) SELECT s.id, n, \
     CASE WHEN n % 2 = 0 THEN 'delivered' ELSE 'pending' END, 0, T(n), T(n) FROM generate_series(1, N) n JOIN (SELECT id, \
     row_number() OVER (ORDER BY id) - 1 AS r FROM event_subscriptions) s ON s.r = n % (SELECT count(*) FROM \
     event_subscriptions)",
    "INSERT INTO logto_outbox (issuer, kind, object_id, aspects, wanted, position, attempts, next_at, queued_at) \
     SELECT 'here', 'user', gen_random_uuid(), 1, 1, 2, 0, CASE WHEN n % 4 <> 1 THEN T(n) END, T(n) \
     FROM generate_series(1, N) n",
    "INSERT INTO shared_limits (key, refused_at, purge_at) SELECT gen_random_uuid(), CASE WHEN n % 2 = 0 THEN T(n) END, T(n) \
     FROM generate_series(1, N) n",
];
const MORE: [&str; 2] = [
    "INSERT INTO mail_links (token_hash, purpose, user_id, address, created_at, expires_at) SELECT \
     decode(md5(n::text), 'hex'), 'password', (SELECT id FROM users LIMIT 1), 'a', T(n), T(n) FROM generate_series(1, N) n",
    "INSERT INTO import_sessions (id, user_id, family, content, size, created_at) SELECT gen_random_uuid(), \
     (SELECT id FROM users LIMIT 1), 'users', '\\x00', 1, T(n) FROM generate_series(1, N) n",
];

/// Rows of a backlog.
pub const BACKLOG: u64 = 4000;

/// A state of the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The tables were never analyzed.
    NeverAnalyzed,
    /// They were when they had room and no rows.
    AnalyzedEmpty,
    /// They were when they had no room either, and the plans of then are kept.
    PlannedEmpty,
    /// They were when they had many rows, of which few are left.
    AnalyzedFull,
    /// In front of the backlog are deleted rows that no vacuum has removed.
    Dead,
}

/// As many rows of each table, the earliest a moment after `from` seconds of 1 March 2026.
fn rows(n: u64, from: u64) -> Vec<String> {
    // A number on the right lets the server hash the join instead of comparing each row with each.
    let organizations = "(SELECT id, p2, p3, row_number() OVER (ORDER BY id) - 1 AS r FROM organizations \
         WHERE type = 'customer') o ON o.r = n % (SELECT count(*) FROM organizations WHERE type = 'customer')";
    let whole = |text: &&str| {
        let time = format!("(CAST('2026-03-01' AS timestamptz) + interval '{from} second' + ");
        let text = text.replace("JOIN O", &format!("JOIN {organizations}"));
        let text = text.replace("T(n)", &format!("{time} n * interval '1 millisecond')"));
        text.replace("T(0)", &format!("{time} interval '0 second')")).replace("(1, N)", &format!("(1, {n})"))
    };
    ROWS.iter().chain(&MORE).map(whole).collect()
}

async fn run(db: &Db, texts: impl IntoIterator<Item = String>) {
    for text in texts {
        let mut tx = db.begin().await.unwrap();
        Q::new("SET LOCAL statement_timeout = 0").run(&mut tx).await.unwrap();
        Q::new(&text).run(&mut tx).await.unwrap_or_else(|e| panic!("{e}: {text}"));
        tx.commit().await.unwrap();
    }
}

fn each(what: &str) -> Vec<String> {
    QUEUES.iter().map(|table| format!("{what} {table}")).collect()
}

/// A backlog in every queue.
pub async fn backlog(db: &Db, from: u64) {
    run(db, rows(BACKLOG, from)).await;
    run(db, ["UPDATE event_position SET last = (SELECT max(seq) FROM events)".to_owned()]).await;
}

/// Everything up to the backlog; `dead`: how many rows go before it.
pub async fn prepare(db: &Db, cluster: &Cluster, state: State, dead: u64) {
    run(db, [format!("TRUNCATE {}", QUEUES.join(", "))]).await;
    run(
        db,
        [format!("DELETE FROM pg_statistic WHERE starelid::regclass::text IN ('{}')", QUEUES.join("', '"))],
    )
    .await;
    match state {
        State::NeverAnalyzed => {}
        State::AnalyzedEmpty => {
            run(db, rows(BACKLOG, 0)).await;
            run(db, each("DELETE FROM")).await;
            run(db, each("ANALYZE")).await;
        }
        State::PlannedEmpty => {
            for table in QUEUES {
                cluster.query("explain", &format!("VACUUM ANALYZE {table}")).await.unwrap();
            }
        }
        State::AnalyzedFull => {
            run(db, rows(5 * BACKLOG, 0)).await;
            run(db, each("ANALYZE")).await;
            run(db, each("DELETE FROM")).await;
        }
        State::Dead => {
            run(db, rows(dead, 0)).await;
            run(db, each("DELETE FROM")).await;
        }
    }
}

/// Statements about queues that do not look for work: they read rows for people, rows of one object, or rows that a
/// rehearsal of retention reports; and those of a process that starts alone on SQLite.
const OTHERS: &[&str] = &[
    "stats::SUBSCRIPTIONS",
    "inventory::queue::QUARANTINED",
    "inventory::queue::REPLAY",
    "imports::KEEP_LATEST",
    "shared_limits::REFUSE",
    "imports::LOCK",
    "imports::REMOVE",
    "logto::outbox::FORGET_USER",
    "logto::outbox::RELEASE_ALL",
    "jobs::RELEASE_ALL",
    "alert_queue::RELEASE_ALL",
    "alert_tenants::RELEASE_ALL",
    "alert_tenants::DROP",
    "alert_tenants::IDLE",
    "alert_tenants::IS_MADE",
    "mail_links::GET",
    "mail_links::TAKE",
    "mail_links::END_OF_USER",
    "mail_links::COUNT_SINCE",
    "systems::lifecycle::DESTROY_ALERTS",
    "systems::lifecycle::DESTROY_SILENCES",
    "inventory::queue::RELEASE_ALL",
    "inventory::reads::OPEN_ALERTS",
    "inventory::alerts::OPEN",
    "inventory::alerts::RESOLVE",
    "inventory::retention::COUNT_ENDING_ALERTS",
    "inventory::retention::COUNT_OLD_ALERTS",
    "inventory::retention::COUNT_QUARANTINED",
    "router::ALERTS_AND_SILENCES_OF_SYSTEM",
    "router::SILENCE",
    "router::SILENCES_OF_SYSTEM",
    "router::COUNT_SILENCES",
    "router::PURGE_SILENCES_OF_SYSTEM",
    "delivery::RELEASE_ALL",
    "events::subscriptions::DISABLE_OUTSIDE",
    "events::subscriptions::RELEASE_ALL",
    "events::read::FIRST_AT",
    "events::read::FIRST_SINCE",
    "alert_handling::SILENCED",
    "alert_handling::EVENTS",
    "alert_handling::FIRING",
    "alert_handling::FIRING_NOW",
    "alert_handling::COUNT_OLD",
    "history::active::HAS_SYSTEM",
    "history::stats::TENANTS_TO_ASK",
    "history::expiry::CLOSE_SYSTEM",
    "history::expiry::COUNT_OLD",
    "history::active_counts::COUNTS",
    "history::expiry::FORGET_NAMES",
    "history::expiry::MOVE_ROWS",
    "history::expiry::MOVE_NAMES",
];

/// Whether a fixed statement reads or changes rows of a queue in search of work.
pub fn is_looked_at(name: &str, text: &str) -> bool {
    let about = |table: &&str| {
        ["FROM ", "UPDATE ", "JOIN "].iter().any(|verb| {
            text.match_indices(&format!("{verb}{table}")).any(|(at, found)| {
                !text[at + found.len()..].starts_with(|c: char| c == '_' || c.is_alphanumeric())
            })
        })
    };
    !OTHERS.contains(&name) && QUEUES.iter().any(about)
}
