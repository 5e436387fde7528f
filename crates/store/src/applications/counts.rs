//! Counters: the totals of a list of applications, by kind and by organization, without counting rows.
//!
//! A change of applications, or of the deletion or organization of their system, takes the [`tally`] of the system
//! before and [`settle`]s the difference afterwards, with the system's row locked all the while. It writes the row of
//! `organization_counts` before all other counters of that organization, so writers of the same counters meet there
//! first.

use crate::{
    Db, StoreError, Tx,
    scope::push_scope,
    sql::{On, Q},
};
use bailiwick_domain::{OrgId, OrgType, SystemId, Ts};
use bailiwick_policy::Scope;
use std::collections::{BTreeMap, HashMap};
use uuid::Uuid;

const TALLY: &str = "SELECT a.home_id, a.instance_of, a.version, COALESCE(a.name, '') AS name, \
     a.organization_id, a.is_user_facing FROM applications a JOIN systems s ON s.id = a.system_id \
     WHERE a.system_id = ? AND a.deleted_at IS NULL AND a.certification_level >= 4 AND s.deleted_at IS NULL";
const ADD_LISTED: &str =
    "UPDATE organization_counts SET applications = applications + ? WHERE organization_id = ?";
const DROP_KINDS: &str =
    "DELETE FROM application_counts WHERE home_id = ? AND unassigned = 0 AND assigned = 0";
const DROP_ASSIGNMENTS: &str =
    "DELETE FROM assignment_counts WHERE home_id = ? AND applications = 0 AND listed = 0";
/// Of everything: the few deleted organizations are subtracted instead of looking up all others.
const KINDS: &str = "SELECT c.instance_of, c.version, c.name, CAST(SUM(c.unassigned) AS BIGINT), \
     CAST(SUM(c.assigned) AS BIGINT) FROM application_counts c WHERE c.home_id NOT IN \
     (SELECT o.id FROM organizations o WHERE o.eff_deleted_at IS NOT NULL) \
     GROUP BY c.instance_of, c.version, c.name";
const MODULES: &str = "SELECT c.instance_of, CAST(SUM(c.unassigned) AS BIGINT), \
     CAST(SUM(c.assigned) AS BIGINT) FROM application_counts c WHERE c.home_id NOT IN \
     (SELECT o.id FROM organizations o WHERE o.eff_deleted_at IS NOT NULL) GROUP BY c.instance_of";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![TALLY, ADD_LISTED, DROP_KINDS, DROP_ASSIGNMENTS, KINDS, MODULES];

/// Rows of one statement.
const ROWS: usize = 200;
/// Characters of a name that distinguish kinds: the name is part of a key.
const NAME_CHARS: usize = 100;

/// Removes the assignments to an organization and all below it from the systems of all other organizations, and updates
/// their counters. For an organization that is about to be destroyed with everything in it.
pub(crate) async fn unassign_below(
    tx: &mut Tx,
    root: OrgId,
    org_type: OrgType,
    now: Ts,
) -> Result<(), StoreError> {
    let below_column = crate::tree::subtree_column(org_type, "id");
    let home_column = crate::tree::subtree_column(org_type, "home_id");
    let assigned = format!(
        "FROM applications a WHERE a.organization_id IN \
         (SELECT o.id FROM organizations o WHERE o.{below_column} = ?) AND a.{home_column} <> ?"
    );
    // No other transaction changes these systems or their counters from here on.
    for hold in [
        format!("SELECT s.id FROM systems s WHERE s.id IN (SELECT a.system_id {assigned}) ORDER BY s.id"),
        format!(
            "SELECT n.organization_id FROM organization_counts n WHERE n.organization_id IN \
             (SELECT a.home_id {assigned}) ORDER BY n.organization_id"
        ),
    ] {
        let q = Q::new(&format!("{hold} [[FOR UPDATE||]]")).bind(root).bind(root);
        let _: Vec<(Uuid,)> = q.all(&mut *tx).await?;
    }
    tx.applications_changed();
    Q::new(&format!(
        "UPDATE application_counts AS c SET unassigned = c.unassigned + v.n, assigned = c.assigned - v.n \
         FROM (SELECT a.home_id, a.instance_of, a.version, SUBSTR(COALESCE(a.name, ''), 1, {NAME_CHARS}) AS name, \
         COUNT(*) AS n {assigned} AND {} \
         AND EXISTS (SELECT 1 FROM systems s WHERE s.id = a.system_id AND s.deleted_at IS NULL) \
         GROUP BY 1, 2, 3, 4) v WHERE c.home_id = v.home_id AND c.instance_of = v.instance_of \
         AND c.version = v.version AND c.name = v.name",
        super::listed!()
    ))
    .bind(root)
    .bind(root)
    .run(&mut *tx)
    .await?;
    Q::new(&format!(
        "UPDATE applications SET organization_id = NULL, status = 'unassigned', updated_at = ? \
         WHERE organization_id IN (SELECT o.id FROM organizations o WHERE o.{below_column} = ?)"
    ))
    .bind(now)
    .bind(root)
    .run(tx)
    .await?;
    Ok(())
}

/// A kind of listed applications of one organization's systems.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ApplicationKind {
    home: OrgId,
    instance_of: String,
    version: String,
    name: String,
}

/// The contribution of one system's applications to the counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Unassigned and assigned.
    kinds: BTreeMap<ApplicationKind, (i64, i64)>,
    /// By home and assignee: all counted applications, and the listed ones.
    assignments: BTreeMap<(OrgId, OrgId), (i64, i64)>,
}

/// The present contribution of a locked system's applications to the counters.
pub async fn tally(tx: &mut Tx, system: SystemId) -> Result<Tally, StoreError> {
    let rows: Vec<(Uuid, String, String, String, Option<Uuid>, bool)> =
        Q::new(TALLY).bind(system).all(tx).await?;
    let mut tally = Tally::default();
    for (home, instance_of, version, name, assignee, is_listed) in rows {
        tally.add(OrgId(home), (&instance_of, &version, &name), assignee.map(OrgId), is_listed);
    }
    Ok(tally)
}

impl Tally {
    /// One application that is not deleted, of level 4 or 5, by module, version and name.
    pub(super) fn add(
        &mut self,
        home: OrgId,
        (instance_of, version, name): (&str, &str, &str),
        assignee: Option<OrgId>,
        is_listed: bool,
    ) {
        if let Some(assignee) = assignee {
            let entry = self.assignments.entry((home, assignee)).or_default();
            *entry = (entry.0 + 1, entry.1 + i64::from(is_listed));
        }
        if is_listed {
            let kind = ApplicationKind {
                home,
                instance_of: instance_of.to_owned(),
                version: version.to_owned(),
                name: name.chars().take(NAME_CHARS).collect(),
            };
            let entry = self.kinds.entry(kind).or_default();
            match assignee {
                None => entry.0 += 1,
                Some(_) => entry.1 += 1,
            }
        }
    }
}

/// Updates the counters from the system's contribution `before` to its present one. Nothing is written when both are
/// the same, or when the system no longer exists and contributed nothing.
pub async fn settle(tx: &mut Tx, system: SystemId, before: Tally) -> Result<(), StoreError> {
    let now = tally(tx, system).await?;
    adjust(tx, before, now).await
}

/// Updates the counters from one tally to another, organization by organization.
pub(super) async fn adjust(tx: &mut Tx, before: Tally, now: Tally) -> Result<(), StoreError> {
    let kinds = difference(before.kinds, now.kinds);
    let assignments = difference(before.assignments, now.assignments);
    let mut homes: BTreeMap<OrgId, i64> = BTreeMap::new();
    for (kind, (unassigned, assigned)) in &kinds {
        *homes.entry(kind.home).or_default() += unassigned + assigned;
    }
    for (home, _) in assignments.keys() {
        homes.entry(*home).or_default();
    }
    for (home, delta) in &homes {
        Q::new(ADD_LISTED).bind(*delta).bind(*home).run(&mut *tx).await?;
    }
    if moves_totals(&kinds) {
        tx.applications_changed();
    }
    write_kinds(tx, &kinds).await?;
    write_assignments(tx, &assignments).await?;
    for home in homes.into_keys() {
        Q::new(DROP_KINDS).bind(home).run(&mut *tx).await?;
        Q::new(DROP_ASSIGNMENTS).bind(home).run(&mut *tx).await?;
    }
    Ok(())
}

type Pairs<K> = BTreeMap<K, (i64, i64)>;

fn difference<K: Ord>(before: Pairs<K>, mut now: Pairs<K>) -> Pairs<K> {
    for (key, (a, b)) in before {
        let entry = now.entry(key).or_default();
        *entry = (entry.0 - a, entry.1 - b);
    }
    now.retain(|_, delta| *delta != (0, 0));
    now
}

/// Whether an organization's number of applications of a module changes; another version or name changes no total.
fn moves_totals(kinds: &Pairs<ApplicationKind>) -> bool {
    let mut modules: BTreeMap<(OrgId, &str), (i64, i64)> = BTreeMap::new();
    for (kind, (unassigned, assigned)) in kinds {
        let entry = modules.entry((kind.home, &kind.instance_of)).or_default();
        *entry = (entry.0 + unassigned, entry.1 + assigned);
    }
    modules.values().any(|delta| *delta != (0, 0))
}

async fn write_kinds(tx: &mut Tx, kinds: &Pairs<ApplicationKind>) -> Result<(), StoreError> {
    let rows: Vec<_> = kinds.iter().collect();
    for chunk in rows.chunks(ROWS) {
        let mut q = Q::new(
            "INSERT INTO application_counts (home_id, instance_of, version, name, unassigned, assigned) VALUES ",
        );
        for (i, (kind, (unassigned, assigned))) in chunk.iter().enumerate() {
            q.push(if i == 0 { "(?, ?, ?, ?, ?, ?)" } else { ", (?, ?, ?, ?, ?, ?)" });
            q.arg(kind.home).arg(&kind.instance_of).arg(&kind.version).arg(&kind.name);
            q.arg(*unassigned).arg(*assigned);
        }
        q.push(
            " ON CONFLICT (home_id, instance_of, version, name) DO UPDATE SET \
             unassigned = application_counts.unassigned + excluded.unassigned, \
             assigned = application_counts.assigned + excluded.assigned",
        );
        q.run(&mut *tx).await?;
    }
    Ok(())
}

async fn write_assignments(tx: &mut Tx, rows: &Pairs<(OrgId, OrgId)>) -> Result<(), StoreError> {
    let rows: Vec<_> = rows.iter().collect();
    if !rows.is_empty() {
        tx.figures_changed();
    }
    for chunk in rows.chunks(ROWS) {
        let mut q =
            Q::new("INSERT INTO assignment_counts (home_id, organization_id, applications, listed) VALUES ");
        for (i, ((home, assignee), (all, listed))) in chunk.iter().enumerate() {
            q.push(if i == 0 { "(?, ?, ?, ?)" } else { ", (?, ?, ?, ?)" });
            q.arg(*home).arg(*assignee).arg(*all).arg(*listed);
        }
        q.push(
            " ON CONFLICT (organization_id, home_id) DO UPDATE SET \
             applications = assignment_counts.applications + excluded.applications, \
             listed = assignment_counts.listed + excluded.listed",
        );
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Listed applications of one module, version and name in a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindCount {
    /// Module.
    pub instance_of: String,
    /// `""` = none.
    pub version: String,
    /// `""` = none; long ones are cut.
    pub name: String,
    /// Unassigned ones.
    pub unassigned: u64,
    /// Assigned ones.
    pub assigned: u64,
}

/// All kinds in a scope.
pub async fn kinds(db: &Db, scope: &Scope) -> Result<Vec<KindCount>, StoreError> {
    let q = if *scope == Scope::Everything {
        Q::new(KINDS)
    } else {
        let mut q = Q::new(
            "SELECT c.instance_of, c.version, c.name, CAST(SUM(c.unassigned) AS BIGINT), \
             CAST(SUM(c.assigned) AS BIGINT) FROM organizations o JOIN application_counts c ON c.home_id = o.id \
             WHERE o.eff_deleted_at IS NULL",
        );
        push_scope(&mut q, "o", "id", scope);
        q.push(" GROUP BY c.instance_of, c.version, c.name");
        q
    };
    let rows: Vec<(String, String, String, i64, i64)> = q.all(db).await?;
    let kind = |(instance_of, version, name, unassigned, assigned)| KindCount {
        instance_of,
        version,
        name,
        unassigned: unsigned(unassigned),
        assigned: unsigned(assigned),
    };
    Ok(rows.into_iter().map(kind).collect())
}

/// The listed applications of each module in a scope: unassigned and assigned ones. They change with the epochs of
/// people and applications.
pub async fn modules(db: &Db, scope: &Scope) -> Result<Vec<(String, u64, u64)>, StoreError> {
    let q = if *scope == Scope::Everything {
        Q::new(MODULES)
    } else {
        let mut q = Q::new(
            "SELECT c.instance_of, CAST(SUM(c.unassigned) AS BIGINT), CAST(SUM(c.assigned) AS BIGINT) \
             FROM organizations o JOIN application_counts c ON c.home_id = o.id WHERE o.eff_deleted_at IS NULL",
        );
        push_scope(&mut q, "o", "id", scope);
        q.push(" GROUP BY c.instance_of");
        q
    };
    let rows: Vec<(String, i64, i64)> = q.all(db).await?;
    let module =
        |(instance_of, unassigned, assigned)| (instance_of, unsigned(unassigned), unsigned(assigned));
    Ok(rows.into_iter().map(module).collect())
}

/// Listed applications of a kind to add to the counters of an organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Organization of their systems.
    pub home: OrgId,
    /// Module.
    pub instance_of: &'static str,
    pub version: &'static str,
    pub name: &'static str,
    pub unassigned: u64,
    /// Assigned to their home.
    pub assigned: u64,
}

/// Adds the rows of a bulk load.
pub(crate) async fn add(tx: &mut Tx, rows: &[Added]) -> Result<(), StoreError> {
    let n = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let (mut kinds, mut assignments, mut homes) = (Pairs::new(), Pairs::new(), BTreeMap::new());
    for row in rows {
        let (unassigned, assigned) = (n(row.unassigned), n(row.assigned));
        let kind = ApplicationKind {
            home: row.home,
            instance_of: row.instance_of.to_owned(),
            version: row.version.to_owned(),
            name: row.name.to_owned(),
        };
        kinds.insert(kind, (unassigned, assigned));
        *homes.entry(row.home).or_insert(0) += unassigned + assigned;
        let entry: &mut (i64, i64) = assignments.entry((row.home, row.home)).or_default();
        *entry = (entry.0 + assigned, entry.1 + assigned);
    }
    assignments.retain(|_, n| *n != (0, 0));
    for (home, delta) in homes {
        Q::new(ADD_LISTED).bind(delta).bind(home).run(&mut *tx).await?;
    }
    tx.applications_changed();
    tx.application_texts_changed();
    write_kinds(tx, &kinds).await?;
    write_assignments(tx, &assignments).await
}

/// How many of the listed applications have errors. Few do, so they have an index of their own.
pub async fn faulty(db: &Db, scope: &Scope) -> Result<u64, StoreError> {
    let mut q = Q::new(concat!(
        "SELECT CAST(COUNT(*) AS BIGINT) FROM applications a JOIN systems s ON s.id = a.system_id \
         JOIN organizations h ON h.id = a.home_id WHERE a.has_errors AND ",
        super::listed!(),
        " AND s.deleted_at IS NULL AND h.eff_deleted_at IS NULL"
    ));
    push_scope(&mut q, "a", "home_id", scope);
    q.count(db).await
}

/// Applications assigned to organizations of one family and to the organizations below them (spec:
/// organizations#counts).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assigned {
    /// To the organization itself.
    pub own: u64,
    /// To it and all below it.
    pub subtree: u64,
}

/// The applications assigned to each organization of a page of one family, in one statement. An organization without an
/// entry has none.
pub async fn assigned_to(
    on: impl Into<On<'_>>,
    family: OrgType,
    page: &[Uuid],
) -> Result<HashMap<OrgId, Assigned>, StoreError> {
    let mut on = on.into();
    let column = crate::tree::subtree_column(family, "id");
    let mut q = Q::new(&format!(
        "SELECT o.{column} AS root, CAST(SUM(k.applications) AS BIGINT), \
         CAST(SUM(CASE WHEN o.id = o.{column} THEN k.applications ELSE 0 END) AS BIGINT) \
         FROM organizations o [[JOIN||CROSS JOIN]] assignment_counts k ON k.organization_id = o.id \
         [[JOIN||CROSS JOIN]] organizations h ON h.id = k.home_id \
         WHERE o.eff_deleted_at IS NULL AND h.eff_deleted_at IS NULL AND "
    ));
    q.one_of(on.reborrow(), &format!("o.{column}"), page).push(&format!(" GROUP BY o.{column}"));
    let rows: Vec<(Uuid, i64, i64)> = q.all(on).await?;
    let entry = |(id, subtree, own)| (OrgId(id), Assigned { own: unsigned(own), subtree: unsigned(subtree) });
    Ok(rows.into_iter().map(entry).collect())
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
