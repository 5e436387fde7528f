//! What systems call: registration, info, heartbeat, inventory, rebranding, and the alerting proxy's rows.

use super::{Credential, Route, delete, get, post};
use crate::{
    system::{backups, heartbeat, info, inventory, register, unregister},
    wire::{
        backups::{BackupList, BackupOutput, DeletedBackupOutput},
        system_side::{HeartbeatOutput, InfoOutput, ReceiptOutput, RegistrationInput, RegistrationOutput},
    },
};
use std::time::Duration;

/// Longer than the storage of backups may take to begin an answer.
const STORAGE: Duration = Duration::from_secs(70);

pub(super) fn rows() -> Vec<Route> {
    use Credential::{Public, System};
    vec![
        post("/systems/register", "registerSystem")
            .credential(Public)
            .takes::<RegistrationInput>()
            .gives::<RegistrationOutput>()
            .to(register::register),
        get("/systems/info", "getSystemInfo").credential(System).gives::<InfoOutput>().to(info::show),
        post("/systems/heartbeat", "sendHeartbeat")
            .credential(System)
            .failing("failed to process heartbeat")
            .gives::<HeartbeatOutput<'static>>()
            .to(heartbeat::accept),
        post("/systems/inventory", "sendInventory")
            .credential(System)
            .answers(202)
            .failing("failed to process inventory")
            // 180 s for the body, then the commit.
            .answers_within(Duration::from_secs(190))
            .gives::<ReceiptOutput<'static>>()
            .to(inventory::accept),
        post("/systems/unregister", "unregisterSystem")
            .extra()
            .credential(System)
            .failing("failed to unregister system")
            .gives_null()
            .to(unregister::unregister),
        get("/systems/rebranding", "getSystemRebranding").credential(System),
        get("/systems/rebranding/{product_id}/{asset}", "getSystemRebrandingAsset").credential(System),
    ]
    .into_iter()
    .chain(backup_rows())
    .chain(proxy())
    .collect()
}

fn backup_rows() -> Vec<Route> {
    use Credential::{Public, System};
    const ANY: &[&str] = &["application/octet-stream"];
    const FAILED: &str = "failed to process backup request";
    vec![
        post("/systems/backups", "storeBackup")
            .extra()
            .credential(System)
            .answers(201)
            .failing(FAILED)
            // 900 s for the body, then the storage and the commit.
            .answers_within(Duration::from_secs(1020))
            .takes_bytes()
            .gives::<BackupOutput>()
            .to(backups::store),
        get("/systems/backups", "listBackups")
            .extra()
            .credential(System)
            .failing(FAILED)
            .gives::<BackupList>()
            .to(backups::list),
        get("/systems/backups/{backup_id}", "getBackup")
            .extra()
            .credential(System)
            .failing(FAILED)
            .answers_within(STORAGE)
            .gives_file(ANY)
            .to(backups::read),
        delete("/systems/backups/{backup_id}", "deleteBackup")
            .extra()
            .credential(System)
            .failing(FAILED)
            .gives::<DeletedBackupOutput>()
            .to(backups::delete),
        get("/downloads/{token}", "downloadBackup")
            .extra()
            .credential(Public)
            .failing(FAILED)
            .answers_within(STORAGE)
            .gives_file(ANY)
            .to(backups::read_by_token),
    ]
}

/// `{service}` stands for `services/{backend}/{alert_router}`, also below `api/` (contract 04 §1.1).
fn proxy() -> Vec<Route> {
    [
        get("/{service}/api/v2/alerts", "listOwnAlerts"),
        post("/{service}/api/v2/alerts", "pushAlerts"),
        get("/{service}/api/v2/silences", "listOwnSilences"),
        post("/{service}/api/v2/silences", "setSilence"),
        get("/{service}/api/v2/silences/{silence_id}", "getSilence"),
        delete("/{service}/api/v2/silences/{silence_id}", "expireSilence"),
        get("/{service}/api/v2/silence/{silence_id}", "getSilenceSingular").extra(),
        delete("/{service}/api/v2/silence/{silence_id}", "expireSilenceSingular").extra(),
        get("/{service}/api/v2/alerts/groups", "listOwnAlertGroups").extra(),
        get("/{service}/api/v2/status", "getRouterStatus").extra(),
        get("/{service}/api/v2/receivers", "listReceivers").extra(),
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
