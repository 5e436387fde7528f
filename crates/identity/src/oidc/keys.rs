//! Signing keys: ES384, created on first use, stored sealed in the database, read there by every process.

use super::INTERACTION;
use crate::Identity;
use aws_lc_rs::{
    digest,
    signature::{ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use bailiwick_domain::{Error, Result};
use bailiwick_store::oidc::keys::{self, StoredKey};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, jwk::Jwk};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// The purpose under which [`Keys::seal`](bailiwick_platform::keys::Keys::seal) seals them.
const PURPOSE: &str = "oidc signing key";

/// Bytes of one coordinate of a point on P-384.
const COORDINATE_BYTES: usize = 48;

/// The longest lifetime of a signed token: ID tokens and access tokens live equally long.
pub(super) fn signed_life(service: &Identity) -> Duration {
    // A margin for clients that use an ID token a little longer, and for replicas whose clocks differ.
    service.settings.provider.access.saturating_add(INTERACTION)
}

/// The key that signs now.
pub(super) struct SigningKey {
    kid: String,
    key: EncodingKey,
}

impl SigningKey {
    /// A JWT; `typ` of the header is its kind.
    pub(super) fn sign(&self, typ: &str, claims: &impl Serialize) -> Result<String> {
        let header = Header {
            typ: Some(typ.to_owned()),
            kid: Some(self.kid.clone()),
            ..Header::new(Algorithm::ES384)
        };
        jsonwebtoken::encode(&header, claims, &self.key).map_err(Error::internal)
    }
}

/// Creates the first key when there is none; for the start of the service.
pub async fn ensure_signing_key(service: &Identity) -> Result<()> {
    current(service).await.map(|_| ())
}

/// Replaces the signing key; the old one stays in `jwks` until the last token it signed has expired.
pub async fn rotate_signing_key(service: &Identity) -> Result<String> {
    let key = generate(service)?;
    let mut tx = service.platform.db.begin().await?;
    keys::insert(&mut tx, &key).await?;
    keys::retire_others(&mut tx, &key.kid, service.platform.now()).await?;
    tx.commit().await?;
    Ok(key.kid)
}

/// `{"keys":[…]}`: every key that a live token may be signed with.
pub async fn published(service: &Identity) -> Result<Value> {
    current(service).await?;
    let stored =
        keys::published(&service.platform.db, service.platform.now().minus(signed_life(service))).await?;
    let keys: Vec<Value> = stored.into_iter().map(|key| key.public_jwk).collect();
    Ok(json!({ "keys": keys }))
}

/// The key to sign with. A key that cannot be opened (the secret was replaced and the previous one not configured) is
/// replaced: it can only verify from now on.
pub(super) async fn signing(service: &Identity) -> Result<SigningKey> {
    let mut stored = current(service).await?;
    if service.platform.keys.open(PURPOSE, &stored.sealed).is_err() {
        tracing::warn!(kid = %stored.kid, "the signing key cannot be opened with the configured secret, making a new one");
        rotate_signing_key(service).await?;
        stored = current(service).await?;
    }
    let pkcs8 = service.platform.keys.open(PURPOSE, &stored.sealed)?;
    Ok(SigningKey { kid: stored.kid, key: EncodingKey::from_ec_der(&pkcs8) })
}

/// The audience of an ID token of ours, however old it is; none when it is not ours.
pub(super) async fn audience_of_id_token(service: &Identity, token: &str) -> Result<Option<String>> {
    #[derive(Deserialize)]
    struct Claims {
        aud: String,
    }
    let Some(kid) = jsonwebtoken::decode_header(token).ok().and_then(|header| header.kid) else {
        return Ok(None);
    };
    let stored =
        keys::published(&service.platform.db, service.platform.now().minus(signed_life(service))).await?;
    let Some(key) = stored.into_iter().find(|key| key.kid == kid) else { return Ok(None) };
    let jwk: Jwk = serde_json::from_value(key.public_jwk).map_err(Error::internal)?;
    let key = DecodingKey::from_jwk(&jwk).map_err(Error::internal)?;
    let mut rules = Validation::new(Algorithm::ES384);
    rules.set_required_spec_claims(&["iss", "aud"]);
    rules.set_issuer(&[service.settings.provider_issuer()]);
    rules.validate_aud = false;
    // A hint names a client; it opens nothing.
    rules.validate_exp = false;
    Ok(jsonwebtoken::decode::<Claims>(token, &key, &rules).ok().map(|data| data.claims.aud))
}

async fn current(service: &Identity) -> Result<StoredKey> {
    if let Some(key) = keys::current(&service.platform.db).await? {
        return Ok(key);
    }
    let fresh = generate(service)?;
    let mut tx = service.platform.db.begin().await?;
    if let Some(key) = keys::current(&mut tx).await? {
        return Ok(key);
    }
    keys::insert(&mut tx, &fresh).await?;
    tx.commit().await?;
    Ok(fresh)
}

fn generate(service: &Identity) -> Result<StoredKey> {
    let failed = |_| Error::internal("making a signing key");
    let pair = EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).map_err(failed)?;
    let pkcs8 = pair.to_pkcs8v1().map_err(failed)?;
    let (kid, public_jwk) = jwk(pair.public_key().as_ref())?;
    let sealed = service.platform.keys.seal(PURPOSE, pkcs8.as_ref(), &*service.platform.entropy)?;
    Ok(StoredKey { kid, sealed, public_jwk, created_at: service.platform.now() })
}

/// The JSON Web Key of an uncompressed point; its `kid` is its thumbprint (RFC 7638).
fn jwk(point: &[u8]) -> Result<(String, Value)> {
    let malformed = || Error::internal("a public key is not an uncompressed point on P-384");
    let (form, coordinates) = point.split_first().ok_or_else(malformed)?;
    if *form != 4 || coordinates.len() != 2 * COORDINATE_BYTES {
        return Err(malformed());
    }
    let (x, y) = coordinates.split_at(COORDINATE_BYTES);
    let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
    let thumbprint = format!(r#"{{"crv":"P-384","kty":"EC","x":"{x}","y":"{y}"}}"#);
    let kid = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, thumbprint.as_bytes()));
    let jwk = json!({"kty": "EC", "crv": "P-384", "x": x, "y": y, "use": "sig", "alg": "ES384", "kid": kid});
    Ok((kid, jwk))
}
