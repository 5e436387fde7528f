//! Credentials from an earlier installation, loaded by an operator (spec: systems-interface#credentials,
//! systems-interface#older-paths; docs/import.md). The file of all systems is imported as a whole or not at all.

use super::{argon2_secrets::Imported, hash_secret, legacy::is_legacy_id};
use crate::Identity;
use bailiwick_domain::{
    AuditAction, Error, FieldError, Result, SystemId, Ts,
    validate::{SystemKey, SystemSecret},
};
use bailiwick_platform::csv;
use bailiwick_store::{Tx, audit, credentials, epoch::AffectedSystems, legacy, systems};
use serde_json::json;
use std::collections::HashSet;

/// Columns of the file, in any order.
const COLUMNS: [&str; 7] = [
    "system_id",
    "legacy_id",
    "legacy_secret",
    "system_key",
    "secret_public",
    "secret_hash",
    "registered_at",
];
/// Most rows of a file.
const MAX_ROWS: usize = 20_000;
/// Longest lookup part.
const PUBLIC_CHARS: usize = 64;
/// Longest older secret.
const SECRET_CHARS: usize = 512;

/// The result of importing a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imports {
    /// Older pairs.
    pub pairs: u64,
    /// Keys with their secrets.
    pub keys: u64,
}

/// A row that can be read.
struct Row {
    /// Of the file, for messages.
    line: usize,
    system: SystemId,
    pair: Option<(String, String)>,
    key: Option<(SystemKey, String, String)>,
    registered_at: Option<Ts>,
}

/// Imports a CSV file.
///
/// # Errors
/// 400 for a file that cannot be read, and for rows that cannot be imported: each is named by line and column, and no
/// message shows a secret. Nothing is changed then.
pub async fn import(service: &Identity, file: &[u8]) -> Result<Imports> {
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for (line, cells) in csv::read_lines(file, &COLUMNS, MAX_ROWS)? {
        match read(line, &cells, service.platform.now()) {
            Ok(row) => rows.push(row),
            Err(e) => wrong.push(e),
        }
    }
    wrong.extend(repeated(&rows));
    refuse(wrong)?;
    let (mut done, mut wrong) = (Imports::default(), Vec::new());
    let mut tx = service.platform.db.begin().await?;
    for row in &rows {
        match take(service, &mut tx, row).await? {
            Ok(taken) => {
                done.pairs += taken.pairs;
                done.keys += taken.keys;
            }
            Err(e) => wrong.push(e),
        }
    }
    refuse(wrong)?;
    tx.bump_auth_epoch(AffectedSystems::All).await?;
    tx.commit().await?;
    Ok(done)
}

/// Removes the older pair of one system or of all; returns how many.
pub async fn forget_legacy(service: &Identity, system: Option<SystemId>) -> Result<u64> {
    let mut tx = service.platform.db.begin().await?;
    let gone = legacy::remove(&mut tx, system).await?;
    let event = json!({ "system_id": system, "pairs": gone });
    note(&mut tx, service.platform.now(), AuditAction::SystemForgetLegacy, system, event).await?;
    tx.bump_auth_epoch(system.map_or(AffectedSystems::All, |system| AffectedSystems::Systems(vec![system])))
        .await?;
    tx.commit().await?;
    Ok(gone)
}

fn refuse(wrong: Vec<FieldError>) -> Result<()> {
    if wrong.is_empty() { Ok(()) } else { Err(Error::Invalid(wrong)) }
}

fn field_error(line: usize, column: &str, message: &str) -> FieldError {
    FieldError::new(format!("line {line}, {column}"), message)
}

fn read(line: usize, cells: &[String], now: Ts) -> Result<Row, FieldError> {
    let cell = |n: usize| cells.get(n).map(String::as_str).unwrap_or_default();
    let wrong = |n: usize, message: &str| {
        let column = COLUMNS.get(n).copied().unwrap_or_default();
        field_error(line, column, message)
    };
    let system = cell(0).parse().map_err(|_| wrong(0, "is no id of a system"))?;
    let pair = match (cell(1), cell(2)) {
        ("", "") => None,
        (id, _) if !is_legacy_id(id) => {
            return Err(wrong(1, "is not 1 to 255 printable characters without space and colon"));
        }
        (id, secret) => {
            let is_hex = secret.bytes().all(|b| b.is_ascii_hexdigit());
            if !is_hex || !(SystemSecret::MIN_SECRET_CHARS..=SECRET_CHARS).contains(&secret.len()) {
                return Err(wrong(2, "is not 32 to 512 hexadecimal digits"));
            }
            Some((id.to_owned(), secret.to_owned()))
        }
    };
    let key = match (cell(3), cell(4), cell(5)) {
        ("", "", "") => None,
        (key, public, hash) => {
            let key = SystemKey::parse(key)
                .ok_or_else(|| wrong(3, "is not 1 to 255 of the characters A to Z, 0 to 9 and -"))?;
            let is_word = public.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !is_word || !(1..=PUBLIC_CHARS).contains(&public.len()) {
                return Err(wrong(4, "is not 1 to 64 letters, digits and _"));
            }
            Imported::parse(hash).ok_or_else(|| wrong(5, "is no Argon2id hash of a bounded cost"))?;
            Some((key, public.to_owned(), hash.to_owned()))
        }
    };
    let registered_at = match cell(6) {
        "" => None,
        text => match text.parse::<Ts>() {
            Ok(at) if at <= now => Some(at),
            Ok(_) => return Err(wrong(6, "is in the future")),
            Err(_) => return Err(wrong(6, "is no RFC 3339 time")),
        },
    };
    if pair.is_none() && key.is_none() {
        return Err(wrong(0, "has neither an older pair nor a key with its secret"));
    }
    Ok(Row { line, system, pair, key, registered_at })
}

/// Errors for values that must be unique in the file and are repeated.
fn repeated(rows: &[Row]) -> Vec<FieldError> {
    let mut seen: HashSet<(&str, String)> = HashSet::new();
    let mut wrong = Vec::new();
    for row in rows {
        let pair = row.pair.as_ref().map(|(id, _)| ("legacy_id", id.clone()));
        let key = row.key.as_ref().map(|(key, ..)| ("system_key", key.to_string()));
        let public = row.key.as_ref().map(|(_, public, _)| ("secret_public", public.clone()));
        let system = Some(("system_id", row.system.to_string()));
        for value in [system, pair, key, public].into_iter().flatten() {
            if !seen.insert(value.clone()) {
                wrong.push(field_error(row.line, value.0, "is in the file twice"));
            }
        }
    }
    wrong
}

/// Writes a row. The inner error says why the row cannot be imported.
async fn take(service: &Identity, tx: &mut Tx, row: &Row) -> Result<Result<Imports, FieldError>> {
    let (now, mut taken) = (service.platform.now(), Imports::default());
    let wrong = |column: &str, message: &str| Ok(Err(field_error(row.line, column, message)));
    let Some(record) = systems::lock(tx, row.system).await? else {
        return wrong("system_id", "is no id of a system");
    };
    let mut system = record.system;
    if let Some((key, public, hash)) = &row.key {
        let same_key = credentials::by_keys(&service.platform.db, vec![key.to_string()]).await?;
        let same_public = credentials::by_public(&service.platform.db, public).await?;
        let is_other = |other: &credentials::CredentialRecord| other.id != row.system;
        if same_key.iter().any(is_other) {
            return wrong("system_key", "belongs to another system");
        }
        if same_public.as_ref().is_some_and(is_other) {
            return wrong("secret_public", "belongs to another system");
        }
        // A pair imported earlier may have been used since.
        if same_key.is_empty() || same_public.is_none() {
            key.as_str().clone_into(&mut system.system_key);
            if !legacy::adopt(tx, &system, public, hash, now).await? {
                return wrong("system_id", "is registered: it keeps its key and secret");
            }
            taken.keys = 1;
        }
    }
    if let Some((id, secret)) = &row.pair {
        let holder = legacy::by_id(&service.platform.db, id).await?;
        if holder.is_some_and(|(other, _)| other.id != row.system) {
            return wrong("legacy_id", "belongs to another system");
        }
        legacy::put(tx, row.system, id, &hash_secret(secret, &*service.platform.entropy), now).await?;
        taken.pairs = 1;
    }
    if let Some(at) = row.registered_at {
        legacy::register(tx, row.system, at, now).await?;
    }
    // The key of a system that is not registered is not shown.
    let is_registered = row.registered_at.or(system.registered_at).is_some();
    let key = row.key.as_ref().filter(|_| is_registered);
    let after = json!({
        "legacy_id": row.pair.as_ref().map(|(id, _)| id),
        "system_key": key.map(|(key, ..)| key.as_str()),
        "registered_at": row.registered_at,
    });
    note(tx, now, AuditAction::SystemImportCredentials, Some(row.system), after).await?;
    Ok(Ok(taken))
}

/// Writes the audit entry. It has no user, because no user is signed in on the command line.
async fn note(
    tx: &mut Tx,
    now: Ts,
    action: AuditAction,
    system: Option<SystemId>,
    after: serde_json::Value,
) -> Result<()> {
    let entry = audit::AuditRecord {
        at: now,
        actor_user_id: None,
        acting_for_user_id: None,
        actor_organization_id: None,
        action,
        object_type: "system",
        object_id: system.map(|id| id.0),
        before: None,
        after: Some(after),
        request_id: None,
    };
    Ok(audit::record(tx, entry).await?)
}
