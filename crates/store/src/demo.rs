//! Bulk loading of synthetic data: by columns on PostgreSQL (`unnest`), by rows on SQLite (`VALUES`).
//!
//! Each kind of row has one table of columns, from which both statements are made. Everything that a normal insert
//! derives (folded keys, search texts, effective marks) is derived here by the same functions.

use crate::{
    Db, StoreError, Tx,
    engine::{Engine, WRITE_CACHE},
    organizations,
    sql::{Arg, On, Q},
    systems::{self, status},
    users,
};
use bailiwick_domain::{
    OrgId, Organization, System, Ts, User, UserId,
    fold::{fold, fold_start},
    org::{Creator, Mark},
    validate::{Email, Vat},
};
use bailiwick_policy::Path;
use serde_json::Value;
use sqlx::AssertSqlSafe;
use std::{collections::BTreeMap, sync::Arc};
use uuid::Uuid;

const OWNER_USER: &str = "SELECT id, username, name, email FROM users \
     WHERE organization_id = ? AND deleted_at IS NULL ORDER BY created_at, id LIMIT 1";
const VAT_TAKEN: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM organizations WHERE vat_key = ?";

const IS_ALONE: &str = "SELECT NOT EXISTS (SELECT 1 FROM organizations WHERE type <> 'owner') \
     AND NOT EXISTS (SELECT 1 FROM users LIMIT 1 OFFSET 1) AND NOT EXISTS (SELECT 1 FROM systems)";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![OWNER_USER, VAT_TAKEN, IS_ALONE];

/// Whether there is at most the owner organization with one user, and no system.
pub async fn is_alone(on: impl Into<On<'_>>) -> Result<bool, StoreError> {
    let row: Option<(bool,)> = Q::new(IS_ALONE).optional(on).await?;
    Ok(row.is_none_or(|(is_alone,)| is_alone))
}

/// An organization and its place. Its own marks are those without `by`.
#[derive(Clone, Debug)]
pub struct PlacedOrganization {
    pub organization: Organization,
    /// Its place in the tree.
    pub path: Path,
}

/// A user and their organization. The user gets no password.
#[derive(Clone, Debug)]
pub struct PlacedUser {
    pub user: User,
    /// The place of their organization.
    pub path: Path,
}

/// A system with the rows that belong to it.
#[derive(Clone, Debug)]
pub struct PlacedSystem {
    pub system: System,
    /// Its organization's place.
    pub path: Path,
    /// Lookup part of its secret.
    pub secret_public: String,
    /// `hex(salt):hex(SHA-256(salt ‖ secret part))`.
    pub secret_hash: String,
    /// Address it registered from.
    pub registered_from: Option<String>,
    /// First authenticated call.
    pub authenticated_at: Option<Ts>,
    /// Its creator by [`snapshot_text`]: one text for all systems of a creator.
    pub snapshot: Arc<str>,
}

/// Type of a column and the form of its NULL inside an array.
#[derive(Clone, Copy)]
enum ColumnType {
    Id,
    Text,
    /// NULL instead of the empty text.
    TextOrNull,
    Int,
    Bool,
    Time,
    Json,
}

#[derive(Clone)]
struct Column<T> {
    name: &'static str,
    kind: ColumnType,
    value: fn(&T) -> Result<Arg, StoreError>,
}

type Columns<T> = &'static [Column<T>];

macro_rules! columns {
    ($t:ty; $($kind:ident $name:literal = |$row:ident| $value:expr;)+) => {
        &[$(Column::<$t> { name: $name, kind: ColumnType::$kind, value: |$row| Ok(Arg::from($value)) }),+]
    };
}

mod applications;
pub mod life;

pub use applications::{KindCount, PlacedApplication, add_application_counts, insert_applications};

// Columns that are listed where rows are written one by one.
macro_rules! of_details {
    ($($kind:ident $name:literal = |$details:ident| $value:expr;)+) => {
        columns! { PlacedOrganization;
            $($kind $name = |row| { let $details = &row.organization.details; $value };)+
        }
    };
}
macro_rules! of_user {
    ($($kind:ident $name:literal = |$user:ident| $value:expr;)+) => {
        columns! { PlacedUser; $($kind $name = |row| { let $user = &row.user; $value };)+ }
    };
}
macro_rules! of_system {
    ($($kind:ident $name:literal = |$system:ident| $value:expr;)+) => {
        columns! { PlacedSystem; $($kind $name = |row| { let $system = &row.system; $value };)+ }
    };
}
const DETAILS: Columns<PlacedOrganization> = organizations::kept_details!(of_details);
const CONTACTS: Columns<PlacedUser> = users::kept_contact!(of_user);
const ACCOUNTS: Columns<PlacedUser> = users::kept_account!(of_user);
const TEXTS: Columns<PlacedSystem> = systems::kept_texts!(of_system);
const FACTS: Columns<PlacedSystem> = systems::kept_facts!(of_system);

const ORGANIZATIONS: Columns<PlacedOrganization> = columns! { PlacedOrganization;
    Id "id" = |r| r.organization.id;
    Text "type" = |r| r.organization.org_type.as_str();
    Id "parent_id" = |r| r.organization.parent_id;
    Id "p2" = |r| r.path.p2;
    Id "p3" = |r| r.path.p3;
    TextOrNull "vat" = |r| r.organization.vat.as_deref();
    TextOrNull "vat_key" = |r| r.organization.vat.as_deref().map(Vat::key_of);
    Json "custom_data" = |r| Value::Object(r.organization.custom_data.clone());
    Text "search_key" = |r| organizations::search_key(&r.organization.details, &r.organization.custom_data);
    Json "created_by" = |r| snapshot(r.organization.created_by.as_ref())?;
    Id "creator_user_id" = |r| r.organization.created_by.as_ref().and_then(|c| c.user_id);
    Id "creator_org_id" = |r| r.organization.created_by.as_ref().and_then(|c| c.organization_id);
    TextOrNull "creator_key" = |r| r.organization.created_by.as_ref().map(|c| fold(&c.name));
    Time "created_at" = |r| r.organization.created_at;
    Time "updated_at" = |r| r.organization.updated_at;
    Time "suspended_at" = |r| own(r.organization.suspended);
    Time "deleted_at" = |r| own(r.organization.deleted);
    Time "eff_suspended_at" = |r| r.organization.suspended.at;
    Id "eff_suspended_by" = |r| r.organization.suspended.by;
    Time "eff_deleted_at" = |r| r.organization.deleted.at;
    Id "eff_deleted_by" = |r| r.organization.deleted.by;
};

const USERS: Columns<PlacedUser> = columns! { PlacedUser;
    Id "id" = |r| r.user.id;
    Id "organization_id" = |r| r.path.id;
    Id "p2" = |r| r.path.p2;
    Id "p3" = |r| r.path.p3;
    Json "created_by" = |r| snapshot(r.user.created_by.as_ref())?;
    Id "creator_user_id" = |r| r.user.created_by.as_ref().and_then(|c| c.user_id);
    Id "creator_org_id" = |r| r.user.created_by.as_ref().and_then(|c| c.organization_id);
    TextOrNull "creator_key" = |r| r.user.created_by.as_ref().map(|c| fold(&c.name));
    Time "created_at" = |r| r.user.created_at;
    Time "updated_at" = |r| r.user.updated_at;
    Time "latest_login_at" = |r| r.user.latest_login_at;
    Time "suspended_at" = |r| own(r.user.suspended);
    Time "deleted_at" = |r| own(r.user.deleted);
};

const SYSTEMS: Columns<PlacedSystem> = columns! { PlacedSystem;
    Id "id" = |r| r.system.id;
    Id "organization_id" = |r| r.path.id;
    Id "p2" = |r| r.path.p2;
    Id "p3" = |r| r.path.p3;
    Text "search_key" = |r| systems::search_key(&r.system);
    Text "system_key" = |r| &r.system.system_key;
    Text "secret_public" = |r| &r.secret_public;
    Text "secret_hash" = |r| &r.secret_hash;
    Json "created_by" = |r| &*r.snapshot;
    Id "creator_user_id" = |r| r.system.created_by.user_id;
    Id "creator_org_id" = |r| r.system.created_by.organization_id;
    Text "creator_key" = |r| fold(&r.system.created_by.name);
    Time "created_at" = |r| r.system.created_at;
    Time "updated_at" = |r| r.system.updated_at;
    Time "registered_at" = |r| r.system.registered_at;
    TextOrNull "registered_from" = |r| r.registered_from.as_deref();
    Time "authenticated_at" = |r| r.authenticated_at;
    Time "suspended_at" = |r| own(r.system.suspended);
    Time "deleted_at" = |r| own(r.system.deleted);
};

const ACTIVITY: Columns<PlacedSystem> = columns! { PlacedSystem;
    Id "system_id" = |r| r.system.id;
    Id "organization_id" = |r| r.path.id;
    Id "p2" = |r| r.path.p2;
    Id "p3" = |r| r.path.p3;
    Int "status" = |r| status::stored(r.system.liveness);
    Time "last_heartbeat" = |r| r.system.last_heartbeat;
    Time "last_inventory" = |r| r.system.last_inventory;
};

fn own(mark: Mark) -> Option<Ts> {
    mark.at.filter(|_| mark.by.is_none())
}

fn snapshot(creator: Option<&Creator>) -> Result<Option<Value>, StoreError> {
    creator.map(serde_json::to_value).transpose().map_err(|e| StoreError::Encode(e.into()))
}

/// A creation snapshot as it is stored.
pub fn snapshot_text(creator: &Creator) -> Result<Arc<str>, StoreError> {
    serde_json::to_string(creator).map(Arc::from).map_err(|e| StoreError::Encode(e.into()))
}

/// The first user of the owner organization; synthetic data is created in their name.
pub async fn owner_user(
    on: impl Into<On<'_>>,
    owner: OrgId,
) -> Result<Option<(UserId, [String; 3])>, StoreError> {
    let row: Option<(Uuid, String, String, String)> = Q::new(OWNER_USER).bind(owner).optional(on).await?;
    Ok(row.map(|(id, username, name, email)| (UserId(id), [username, name, email])))
}

/// Whether an organization of any state has this VAT number.
pub async fn is_vat_taken(on: impl Into<On<'_>>, vat: &str) -> Result<bool, StoreError> {
    Ok(Q::new(VAT_TAKEN).bind(Vat::key_of(vat)).count(on).await? > 0)
}

/// Stores organizations, parents before children.
pub async fn insert_organizations(tx: &mut Tx, rows: &[PlacedOrganization]) -> Result<(), StoreError> {
    insert(tx, "organizations", &[ORGANIZATIONS, DETAILS].concat(), rows).await
}

/// Stores users.
pub async fn insert_users(tx: &mut Tx, rows: &[PlacedUser]) -> Result<(), StoreError> {
    insert(tx, "users", &[USERS, CONTACTS, ACCOUNTS].concat(), rows).await
}

/// Stores systems and their activity.
pub async fn insert_systems(tx: &mut Tx, rows: &[PlacedSystem]) -> Result<(), StoreError> {
    insert(tx, "systems", &[SYSTEMS, TEXTS, FACTS].concat(), rows).await?;
    insert(tx, "system_activity", ACTIVITY, rows).await
}

/// Adds to the counters of organizations: systems and users that are not individually deleted.
pub async fn add_counts(tx: &mut Tx, counts: &BTreeMap<OrgId, (u64, u64)>) -> Result<(), StoreError> {
    tx.people_changed();
    tx.systems_changed();
    let rows: Vec<_> = counts.iter().collect();
    for chunk in rows.chunks(1000) {
        let mut q = Q::new("INSERT INTO organization_counts (organization_id, systems, users) VALUES ");
        for (i, (id, (systems, users))) in chunk.iter().enumerate() {
            q.push(if i == 0 { "(?, ?, ?)" } else { ", (?, ?, ?)" }).arg(**id).arg(*systems).arg(*users);
        }
        q.push(
            " ON CONFLICT (organization_id) DO UPDATE SET systems = organization_counts.systems + excluded.systems, \
             users = organization_counts.users + excluded.users",
        );
        q.run(tx).await?;
    }
    Ok(())
}

async fn insert<T>(tx: &mut Tx, table: &str, columns: &[Column<T>], rows: &[T]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    if tx.is_postgres() {
        return insert_columns(tx, table, columns, rows).await;
    }
    // SQLite has 32,766 parameters at most; shorter statements bind no slower.
    for chunk in rows.chunks(8_000 / columns.len()) {
        insert_values(tx, table, columns, chunk).await?;
    }
    Ok(())
}

fn names<T>(columns: &[Column<T>]) -> String {
    columns.iter().map(|c| c.name).collect::<Vec<_>>().join(", ")
}

async fn insert_values<T>(
    tx: &mut Tx,
    table: &str,
    columns: &[Column<T>],
    rows: &[T],
) -> Result<(), StoreError> {
    let marks = vec!["?"; columns.len()].join(", ");
    let mut q = Q::new(&format!("INSERT INTO {table} ({}) VALUES ", names(columns)));
    for (i, row) in rows.iter().enumerate() {
        q.push(if i == 0 { "(" } else { ", (" }).push(&marks).push(")");
        for column in columns {
            q.arg((column.value)(row)?);
        }
    }
    q.run(tx).await.map(|_| ())
}

async fn insert_columns<T>(
    tx: &mut Tx,
    table: &str,
    columns: &[Column<T>],
    rows: &[T],
) -> Result<(), StoreError> {
    let read = |(i, column): (usize, &Column<T>)| match column.kind {
        ColumnType::Id => format!("NULLIF(c{i}, '{}')", Uuid::nil()),
        ColumnType::Text => format!("c{i}"),
        ColumnType::TextOrNull => format!("NULLIF(c{i}, '')"),
        ColumnType::Bool => format!("c{i} = 1"),
        ColumnType::Int => format!("c{i}"),
        ColumnType::Time => format!("NULLIF(c{i}, 'epoch')"),
        ColumnType::Json => format!("CAST(NULLIF(c{i}, '') AS jsonb)"),
    };
    let array = |column: &Column<T>| match column.kind {
        ColumnType::Id => "CAST(? AS uuid[])",
        ColumnType::Text | ColumnType::TextOrNull | ColumnType::Json => "CAST(? AS text[])",
        ColumnType::Bool | ColumnType::Int => "CAST(? AS bigint[])",
        ColumnType::Time => "CAST(? AS timestamptz[])",
    };
    let mut q = Q::new(&format!(
        "INSERT INTO {table} ({}) SELECT {} FROM unnest({}) AS u ({})",
        names(columns),
        columns.iter().enumerate().map(read).collect::<Vec<_>>().join(", "),
        columns.iter().map(array).collect::<Vec<_>>().join(", "),
        (0..columns.len()).map(|i| format!("c{i}")).collect::<Vec<_>>().join(", "),
    ));
    for column in columns {
        q.arg(gather(column, rows)?);
    }
    q.run(tx).await.map(|_| ())
}

fn gather<T>(column: &Column<T>, rows: &[T]) -> Result<Arg, StoreError> {
    let mut all = match column.kind {
        ColumnType::Id => Arg::Ids(Vec::with_capacity(rows.len())),
        ColumnType::Text | ColumnType::TextOrNull | ColumnType::Json => {
            Arg::Texts(Vec::with_capacity(rows.len()))
        }
        ColumnType::Bool | ColumnType::Int => Arg::Ints(Vec::with_capacity(rows.len())),
        ColumnType::Time => Arg::Times(Vec::with_capacity(rows.len())),
    };
    for row in rows {
        match (&mut all, (column.value)(row)?) {
            (Arg::Ids(list), Arg::Id(v)) => list.push(v.unwrap_or_default()),
            (Arg::Texts(list), Arg::Text(v)) => list.push(v.unwrap_or_default()),
            // JSON that is text already needs nothing more.
            (Arg::Texts(list), Arg::Json(v)) => list.push(v.map(|v| v.to_string()).unwrap_or_default()),
            (Arg::Ints(list), Arg::Bool(v)) => list.push(i64::from(v.unwrap_or_default())),
            (Arg::Ints(list), Arg::Int(v)) => list.push(v.unwrap_or_default()),
            (Arg::Times(list), Arg::Time(v)) => list.push(v.unwrap_or_default()),
            _ => return Err(StoreError::Misuse("a column's value is not of its kind")),
        }
    }
    Ok(all)
}

/// An index removed for the time of a load.
#[derive(Clone, Debug, PartialEq, Eq, sqlx_macros::FromRow)]
pub struct SetAside {
    pub name: String,
    definition: String,
}

/// Removes the secondary indexes of `systems` and of applications, apart from those that other tables refer to, until
/// [`build_index`] creates them again in the same transaction. So a crash in between leaves the database unchanged. On
/// PostgreSQL no other transaction reads the table meanwhile.
pub async fn set_aside_indexes(tx: &mut Tx) -> Result<Vec<SetAside>, StoreError> {
    let aside: Vec<SetAside> = Q::new(
        "[[SELECT CAST(c.relname AS text) AS name, pg_get_indexdef(i.indexrelid) AS definition FROM pg_index i \
         JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid \
         WHERE t.relnamespace = 'public'::regnamespace AND t.relname IN ('systems', 'applications', 'application_hosts') \
         AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid) ORDER BY c.relname||\
         SELECT name, sql AS definition FROM sqlite_schema WHERE type = 'index' \
         AND tbl_name IN ('systems', 'applications', 'application_hosts') \
         AND sql IS NOT NULL AND name <> 'systems_place_unique' ORDER BY name]]",
    )
    .all(&mut *tx)
    .await?;
    for index in &aside {
        Q::new(&format!("DROP INDEX {}", index.name)).run(tx).await?;
    }
    Ok(aside)
}

/// Creates an index again.
pub async fn build_index(tx: &mut Tx, index: &SetAside) -> Result<(), StoreError> {
    Q::new(&index.definition).run(tx).await.map(|_| ())
}

/// Allows one transaction to take long and use much memory.
pub async fn prepare_long_transaction(tx: &mut Tx) -> Result<(), StoreError> {
    let settings: &[&str] = if tx.is_postgres() {
        &["SET LOCAL statement_timeout = 0", "SET LOCAL maintenance_work_mem = '256MB'"]
    } else {
        // In KiB, until the statistics are gathered.
        &["PRAGMA cache_size = -262144"]
    };
    for setting in settings {
        Q::new(setting).run(tx).await?;
    }
    Ok(())
}

/// Renews the planner statistics of the tables. On PostgreSQL it also vacuums, so that index-only reads work at once.
pub async fn gather_statistics(db: &Db) -> Result<(), StoreError> {
    const TABLES: [&str; 9] = [
        "organizations",
        "organization_counts",
        "users",
        "systems",
        "system_activity",
        "applications",
        "application_hosts",
        "application_counts",
        "assignment_counts",
    ];
    match &db.engine {
        Engine::Pg(pool) => {
            let mut connection = pool.acquire().await?;
            sqlx::query("SET statement_timeout = 0").execute(&mut *connection).await?;
            for table in TABLES {
                sqlx::query(AssertSqlSafe(format!("VACUUM (ANALYZE) {table}")))
                    .execute(&mut *connection)
                    .await?;
            }
            sqlx::query("RESET statement_timeout").execute(&mut *connection).await?;
        }
        Engine::Lite { write, .. } => {
            let mut connection = write.acquire().await?;
            let usual = format!("PRAGMA cache_size = {WRITE_CACHE}");
            let gather = ["PRAGMA analysis_limit = 1000", "ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"];
            for statement in gather.into_iter().chain([usual.as_str()]) {
                sqlx::query(AssertSqlSafe(statement.to_owned())).execute(&mut *connection).await?;
            }
        }
    }
    Ok(())
}
