//! The mark of a demo database, and what `bailiwick demo` has made: so that the service can keep it alive, and a
//! command can take it out again.

use super::{Column, ColumnType, Columns, insert};
use crate::{
    StoreError, Tx,
    sql::{Arg, Column as Cells, On, Q, ROWS, push_rows},
    time::TsCodec,
    tree::parse_type,
};
use bailiwick_domain::{OrgId, OrgType, SystemId, Ts, org::OrgRef};
use sqlx_macros::FromRow;
use std::collections::HashMap;
use uuid::Uuid;

const MARK: &str = "INSERT INTO demo_loads (seed, systems, made_at) VALUES (?, ?, ?)";
const LOADS: &str = "SELECT seed, systems, made_at, lived_until FROM demo_loads ORDER BY seed";
const LIVED: &str = "UPDATE demo_loads SET lived_until = ? WHERE seed = ?";
const MEMBERS: &str = "SELECT d.number, d.is_silent, d.next_document_at, s.id, s.system_key, s.name, \
     s.type AS system_type, s.fqdn, s.ipv4_address, s.ipv6_address, s.version, s.registered_at, a.last_heartbeat, \
     o.id AS org_id, o.name AS org_name, o.type AS org_type, o.vat FROM demo_systems d \
     JOIN systems s ON s.id = d.system_id JOIN organizations o ON o.id = s.organization_id \
     JOIN system_activity a ON a.system_id = s.id WHERE d.seed = ? AND s.registered_at IS NOT NULL \
     AND a.last_heartbeat IS NOT NULL AND s.deleted_at IS NULL AND s.suspended_at IS NULL \
     AND o.eff_deleted_at IS NULL AND o.eff_suspended_at IS NULL ORDER BY d.number LIMIT ?";
const HIGHEST: &str = "SELECT o.id, o.type FROM demo_organizations d JOIN organizations o ON o.id = d.organization_id \
     WHERE NOT EXISTS (SELECT 1 FROM demo_organizations p WHERE p.organization_id = o.parent_id) ORDER BY o.id";
const LEFT: &str = "SELECT d.system_id FROM demo_systems d ORDER BY d.system_id LIMIT ?";
const FORGET: &str = "DELETE FROM demo_loads";
const EXTENT: &str = "SELECT (SELECT CAST(COUNT(*) AS BIGINT) FROM demo_organizations), \
     (SELECT CAST(COUNT(*) AS BIGINT) FROM users u JOIN demo_organizations d ON d.organization_id = u.organization_id \
     JOIN demo_loads l ON l.seed = d.seed WHERE u.created_at <= l.made_at), \
     (SELECT CAST(COUNT(*) AS BIGINT) FROM demo_systems)";
const ADDED: &str = "SELECT (SELECT CAST(COUNT(*) AS BIGINT) FROM organizations o WHERE NOT EXISTS \
     (SELECT 1 FROM demo_organizations d WHERE d.organization_id = o.id) AND EXISTS \
     (SELECT 1 FROM demo_organizations d WHERE d.organization_id = o.p2 OR d.organization_id = o.p3)), \
     (SELECT CAST(COUNT(*) AS BIGINT) FROM users u JOIN demo_organizations d ON d.organization_id = u.organization_id \
     JOIN demo_loads l ON l.seed = d.seed WHERE u.created_at > l.made_at), \
     (SELECT CAST(COUNT(*) AS BIGINT) FROM systems s \
     JOIN demo_organizations d ON d.organization_id = s.organization_id \
     WHERE NOT EXISTS (SELECT 1 FROM demo_systems m WHERE m.system_id = s.id))";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![MARK, LOADS, LIVED, MEMBERS, HIGHEST, LEFT, FORGET, EXTENT, ADDED];

/// One run of `bailiwick demo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub seed: u64,
    /// How many systems it has made.
    pub systems: u64,
    /// When.
    pub made_at: Ts,
    /// Up to when its systems have sent what they send; none: they stand still.
    pub lived_until: Option<Ts>,
}

/// A system as it is made.
#[derive(Clone, Copy, Debug)]
pub struct MadeSystem {
    pub id: SystemId,
    /// Seed of its load.
    pub seed: u64,
    /// Its number in the load, from 0 on.
    pub number: u64,
    /// It sends nothing any more.
    pub is_silent: bool,
}

/// A system that can send: registered, seen before, neither suspended nor deleted.
#[derive(Clone, Debug)]
pub struct Member {
    pub id: SystemId,
    /// Number in its load.
    pub number: u64,
    /// It sends nothing any more.
    pub is_silent: bool,
    /// When it sends its next document; none: not known yet.
    pub next_document_at: Option<Ts>,
    /// Public half of the credential.
    pub system_key: String,
    pub name: String,
    /// Type, if a document has named it.
    pub system_type: Option<String>,
    /// `""` when unset, as the following.
    pub fqdn: String,
    pub ipv4_address: String,
    pub ipv6_address: String,
    /// Of its product.
    pub version: String,
    /// When it registered.
    pub registered_at: Ts,
    /// Its last heartbeat.
    pub last_heartbeat: Ts,
    pub organization: OrgRef,
    /// VAT number of that, `""` when unset.
    pub vat: String,
}

#[derive(FromRow)]
struct Row {
    number: i64,
    is_silent: bool,
    next_document_at: Option<TsCodec>,
    id: Uuid,
    system_key: String,
    name: String,
    system_type: Option<String>,
    fqdn: String,
    ipv4_address: String,
    ipv6_address: String,
    version: String,
    registered_at: TsCodec,
    last_heartbeat: TsCodec,
    org_id: Uuid,
    org_name: String,
    org_type: String,
    vat: Option<String>,
}

impl Row {
    fn member(self) -> Result<Member, StoreError> {
        let org_type = parse_type(&self.org_type)?;
        Ok(Member {
            id: SystemId(self.id),
            number: u64::try_from(self.number).unwrap_or(0),
            is_silent: self.is_silent,
            next_document_at: self.next_document_at.map(Ts::from),
            system_key: self.system_key,
            name: self.name,
            system_type: self.system_type,
            fqdn: self.fqdn,
            ipv4_address: self.ipv4_address,
            ipv6_address: self.ipv6_address,
            version: self.version,
            registered_at: self.registered_at.0,
            last_heartbeat: self.last_heartbeat.0,
            organization: OrgRef { id: OrgId(self.org_id), name: self.org_name, org_type },
            vat: self.vat.unwrap_or_default(),
        })
    }
}

const MADE: Columns<MadeSystem> = columns! { MadeSystem;
    Id "system_id" = |r| r.id;
    Int "seed" = |r| r.seed.cast_signed();
    Int "number" = |r| r.number;
    Bool "is_silent" = |r| r.is_silent;
};

const PLACES: Columns<(OrgId, u64)> = columns! { (OrgId, u64);
    Id "organization_id" = |r| r.0;
    Int "seed" = |r| r.1.cast_signed();
};

/// Marks the database as a demo.
pub async fn mark(tx: &mut Tx, seed: u64, systems: u64, now: Ts) -> Result<(), StoreError> {
    Q::new(MARK).bind(seed.cast_signed()).bind(systems).bind(now).run(tx).await?;
    Ok(())
}

/// Notes organizations that the load has made.
pub async fn mark_organizations(
    tx: &mut Tx,
    seed: u64,
    ids: impl Iterator<Item = OrgId>,
) -> Result<(), StoreError> {
    let rows: Vec<(OrgId, u64)> = ids.map(|id| (id, seed)).collect();
    insert(tx, "demo_organizations", PLACES, &rows).await
}

/// Notes systems that the load has made.
pub async fn mark_systems(tx: &mut Tx, rows: &[MadeSystem]) -> Result<(), StoreError> {
    insert(tx, "demo_systems", MADE, rows).await
}

/// All loads; none: the database is no demo.
pub async fn loads(on: impl Into<On<'_>>) -> Result<Vec<Load>, StoreError> {
    let rows: Vec<(i64, i64, TsCodec, Option<TsCodec>)> = Q::new(LOADS).all(on).await?;
    let load = |(seed, systems, made_at, lived_until): (i64, i64, TsCodec, Option<TsCodec>)| Load {
        seed: seed.cast_unsigned(),
        systems: u64::try_from(systems).unwrap_or(0),
        made_at: made_at.0,
        lived_until: lived_until.map(Ts::from),
    };
    Ok(rows.into_iter().map(load).collect())
}

/// Notes up to when the systems of a load have sent what they send.
pub async fn set_lived_until(tx: &mut Tx, seed: u64, until: Ts) -> Result<(), StoreError> {
    Q::new(LIVED).bind(until).bind(seed.cast_signed()).run(tx).await?;
    Ok(())
}

/// The systems of a load that can send, by their number.
pub async fn members(on: impl Into<On<'_>>, seed: u64, limit: u64) -> Result<Vec<Member>, StoreError> {
    let rows: Vec<Row> = Q::new(MEMBERS).bind(seed.cast_signed()).bind(limit).all(on).await?;
    rows.into_iter().map(Row::member).collect()
}

/// Notes when these systems send their next documents.
pub async fn set_next_documents(tx: &mut Tx, next: &[(SystemId, Ts)]) -> Result<(), StoreError> {
    for chunk in next.chunks(ROWS) {
        let columns = vec![
            ("id", Cells::Ids(chunk.iter().map(|(id, _)| id.0).collect())),
            ("at", Cells::times(chunk.iter().map(|(_, at)| *at))),
        ];
        let mut q = Q::new("UPDATE demo_systems AS d SET next_document_at = v.at FROM ");
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(" WHERE d.system_id = v.id");
        q.run(tx).await?;
    }
    Ok(())
}

/// An application as its system's document lists it.
#[derive(Clone, Debug, FromRow)]
pub struct Installed {
    /// Id of the module.
    pub module_id: String,
    /// The module it is an instance of.
    pub instance_of: String,
    pub name: Option<String>,
    /// Where it comes from.
    pub source: Option<String>,
    pub version: String,
    /// 0 to 5.
    pub certification_level: Option<i64>,
    /// Everything else that the document says of it: a JSON object.
    pub inventory_data: String,
}

#[derive(FromRow)]
struct InstalledRow {
    system_id: Uuid,
    #[sqlx(flatten)]
    installed: Installed,
}

/// The applications on these systems, at most 500.
pub async fn applications(
    on: impl Into<On<'_>>,
    systems: &[SystemId],
) -> Result<HashMap<SystemId, Vec<Installed>>, StoreError> {
    let mut q = Q::new(
        "SELECT a.system_id, a.module_id, a.instance_of, a.name, a.source, a.version, a.certification_level, \
         CAST(a.inventory_data AS text) AS inventory_data FROM applications a WHERE a.deleted_at IS NULL AND a.system_id IN (",
    );
    q.list(systems.iter().copied()).push(") ORDER BY a.system_id, a.module_id");
    let mut installed: HashMap<SystemId, Vec<Installed>> = HashMap::new();
    for row in q.all::<InstalledRow>(on).await? {
        installed.entry(SystemId(row.system_id)).or_default().push(row.installed);
    }
    Ok(installed)
}

/// Numbers of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectCounts {
    pub organizations: u64,
    pub users: u64,
    pub systems: u64,
}

/// What all loads together have made and is still there; and what others have put into the organizations they have
/// made.
pub async fn extent(on: &mut Tx) -> Result<(ObjectCounts, ObjectCounts), StoreError> {
    Ok((numbers(EXTENT, on).await?, numbers(ADDED, on).await?))
}

async fn numbers(sql: &str, on: &mut Tx) -> Result<ObjectCounts, StoreError> {
    let (organizations, users, systems): (i64, i64, i64) = Q::new(sql).one(on).await?;
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    Ok(ObjectCounts { organizations: number(organizations), users: number(users), systems: number(systems) })
}

/// The made organizations that are below none that was made: with them all others go.
pub async fn highest(on: impl Into<On<'_>>) -> Result<Vec<(OrgId, OrgType)>, StoreError> {
    let rows: Vec<(Uuid, String)> = Q::new(HIGHEST).all(on).await?;
    rows.into_iter().map(|(id, family)| Ok((OrgId(id), parse_type(&family)?))).collect()
}

/// Some made systems that are still there.
pub async fn some_left(on: impl Into<On<'_>>, limit: u64) -> Result<Vec<SystemId>, StoreError> {
    let rows: Vec<(Uuid,)> = Q::new(LEFT).bind(limit).all(on).await?;
    Ok(rows.into_iter().map(|(id,)| SystemId(id)).collect())
}

/// Takes the mark away: the database is no demo any more.
pub async fn forget(tx: &mut Tx) -> Result<(), StoreError> {
    Q::new(FORGET).run(tx).await?;
    Ok(())
}
