//! The applications on the clusters of a synthetic tree. They have a random source of their own, so that a system is
//! the same with and without them.

use super::random::{Dice, mix};
use bailiwick_domain::{ApplicationId, id::uuid_v7};
use bailiwick_inventory::administered_at;
use bailiwick_store::{
    applications::intake::Seen,
    demo::{PlacedApplication, PlacedSystem},
};

use super::tree::created_at_clock;

/// Something that can be installed.
struct Product {
    module: &'static str,
    name: &'static str,
    versions: [&'static str; 3],
    level: i64,
    is_user_facing: bool,
    /// On so many of a thousand clusters.
    per_mille: u64,
}

const fn product(
    module: &'static str,
    name: &'static str,
    versions: [&'static str; 3],
    level: i64,
    per_mille: u64,
) -> Product {
    Product { module, name, versions, level, is_user_facing: true, per_mille }
}

const PRODUCTS: [Product; 12] = [
    Product { is_user_facing: false, ..product("traefik", "Traefik", ["3.1.4", "3.2.0", "3.2.1"], 5, 1000) },
    Product { is_user_facing: false, ..product("loki", "Loki", ["1.3.0", "1.4.0", "1.4.1"], 5, 1000) },
    product("mail", "Mail", ["1.6.9", "1.7.2", "1.7.3"], 5, 640),
    product("nextcloud", "Nextcloud", ["1.2.8", "1.4.2", "1.4.3"], 5, 520),
    product("webtop", "WebTop", ["1.5.0", "1.6.1", "1.6.2"], 5, 380),
    product("nethvoice", "NethVoice", ["1.4.1", "1.5.0", "1.5.2"], 5, 350),
    product("roundcubemail", "Roundcube Webmail", ["1.0.4", "1.1.0", "1.1.2"], 4, 250),
    product("webserver", "Web Server", ["1.0.2", "1.1.0", "1.1.1"], 4, 450),
    product("mattermost", "Mattermost", ["2.3.0", "2.4.0", "2.4.1"], 4, 180),
    product("ejabberd", "Ejabberd", ["1.0.1", "1.0.2", "1.1.0"], 4, 90),
    product("piler", "Piler", ["1.1.1", "1.2.0", "1.2.1"], 4, 60),
    // Not certified, so no list shows it.
    product("dokuwiki", "Dokuwiki", ["1.0.0", "1.0.1", "1.0.2"], 3, 120),
];

/// Module, version and name of a kind of listed applications; kinds are numbered by product and version.
pub(super) fn kind(number: usize) -> (&'static str, &'static str, &'static str) {
    let product = &PRODUCTS[number / 3];
    (product.module, product.versions[number % 3], product.name)
}

/// An application with the number of its kind; none if no list shows it.
pub(super) type Installed = (PlacedApplication, Option<usize>);

/// The applications on system number `i`: some on clusters that have sent a document, else none.
pub(super) fn on(seed: u64, i: u64, placed: &PlacedSystem) -> Vec<Installed> {
    let system = &placed.system;
    let (Some(seen_at), Some("ns8")) = (system.last_inventory, system.system_type.as_deref()) else {
        return Vec::new();
    };
    let dice = Dice::new(mix(seed ^ mix(i)));
    let from = system.registered_at.unwrap_or(system.created_at);
    // Some look after their customers' software, the others do not.
    let assigns = dice.per_mille(300);
    let mut found = Vec::new();
    for (n, product) in PRODUCTS.iter().enumerate() {
        // Web servers come in groups.
        let copies = if product.module == "webserver" { 1 + dice.below(3) } else { 1 };
        if !dice.per_mille(product.per_mille) {
            continue;
        }
        for copy in 1..=copies {
            let version = dice.position(3);
            let created_at = dice.time(from, seen_at);
            let is_listed = product.is_user_facing && product.level >= 4;
            let placed = PlacedApplication {
                id: ApplicationId(uuid_v7(&created_at_clock(created_at), &dice)),
                system_id: system.id,
                path: placed.path,
                assigned_to: (assigns && is_listed && dice.per_mille(700)).then_some(placed.path.id),
                created_at,
                updated_at: dice.time(created_at, seen_at),
                seen: application(product, copy, product.versions[version], &system.fqdn, &dice),
            };
            found.push((placed, is_listed.then_some(n * 3 + version)));
        }
    }
    found
}

fn application(product: &Product, copy: u64, version: &str, fqdn: &str, dice: &Dice) -> Seen {
    let module_id = format!("{}{copy}", product.module);
    let users = 3 + dice.below(200);
    Seen {
        instance_of: product.module.to_owned(),
        name: Some(product.name.to_owned()),
        source: Some(format!("ghcr.io/nethserver/{}", product.module)),
        display_name: None,
        node_id: Some(1),
        node_label: Some("Node 1".to_owned()),
        version: version.to_owned(),
        certification_level: Some(product.level),
        is_user_facing: product.is_user_facing,
        url: product.is_user_facing.then(|| administered_at(fqdn, &module_id)),
        inventory_data: format!(
            r#"{{"active_users":{users},"certification_level":{},"total_users":{users}}}"#,
            product.level
        ),
        module_id,
    }
}
