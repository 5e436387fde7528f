//! What appliances do: registration, heartbeat, inventory, backups, rebranding, the older paths.

use super::{tree::Places, *};
use bailiwick_fleet::inventory;
use bailiwick_identity::credentials;

const OLD_ID: &str = "5c6f3a52-77aa-4f7e-9f51-3f0e6c9b2f10";
const OLD_SECRET: &str = "4f1c0e5d7a3b9c8e6f2d1a0b3c4d5e6f7a8b9c0d";
const LOGO: &str =
    r#"<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><rect width="4" height="4"/></svg>"#;

/// The document of a small cluster.
fn document(mail: &str) -> Value {
    json!({
        "installation": "nethserver",
        "facts": {
            "cluster": {"leader_node_id": "1", "subscription": "enterprise", "ui_name": "Milan"},
            "nodes": {"1": {
                "fqdn": "ns1.gamma.example.org", "default_ipv4": "203.0.113.21", "version": "3.19.2",
                "distro": {"name": "Rocky", "version": "9.6"}, "cluster_leader": true,
            }},
            "modules": [
                {"id": "mail1", "module": "mail", "name": "Mail", "ui_name": "Post office", "version": mail,
                    "node": "1", "certification_level": 5},
            ],
        },
    })
}

async fn settle(b: &Book<'_>) {
    inventory::run_until_idle(&b.test.app.fleet).await.expect("a worker");
}

async fn backups(b: &mut Book<'_>, system: &Seeded, owner: &Persona) {
    let made = b.call(system, "storeBackup", "/systems/backups", Sent::Bytes("ciphertext")).await;
    let id = text(&made, "id");
    b.ask(system, "listBackups", "/systems/backups").await;
    b.ask(system, "getBackup", &format!("/systems/backups/{id}")).await;
    let of_system = format!("/systems/{}/backups", system.id);
    b.ask(owner, "listSystemBackups", &of_system).await;
    let link = b.ask(owner, "getSystemBackupDownload", &format!("{of_system}/{id}/download")).await;
    let token = text(&link, "download_url").rsplit('/').next().unwrap().to_owned();
    b.ask(Who::Nobody, "downloadBackup", &format!("/downloads/{token}")).await;
    b.ask(system, "deleteBackup", &format!("/systems/backups/{id}")).await;
    let made = b.call(system, "storeBackup", "/systems/backups", Sent::Bytes("ciphertext")).await;
    b.ask(owner, "deleteSystemBackup", &format!("{of_system}/{}", text(&made, "id"))).await;
}

async fn rebranding(b: &mut Book<'_>, system: &Seeded, owner: &Persona, places: &Places) {
    let path = format!("/rebranding/{}", places.customer);
    let product = format!("{path}/products/ns8");
    b.ask(owner, "listRebrandableProducts", "/rebranding/products").await;
    b.ask(owner, "enableRebranding", &format!("{path}/enable")).await;
    let parts = [
        ("product_name", None, b"Gamma OS".as_slice()),
        ("logo_light_rect", Some("image/svg+xml"), LOGO.as_bytes()),
    ];
    b.call(owner, "updateRebranding", &product, Sent::Form(&parts)).await;
    b.ask(owner, "getRebrandingStatus", &format!("{path}/status")).await;
    b.ask(owner, "listRebrandingProducts", &format!("{path}/products")).await;
    b.ask(owner, "getRebrandingAsset", &format!("{product}/logo_light_rect")).await;
    b.ask(system, "getSystemRebranding", "/systems/rebranding").await;
    b.ask(system, "getSystemRebrandingAsset", "/systems/rebranding/ns8/logo_light_rect").await;
    b.ask(owner, "deleteRebrandingAsset", &format!("{product}/logo_light_rect")).await;
    b.ask(owner, "deleteRebrandingProduct", &product).await;
    b.ask(owner, "disableRebranding", &format!("{path}/disable")).await;
}

/// The paths of appliances that still have a pair of an earlier installation.
async fn older(b: &mut Book<'_>, system: &Seeded) {
    let file = format!(
        "system_id,legacy_id,legacy_secret,system_key,secret_public,secret_hash,registered_at\n{},{OLD_ID},{OLD_SECRET},,,,\n",
        system.id
    );
    credentials::import(&b.test.app.identity, file.as_bytes()).await.expect("an older pair");
    let pair = || Who::Basic(OLD_ID, OLD_SECRET);
    b.ask(pair(), "sendHeartbeatAlias", "/proxy/heartbeat").await;
    b.call(pair(), "sendInventoryAlias", "/proxy/inventory", document("1.9.5")).await;
    settle(b).await;
    b.call(pair(), "storeBackupAlias", "/proxy/backup", Sent::Bytes("ciphertext")).await;
    let alerts = json!([{"labels": {"alertname": "BackupFailed", "severity": "warning"}}]);
    b.call(pair(), "pushAlertsAlias", "/proxy/alerts", alerts.clone()).await;
    b.call(pair(), "pushAlertsAliasLong", "/proxy/alerts/api/v2/alerts", alerts).await;
    b.ask(pair(), "issueCredentials", "/proxy/credentials").await;
}

/// A system from its creation on; it has an inventory and a change in it.
pub async fn walk(b: &mut Book<'_>, owner: &Persona, places: &Places) -> Seeded {
    let body = json!({
        "name": "Milan cluster", "organization_id": places.customer, "notes": "Second floor",
        "custom_data": {"contract": "A-17"},
    });
    let made = b.call(owner, "createSystem", "/systems", body).await;
    let system = Seeded {
        id: text(&made, "id").parse().unwrap(),
        key: text(&made, "system_key"),
        secret: text(&made, "system_secret"),
    };
    let body = json!({"system_secret": system.secret});
    b.call(Who::Nobody, "registerSystem", "/systems/register", body).await;
    b.ask(&system, "sendHeartbeat", "/systems/heartbeat").await;
    b.ask(&system, "getSystemInfo", "/systems/info").await;
    b.call(&system, "sendInventory", "/systems/inventory", document("1.9.3")).await;
    settle(b).await;
    b.test.advance(std::time::Duration::from_secs(60));
    b.call(&system, "sendInventory", "/systems/inventory", document("1.9.4")).await;
    settle(b).await;
    backups(b, &system, owner).await;
    rebranding(b, &system, owner, places).await;
    older(b, &system).await;
    let body = json!({"name": "To be returned", "organization_id": places.customer});
    let made = b.test.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
    let (key, secret) = (text(&made, "system_key"), text(&made, "system_secret"));
    let call = b.test.post("/api/systems/register").json(json!({"system_secret": secret}));
    call.send().await.expect(200);
    b.ask(Who::Basic(&key, &secret), "unregisterSystem", "/systems/unregister").await;
    system
}
