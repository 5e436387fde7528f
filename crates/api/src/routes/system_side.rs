//! What systems call: registration, info, heartbeat, inventory, rebranding, and the alerting proxy's rows.

use super::{Credential, Route, delete, get, post};
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
        post("/systems/register", "registerSystem")
            .credential(Public)
            .takes::<RegistrationInput>()
            .may_answer(&[401, 403, 409, 429])
            .gives::<RegistrationOutput>()
            .to(register::register),
        get("/systems/info", "getSystemInfo").credential(System).gives::<InfoOutput>().to(info::show),
        heartbeat_row("/systems/heartbeat", "sendHeartbeat").credential(System),
        inventory_row("/systems/inventory", "sendInventory").credential(System),
        post("/systems/unregister", "unregisterSystem")
            .extra()
            .credential(System)
            .failing("failed to unregister system")
            .gives_null()
            .to(unregister::unregister),
        get("/systems/rebranding", "getSystemRebranding")
            .credential(System)
            .failing("failed to retrieve rebranding")
            .gives::<SystemRebrandingOutput>()
            .to(rebranding::document),
        get("/systems/rebranding/{product_id}/{asset}", "getSystemRebrandingAsset")
            .credential(System)
            .failing("failed to retrieve rebranding asset")
            .gives_file(super::rebranding::IMAGES)
            .may_answer(super::rebranding::STORAGE)
            .to(rebranding::asset),
    ]
    .into_iter()
    .chain([post("/alert_history", "saveAlertHistory")
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
    post(path, operation)
        .failing("failed to process heartbeat")
        .gives::<HeartbeatOutput<'static>>()
        .to(heartbeat::accept)
}

fn inventory_row(path: &str, operation: &str) -> Route {
    post(path, operation)
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
    post(path, operation)
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
        post("/proxy/alerts", "pushAlertsAlias")
            .credential(SystemOrLegacy)
            .extra()
            .takes::<PushedAlerts>()
            .by_proxy(),
        post("/proxy/alerts/api/v2/alerts", "pushAlertsAliasLong")
            .credential(SystemOrLegacy)
            .extra()
            .takes::<PushedAlerts>()
            .by_proxy(),
        get("/proxy/credentials", "issueCredentials")
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
        get("/systems/backups", "listBackups")
            .extra()
            .credential(System)
            .failing(BACKUP_FAILED)
            .gives::<BackupList>()
            .to(backups::list),
        get("/systems/backups/{backup_id}", "getBackup")
            .extra()
            .credential(System)
            .failing(BACKUP_FAILED)
            .answers_within(STORAGE)
            .may_answer(&[502, 504])
            .gives_file(ANY)
            .to(backups::read),
        delete("/systems/backups/{backup_id}", "deleteBackup")
            .extra()
            .credential(System)
            .failing(BACKUP_FAILED)
            .may_answer(&[502, 504])
            .gives::<DeletedBackupOutput>()
            .to(backups::delete),
        get("/downloads/{token}", "downloadBackup")
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
        get("/{service}/api/v2/alerts", "listOwnAlerts").gives::<ShownAlerts>(),
        post("/{service}/api/v2/alerts", "pushAlerts").takes::<PushedAlerts>(),
        get("/{service}/api/v2/silences", "listOwnSilences").gives::<ShownSilences>(),
        post("/{service}/api/v2/silences", "setSilence").takes::<SilenceToSet>().gives::<SilenceSet>(),
        get("/{service}/api/v2/silences/{silence_id}", "getSilence").gives::<ShownSilence>(),
        delete("/{service}/api/v2/silences/{silence_id}", "expireSilence"),
        get("/{service}/api/v2/silence/{silence_id}", "getSilenceSingular").extra().gives::<ShownSilence>(),
        delete("/{service}/api/v2/silence/{silence_id}", "expireSilenceSingular").extra(),
        get("/{service}/api/v2/alerts/groups", "listOwnAlertGroups").extra().gives::<ShownAlertGroups>(),
        get("/{service}/api/v2/status", "getRouterStatus").extra().gives::<RouterStatus>(),
        get("/{service}/api/v2/receivers", "listReceivers").extra().gives::<RouterReceivers>(),
        get("/{service}/-/ready", "isRouterReady").extra().credential(Credential::Public),
        get("/{service}/-/healthy", "isRouterHealthy").extra().credential(Credential::Public),
        get("/{service}/metrics", "getRouterMetrics").extra(),
    ]
    .into_iter()
    .map(|row| {
        let credential =
            if row.credential == Credential::Public { row.credential } else { Credential::System };
        row.credential(credential).by_proxy()
    })
    .collect()
}
