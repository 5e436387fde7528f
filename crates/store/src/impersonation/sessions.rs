//! Impersonation sessions: a user acts as another user with that user's consent. Each request judges a session from
//! what [`load`] reads. The event that ends a session also records its end, so an ended session stays ended.

pub use super::session::{Cause, End, Party, Session};

use super::entries;
use crate::{
    Db, StoreError, Tx,
    events::{self, About, NewEvent},
    identities::{Identified, UserRow, user_columns},
    sql::{On, Q, ROWS},
    time::TsCodec,
    tree::subtree_column,
};
use bailiwick_domain::{
    ChainId, EventTopic, Happening, ImpersonationId, LoginId, OrgId, OrgType, Page, PageRequest, Ts, UserId,
};
use bailiwick_policy::Path;
use serde_json::json;
use sqlx_macros::FromRow;
use uuid::Uuid;

#[derive(FromRow)]
struct SessionRow {
    session_id: Uuid,
    impersonator_user_id: Uuid,
    impersonated_user_id: Uuid,
    impersonator_username: String,
    impersonated_username: String,
    impersonator_name: String,
    impersonated_name: String,
    consent_id: Uuid,
    chain_id: Uuid,
    login_id: Option<Uuid>,
    started_at: TsCodec,
    session_expires_at: TsCodec,
    ended_at: Option<TsCodec>,
    end_cause: Option<String>,
    end_reason: Option<String>,
    action_count: i64,
}

impl SessionRow {
    fn into_session(self) -> Result<Session, StoreError> {
        let end = match (self.ended_at, self.end_cause) {
            (Some(at), Some(word)) => {
                let cause = Cause::parse(&word)
                    .ok_or_else(|| StoreError::Corrupt(format!("cause of an end \"{word}\"")))?;
                Some(End { at: at.0, cause, reason: self.end_reason })
            }
            _ => None,
        };
        Ok(Session {
            id: ImpersonationId(self.session_id),
            impersonator: Party {
                id: UserId(self.impersonator_user_id),
                username: self.impersonator_username,
                name: self.impersonator_name,
            },
            impersonated: Party {
                id: UserId(self.impersonated_user_id),
                username: self.impersonated_username,
                name: self.impersonated_name,
            },
            consent_id: self.consent_id,
            chain_id: ChainId(self.chain_id),
            login_id: self.login_id.map(LoginId),
            started_at: self.started_at.0,
            expires_at: self.session_expires_at.0,
            end,
            action_count: self.action_count,
        })
    }
}

macro_rules! session_columns {
    () => {
        "s.id AS session_id, s.impersonator_user_id, s.impersonated_user_id, s.impersonator_username, \
         s.impersonated_username, s.impersonator_name, s.impersonated_name, s.consent_id, s.chain_id, s.login_id, \
         s.started_at, s.expires_at AS session_expires_at, s.ended_at, s.end_cause, s.end_reason, s.action_count"
    };
}

/// The session with its present consent, its chain, and each of the two users with their organization: two rows at
/// most.
macro_rules! look {
    ($condition:literal) => {
        concat!(
            "SELECT ",
            session_columns!(),
            ", k.id AS present_consent_id, k.expires_at AS consent_expires_at, \
             c.revoked_at AS chain_revoked_at, COALESCE(c.signed_in_at, c.created_at) AS chain_signed_in_at, \
             u.p2, u.p3, ",
            user_columns!(),
            " FROM impersonation_sessions s \
             LEFT JOIN impersonation_consents k ON k.user_id = s.impersonated_user_id \
             LEFT JOIN session_chains c ON c.id = s.chain_id \
             JOIN users u ON u.id [[= ANY (ARRAY[s.impersonator_user_id, s.impersonated_user_id])||\
             IN (s.impersonator_user_id, s.impersonated_user_id)]] \
             JOIN organizations o ON o.id = u.organization_id WHERE ",
            $condition
        )
    };
}

const LOOK: &str = look!("s.id = ?");
const LOOK_OF_IMPERSONATOR: &str = look!("s.impersonator_user_id = ? AND s.ended_at IS NULL");
const LOOK_OF_USER: &str =
    look!("(s.impersonator_user_id = ? OR s.impersonated_user_id = ?) AND s.ended_at IS NULL ORDER BY s.id");
// A walk through all live sessions: one for each impersonator.
const LOOK_BELOW: &str = look!(
    "s.ended_at IS NULL AND EXISTS (SELECT 1 FROM users b \
     WHERE b.id IN (s.impersonator_user_id, s.impersonated_user_id) AND b.p3 = ?) ORDER BY s.id"
);
const GET: &str = concat!("SELECT ", session_columns!(), " FROM impersonation_sessions s WHERE s.id = ?");
const HOLD: &str =
    concat!("SELECT ", session_columns!(), " FROM impersonation_sessions s WHERE s.id = ? [[FOR UPDATE||]]");
const INSERT: &str = "INSERT INTO impersonation_sessions (id, impersonator_user_id, \
     impersonated_user_id, impersonator_username, impersonated_username, impersonator_name, impersonated_name, \
     consent_id, chain_id, login_id, started_at, expires_at, end_entry_id, action_count) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)";
const BIND_TO: &str = "UPDATE impersonation_sessions SET chain_id = ?, login_id = ? \
     WHERE id = ? AND ended_at IS NULL";
const RETURNED: &str = "UPDATE impersonation_sessions SET end_cause = 'exit' WHERE id = ? \
     AND end_cause IN ('consent', 'target')";
const COUNT_OLD: &str = "SELECT COUNT(*) FROM impersonation_sessions WHERE ended_at < ? \
     OR (ended_at IS NULL AND expires_at < ?)";
const PURGE: &str = "DELETE FROM impersonation_sessions WHERE id IN (SELECT s.id \
     FROM impersonation_sessions s WHERE s.ended_at IS NOT NULL AND s.ended_at < ? \
     AND NOT EXISTS (SELECT 1 FROM impersonation_entries e WHERE e.session_id = s.id) LIMIT ?)";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    LOOK,
    LOOK_OF_IMPERSONATOR,
    LOOK_OF_USER,
    LOOK_BELOW,
    GET,
    HOLD,
    INSERT,
    BIND_TO,
    RETURNED,
    COUNT_OLD,
    PURGE
];

/// One of the two users in their present state.
#[derive(Clone, Debug, PartialEq)]
pub struct Person {
    /// The user, and the state of the session.
    pub user: Identified,
    /// The place of the user's organization in the tree.
    pub path: Path,
}

/// A session and all it depends on, read at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub session: Session,
    /// The impersonated user's consent, live or expired: its id and expiry.
    pub consent: Option<(Uuid, Ts)>,
    /// Whether the chain it is bound to was revoked.
    pub is_chain_revoked: bool,
    /// When the impersonator of that chain last proved who they are.
    pub signed_in_at: Option<Ts>,
    /// The impersonator; none = destroyed.
    pub impersonator: Option<Person>,
    /// The impersonated user; none = destroyed.
    pub impersonated: Option<Person>,
}

#[derive(FromRow)]
struct SeenRow {
    #[sqlx(flatten)]
    session: SessionRow,
    present_consent_id: Option<Uuid>,
    consent_expires_at: Option<TsCodec>,
    chain_revoked_at: Option<TsCodec>,
    chain_signed_in_at: Option<TsCodec>,
    p2: Uuid,
    p3: Uuid,
    #[sqlx(flatten)]
    user: UserRow,
}

/// The rows of a session follow each other.
fn from_rows(rows: Vec<SeenRow>) -> Result<Vec<Seen>, StoreError> {
    let mut all: Vec<Seen> = Vec::new();
    for row in rows {
        let user = row.user.into_identified()?;
        let path = Path { id: user.organization.id, p2: OrgId(row.p2), p3: OrgId(row.p3) };
        let person = Person { user, path };
        let mut seen = match all.pop_if(|loaded| loaded.session.id.0 == row.session.session_id) {
            Some(seen) => seen,
            None => Seen {
                session: row.session.into_session()?,
                consent: row.present_consent_id.zip(row.consent_expires_at.map(Ts::from)),
                is_chain_revoked: row.chain_revoked_at.is_some(),
                signed_in_at: row.chain_signed_in_at.map(Ts::from),
                impersonator: None,
                impersonated: None,
            },
        };
        if person.user.id == seen.session.impersonator.id {
            seen.impersonator = Some(person);
        } else {
            seen.impersonated = Some(person);
        }
        all.push(seen);
    }
    Ok(all)
}

/// The session with all it depends on: the one read of a request with an impersonation token. None also when both users
/// are destroyed.
pub async fn load(on: impl Into<On<'_>>, id: ImpersonationId) -> Result<Option<Seen>, StoreError> {
    Ok(from_rows(Q::new(LOOK).bind(id).all(on).await?)?.pop())
}

/// This impersonator's one session without a recorded end, with all it depends on.
pub async fn load_of(on: impl Into<On<'_>>, impersonator: UserId) -> Result<Option<Seen>, StoreError> {
    Ok(from_rows(Q::new(LOOK_OF_IMPERSONATOR).bind(impersonator).all(on).await?)?.pop())
}

/// The sessions without a recorded end that this user has started or is the target of, with all they depend on.
pub async fn load_of_user(tx: &mut Tx, user: UserId) -> Result<Vec<Seen>, StoreError> {
    from_rows(Q::new(LOOK_OF_USER).bind(user).bind(user).all(tx).await?)
}

/// The sessions without a recorded end of all users of a reseller, or of one that has become a distributor, and of
/// everything below it.
pub async fn load_below(tx: &mut Tx, reseller: OrgId) -> Result<Vec<Seen>, StoreError> {
    from_rows(Q::new(LOOK_BELOW).bind(reseller).all(tx).await?)
}

/// The session without its users.
pub async fn get(on: impl Into<On<'_>>, id: ImpersonationId) -> Result<Option<Session>, StoreError> {
    Q::new(GET).bind(id).optional::<SessionRow>(on).await?.map(SessionRow::into_session).transpose()
}

/// The session, held until the transaction ends.
pub async fn hold(tx: &mut Tx, id: ImpersonationId) -> Result<Option<Session>, StoreError> {
    Q::new(HOLD).bind(id).optional::<SessionRow>(tx).await?.map(SessionRow::into_session).transpose()
}

/// Starts a session and records the start. `entries`: ids of the entries of its start and of its end.
pub async fn insert(tx: &mut Tx, new: &Session, entries: (Uuid, Uuid)) -> Result<(), StoreError> {
    Q::new(INSERT)
        .bind(new.id)
        .bind(new.impersonator.id)
        .bind(new.impersonated.id)
        .bind(&new.impersonator.username)
        .bind(&new.impersonated.username)
        .bind(&new.impersonator.name)
        .bind(&new.impersonated.name)
        .bind(new.consent_id)
        .bind(new.chain_id)
        .bind(new.login_id)
        .bind(new.started_at)
        .bind(new.expires_at)
        .bind(entries.1)
        .run(&mut *tx)
        .await?;
    entries::start(tx, entries.0, new.id, new.started_at).await
}

/// Binds a live session to another chain of the impersonator, which the caller holds. False when the session has ended.
pub async fn bind_to(
    tx: &mut Tx,
    id: ImpersonationId,
    chain: ChainId,
    login: Option<LoginId>,
) -> Result<bool, StoreError> {
    Ok(Q::new(BIND_TO).bind(chain).bind(login).bind(id).run(tx).await? > 0)
}

/// Notes that the impersonator has returned from a session that the target's side had ended. False when they had
/// already returned.
pub async fn note_return(tx: &mut Tx, id: ImpersonationId) -> Result<bool, StoreError> {
    Ok(Q::new(RETURNED).bind(id).run(tx).await? > 0)
}

/// Which live sessions are meant.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    One(ImpersonationId),
    /// The one this user has started, unless it is bound to this chain.
    By(UserId, Option<ChainId>),
    /// Those in which this user is impersonated.
    As(UserId),
    /// Those bound to this chain.
    BoundTo(ChainId),
    /// Those bound to a chain that came from this login.
    From(LoginId),
    /// Those of them whose chain was revoked.
    FromRevoked(LoginId),
    /// Those started by users of this organization and of everything below it.
    ByBelow(OrgId, OrgType),
    /// Those in which such users are impersonated.
    AsBelow(OrgId, OrgType),
    /// Up to this many of the expired ones.
    Expired(i64),
    All,
}

fn push_which(q: &mut Q, which: Which, now: Ts) {
    let below = |q: &mut Q, column: &str, organization: OrgId, org_type: OrgType| {
        let scope = subtree_column(org_type, "organization_id");
        let sql = format!(" AND EXISTS (SELECT 1 FROM users u WHERE u.id = t.{column} AND u.{scope} = ?)");
        q.push(&sql).arg(organization);
    };
    match which {
        Which::One(id) => {
            q.push(" AND t.id = ?").arg(id);
        }
        Which::By(user, keep) => {
            q.push(" AND t.impersonator_user_id = ?").arg(user);
            if let Some(chain) = keep {
                q.push(" AND t.chain_id <> ?").arg(chain);
            }
        }
        Which::As(user) => {
            q.push(" AND t.impersonated_user_id = ?").arg(user);
        }
        Which::BoundTo(chain) => {
            q.push(" AND t.chain_id = ?").arg(chain);
        }
        Which::From(login) => {
            q.push(" AND t.login_id = ?").arg(login);
        }
        Which::FromRevoked(login) => {
            q.push(
                " AND t.login_id = ? AND EXISTS (SELECT 1 FROM session_chains c WHERE c.id = t.chain_id \
                 AND c.revoked_at IS NOT NULL)",
            )
            .arg(login);
        }
        Which::ByBelow(id, org_type) => below(q, "impersonator_user_id", id, org_type),
        Which::AsBelow(id, org_type) => below(q, "impersonated_user_id", id, org_type),
        Which::Expired(limit) => {
            q.push(
                " AND t.id IN (SELECT x.id FROM impersonation_sessions x WHERE x.ended_at IS NULL \
                 AND x.expires_at <= ? ORDER BY x.expires_at LIMIT ? [[FOR NO KEY UPDATE SKIP LOCKED||]])",
            )
            .arg(now)
            .arg(limit);
        }
        Which::All => {}
    }
}

/// Locks live sessions in one order for all transactions, before more than one statement ends some of them: two users
/// may impersonate each other, and may be suspended at the same moment.
pub async fn hold_all(tx: &mut Tx, selections: &[Which], now: Ts) -> Result<(), StoreError> {
    if !tx.is_postgres() {
        // Its one writer holds everything.
        return Ok(());
    }
    let mut q = Q::new("SELECT s.id FROM impersonation_sessions s WHERE s.ended_at IS NULL AND s.id IN (");
    for (n, which) in selections.iter().enumerate() {
        let union = if n > 0 { " UNION " } else { "" };
        q.push(union).push("SELECT t.id FROM impersonation_sessions t WHERE t.ended_at IS NULL");
        push_which(&mut q, *which, now);
    }
    q.push(") ORDER BY s.id FOR NO KEY UPDATE OF s");
    let _held: Vec<(Uuid,)> = q.all(tx).await?;
    Ok(())
}

/// Ends live sessions and records their end; returns how many. A session that expired before has ended by expiry.
pub async fn end(
    tx: &mut Tx,
    which: Which,
    now: Ts,
    cause: Cause,
    reason: Option<&str>,
) -> Result<u64, StoreError> {
    let mut q = Q::new(
        "UPDATE impersonation_sessions AS t SET \
         ended_at = CASE WHEN t.expires_at <= ? THEN t.expires_at ELSE ? END, \
         end_cause = CASE WHEN t.expires_at <= ? THEN 'expiry' ELSE ? END, \
         end_reason = CASE WHEN t.expires_at <= ? THEN NULL ELSE ? END, action_count = t.action_count + 1 \
         WHERE t.ended_at IS NULL",
    )
    .bind(now)
    .bind(now)
    .bind(now)
    .bind(cause.as_str())
    .bind(now)
    .bind(reason);
    push_which(&mut q, which, now);
    q.push(" RETURNING id, impersonated_user_id, ended_at, end_cause");
    let ended: Vec<(Uuid, Uuid, TsCodec, String)> = q.all(&mut *tx).await?;
    let ends: Vec<NewEvent> = ended.iter().map(ended_event).collect();
    events::write(tx, &ends).await?;
    for some in ended.chunks(ROWS) {
        let mut q = Q::new(
            "INSERT INTO impersonation_entries (id, session_id, at, action_type) \
             SELECT s.end_entry_id, s.id, s.ended_at, 'session_end' FROM impersonation_sessions s WHERE s.id IN (",
        );
        q.list(some.iter().map(|ended| ended.0)).push(")");
        q.run(tx).await?;
    }
    Ok(ended.len() as u64)
}

/// The event of a session's end, about the impersonated user.
fn ended_event((id, user, at, cause): &(Uuid, Uuid, TsCodec, String)) -> NewEvent {
    let user = UserId(*user);
    NewEvent {
        at: at.0,
        kind: EventTopic::Impersonation.kind(Happening::Ended),
        organization: None,
        about: About::User(user),
        object_id: id.to_string(),
        subject: Some(format!("/users/{user}")),
        data: json!({"user_id": user, "session_id": id, "cause": cause}),
    }
}

/// A user's side in their sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The user is the impersonated one.
    Impersonated,
    /// The user has started them.
    Impersonator,
    /// Either.
    Any,
}

/// One page of a user's sessions, the newest first.
pub async fn of_user(
    db: &Db,
    user: UserId,
    side: Side,
    page: PageRequest,
) -> Result<Page<Session>, StoreError> {
    let push_where = |q: &mut Q| match side {
        Side::Impersonated => drop(q.push(" WHERE s.impersonated_user_id = ?").arg(user)),
        Side::Impersonator => drop(q.push(" WHERE s.impersonator_user_id = ?").arg(user)),
        Side::Any => {
            q.push(" WHERE (s.impersonated_user_id = ? OR s.impersonator_user_id = ?)").arg(user).arg(user);
        }
    };
    let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM impersonation_sessions s");
    push_where(&mut q);
    let total = q.count(db).await?;
    let mut rows = Vec::new();
    if page.offset() < total {
        let mut q = Q::new(concat!("SELECT ", session_columns!(), " FROM impersonation_sessions s"));
        push_where(&mut q);
        q.push(" ORDER BY s.started_at DESC, s.id DESC LIMIT ? OFFSET ?")
            .arg(page.page_size)
            .arg(page.offset());
        rows = q.all::<SessionRow>(db).await?;
    }
    let rows = rows.into_iter().map(SessionRow::into_session).collect::<Result<_, _>>()?;
    Ok(Page { rows, total, request: page })
}

/// How many sessions ended before `before`, whether their end is recorded yet or not.
pub async fn count_old(db: &Db, before: Ts) -> Result<u64, StoreError> {
    Q::new(COUNT_OLD).bind(before).bind(before).count(db).await
}

/// Removes some of the sessions that ended before `before` and have no entries any more.
pub async fn purge(tx: &mut Tx, before: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::new(PURGE).bind(before).bind(limit).run(tx).await
}
