//! Destruction: an organization with everything below it, soft-deleted rows included (spec: organizations#destruction).

use crate::{
    StoreError, Tx,
    applications::counts::unassign_below,
    sql::{On, Q},
    tree::subtree_column,
};
use bailiwick_domain::{OrgId, OrgType, Ts};
use bailiwick_policy::Granted;

/// Locks the users and systems of a subtree, and the activity of these, before its organizations and their counters: a
/// sign-in, a move or a heartbeat locks its own user, system or activity first. In the order of ids, as groups of
/// heartbeats are written.
pub async fn hold_rows(tx: &mut Tx, id: OrgId, org_type: OrgType) -> Result<(), StoreError> {
    if !tx.is_postgres() {
        return Ok(());
    }
    let column = subtree_column(org_type, "organization_id");
    for (table, and_more) in [("users", ""), ("systems", ASSIGNED_BELOW)] {
        let mut q = Q::new(&format!("SELECT id FROM {table} WHERE {column} = ?")).bind(id);
        if !and_more.is_empty() {
            q.push(&and_more.replace("{column}", subtree_column(org_type, "id"))).arg(id);
        }
        q.push(" ORDER BY id FOR UPDATE");
        let _: Vec<(uuid::Uuid,)> = q.all(&mut *tx).await?;
    }
    let q = format!("SELECT system_id FROM system_activity WHERE {column} = ? ORDER BY system_id FOR UPDATE");
    let _: Vec<(uuid::Uuid,)> = Q::new(&q).bind(id).all(&mut *tx).await?;
    Ok(())
}

/// Systems elsewhere with applications that are assigned to the subtree.
const ASSIGNED_BELOW: &str = " OR id IN (SELECT a.system_id FROM applications a JOIN organizations o \
     ON o.id = a.organization_id WHERE o.{column} = ?)";

/// Waits for the transactions that write rows of the subtree, before any of these rows is locked: first for those that
/// lock its organizations (deliveries, history, the numbering of events), in their order, then for those that deliver
/// its events, here or above. By then this transaction holds no lock that they need.
async fn hold_what_goes(tx: &mut Tx, id: OrgId, org_type: OrgType) -> Result<(), StoreError> {
    if !tx.is_postgres() {
        return Ok(());
    }
    let column = subtree_column(org_type, "id");
    let organizations = format!("SELECT id FROM organizations WHERE {column} = ? ORDER BY id FOR UPDATE");
    let _: Vec<(uuid::Uuid,)> = Q::new(&organizations).bind(id).all(&mut *tx).await?;
    let subscriptions = format!(
        "SELECT s.id FROM event_subscriptions s WHERE s.id IN (SELECT d.subscription_id FROM events e \
         JOIN event_deliveries d ON d.event_seq = e.seq JOIN organizations o ON o.id = e.organization_id \
         WHERE o.{column} = ?) ORDER BY s.id FOR NO KEY UPDATE"
    );
    let _: Vec<(uuid::Uuid,)> = Q::new(&subscriptions).bind(id).all(tx).await?;
    Ok(())
}

/// Removes the subtree, which is locked ([`super::lifecycle::hold_subtree`]). The rows of its users (sessions, logins,
/// grants) and systems (heartbeats, inventory) are removed with them, alerts and silences with their organization.
/// Applications of other systems that are assigned to it become unassigned. Creation snapshots elsewhere keep the last
/// known names.
pub async fn destroy(
    tx: &mut Tx,
    target: &Granted<OrgId>,
    org_type: OrgType,
    now: Ts,
) -> Result<(), StoreError> {
    let id = target.id();
    tx.people_changed();
    tx.alert_config_changed();
    hold_what_goes(tx, id, org_type).await?;
    unassign_below(tx, id, org_type, now).await?;
    let column = subtree_column(org_type, "organization_id");
    for table in ["systems", "users"] {
        Q::new(&format!("DELETE FROM {table} WHERE {column} = ?")).bind(id).run(tx).await?;
    }
    let column = subtree_column(org_type, "id");
    for table in ["organizations", "users", "systems"] {
        let mut q = Q::new(&format!("UPDATE {table} AS t SET created_by = "));
        q.push(
            "[[jsonb_set(t.created_by, '{organization_name}', to_jsonb(o.name))||\
             json_set(t.created_by, '$.organization_name', o.name)]]",
        );
        q.push(&format!(" FROM organizations o WHERE t.creator_org_id = o.id AND o.{column} = ?")).arg(id);
        if table == "organizations" {
            q.push(&format!(" AND t.{column} <> ?")).arg(id);
        }
        q.run(tx).await?;
    }
    // One statement, because the references of children to parents are checked at its end.
    Q::new(&format!("DELETE FROM organizations WHERE {column} = ?")).bind(id).run(tx).await?;
    Ok(())
}

/// The objects that a destruction removes, soft-deleted rows included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Organizations below it.
    pub organizations: u64,
    /// Users of all of them.
    pub users: u64,
    /// Systems of all of them.
    pub systems: u64,
    /// Applications on these systems that lists show.
    pub applications: u64,
}

/// The extent of a destruction of this organization.
pub async fn extent(on: impl Into<On<'_>>, id: OrgId, org_type: OrgType) -> Result<Extent, StoreError> {
    const NUMBER: &str = "CAST(COUNT(*) AS BIGINT)";
    let own = subtree_column(org_type, "id");
    let column = subtree_column(org_type, "organization_id");
    let q = Q::new(&format!(
        "SELECT (SELECT {NUMBER} FROM organizations o WHERE o.{own} = ? AND o.id <> ?), \
         (SELECT {NUMBER} FROM users u WHERE u.{column} = ?), \
         (SELECT {NUMBER} FROM systems s WHERE s.{column} = ?), \
         (SELECT {NUMBER} FROM applications a WHERE a.deleted_at IS NULL AND a.certification_level >= 4 \
         AND a.system_id IN (SELECT s.id FROM systems s WHERE s.{column} = ?))"
    ));
    let (organizations, users, systems, applications): (i64, i64, i64, i64) =
        q.bind(id).bind(id).bind(id).bind(id).bind(id).one(on).await?;
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    Ok(Extent {
        organizations: number(organizations),
        users: number(users),
        systems: number(systems),
        applications: number(applications),
    })
}
