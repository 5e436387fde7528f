//! Fills a database with a realistic synthetic tree: for a first look, for the benchmarks and for the tests of plans.
//!
//! The same seed at the same time gives the same rows. Everything is written in one transaction, so a load that stops
//! half-way leaves nothing behind; systems pass through memory in chunks, organizations are all kept (about 1 kB each).
//!
//! No user made here can sign in: none has a password. The credentials of a few systems are returned, and those of all
//! are offered to the caller while they are made.
//!
//! [`life`] gives the systems a past and lets them send on, [`remove`] takes everything out again.

pub mod life;
mod machines;
mod people;
mod random;
pub mod remove;
mod software;
mod tree;
mod words;

use bailiwick_domain::{
    Error, OrgId, OrgType, Result, SystemId, SystemStatus, Ts,
    org::{Creator, Mark},
    validate::SystemSecret,
};
use bailiwick_fleet::Fleet;
use bailiwick_store::{
    Tx,
    demo::{
        self as store, PlacedOrganization, PlacedSystem,
        life::{self as marks, MadeSystem},
    },
    epoch::AffectedSystems,
    organizations,
};
use machines::Workshop;
use random::{Dice, mix};
use std::collections::BTreeMap;
use tree::{Admin, Root, Tree};

/// Rows of one statement.
const CHUNK: usize = 4_000;
/// From this many systems on, the indexes of `systems` are made after the rows: this is faster, but blocks all readers.
const REINDEX_FROM: u64 = 20_000;
/// Most organizations: their VAT numbers are counted with six digits.
pub const MAX_ORGANIZATIONS: u32 = 200_000;
/// Most systems.
pub const MAX_SYSTEMS: u32 = 20_000_000;
/// Of a hundred systems that are silent when they are made, so many stay it; the others send again once they are woken.
const STAY_SILENT: u64 = 12;
/// How many credentials are returned.
const EXAMPLES: usize = 3;

/// The amounts to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Organizations below the owner: 1 to 200,000.
    pub organizations: u64,
    /// Systems, at most 20 million.
    pub systems: u64,
    /// Users; three for every two organizations unless set.
    pub users: Option<u64>,
    /// Whether clusters have applications, about four each.
    pub applications: bool,
    /// Other seeds give other names and can be added to the same database.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { organizations: 60, systems: 600, users: None, applications: true, seed: 1 }
    }
}

/// The stage of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Organizations,
    Users,
    Systems,
    /// Indexes of a large load.
    Indexes,
    /// Statistics for the database's planner; one step.
    Statistics,
}

impl Stage {
    /// For people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Stage::Organizations => "organizations",
            Stage::Users => "users",
            Stage::Systems => "systems",
            Stage::Indexes => "indexes",
            Stage::Statistics => "statistics",
        }
    }
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The present stage.
    pub stage: Stage,
    /// So many are done.
    pub done: u64,
    /// Of so many.
    pub total: u64,
}

/// A system that can call the service at once, or register: neither it nor its organization is suspended or deleted.
#[derive(Clone, Debug)]
pub struct Credential {
    pub system: SystemId,
    pub name: String,
    /// The name of its organization.
    pub organization: String,
    /// Its organization and those above it, from the owner downwards.
    pub line: Vec<OrgId>,
    /// User name of its credential.
    pub system_key: String,
    /// Password of its credential.
    pub system_secret: SystemSecret,
    /// Whether it has registered; without that it cannot authenticate.
    pub is_registered: bool,
}

/// The result of a load.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub distributors: u64,
    pub resellers: u64,
    pub customers: u64,
    pub users: u64,
    /// Systems, those deleted included.
    pub systems: u64,
    /// Applications on them, including those that no list shows.
    pub applications: u64,
    /// The distributor that holds about a third of everything.
    pub great_distributor: String,
    /// Credentials to play with: of systems that are active.
    pub examples: Vec<Credential>,
}

/// Fills the database.
///
/// # Errors
/// 400 for a plan out of bounds, 409 when there is no owner yet or when data of this seed (or of one that gives the
/// same numbers) is there, 500 for storage.
pub async fn fill(
    service: &Fleet,
    plan: &Plan,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Summary> {
    fill_and_list(service, plan, progress, &mut |_| Ok(())).await
}

/// [`fill`] that offers each credential to `list`, in the order of the systems, before the commit. Nothing is written
/// when `list` refuses one.
///
/// # Errors
/// Those of [`fill`], and those of `list`.
pub async fn fill_and_list(
    service: &Fleet,
    plan: &Plan,
    progress: &mut (dyn FnMut(Progress) + Send),
    list: &mut (dyn FnMut(&Credential) -> Result<()> + Send),
) -> Result<Summary> {
    check(plan)?;
    let root = root(service).await?;
    if store::is_vat_taken(&service.platform.db, &tree::first_vat(plan.seed)).await? {
        return Err(Error::conflict(
            "this data, or data with the same numbers, is in the database already: use another seed (--seed)",
        ));
    }
    let dice = Dice::new(plan.seed);
    let now = service.platform.now();
    let mut tree = tree::plant(&dice, plan.seed, plan.organizations, &root, now);
    let mut load = Load {
        tx: service.platform.db.begin().await?,
        counts: BTreeMap::new(),
        kinds: BTreeMap::new(),
        progress,
        list,
        summary: summarize(&tree),
    };
    store::prepare_long_transaction(&mut load.tx).await?;
    marks::mark(&mut load.tx, plan.seed, plan.systems, now).await?;
    let users = make_users(service, &mut tree, plan, &dice, now)?;
    load.organizations(&tree, &dice).await?;
    marks::mark_organizations(&mut load.tx, plan.seed, tree.nodes.iter().skip(1).map(|n| n.path.id)).await?;
    load.users(users).await?;
    load.systems(service, &tree, plan, &dice, now).await?;
    let Load { mut tx, counts, kinds, progress, summary, .. } = load;
    store::add_counts(&mut tx, &counts).await?;
    bailiwick_store::systems::status::recount(&mut tx).await?;
    store::add_application_counts(&mut tx, &counted(kinds)).await?;
    // Processes that remember unknown keys must read the new credentials.
    tx.bump_auth_epoch(AffectedSystems::All).await?;
    tx.commit().await?;
    progress(Progress { stage: Stage::Statistics, done: 0, total: 1 });
    store::gather_statistics(&service.platform.db).await?;
    progress(Progress { stage: Stage::Statistics, done: 1, total: 1 });
    Ok(summary)
}

fn counted(kinds: BTreeMap<(OrgId, usize), (u64, u64)>) -> Vec<store::KindCount> {
    let count = |((home, number), (unassigned, assigned)): ((OrgId, usize), (u64, u64))| {
        let (instance_of, version, name) = software::kind(number);
        store::KindCount { home, instance_of, version, name, unassigned, assigned }
    };
    kinds.into_iter().map(count).collect()
}

fn check(plan: &Plan) -> Result<()> {
    let problem = if !(1..=u64::from(MAX_ORGANIZATIONS)).contains(&plan.organizations) {
        format!("organizations must be 1 to {MAX_ORGANIZATIONS}")
    } else if plan.systems > u64::from(MAX_SYSTEMS) {
        format!("systems must be at most {MAX_SYSTEMS}")
    } else if plan.users.is_some_and(|n| n >= 1_000_000) {
        "users must be fewer than 1000000".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::bad_request(problem))
}

/// The owner organization and its first user, in whose name everything is made.
async fn root(service: &Fleet) -> Result<Root> {
    let missing = || Error::conflict("there is no owner organization yet");
    let id = organizations::owner(&service.platform.db).await?.ok_or_else(missing)?;
    let owner = organizations::get(&service.platform.db, id).await?.ok_or_else(missing)?;
    let user = store::owner_user(&service.platform.db, id).await?;
    let (user_id, [username, name, email]) = match user {
        Some((id, words)) => (Some(id), words),
        None => (None, Default::default()),
    };
    let admin = Creator {
        user_id,
        username,
        name,
        email,
        organization_id: Some(id),
        organization_name: owner.details.name.clone(),
        ..Creator::default()
    };
    Ok(Root { id, name: owner.details.name, admin: Admin::new(admin)? })
}

fn summarize(tree: &Tree) -> Summary {
    let count = |t: OrgType| tree.nodes.iter().filter(|n| n.org_type == t).count() as u64;
    Summary {
        distributors: count(OrgType::Distributor),
        resellers: count(OrgType::Reseller),
        customers: count(OrgType::Customer),
        great_distributor: tree.nodes.get(1).map(|n| n.name.clone()).unwrap_or_default(),
        ..Summary::default()
    }
}

/// The first user of each organization, then others anywhere. Made before the organizations are written, since these
/// name their creators.
fn make_users(
    service: &Fleet,
    tree: &mut Tree,
    plan: &Plan,
    dice: &Dice,
    now: Ts,
) -> Result<Vec<store::PlacedUser>> {
    let roles = people::roles(&service.platform.catalogue);
    let organizations = tree.nodes.len() as u64 - 1;
    let total = plan.users.unwrap_or(organizations * 3 / 2);
    (0..total)
        .map(|n| {
            let node = if n < organizations { 1 + n } else { 1 + dice.below(organizations) };
            people::user(tree, usize::try_from(node).unwrap_or(0), n, &roles, dice, now)
        })
        .collect()
}

/// One load under way.
struct Load<'a> {
    tx: Tx,
    /// Systems and users that are not deleted themselves, by organization.
    counts: BTreeMap<OrgId, (u64, u64)>,
    /// Applications that lists show, by home and kind: those that are unassigned, and those assigned to the home.
    kinds: BTreeMap<(OrgId, usize), (u64, u64)>,
    progress: &'a mut (dyn FnMut(Progress) + Send),
    list: &'a mut (dyn FnMut(&Credential) -> Result<()> + Send),
    summary: Summary,
}

impl Load<'_> {
    fn report(&mut self, stage: Stage, done: usize, total: u64) {
        (self.progress)(Progress { stage, done: done as u64, total });
    }

    async fn organizations(&mut self, tree: &Tree, dice: &Dice) -> Result<()> {
        let total = tree.nodes.len() - 1;
        for first in (1..=total).step_by(CHUNK) {
            let last = (first + CHUNK - 1).min(total);
            let rows: Vec<PlacedOrganization> = (first..=last)
                .map(|node| PlacedOrganization {
                    organization: tree.organization(node, dice),
                    path: tree.nodes[node].path,
                })
                .collect();
            store::insert_organizations(&mut self.tx, &rows).await?;
            self.report(Stage::Organizations, last, total as u64);
        }
        self.counts = tree.nodes.iter().map(|n| (n.path.id, (0, 0))).collect();
        Ok(())
    }

    async fn users(&mut self, users: Vec<store::PlacedUser>) -> Result<()> {
        for (i, rows) in users.chunks(CHUNK).enumerate() {
            store::insert_users(&mut self.tx, rows).await?;
            for row in rows.iter().filter(|r| !r.user.deleted.is_set()) {
                self.counts.entry(row.path.id).or_default().1 += 1;
            }
            self.report(Stage::Users, i * CHUNK + rows.len(), users.len() as u64);
        }
        self.summary.users = users.len() as u64;
        Ok(())
    }

    async fn systems(
        &mut self,
        service: &Fleet,
        tree: &Tree,
        plan: &Plan,
        dice: &Dice,
        now: Ts,
    ) -> Result<()> {
        let settings = &service.settings.systems;
        let timeout = settings.liveness_timeout;
        let workshop = Workshop::new(dice, tree, now, timeout, &settings.key_prefix, plan.systems);
        let aside = if plan.systems >= REINDEX_FROM {
            store::set_aside_indexes(&mut self.tx).await?
        } else {
            Vec::new()
        };
        let mut rows: Vec<PlacedSystem> = Vec::with_capacity(CHUNK);
        for i in 0..plan.systems {
            let (row, at, secret) = workshop.system(i);
            if !row.system.deleted.is_set() {
                self.counts.entry(row.path.id).or_default().0 += 1;
            }
            if let Some(credential) = credential(tree, at, &row, secret) {
                (self.list)(&credential)?;
                let is_active = row.system.status() == SystemStatus::Active;
                let is_example = is_active && tree.nodes[at].org_type == OrgType::Customer;
                if is_example && credential.is_registered && self.summary.examples.len() < EXAMPLES {
                    self.summary.examples.push(credential);
                }
            }
            rows.push(row);
            if rows.len() == CHUNK || i + 1 == plan.systems {
                store::insert_systems(&mut self.tx, &rows).await?;
                let first = i + 1 - rows.len() as u64;
                let made = |(n, row): (usize, &PlacedSystem)| made(plan.seed, first + n as u64, row);
                let made: Vec<MadeSystem> = rows.iter().enumerate().map(made).collect();
                marks::mark_systems(&mut self.tx, &made).await?;
                if plan.applications {
                    self.applications(plan.seed, first, &rows).await?;
                }
                self.report(Stage::Systems, usize::try_from(i + 1).unwrap_or(0), plan.systems);
                rows.clear();
            }
        }
        self.summary.systems = plan.systems;
        for (i, index) in aside.iter().enumerate() {
            store::build_index(&mut self.tx, index).await?;
            self.report(Stage::Indexes, i + 1, aside.len() as u64);
        }
        Ok(())
    }

    /// The applications on these systems; the first of them is number `first`.
    async fn applications(&mut self, seed: u64, first: u64, systems: &[PlacedSystem]) -> Result<()> {
        let mut rows = Vec::new();
        for (n, system) in systems.iter().enumerate() {
            for (application, kind) in software::on(seed, first + n as u64, system) {
                if let Some(kind) = kind.filter(|_| !system.system.deleted.is_set()) {
                    let entry = self.kinds.entry((system.path.id, kind)).or_default();
                    match application.assigned_to {
                        None => entry.0 += 1,
                        Some(_) => entry.1 += 1,
                    }
                }
                rows.push(application);
            }
        }
        self.summary.applications += rows.len() as u64;
        Ok(store::insert_applications(&mut self.tx, systems, &rows).await?)
    }
}

fn made(seed: u64, number: u64, row: &PlacedSystem) -> MadeSystem {
    let is_silent =
        row.system.status() == SystemStatus::Inactive && mix(seed ^ mix(number)) % 100 < STAY_SILENT;
    MadeSystem { id: row.system.id, seed, number, is_silent }
}

/// Of a system that is not suspended or deleted, whether by itself or through its organization.
fn credential(tree: &Tree, index: usize, row: &PlacedSystem, secret: SystemSecret) -> Option<Credential> {
    let (node, system) = (&tree.nodes[index], &row.system);
    let marks = [node.suspended, node.deleted, system.suspended, system.deleted];
    (!marks.iter().any(Mark::is_set)).then(|| Credential {
        system: system.id,
        name: system.name.clone(),
        organization: system.organization.name.clone(),
        line: tree.line(index),
        system_key: system.system_key.clone(),
        system_secret: secret,
        is_registered: system.registered_at.is_some(),
    })
}
