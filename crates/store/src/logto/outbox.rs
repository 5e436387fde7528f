//! The changes still to be sent to the tenant. Each object has one row, whatever has changed: a delivery sends the
//! state at that time, so nothing can arrive in the wrong order. A row that is queued again during its delivery stays.

use crate::{
    Db, StoreError, Tx,
    leases::latest,
    logto::below,
    sql::{On, Q},
    time::TsCodec,
    tree::subtree_column,
};
use bailiwick_domain::{OrgId, OrgType, Ts, UserId};
use sqlx_macros::FromRow;
use uuid::Uuid;

const PUT: &str = "INSERT INTO logto_outbox (issuer, kind, object_id, provider_id, aspects, wanted, position, \
    batch, attempts, next_at, queued_at) VALUES (?, ?, ?, ?, ?, 1, ?, NULL, 0, ?, ?) \
    ON CONFLICT (issuer, kind, object_id) DO UPDATE SET aspects = logto_outbox.aspects | excluded.aspects, \
    wanted = logto_outbox.wanted + 1, attempts = 0, next_at = excluded.next_at, after_id = NULL, problem = NULL, \
    queued_at = CASE WHEN logto_outbox.next_at IS NULL THEN excluded.queued_at ELSE logto_outbox.queued_at END";
const PUT_NEW: &str = "INSERT INTO logto_outbox (issuer, kind, object_id, aspects, wanted, position, attempts, \
    next_at, queued_at) VALUES (?, ?, ?, ?, 1, ?, 0, ?, ?) ON CONFLICT (issuer, kind, object_id) DO UPDATE \
    SET aspects = logto_outbox.aspects WHERE logto_outbox.next_at <= excluded.next_at AND logto_outbox.claimed_until IS NULL";
const CLAIM: &str = "UPDATE logto_outbox SET claimed_until = ?, attempts = attempts + 1 \
    WHERE issuer || '' = ? AND [[ctid = ANY(ARRAY(SELECT q.ctid||(kind, object_id) IN (SELECT q.kind, q.object_id]] FROM logto_outbox q \
    WHERE q.issuer = ? AND q.position = ? AND q.next_at <= ? AND (q.claimed_until IS NULL OR q.claimed_until <= ? \
    OR q.claimed_until > ?) \
    AND (SELECT e.position FROM logto_outbox e WHERE e.batch = q.batch AND e.position < q.position \
    AND e.next_at IS NOT NULL ORDER BY e.batch, e.position LIMIT 1) IS NULL \
    ORDER BY q.issuer, q.position, q.next_at, q.object_id LIMIT ? [[FOR UPDATE OF q SKIP LOCKED))||)]] \
    RETURNING kind, object_id, provider_id, search_name, aspects, wanted, after_id, attempts, claimed_until";
const REMOVE: &str = "DELETE FROM logto_outbox \
    WHERE issuer = ? AND kind = ? AND object_id = ? AND claimed_until = ? AND wanted = ?";
const GIVE_BACK: &str = "UPDATE logto_outbox SET claimed_until = NULL, attempts = 0 \
    WHERE issuer = ? AND kind = ? AND object_id = ? AND claimed_until = ?";
const POSTPONE: &str = "UPDATE logto_outbox SET claimed_until = NULL, problem = ?, \
    next_at = CASE WHEN wanted = ? THEN ? ELSE next_at END \
    WHERE issuer = ? AND kind = ? AND object_id = ? AND claimed_until = ?";
const GO_ON: &str = "UPDATE logto_outbox SET claimed_until = NULL, attempts = 0, after_id = ? \
    WHERE issuer = ? AND kind = ? AND object_id = ? AND claimed_until = ? AND wanted = ?";
pub(crate) const RELEASE_ALL: &str =
    "UPDATE logto_outbox SET claimed_until = NULL WHERE claimed_until IS NOT NULL";
const GONE_USER: &str = "INSERT INTO logto_outbox (issuer, kind, object_id, provider_id, search_name, aspects, \
    wanted, position, attempts, next_at, queued_at) SELECT ?, 'gone_user', u.id, i.subject, \
    CASE WHEN i.subject IS NULL THEN COALESCE(l.creating_name, u.username) END, 0, 1, ?, 0, ?, ? FROM users u \
    LEFT JOIN user_identities i ON i.user_id = u.id AND i.issuer = ? \
    LEFT JOIN logto_users l ON l.user_id = u.id AND l.issuer = ? \
    WHERE u.id = ? AND (i.subject IS NOT NULL OR l.creating_at IS NOT NULL) \
    ON CONFLICT (issuer, kind, object_id) DO UPDATE SET provider_id = excluded.provider_id, \
    search_name = excluded.search_name, next_at = excluded.next_at, \
    queued_at = CASE WHEN logto_outbox.next_at IS NULL THEN excluded.queued_at ELSE logto_outbox.queued_at END";
const GONE_UNKNOWN: &str = "INSERT INTO logto_outbox (issuer, kind, object_id, search_name, aspects, wanted, \
    position, attempts, next_at, queued_at) VALUES (?, ?, ?, ?, 0, 1, ?, 0, ?, ?) ON CONFLICT (issuer, kind, object_id) DO UPDATE SET \
    search_name = COALESCE(logto_outbox.search_name, excluded.search_name), wanted = logto_outbox.wanted + 1, \
    attempts = 0, next_at = excluded.next_at, \
    queued_at = CASE WHEN logto_outbox.next_at IS NULL THEN excluded.queued_at ELSE logto_outbox.queued_at END";
const GONE_AGAIN: &str = "UPDATE logto_outbox SET attempts = 0, next_at = ?, queued_at = ? WHERE \
    [[ctid = ANY(ARRAY(SELECT q.ctid||(issuer, kind, object_id) IN (SELECT q.issuer, q.kind, q.object_id]] \
    FROM logto_outbox q WHERE q.issuer = ? AND q.kind IN ('gone_user', 'gone_organization') AND q.next_at IS NULL \
    ORDER BY q.next_at[[))||)]]";
const FORGET_USER: &str = "DELETE FROM logto_outbox WHERE issuer = ? AND kind = 'user' AND object_id = ?";
const WAITING: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM logto_outbox WHERE issuer = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    PUT,
    PUT_NEW,
    CLAIM,
    REMOVE,
    GIVE_BACK,
    POSTPONE,
    GO_ON,
    RELEASE_ALL,
    GONE_USER,
    GONE_UNKNOWN,
    GONE_AGAIN,
    FORGET_USER,
    WAITING
];

/// The position of distributors among removed organizations.
const LAST_POSITION: i64 = 6;

/// The kind of a row's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutboxKind {
    Organization,
    /// The users of an organization.
    Members,
    /// The users of an organization and of all below it.
    Tree,
    User,
    /// The account of a destroyed user.
    GoneUser,
    /// An organization that is no more.
    GoneOrganization,
}

impl OutboxKind {
    const ALL: [OutboxKind; 6] = [
        OutboxKind::Organization,
        OutboxKind::Members,
        OutboxKind::Tree,
        OutboxKind::User,
        OutboxKind::GoneUser,
        OutboxKind::GoneOrganization,
    ];

    /// The word of its rows.
    pub const fn word(self) -> &'static str {
        match self {
            OutboxKind::Organization => "organization",
            OutboxKind::Members => "members",
            OutboxKind::Tree => "tree",
            OutboxKind::User => "user",
            OutboxKind::GoneUser => "gone_user",
            OutboxKind::GoneOrganization => "gone_organization",
        }
    }

    /// Organizations before their users; of a destroyed tree users first, then organizations bottom-up.
    const fn position(self) -> i64 {
        match self {
            OutboxKind::Organization => 0,
            OutboxKind::Members | OutboxKind::Tree => 1,
            OutboxKind::User => 2,
            OutboxKind::GoneUser => 3,
            OutboxKind::GoneOrganization => 4,
        }
    }
}

/// A leased row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The kind of the object.
    pub kind: OutboxKind,
    /// The local id, also of a removed object.
    pub object: Uuid,
    /// The id of a removed object at the tenant.
    pub provider_id: Option<String>,
    /// The name to search by, for a removed object without a known id at the tenant.
    pub search_name: Option<String>,
    /// The aspects to send.
    pub aspects: i64,
    /// How far the walk through a tree has come.
    pub after: Option<Uuid>,
    /// Tries so far, this one included.
    pub attempts: i64,
    wanted: i64,
    claimed_until: Ts,
}

#[derive(FromRow)]
struct Row {
    kind: String,
    object_id: Uuid,
    provider_id: Option<String>,
    search_name: Option<String>,
    aspects: i64,
    wanted: i64,
    after_id: Option<Uuid>,
    attempts: i64,
    claimed_until: TsCodec,
}

/// Queues a change of an object, in addition to changes already waiting.
pub async fn put(
    tx: &mut Tx,
    issuer: &str,
    kind: OutboxKind,
    object: Uuid,
    aspects: i64,
    at: Ts,
) -> Result<(), StoreError> {
    put_one(tx, issuer, (kind, object, None), aspects, at).await
}

/// Queues the removal of an account that belongs to no user here; `id`: a fresh one.
pub async fn put_gone_account(
    tx: &mut Tx,
    issuer: &str,
    id: Uuid,
    subject: &str,
    at: Ts,
) -> Result<(), StoreError> {
    put_one(tx, issuer, (OutboxKind::GoneUser, id, Some(subject)), 0, at).await
}

/// Queues the removal of an organization at the tenant that has no local one; `id`: a fresh one.
pub async fn put_gone_organization(
    tx: &mut Tx,
    issuer: &str,
    id: Uuid,
    provider_id: &str,
    at: Ts,
) -> Result<(), StoreError> {
    put_one(tx, issuer, (OutboxKind::GoneOrganization, id, Some(provider_id)), 0, at).await
}

async fn put_one(
    tx: &mut Tx,
    issuer: &str,
    (kind, object, provider_id): (OutboxKind, Uuid, Option<&str>),
    aspects: i64,
    at: Ts,
) -> Result<(), StoreError> {
    Q::new(PUT)
        .bind(issuer)
        .bind(kind.word())
        .bind(object)
        .bind(provider_id)
        .bind(aspects)
        .bind(kind.position())
        .bind(at)
        .bind(at)
        .run(tx)
        .await?;
    Ok(())
}

/// Queues an object unless it is queued already. Returns whether its row is due now and no process has claimed it.
pub async fn put_new(
    tx: &mut Tx,
    issuer: &str,
    kind: OutboxKind,
    object: Uuid,
    aspects: i64,
    at: Ts,
) -> Result<bool, StoreError> {
    let q = Q::new(PUT_NEW).bind(issuer).bind(kind.word()).bind(object).bind(aspects);
    Ok(q.bind(kind.position()).bind(at).bind(at).run(tx).await? > 0)
}

/// Queues the removal of an object that a creation may have made there, for a local object that was destroyed
/// meanwhile; `name`: the name of the creation.
pub async fn put_gone_unknown(
    tx: &mut Tx,
    issuer: &str,
    (kind, object): (OutboxKind, Uuid),
    name: &str,
    at: Ts,
) -> Result<(), StoreError> {
    let q = Q::new(GONE_UNKNOWN).bind(issuer).bind(kind.word()).bind(object).bind(name);
    q.bind(kind.position()).bind(at).bind(at).run(tx).await?;
    Ok(())
}

/// Removals that were refused are tried again.
pub async fn retry_gone(tx: &mut Tx, issuer: &str, at: Ts) -> Result<(), StoreError> {
    Q::by_index(GONE_AGAIN).bind(at).bind(at).bind(issuer).run(tx).await?;
    Ok(())
}

/// Queues the removal of the account of a user who is about to be destroyed.
pub async fn put_gone_user(tx: &mut Tx, issuer: &str, user: UserId, at: Ts) -> Result<(), StoreError> {
    let q = Q::new(GONE_USER).bind(issuer).bind(OutboxKind::GoneUser.position()).bind(at).bind(at);
    q.bind(issuer).bind(issuer).bind(user).run(&mut *tx).await?;
    Q::by_index(FORGET_USER).bind(issuer).bind(user).run(tx).await?;
    Ok(())
}

/// Queues the removal of a subtree that is about to be destroyed: users first, then organizations bottom-up.
pub async fn put_gone_tree(
    tx: &mut Tx,
    issuer: &str,
    top: OrgId,
    org_type: OrgType,
    at: Ts,
) -> Result<(), StoreError> {
    let users = format!(
        "INSERT INTO logto_outbox (issuer, kind, object_id, provider_id, search_name, aspects, wanted, position, batch, \
         attempts, next_at, queued_at) SELECT ?, 'gone_user', u.id, i.subject, \
         CASE WHEN i.subject IS NULL THEN COALESCE(l.creating_name, u.username) END, 0, 1, ?, ?, 0, ?, ? FROM users u \
         LEFT JOIN user_identities i ON i.user_id = u.id AND i.issuer = ? \
         LEFT JOIN logto_users l ON l.user_id = u.id AND l.issuer = ? \
         WHERE u.{} = ? AND (i.subject IS NOT NULL OR l.creating_at IS NOT NULL) \
         ON CONFLICT (issuer, kind, object_id) DO NOTHING",
        below(org_type)
    );
    let q = Q::new(&users).bind(issuer).bind(OutboxKind::GoneUser.position()).bind(top).bind(at).bind(at);
    q.bind(issuer).bind(issuer).bind(top).run(&mut *tx).await?;
    let organizations = format!(
        "INSERT INTO logto_outbox (issuer, kind, object_id, provider_id, search_name, aspects, wanted, position, batch, \
         attempts, next_at, queued_at) SELECT l.issuer, 'gone_organization', o.id, l.provider_id, \
         CASE WHEN l.provider_id IS NULL THEN COALESCE(l.creating_name, o.name) END, 0, 1, \
         ? + CASE o.type WHEN 'customer' THEN 0 WHEN 'reseller' THEN 1 ELSE 2 END, ?, 0, ?, ? FROM organizations o \
         JOIN logto_organizations l ON l.organization_id = o.id AND l.issuer = ? \
         WHERE (l.provider_id IS NOT NULL OR l.creating_at IS NOT NULL) AND o.{} = ? ON CONFLICT (issuer, kind, object_id) DO NOTHING",
        subtree_column(org_type, "id")
    );
    let q = Q::new(&organizations).bind(OutboxKind::GoneOrganization.position()).bind(top).bind(at).bind(at);
    q.bind(issuer).bind(top).run(&mut *tx).await?;
    for (kinds, table, column) in [
        ("'user'", "users", below(org_type)),
        ("'organization', 'members', 'tree'", "organizations", subtree_column(org_type, "id")),
    ] {
        let forget = format!(
            "DELETE FROM logto_outbox WHERE issuer = ? AND kind IN ({kinds}) \
             AND object_id IN (SELECT id FROM {table} WHERE {column} = ?)"
        );
        Q::new(&forget).bind(issuer).bind(top).run(&mut *tx).await?;
    }
    Ok(())
}

/// Users whose change is to be queued: the next ones of an organization.
#[derive(Clone, Copy, Debug)]
pub struct NextUsers {
    pub organization: OrgId,
    /// Its type, where everything below it counts too.
    pub below: Option<OrgType>,
    /// The last one of the call before.
    pub after: Option<Uuid>,
    /// Most of them.
    pub limit: i64,
}

/// Queues a change for the next users of an organization, or of everything below it too, who have an account or are to
/// get one. Returns the last of them; none when no user was left.
pub async fn put_next_users(
    tx: &mut Tx,
    issuer: &str,
    next: NextUsers,
    aspects: i64,
    at: Ts,
) -> Result<Option<Uuid>, StoreError> {
    let NextUsers { organization, below: org_type, after, limit } = next;
    let column = org_type.map_or("organization_id", below);
    let ids = format!("SELECT id FROM users WHERE {column} = ? AND id > ? ORDER BY id LIMIT ?");
    let q = Q::new(&ids).bind(organization).bind(after.unwrap_or(Uuid::nil())).bind(limit);
    let ids: Vec<(Uuid,)> = q.all(&mut *tx).await?;
    let Some((last,)) = ids.last().copied() else { return Ok(None) };
    let mut q = Q::new(
        "INSERT INTO logto_outbox (issuer, kind, object_id, aspects, wanted, position, attempts, next_at, queued_at) \
         SELECT ?, 'user', u.id, ?, 1, ?, 0, ?, ? FROM users u WHERE \
         (EXISTS (SELECT 1 FROM user_identities i WHERE i.user_id = u.id AND i.issuer = ?) \
         OR EXISTS (SELECT 1 FROM logto_users l WHERE l.user_id = u.id AND l.issuer = ?)) AND u.id IN (",
    )
    .bind(issuer)
    .bind(aspects)
    .bind(OutboxKind::User.position())
    .bind(at)
    .bind(at)
    .bind(issuer)
    .bind(issuer);
    q.list(ids.into_iter().map(|(id,)| id)).push(
        ") ORDER BY u.id ON CONFLICT (issuer, kind, object_id) DO UPDATE SET \
         aspects = logto_outbox.aspects | excluded.aspects, wanted = logto_outbox.wanted + 1, attempts = 0, \
         next_at = excluded.next_at, problem = NULL, \
         queued_at = CASE WHEN logto_outbox.next_at IS NULL THEN excluded.queued_at ELSE logto_outbox.queued_at END",
    );
    q.run(tx).await?;
    Ok(Some(last))
}

/// Leases up to `limit` due rows until `until`.
pub async fn claim(db: &Db, issuer: &str, now: Ts, until: Ts, limit: i64) -> Result<Vec<Due>, StoreError> {
    let mut tx = db.begin().await?;
    let mut rows: Vec<Row> = Vec::new();
    // One position after the other: rows of one position that wait for a retry are not passed over again for another.
    for position in 0..=LAST_POSITION {
        let left = limit - i64::try_from(rows.len()).unwrap_or(limit);
        if left <= 0 {
            break;
        }
        let q = Q::by_index(CLAIM).bind(until).bind(issuer).bind(issuer).bind(position).bind(now).bind(now);
        rows.extend(q.bind(latest(now, until)).bind(left).all::<Row>(&mut tx).await?);
    }
    tx.commit().await?;
    rows.into_iter()
        .map(|row| {
            let kind = OutboxKind::ALL.into_iter().find(|kind| kind.word() == row.kind);
            Ok(Due {
                kind: kind.ok_or_else(|| StoreError::Corrupt(format!("outbox kind \"{}\"", row.kind)))?,
                object: row.object_id,
                provider_id: row.provider_id,
                search_name: row.search_name,
                aspects: row.aspects,
                after: row.after_id,
                attempts: row.attempts,
                wanted: row.wanted,
                claimed_until: row.claimed_until.0,
            })
        })
        .collect()
}

/// Removes a delivered row, unless it was queued again.
pub async fn finish(tx: &mut Tx, issuer: &str, due: &Due) -> Result<(), StoreError> {
    let word = due.kind.word();
    let q = Q::by_index(REMOVE).bind(issuer).bind(word).bind(due.object).bind(due.claimed_until);
    if q.bind(due.wanted).run(&mut *tx).await? == 0 {
        let q = Q::by_index(GIVE_BACK).bind(issuer).bind(word).bind(due.object).bind(due.claimed_until);
        q.run(tx).await?;
    }
    Ok(())
}

/// Gives a row back for a retry at `next_at`; none = refused, it waits for the next change.
pub async fn postpone(
    tx: &mut Tx,
    issuer: &str,
    due: &Due,
    next_at: Option<Ts>,
    problem: &str,
) -> Result<(), StoreError> {
    Q::by_index(POSTPONE)
        .bind(problem)
        .bind(due.wanted)
        .bind(next_at)
        .bind(issuer)
        .bind(due.kind.word())
        .bind(due.object)
        .bind(due.claimed_until)
        .run(tx)
        .await?;
    Ok(())
}

/// Gives back a tree that was walked up to `after`; one that was queued again starts from its beginning.
pub async fn go_on(tx: &mut Tx, issuer: &str, due: &Due, after: Uuid) -> Result<(), StoreError> {
    let word = due.kind.word();
    let q = Q::by_index(GO_ON).bind(after).bind(issuer).bind(word).bind(due.object);
    if q.bind(due.claimed_until).bind(due.wanted).run(&mut *tx).await? == 0 {
        let q = Q::by_index(GIVE_BACK).bind(issuer).bind(word).bind(due.object).bind(due.claimed_until);
        q.run(tx).await?;
    }
    Ok(())
}

/// How many rows wait, refused ones included.
pub async fn waiting(on: impl Into<On<'_>>, issuer: &str) -> Result<u64, StoreError> {
    Q::by_index(WAITING).bind(issuer).count(on).await
}
