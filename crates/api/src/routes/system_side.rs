//! What systems call: registration, info, heartbeat, inventory, rebranding, and the alerting proxy's rows.

use super::{Credential, Route, delete, get, post, query, systems::BACKUPS};
use crate::{
    system::{
        alert_history, backups, credentials, heartbeat, info, inventory, rebranding, register, unregister,
    },
    wire::{
        alertmanager::{
            PushedAlerts, RouterReceivers, RouterStatus, ShownAlertGroups, ShownAlerts, ShownSilence,
            ShownSilences, SilenceSet, SilenceToSet, WebhookMessage,
        },
        backups::{BackupList, BackupOutput, DeletedBackupOutput},
        rebranding::SystemRebrandingOutput,
        system_side::{
            CredentialsOutput, HeartbeatOutput, InfoOutput, InventoryDocument, ReceiptOutput,
            RegistrationInput, RegistrationOutput,
        },
    },
};
use std::time::Duration;

/// Longer than the storage of backups may take to begin an answer.
const STORAGE: Duration = Duration::from_secs(70);

/// Text of a 500 on the routes of backups.
const BACKUP_FAILED: &str = "failed to process backup request";

pub(super) fn rows() -> Vec<Route> {
    use Credential::{Public, System};
    vec![
        post("/systems/register", "registerSystem", "Register a system with its secret")
            .credential(Public)
            .takes::<RegistrationInput>()
            .may_answer(&[401, 403, 409, 429])
            .gives::<RegistrationOutput>()
            .to(register::register),
        get("/systems/info", "getSystemInfo", "What is known of the calling system")
            .credential(System)
            .gives::<InfoOutput>()
            .to(info::show),
        heartbeat_row("/systems/heartbeat", "sendHeartbeat").credential(System),
        inventory_row("/systems/inventory", "sendInventory").credential(System),
        post("/systems/unregister", "unregisterSystem", "End the system's registration")
            .extra()
            .credential(System)
            .failing("failed to unregister system")
            .gives_null()
            .to(unregister::unregister),
        get("/systems/rebranding", "getSystemRebranding", "Names and pictures that the system shows")
            .credential(System)
            .failing("failed to retrieve rebranding")
            .gives::<SystemRebrandingOutput>()
            .to(rebranding::document),
        get(
            "/systems/rebranding/{product_id}/{asset}",
            "getSystemRebrandingAsset",
            "A picture that the system shows",
        )
        .credential(System)
        .failing("failed to retrieve rebranding asset")
        .gives_file(super::rebranding::IMAGES)
        .may_answer(super::rebranding::STORAGE)
        .to(rebranding::asset),
    ]
    .into_iter()
    .chain([post(
        "/alert_history",
        "saveAlertHistory",
        "Tell of resolved alerts, as an Alertmanager webhook",
    )
    .extra()
    .credential(Credential::HistoryWebhook)
    .answers(204)
    .takes::<WebhookMessage>()
    .failing("failed to save alert history")
    .to(alert_history::save)])
    .chain(backup_rows())
    .chain(proxy())
    .chain(aliases())
    .collect()
}

fn heartbeat_row(path: &str, operation: &str) -> Route {
    post(path, operation, "Say that the system is alive")
        .failing("failed to process heartbeat")
        .gives::<HeartbeatOutput<'static>>()
        .to(heartbeat::accept)
}

fn inventory_row(path: &str, operation: &str) -> Route {
    post(path, operation, "Send what is on the system")
        .answers(202)
        .failing("failed to process inventory")
        // 180 s for the body, then the commit.
        .answers_within(Duration::from_secs(190))
        .takes::<InventoryDocument>()
        .may_answer(&[415])
        .gives::<ReceiptOutput<'static>>()
        .to(inventory::accept)
}

fn upload_row(path: &str, operation: &str) -> Route {
    post(path, operation, "Store a backup of the system")
        .extra()
        .answers(201)
        .failing(BACKUP_FAILED)
        // 900 s for the body, then the storage and the commit.
        .answers_within(Duration::from_secs(1020))
        .takes_bytes()
        .may_answer(&[411, 502, 504])
        .gives::<BackupOutput>()
        .to(backups::store)
}

/// What appliances with an older pair call (spec: systems-interface#older-paths).
fn aliases() -> Vec<Route> {
    use Credential::{Legacy, SystemOrLegacy};
    vec![
        heartbeat_row("/proxy/heartbeat", "sendHeartbeatAlias").credential(SystemOrLegacy).extra(),
        inventory_row("/proxy/inventory", "sendInventoryAlias").credential(SystemOrLegacy).extra(),
        upload_row("/proxy/backup", "storeBackupAlias").credential(SystemOrLegacy),
        post("/proxy/alerts", "pushAlertsAlias", "Fire or resolve alerts of the system")
            .credential(SystemOrLegacy)
            .extra()
            .takes::<PushedAlerts>()
            .by_proxy(),
        post("/proxy/alerts/api/v2/alerts", "pushAlertsAliasLong", "Fire or resolve alerts of the system")
            .credential(SystemOrLegacy)
            .extra()
            .takes::<PushedAlerts>()
            .by_proxy(),
        get("/proxy/credentials", "issueCredentials", "Exchange an older pair for key and secret")
            .credential(Legacy)
            .extra()
            .failing("failed to issue credentials")
            .gives::<CredentialsOutput>()
            .to(credentials::issue),
    ]
}

fn backup_rows() -> Vec<Route> {
    use Credential::{Public, System};
    const ANY: &[&str] = &["application/octet-stream"];
    vec![
        upload_row("/systems/backups", "storeBackup").credential(System),
        get("/systems/backups", "listBackups", "List the system's backups")
            .ordered(BACKUPS)
            .extra()
            .credential(System)
            .failing(BACKUP_FAILED)
            .gives::<BackupList>()
            .to(backups::list),
        get("/systems/backups/{backup_id}", "getBackup", "Read a backup of the system")
            .extra()
            .credential(System)
            .failing(BACKUP_FAILED)
            .answers_within(STORAGE)
            .may_answer(&[502, 504])
            .gives_file(ANY)
            .to(backups::read),
        delete("/systems/backups/{backup_id}", "deleteBackup", "Delete a backup of the system")
            .extra()
            .credential(System)
            .failing(BACKUP_FAILED)
            .may_answer(&[502, 504])
            .gives::<DeletedBackupOutput>()
            .to(backups::delete),
        get("/downloads/{token}", "downloadBackup", "Read a backup by its link")
            .extra()
            .credential(Public)
            .failing(BACKUP_FAILED)
            .answers_within(STORAGE)
            .may_answer(&[502, 504])
            .gives_file(ANY)
            .to(backups::read_by_token),
    ]
}

/// `{service}` stands for `services/{backend}/{alert_router}`, also below `api/` (spec: alerts#paths).
fn proxy() -> Vec<Route> {
    [
        get("/{service}/api/v2/alerts", "listOwnAlerts", "List the system's alerts")
            .query(query::router_alerts())
            .query(query::keys(["unprocessed"]))
            .gives::<ShownAlerts>(),
        post("/{service}/api/v2/alerts", "pushAlerts", "Fire or resolve alerts of the system")
            .takes::<PushedAlerts>(),
        get("/{service}/api/v2/silences", "listOwnSilences", "List the system's silences")
            .query(query::router_silences())
            .gives::<ShownSilences>(),
        post("/{service}/api/v2/silences", "setSilence", "Create or change a silence of the system")
            .takes::<SilenceToSet>()
            .gives::<SilenceSet>(),
        get("/{service}/api/v2/silences/{silence_id}", "getSilence", "Show a silence of the system")
            .gives::<ShownSilence>(),
        delete("/{service}/api/v2/silences/{silence_id}", "expireSilence", "End a silence of the system"),
        get("/{service}/api/v2/silence/{silence_id}", "getSilenceSingular", "Show a silence of the system")
            .extra()
            .gives::<ShownSilence>(),
        delete(
            "/{service}/api/v2/silence/{silence_id}",
            "expireSilenceSingular",
            "End a silence of the system",
        )
        .extra(),
        get("/{service}/api/v2/alerts/groups", "listOwnAlertGroups", "List the system's alerts by group")
            .query(query::router_alerts())
            .query(query::keys(["muted"]))
            .extra()
            .gives::<ShownAlertGroups>(),
        get(
            "/{service}/api/v2/status",
            "getRouterStatus",
            "State of the alert router, without its configuration",
        )
        .extra()
        .gives::<RouterStatus>(),
        get("/{service}/api/v2/receivers", "listReceivers", "List the receivers of the alert router")
            .query([query::key("receiver_matchers").repeated()])
            .extra()
            .gives::<RouterReceivers>(),
        get("/{service}/-/ready", "isRouterReady", "Whether the alert router is ready")
            .extra()
            .credential(Credential::Public),
        get("/{service}/-/healthy", "isRouterHealthy", "Whether the alert router is healthy")
            .extra()
            .credential(Credential::Public),
        get("/{service}/metrics", "getRouterMetrics", "Metrics of the alert router").extra(),
    ]
    .into_iter()
    .map(|row| {
        let credential =
            if row.credential == Credential::Public { row.credential } else { Credential::System };
        row.credential(credential).by_proxy()
    })
    .collect()
}
