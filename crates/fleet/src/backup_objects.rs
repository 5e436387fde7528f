//! The objects that hold the bytes of backups: their keys, copies and deletion.

use crate::Fleet;
use aws_lc_rs::digest;
use bailiwick_directory::objects::fault;
use bailiwick_domain::{OrgId, Result, SystemId, ports::hex};
use bailiwick_outbound::object_storage::AssetError;
use bailiwick_store::{
    Tx,
    backups::{self, Backup},
};
use futures_util::StreamExt as _;

/// Where the bytes of a backup are.
pub(crate) fn object_key(organization: OrgId, system_key: &str, id: &str) -> String {
    format!("{organization}/{system_key}/{id}")
}

/// Copies the bytes of a backup and reads the copy, which must equal the upload.
///
/// # Errors
/// 502, 504 or 503 of the storage; 502 also when it has lost or damaged them.
pub(crate) async fn copy(service: &Fleet, backup: &Backup, to: &str) -> Result<()> {
    let damaged =
        |log: String| fault(AssetError::Unreachable(format!("backup {} cannot be copied: {log}", backup.id)));
    let assets = service.directory.objects.store()?;
    let copied = async {
        assets.copy(&backup.object_key, to).await?;
        let mut bytes = assets.read(to).await?;
        let (mut sum, mut size) = (digest::Context::new(&digest::SHA256), 0_i64);
        while let Some(chunk) = bytes.next().await {
            let chunk = chunk?;
            size = size.saturating_add(i64::try_from(chunk.len()).unwrap_or(i64::MAX));
            sum.update(&chunk);
        }
        Ok((size, hex(sum.finish().as_ref())))
    };
    match copied.await {
        Ok((size, sha256)) if size == backup.size && sha256 == backup.sha256 => Ok(()),
        Ok(_) => Err(damaged("the copy differs from what was uploaded".to_owned())),
        Err(AssetError::NotFound) => Err(damaged("it is not there".to_owned())),
        Err(e) => Err(fault(e)),
    }
}

/// Enqueues the deletion of all objects of a system that is being destroyed.
pub(crate) async fn bury_system(service: &Fleet, tx: &mut Tx, system: SystemId) -> Result<()> {
    let keys: Vec<String> =
        backups::list(&mut *tx, system).await?.into_iter().map(|b| b.object_key).collect();
    Ok(backups::bury(tx, &keys, service.platform.now(), || service.platform.fresh()).await?)
}
