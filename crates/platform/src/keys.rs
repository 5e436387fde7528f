//! Every key of the service, derived from the one configured secret: HKDF-SHA-256 with the purpose as info
//! (spec: authentication#service-tokens), so that no key serves two purposes. The secret before the last rotation still
//! verifies and opens.

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    constant_time, digest, hkdf, hmac,
};
use bailiwick_domain::{
    Entropy, Error, Result,
    ports::{hex, random},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Serialize, de::DeserializeOwned};

/// Shortest secret the service starts with, in bytes.
pub const MIN_SECRET_BYTES: usize = 32;

/// Kinds of the service's own tokens. Each is signed with a key of its own and says its kind in `token_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Opens the API.
    Access,
    /// Exchanged for the next pair of tokens; never a bearer.
    Refresh,
    /// Opens the API as another user.
    Impersonation,
}

impl TokenKind {
    const ALL: [TokenKind; 3] = [TokenKind::Access, TokenKind::Refresh, TokenKind::Impersonation];

    /// The word of `token_type`, also the info of the key.
    pub const fn as_str(self) -> &'static str {
        match self {
            TokenKind::Access => "access",
            TokenKind::Refresh => "refresh",
            TokenKind::Impersonation => "impersonation",
        }
    }
}

/// The derived keys.
pub struct Keys {
    present: Ring,
    previous: Option<Ring>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// The keys of one secret.
struct Ring {
    tokens: [TokenKey; 3],
    seal: LessSafeKey,
    /// Identifies the secret that sealed a value.
    seal_tag: [u8; TAG_BYTES],
    mac: hmac::Key,
    /// Links to backups (spec: backups#operations).
    downloads: hmac::Key,
}

struct TokenKey {
    id: String,
    sign: EncodingKey,
    verify: DecodingKey,
}

const TAG_BYTES: usize = 4;
const SEALED_VERSION: u8 = 1;
const SEALED_HEAD_BYTES: usize = 1 + TAG_BYTES + NONCE_LEN;

fn derive(secret: &[u8], info: &str) -> Result<[u8; 32]> {
    let failed = |_| Error::internal("deriving a key");
    let mut key = [0; 32];
    hkdf::Salt::new(hkdf::HKDF_SHA256, &[])
        .extract(secret)
        .expand(&[info.as_bytes()], hkdf::HKDF_SHA256)
        .and_then(|okm| okm.fill(&mut key))
        .map_err(failed)?;
    Ok(key)
}

/// Names a secret without revealing anything of it or of its keys: a separate value, derived as they are.
///
/// # Errors
/// The derivation failed.
pub fn fingerprint(secret: &[u8]) -> Result<[u8; 32]> {
    derive(secret, "fingerprint")
}

/// First bytes of the digest of a key: names it without revealing it.
fn tag(key: &[u8]) -> [u8; TAG_BYTES] {
    let digest = digest::digest(&digest::SHA256, key);
    let mut tag = [0; TAG_BYTES];
    tag.iter_mut().zip(digest.as_ref()).for_each(|(to, from)| *to = *from);
    tag
}

impl Ring {
    fn derive(secret: &[u8]) -> Result<Ring> {
        if secret.len() < MIN_SECRET_BYTES {
            return Err(Error::internal(format!("the secret is shorter than {MIN_SECRET_BYTES} bytes")));
        }
        let token = |kind: TokenKind| -> Result<TokenKey> {
            let key = derive(secret, kind.as_str())?;
            Ok(TokenKey {
                id: hex(&tag(&key)),
                sign: EncodingKey::from_secret(&key),
                verify: DecodingKey::from_secret(&key),
            })
        };
        let seal = derive(secret, "seal")?;
        let sealing =
            UnboundKey::new(&AES_256_GCM, &seal).map_err(|_| Error::internal("making a sealing key"))?;
        let [access, refresh, impersonation] = TokenKind::ALL;
        Ok(Ring {
            tokens: [token(access)?, token(refresh)?, token(impersonation)?],
            seal: LessSafeKey::new(sealing),
            seal_tag: tag(&seal),
            mac: hmac::Key::new(hmac::HMAC_SHA256, &derive(secret, "mac")?),
            downloads: hmac::Key::new(hmac::HMAC_SHA256, &derive(secret, "downloads")?),
        })
    }

    const fn token(&self, kind: TokenKind) -> &TokenKey {
        &self.tokens[kind as usize]
    }
}

impl Keys {
    /// Derives all keys.
    ///
    /// # Errors
    /// A secret under [`MIN_SECRET_BYTES`]: the service must not start with it.
    pub fn derive(secret: &[u8], previous: Option<&[u8]>) -> Result<Keys> {
        Ok(Keys { present: Ring::derive(secret)?, previous: previous.map(Ring::derive).transpose()? })
    }

    fn rings(&self) -> impl Iterator<Item = &Ring> {
        std::iter::once(&self.present).chain(&self.previous)
    }

    /// A signed token of the kind; the same claims give the same bytes.
    ///
    /// # Errors
    /// The claims cannot be written as JSON.
    pub fn sign(&self, kind: TokenKind, claims: &impl Serialize) -> Result<String> {
        let key = self.present.token(kind);
        let header = Header { kid: Some(key.id.clone()), ..Header::new(Algorithm::HS256) };
        jsonwebtoken::encode(&header, claims, &key.sign).map_err(Error::internal)
    }

    /// The claims of a token of the kind, after a check of its signature, `iss` and `aud`. The caller checks the times.
    pub fn verify<T: DeserializeOwned>(
        &self,
        kind: TokenKind,
        token: &str,
        issuer: &str,
        audience: &str,
    ) -> Option<T> {
        let id = jsonwebtoken::decode_header(token).ok()?.kid?;
        let key = self.rings().map(|ring| ring.token(kind)).find(|key| key.id == id)?;
        let mut rules = Validation::new(Algorithm::HS256);
        rules.set_required_spec_claims(&["iss", "aud", "exp", "nbf", "sub"]);
        rules.set_issuer(&[issuer]);
        rules.set_audience(&[audience]);
        rules.validate_exp = false;
        rules.validate_nbf = false;
        jsonwebtoken::decode(token, &key.verify, &rules).ok().map(|data| data.claims)
    }

    /// Whether the token names one of the keys of this kind. It does not check the signature.
    pub fn names(&self, kind: TokenKind, token: &str) -> bool {
        let id = jsonwebtoken::decode_header(token).ok().and_then(|header| header.kid);
        id.is_some_and(|id| self.rings().any(|ring| ring.token(kind).id == id))
    }

    /// Encrypts a secret that must be read again (AES-256-GCM). A value sealed for one purpose opens for that purpose
    /// only.
    ///
    /// # Errors
    /// The encryption failed.
    pub fn seal(&self, purpose: &str, plain: &[u8], entropy: &dyn Entropy) -> Result<Vec<u8>> {
        let nonce = random::<NONCE_LEN>(entropy);
        let mut body = plain.to_vec();
        self.present
            .seal
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(purpose.as_bytes()),
                &mut body,
            )
            .map_err(|_| Error::internal("sealing"))?;
        let mut sealed = Vec::with_capacity(SEALED_HEAD_BYTES + body.len());
        sealed.push(SEALED_VERSION);
        sealed.extend_from_slice(&self.present.seal_tag);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&body);
        Ok(sealed)
    }

    /// [`Keys::seal`] from text to text (base64).
    ///
    /// # Errors
    /// The encryption failed.
    pub fn seal_text(&self, purpose: &str, plain: &str, entropy: &dyn Entropy) -> Result<String> {
        Ok(STANDARD.encode(self.seal(purpose, plain.as_bytes(), entropy)?))
    }

    /// Opens a text sealed by [`Keys::seal_text`].
    ///
    /// # Errors
    /// As [`Keys::open`].
    pub fn open_text(&self, purpose: &str, sealed: &str) -> Result<String> {
        let sealed = STANDARD.decode(sealed).map_err(Error::internal)?;
        String::from_utf8(self.open(purpose, &sealed)?).map_err(Error::internal)
    }

    /// [`Keys::seal`] to text that an address can hold (base64url).
    ///
    /// # Errors
    /// The encryption failed.
    pub fn seal_for_address(&self, purpose: &str, plain: &[u8], entropy: &dyn Entropy) -> Result<String> {
        Ok(URL_SAFE_NO_PAD.encode(self.seal(purpose, plain, entropy)?))
    }

    /// Opens a text sealed by [`Keys::seal_for_address`].
    ///
    /// # Errors
    /// As [`Keys::open`].
    pub fn open_from_address(&self, purpose: &str, sealed: &str) -> Result<Vec<u8>> {
        self.open(purpose, &URL_SAFE_NO_PAD.decode(sealed).map_err(Error::internal)?)
    }

    /// Opens a value sealed by [`Keys::seal`].
    ///
    /// # Errors
    /// The value was sealed with another secret or for another purpose, or changed since.
    pub fn open(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>> {
        let unreadable = || Error::internal(format!("cannot open what was sealed for {purpose}"));
        let (head, body) = sealed.split_at_checked(SEALED_HEAD_BYTES).ok_or_else(unreadable)?;
        let (version, rest) = head.split_first().ok_or_else(unreadable)?;
        let (tag, nonce) = rest.split_at(TAG_BYTES);
        let ring = self.rings().find(|ring| ring.seal_tag == tag).ok_or_else(unreadable)?;
        if *version != SEALED_VERSION {
            return Err(unreadable());
        }
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| unreadable())?;
        let mut plain = body.to_vec();
        let length = ring
            .seal
            .open_in_place(nonce, Aad::from(purpose.as_bytes()), &mut plain)
            .map_err(|_| unreadable())?
            .len();
        plain.truncate(length);
        Ok(plain)
    }

    /// A keyed digest of the data, for values that must come back unchanged (form tokens, signed links).
    pub fn mac(&self, purpose: &str, data: &[u8]) -> [u8; 32] {
        mac(&self.present.mac, purpose, data)
    }

    /// The signature of a link to a backup; its key signs nothing else.
    pub fn sign_download(&self, data: &[u8]) -> [u8; 32] {
        mac(&self.present.downloads, "download", data)
    }

    /// Whether it is the signature by [`Keys::sign_download`], compared in constant time.
    pub fn is_download(&self, data: &[u8], signature: &[u8]) -> bool {
        self.rings().any(|ring| {
            constant_time::verify_slices_are_equal(&mac(&ring.downloads, "download", data), signature).is_ok()
        })
    }

    /// Whether it is the digest by [`Keys::mac`], compared in constant time.
    pub fn is_mac(&self, purpose: &str, data: &[u8], digest: &[u8]) -> bool {
        self.rings().any(|ring| {
            constant_time::verify_slices_are_equal(&mac(&ring.mac, purpose, data), digest).is_ok()
        })
    }
}

fn mac(key: &hmac::Key, purpose: &str, data: &[u8]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(key);
    // The length keeps purpose and data apart.
    context.update(&(purpose.len() as u64).to_be_bytes());
    context.update(purpose.as_bytes());
    context.update(data);
    let mut out = [0; 32];
    out.iter_mut().zip(context.sign().as_ref()).for_each(|(to, from)| *to = *from);
    out
}

/// SHA-256, the form in which tokens are stored.
pub fn token_digest(token: &str) -> Vec<u8> {
    digest::digest(&digest::SHA256, token.as_bytes()).as_ref().to_vec()
}

/// A fresh secret for a client or a browser: 256 random bits, 43 characters that need no escaping anywhere.
pub fn fresh_secret(entropy: &dyn Entropy) -> String {
    URL_SAFE_NO_PAD.encode(random::<32>(entropy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    struct Counter(std::sync::atomic::AtomicU8);
    impl Entropy for Counter {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        }
    }

    fn keys(secret: u8, previous: Option<u8>) -> Keys {
        Keys::derive(&[secret; 32], previous.map(|b| [b; 32]).as_ref().map(|s| &s[..])).unwrap()
    }

    fn claims() -> Value {
        json!({"iss": "i", "aud": ["a"], "sub": "s", "exp": 10, "nbf": 0})
    }

    // Proves spec: guarantees#identity 9.
    #[test]
    fn refuses_a_short_secret() {
        assert!(Keys::derive(&[1; 31], None).is_err());
        assert!(Keys::derive(&[1; 32], Some(&[2; 31])).is_err());
    }

    // Proves spec: guarantees#identity 9, authorization#guarantees 27.
    #[test]
    fn a_token_of_one_kind_is_no_other() {
        let keys = keys(1, None);
        for made in TokenKind::ALL {
            let token = keys.sign(made, &claims()).unwrap();
            for read in TokenKind::ALL {
                let claims: Option<Value> = keys.verify(read, &token, "i", "a");
                assert_eq!(claims.is_some(), made == read, "{made:?} as {read:?}");
                assert_eq!(keys.names(read, &token), made == read);
            }
        }
    }

    // Proves spec: guarantees#identity 9, authorization#guarantees 27.
    #[test]
    fn checks_issuer_audience_and_the_presence_of_each_claim() {
        let keys = keys(1, None);
        let read = |claims: &Value, issuer: &str, audience: &str| -> Option<Value> {
            let token = keys.sign(TokenKind::Access, claims).unwrap();
            keys.verify(TokenKind::Access, &token, issuer, audience)
        };
        assert!(read(&claims(), "i", "a").is_some());
        assert!(read(&claims(), "other", "a").is_none());
        assert!(read(&claims(), "i", "other").is_none());
        for claim in ["iss", "aud", "sub", "exp", "nbf"] {
            let mut without = claims();
            without.as_object_mut().unwrap().remove(claim);
            assert!(read(&without, "i", "a").is_none(), "without {claim}");
        }
    }

    // Proves spec: guarantees#identity 9.
    #[test]
    fn accepts_only_hs256_and_known_keys() {
        let keys = keys(1, None);
        let secret = EncodingKey::from_secret(&derive(&[1; 32], "access").unwrap());
        let id = keys.present.token(TokenKind::Access).id.clone();
        let forge = |algorithm, kid: Option<String>| {
            let header = Header { kid, ..Header::new(algorithm) };
            let token = jsonwebtoken::encode(&header, &claims(), &secret).unwrap();
            keys.verify::<Value>(TokenKind::Access, &token, "i", "a")
        };
        assert!(forge(Algorithm::HS256, Some(id.clone())).is_some());
        assert!(forge(Algorithm::HS384, Some(id)).is_none());
        assert!(forge(Algorithm::HS256, Some("00000000".into())).is_none());
        assert!(forge(Algorithm::HS256, None).is_none());
    }

    #[test]
    fn a_fingerprint_is_no_key_and_no_digest() {
        let secret = [1; 32];
        let fingerprint = fingerprint(&secret).unwrap();
        assert_eq!(fingerprint, super::fingerprint(&secret).unwrap());
        assert_ne!(fingerprint, super::fingerprint(&[2; 32]).unwrap());
        for info in ["access", "refresh", "impersonation", "seal", "mac", "downloads"] {
            assert_ne!(fingerprint, derive(&secret, info).unwrap(), "{info}");
        }
        assert_ne!(fingerprint[..], *token_digest(std::str::from_utf8(&secret).unwrap()));
    }

    #[test]
    fn the_previous_secret_still_verifies_and_opens() {
        let (old, new) = (keys(1, None), keys(2, Some(1)));
        let entropy = Counter(0.into());
        let token = old.sign(TokenKind::Refresh, &claims()).unwrap();
        assert!(new.verify::<Value>(TokenKind::Refresh, &token, "i", "a").is_some());
        assert!(keys(2, None).verify::<Value>(TokenKind::Refresh, &token, "i", "a").is_none());
        let sealed = old.seal("signing key", b"plain", &entropy).unwrap();
        assert_eq!(new.open("signing key", &sealed).unwrap(), b"plain");
        assert!(keys(2, None).open("signing key", &sealed).is_err());
        assert!(new.is_mac("form", b"x", &old.mac("form", b"x")));
    }

    #[test]
    fn sealed_data_opens_for_its_purpose_only_and_unchanged() {
        let keys = keys(1, None);
        let entropy = Counter(0.into());
        let sealed = keys.seal("one", b"plain", &entropy).unwrap();
        assert_ne!(sealed, keys.seal("one", b"plain", &entropy).unwrap());
        assert!(keys.open("two", &sealed).is_err());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(keys.open("one", &changed).is_err(), "byte {at}");
            assert!(keys.open("one", &sealed[..at]).is_err(), "cut at {at}");
        }
        assert!(!keys.is_mac("two", b"x", &keys.mac("one", b"x")));
        assert!(!keys.is_mac("one", b"y", &keys.mac("one", b"x")));
    }
}
