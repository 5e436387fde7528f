//! The systems of a synthetic tree, made one after the other in the order of their creation.

use super::{
    random::Dice,
    tree::{Admin, HISTORY, Tree, created_at_clock},
    words,
};
use bailiwick_domain::{
    Liveness, System, SystemId, Ts,
    id::uuid_v7,
    org::{Mark, OrgRef},
    validate::{SystemKey, SystemSecret},
};
use bailiwick_identity::credentials::hash_secret;
use bailiwick_store::demo::PlacedSystem;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Systems per thousand without any heartbeat.
const UNKNOWN: u64 = 50;
/// Systems per thousand whose last heartbeat is older than the timeout.
const INACTIVE: u64 = 110;
/// Age of the oldest last heartbeat.
const LONGEST_SILENCE: Duration = Duration::from_secs(120 * 24 * 3600);

/// Organizations with the running sums of their weights, in the order of their creation.
struct Homes {
    at: Vec<usize>,
    created_at: Vec<Ts>,
    weight_up_to: Vec<u64>,
}

impl Homes {
    fn of(tree: &Tree, in_great_branch: bool) -> Homes {
        let mut homes = Homes { at: Vec::new(), created_at: Vec::new(), weight_up_to: Vec::new() };
        let mut sum = 0;
        for (i, node) in tree.nodes.iter().enumerate() {
            if node.in_great_branch == in_great_branch {
                sum += node.weight;
                homes.at.push(i);
                homes.created_at.push(node.created_at);
                homes.weight_up_to.push(sum);
            }
        }
        homes
    }

    /// One of the organizations that existed at that time, by weight.
    fn pick(&self, dice: &Dice, time: Ts) -> Option<usize> {
        let existing = self.created_at.partition_point(|t| *t <= time);
        let sum = *self.weight_up_to.get(existing.checked_sub(1)?)?;
        let drawn = dice.below(sum);
        self.at.get(self.weight_up_to.partition_point(|w| *w <= drawn)).copied()
    }
}

/// The data that all systems share.
pub(super) struct Workshop<'a> {
    pub dice: &'a Dice,
    pub tree: &'a Tree,
    pub now: Ts,
    /// Liveness timeout.
    pub timeout: Duration,
    /// First part of system keys.
    pub key_prefix: &'a str,
    great: Homes,
    others: Homes,
    from: Ts,
    total: u64,
}

impl<'a> Workshop<'a> {
    pub(super) fn new(
        dice: &'a Dice,
        tree: &'a Tree,
        now: Ts,
        timeout: Duration,
        key_prefix: &'a str,
        total: u64,
    ) -> Self {
        let (great, others) = (Homes::of(tree, true), Homes::of(tree, false));
        // The tree has branches by then.
        let from = now.minus(HISTORY * 7 / 10);
        Workshop { dice, tree, now, timeout, key_prefix, great, others, from, total }
    }

    /// System number `i`, the position of its organization and its secret. Every third one is below the great
    /// distributor. Numbers grow with time, so neighbouring rows belong to unrelated organizations, as in real data.
    pub fn system(&self, i: u64) -> (PlacedSystem, usize, SystemSecret) {
        let created_at = self.time_of(i);
        let (first, second) =
            if i.is_multiple_of(3) { (&self.great, &self.others) } else { (&self.others, &self.great) };
        let node =
            first.pick(self.dice, created_at).or_else(|| second.pick(self.dice, created_at)).unwrap_or(0);
        // Not in the owner organization, which was not made and stays when everything that was made goes.
        let node = node.max(1);
        let secret = SystemSecret::generate(self.dice);
        let placed = self.assemble(node, created_at, &secret);
        (placed, node, secret)
    }

    fn time_of(&self, i: u64) -> Ts {
        let span = self.now.since(self.from).as_micros();
        let at = span * u128::from(i) / u128::from(self.total.max(1));
        self.from.plus(Duration::from_micros(u64::try_from(at).unwrap_or(0)))
    }

    fn assemble(&self, index: usize, created_at: Ts, secret: &SystemSecret) -> PlacedSystem {
        let (dice, node) = (self.dice, &self.tree.nodes[index]);
        let kind = match dice.below(100) {
            0..=66 => "ns8",
            67..=97 => "nsec",
            _ => "legacy",
        };
        let last_sign = self.last_sign(created_at);
        let (name, host) = words::machine(dice, kind, node.city);
        let admin = self.creator(index);
        let mut system = System {
            id: SystemId(uuid_v7(&created_at_clock(created_at), dice)),
            name,
            system_type: None,
            fqdn: String::new(),
            ipv4_address: String::new(),
            ipv6_address: String::new(),
            version: String::new(),
            custom_data: self.custom_data(node.city),
            organization: OrgRef { id: node.path.id, name: node.name.clone(), org_type: node.org_type },
            system_key: SystemKey::generate(self.key_prefix, dice).to_string(),
            notes: if dice.per_mille(50) { "under contract".to_owned() } else { String::new() },
            created_at,
            updated_at: created_at,
            registered_at: None,
            created_by: admin.creator.clone(),
            liveness: Liveness::of(last_sign, self.now.minus(self.timeout)),
            last_heartbeat: last_sign,
            last_inventory: None,
            suspended: self.own_mark(15, created_at),
            deleted: self.own_mark(10, created_at),
            rebranding: None,
        };
        let mut registered_from = None;
        if let Some(last_sign) = last_sign {
            system.registered_at = Some(dice.time(created_at, last_sign));
            registered_from = Some(documentation_address(dice));
            // A few send heartbeats only.
            if !dice.per_mille(20) {
                self.describe(&mut system, kind, &host, &node.domain, last_sign);
            }
        }
        PlacedSystem {
            path: node.path,
            secret_public: secret.public.clone(),
            secret_hash: hash_secret(secret.secret.reveal(), dice),
            registered_from,
            authenticated_at: last_sign.and(system.registered_at),
            snapshot: admin.snapshot.clone(),
            system,
        }
    }

    /// Sets the facts that an inventory reports.
    fn describe(&self, system: &mut System, kind: &str, host: &str, domain: &str, last_sign: Ts) {
        let dice = self.dice;
        system.system_type = Some(kind.to_owned());
        system.fqdn = format!("{host}.{domain}");
        system.version = words::version(dice, kind);
        system.ipv4_address = documentation_address(dice);
        if dice.per_mille(300) {
            system.ipv6_address =
                format!("2001:db8:{:x}::{:x}", dice.below(0x1_0000), 1 + dice.below(0xffff));
        }
        let inventory = dice.time(system.registered_at.unwrap_or(last_sign), last_sign);
        system.last_inventory = Some(inventory);
        system.updated_at = inventory;
    }

    /// The last heartbeat, in the announced shares.
    fn last_sign(&self, created_at: Ts) -> Option<Ts> {
        let draw = self.dice.below(1000);
        if draw < UNKNOWN {
            return None;
        }
        let age = self.now.since(created_at);
        let silence = if draw < UNKNOWN + INACTIVE && age > self.timeout {
            let longest = age.min(LONGEST_SILENCE).saturating_sub(self.timeout);
            self.timeout + self.fraction_of(longest)
        } else {
            self.fraction_of(age.min(self.timeout * 9 / 10))
        };
        Some(self.now.minus(silence))
    }

    fn fraction_of(&self, d: Duration) -> Duration {
        Duration::from_micros(self.dice.below(u64::try_from(d.as_micros()).unwrap_or(u64::MAX)))
    }

    /// Made at home or by an organization above.
    fn creator(&self, index: usize) -> &'a Admin {
        let node = &self.tree.nodes[index];
        match self.dice.below(10) {
            0..=3 => self.tree.admin(index),
            4..=8 => self.tree.admin(node.parent),
            _ => self.tree.admin(self.tree.nodes[node.parent].parent),
        }
    }

    fn own_mark(&self, per_mille: u64, from: Ts) -> Mark {
        Mark { at: self.dice.per_mille(per_mille).then(|| self.dice.time(from, self.now)), by: None }
    }

    fn custom_data(&self, city: &str) -> Map<String, Value> {
        let data = match self.dice.below(4) {
            0 => json!({ "site": city }),
            1 => json!({ "site": city, "contract": format!("C-{:05}", self.dice.below(100_000)) }),
            _ => json!({}),
        };
        data.as_object().cloned().unwrap_or_default()
    }
}

/// One of the addresses reserved for documentation.
fn documentation_address(dice: &Dice) -> String {
    let net = dice.pick(&["192.0.2", "198.51.100", "203.0.113"]);
    format!("{net}.{}", 1 + dice.below(254))
}
