//! A layer at rest: its JSON, with every secret sealed for the organization that owns the layer.

use crate::Alerts;
use bailiwick_alertmanager::config::Layer;
use bailiwick_domain::{Entropy, Error, OrgId, Result};
use bailiwick_platform::keys::Keys;
use bailiwick_store::alert_layers;
use serde_json::Value;

/// Each secret is sealed for one organization: copied into the row of another, it does not open.
fn purpose(organization: OrgId) -> String {
    format!("alert layer of {organization}")
}

/// The layer as it is stored.
///
/// # Errors
/// A secret that cannot be sealed.
pub(super) fn seal(keys: &Keys, entropy: &dyn Entropy, organization: OrgId, layer: &Layer) -> Result<Value> {
    let purpose = purpose(organization);
    let mut sealed = layer.clone();
    sealed.change_secrets(|secret| -> Result<()> {
        *secret = keys.seal_text(&purpose, secret, entropy)?;
        Ok(())
    })?;
    serde_json::to_value(&sealed).map_err(Error::internal)
}

/// The layer as it was saved. A recipient whose secret does not open, because the secret of the service has changed
/// more than once, is left out and logged; all others are notified as before.
///
/// # Errors
/// The stored value is not a layer.
pub(super) fn open(keys: &Keys, organization: OrgId, stored: Value) -> Result<Layer> {
    let purpose = purpose(organization);
    let mut layer: Layer = serde_json::from_value(stored)
        .map_err(|e| Error::internal(format!("the alert layer of organization {organization}: {e}")))?;
    let opened = |secret: &mut String| keys.open_text(&purpose, secret).map(|plain| *secret = plain).is_ok();
    let lost = layer.open_secrets(opened);
    if lost > 0 {
        tracing::error!(%organization, lost, "recipients are not notified: their secrets cannot be opened");
    }
    Ok(layer)
}

/// The stored layer with every secret that opens sealed again by the present secret of the service, and the number of
/// secrets that do not open: these stay as they are.
///
/// # Errors
/// The stored value is not a layer, or a secret cannot be sealed.
fn seal_anew(keys: &Keys, entropy: &dyn Entropy, organization: OrgId, stored: Value) -> Result<(Value, u64)> {
    let purpose = purpose(organization);
    let mut layer: Layer = serde_json::from_value(stored).map_err(Error::internal)?;
    let mut lost = 0;
    layer.change_secrets(|secret| -> Result<()> {
        match keys.open_text(&purpose, secret) {
            Ok(plain) => *secret = keys.seal_text(&purpose, &plain, entropy)?,
            Err(_) => lost += 1,
        }
        Ok(())
    })?;
    Ok((serde_json::to_value(&layer).map_err(Error::internal)?, lost))
}

/// The result of sealing all layers again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResealCounts {
    /// Layers sealed again.
    pub sealed: u64,
    /// Layers that cannot be read, or have a secret that neither the present nor the previous secret of the service
    /// opens; these stay as they are.
    pub lost: u64,
}

/// Seals the secrets of all layers again, so that the previous secret of the service can be removed. A layer that is
/// saved meanwhile is sealed by its save.
///
/// # Errors
/// The database does not answer. Layers written before that stay written, and the call can be repeated.
pub async fn reseal_all(service: &Alerts) -> Result<ResealCounts> {
    let (mut done, mut after) = (ResealCounts::default(), None);
    loop {
        let page = alert_layers::after(&service.platform.db, after).await?;
        let Some(last) = page.last() else { return Ok(done) };
        after = Some(last.organization_id);
        let mut tx = service.platform.db.begin().await?;
        for row in page {
            let organization = row.organization_id;
            let Ok((anew, lost)) =
                seal_anew(&service.platform.keys, &*service.platform.entropy, organization, row.layer)
            else {
                tracing::error!(%organization, "an alert layer cannot be read; it stays as it is");
                done.lost += 1;
                continue;
            };
            if lost > 0 {
                tracing::error!(%organization, lost, "secrets of alert recipients cannot be opened; they stay as they are");
                done.lost += 1;
            }
            alert_layers::replace(&mut tx, organization, row.updated_at, &anew).await?;
            done.sealed += 1;
        }
        tx.commit().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Fixed;
    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    fn layer() -> Layer {
        serde_json::from_value(json!({
            "enabled": {"email": true},
            "email_recipients": [{"address": "noc@example.org"}],
            "webhook_recipients": [{"name": "hook", "url": "https://example.org/h"}],
            "systems": [{"system_key": "SYS-1", "telegram_recipients": [{"bot_token": "1:abc", "chat_id": 5}]}],
        }))
        .unwrap()
    }

    #[test]
    fn secrets_rest_sealed_for_their_organization_and_the_others_outlive_a_lost_one() {
        let keys = Keys::derive(&[1; 32], None).unwrap();
        let [own, other] = [1, 2].map(|n| OrgId(uuid::Uuid::from_u128(n)));
        let stored = seal(&keys, &Fixed, own, &layer()).unwrap();
        let text = stored.to_string();
        assert!(!text.contains("example.org/h") && !text.contains("1:abc"), "{text}");
        assert_eq!(open(&keys, own, stored.clone()).unwrap(), layer());
        // Another organization's row, and another secret of the service.
        let changed = Keys::derive(&[2; 32], None).unwrap();
        for read in [open(&keys, other, stored.clone()), open(&changed, own, stored.clone())] {
            let read = read.unwrap();
            assert_eq!(read.channels.email_recipients, layer().channels.email_recipients);
            assert_eq!((read.channels.webhook_recipients.len(), read.systems.len()), (0, 1));
            assert!(read.systems[0].channels.telegram_recipients.is_empty());
            assert_eq!(read.systems[0].channels.enabled.telegram, Some(false));
        }
        let rotated = Keys::derive(&[2; 32], Some(&[1; 32])).unwrap();
        assert_eq!(open(&rotated, own, stored).unwrap(), layer());
        assert!(open(&keys, own, json!([])).is_err());
    }

    #[test]
    fn sealed_anew_it_opens_without_the_previous_secret() {
        let own = OrgId(uuid::Uuid::from_u128(1));
        let old = Keys::derive(&[1; 32], None).unwrap();
        let both = Keys::derive(&[2; 32], Some(&[1; 32])).unwrap();
        let new = Keys::derive(&[2; 32], None).unwrap();
        let stored = seal(&old, &Fixed, own, &layer()).unwrap();
        let (anew, lost) = seal_anew(&both, &Fixed, own, stored.clone()).unwrap();
        assert_eq!((open(&new, own, anew.clone()).unwrap(), lost), (layer(), 0));
        assert_eq!(
            seal_anew(&new, &Fixed, own, stored.clone()).unwrap(),
            (stored.clone(), 2),
            "nothing is thrown away"
        );
        // A secret that cannot be opened does not stop the others from being sealed again.
        let mut mixed = stored;
        mixed["webhook_recipients"][0]["url"] = json!("AAAA");
        let (mixed, lost) = seal_anew(&both, &Fixed, own, mixed).unwrap();
        assert_eq!(lost, 1);
        assert_eq!(open(&new, own, mixed).unwrap().systems, layer().systems);
    }
}
