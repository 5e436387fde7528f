//! JSON Web Tokens of an external issuer: parsed strictly, verified with the algorithms of spec:
//! authentication#identity-modes and no others. The key decides its algorithms, never the token alone: a key of one
//! kind verifies no token of another.

use aws_lc_rs::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

/// The most keys read from a set; issuers have a handful.
const MOST_KEYS: usize = 64;

/// The signature algorithm of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Es256,
    Es384,
    Es512,
    EdDsa,
}

impl Algorithm {
    fn parse(word: &str) -> Option<Algorithm> {
        Some(match word {
            "RS256" => Algorithm::Rs256,
            "RS384" => Algorithm::Rs384,
            "RS512" => Algorithm::Rs512,
            "PS256" => Algorithm::Ps256,
            "ES256" => Algorithm::Es256,
            "ES384" => Algorithm::Es384,
            "ES512" => Algorithm::Es512,
            "EdDSA" | "Ed25519" => Algorithm::EdDsa,
            _ => return None,
        })
    }
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Material {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// Uncompressed points.
    P256(Vec<u8>),
    P384(Vec<u8>),
    P521(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Material {
    /// Whether this key made the signature; false too when the algorithm does not fit the key.
    fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let rsa = |n, e, rules| RsaPublicKeyComponents { n, e }.verify(rules, message, signature).is_ok();
        let curve = |rules, point| UnparsedPublicKey::new(rules, point).verify(message, signature).is_ok();
        match (algorithm, self) {
            (Algorithm::Rs256, Material::Rsa { n, e }) => rsa(n, e, &signature::RSA_PKCS1_2048_8192_SHA256),
            (Algorithm::Rs384, Material::Rsa { n, e }) => rsa(n, e, &signature::RSA_PKCS1_2048_8192_SHA384),
            (Algorithm::Rs512, Material::Rsa { n, e }) => rsa(n, e, &signature::RSA_PKCS1_2048_8192_SHA512),
            (Algorithm::Ps256, Material::Rsa { n, e }) => rsa(n, e, &signature::RSA_PSS_2048_8192_SHA256),
            (Algorithm::Es256, Material::P256(point)) => curve(&signature::ECDSA_P256_SHA256_FIXED, point),
            (Algorithm::Es384, Material::P384(point)) => curve(&signature::ECDSA_P384_SHA384_FIXED, point),
            (Algorithm::Es512, Material::P521(point)) => curve(&signature::ECDSA_P521_SHA512_FIXED, point),
            (Algorithm::EdDsa, Material::Ed25519(key)) => {
                UnparsedPublicKey::new(&signature::ED25519, key).verify(message, signature).is_ok()
            }
            _ => false,
        }
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        use Algorithm::{EdDsa, Es256, Es384, Es512, Ps256, Rs256, Rs384, Rs512};
        match self {
            Material::Rsa { .. } => matches!(algorithm, Rs256 | Rs384 | Rs512 | Ps256),
            Material::P256(_) => algorithm == Es256,
            Material::P384(_) => algorithm == Es384,
            Material::P521(_) => algorithm == Es512,
            Material::Ed25519(_) => algorithm == EdDsa,
        }
    }
}

#[derive(Debug)]
struct Key {
    id: Option<String>,
    /// The only algorithm the key is for, when it names one.
    algorithm: Option<Algorithm>,
    material: Material,
}

/// The keys of an issuer that can verify signatures.
#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Deserialize)]
struct WrittenSet {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct WrittenKey {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Parses a set; keys of other kinds and uses are skipped. None when it is not a set.
    pub(super) fn read(text: &[u8]) -> Option<KeySet> {
        let written: WrittenSet = serde_json::from_slice(text).ok()?;
        let keys = written.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok());
        Some(KeySet(keys.filter_map(WrittenKey::usable).take(MOST_KEYS).collect()))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether one of the keys has signed the token. [`Signed::UnknownKey`] when another set might have the key.
    pub(super) fn judge(&self, token: &Jwt<'_>) -> Signed {
        let Some(algorithm) = token.algorithm else { return Signed::Never };
        let fits =
            |key: &&Key| key.material.fits(algorithm) && key.algorithm.is_none_or(|only| only == algorithm);
        let message = token.message.as_bytes();
        let verifies = |key: &Key| key.material.verifies(algorithm, message, &token.signature);
        match &token.key_id {
            Some(id) => {
                let mut named = self.0.iter().filter(|key| key.id.as_ref() == Some(id)).peekable();
                if named.peek().is_none() {
                    return Signed::UnknownKey;
                }
                if named.filter(fits).any(verifies) { Signed::Good } else { Signed::Never }
            }
            // The token names no key: if none of these fits, no other is known.
            None if self.0.iter().filter(fits).any(verifies) => Signed::Good,
            None => Signed::UnknownKey,
        }
    }
}

/// The verdict of a set of keys on a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signed {
    /// Signed by the issuer.
    Good,
    /// By a key that is not in the set.
    UnknownKey,
    /// Not, or in a way that is not accepted.
    Never,
}

impl WrittenKey {
    fn usable(self) -> Option<Key> {
        let for_signatures = self.usage.as_deref().is_none_or(|usage| usage == "sig")
            && self.key_ops.as_ref().is_none_or(|ops| ops.iter().any(|op| op == "verify"));
        if !for_signatures {
            return None;
        }
        let algorithm = match &self.alg {
            Some(word) => Some(Algorithm::parse(word)?),
            None => None,
        };
        let bytes = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
        let point = |length: usize| {
            let (x, y) = (bytes(&self.x)?, bytes(&self.y)?);
            (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
        };
        let material = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => Material::Rsa { n: magnitude(bytes(&self.n)?), e: magnitude(bytes(&self.e)?) },
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("EC", Some("P-521")) => Material::P521(point(66)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(&self.x).filter(|x| x.len() == 32)?),
            _ => return None,
        };
        Some(Key { id: self.kid, algorithm, material })
    }
}

/// Without leading zeros, which some issuers write.
fn magnitude(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros);
    bytes
}

/// The claims of a token; trusted only once its signature is verified.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    pub(super) iss: Option<String>,
    pub(super) sub: Option<String>,
    pub(super) aud: Option<Value>,
    pub(super) exp: Option<f64>,
    pub(super) nbf: Option<f64>,
    /// When the person signed in at the issuer (RFC 9068 §2.2.1, OpenID Connect Core §2).
    pub(super) auth_time: Option<Value>,
    pub(super) azp: Option<String>,
    pub(super) client_id: Option<String>,
    /// The client at Okta.
    pub(super) cid: Option<String>,
    pub(super) email: Option<String>,
    pub(super) email_verified: Option<Value>,
    /// What an ID token hands back to the client that asked for it.
    pub(super) nonce: Option<String>,
    /// The kind of a token at Keycloak.
    typ: Option<Value>,
    /// The kind of a token at Cognito.
    token_use: Option<Value>,
    /// The kind of a token at other issuers and in introspection.
    token_type: Option<Value>,
    /// Bound to a key of the client: not a bearer token.
    cnf: Option<IgnoredAny>,
    /// Only ID tokens have these.
    at_hash: Option<IgnoredAny>,
    c_hash: Option<IgnoredAny>,
    /// Only logout and event tokens have it.
    pub(super) events: Option<Value>,
    /// When it was made.
    pub(super) iat: Option<Value>,
    /// The session at the issuer.
    pub(super) sid: Option<Value>,
}

impl Claims {
    /// Whether the claims allow this to be a bearer access token, usable by any holder.
    pub(super) fn is_bearer_access(&self) -> bool {
        let kind = [&self.typ, &self.token_use, &self.token_type].into_iter().flatten().all(is_access);
        kind && self.cnf.is_none() && self.at_hash.is_none() && self.c_hash.is_none() && self.events.is_none()
    }
}

/// Whether this token type denotes a bearer access token. Issuers put the token's purpose and its method of use in the
/// same claim.
pub(super) fn is_access(word: &Value) -> bool {
    let known = ["bearer", "access", "access_token", "at+jwt", "application/at+jwt"];
    word.as_str().is_some_and(|word| known.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// A parsed token.
pub(super) struct Jwt<'a> {
    /// None: one that is not accepted.
    algorithm: Option<Algorithm>,
    key_id: Option<String>,
    /// The signed bytes.
    message: &'a str,
    signature: Vec<u8>,
    /// Its header says that it is an access token (RFC 9068 §2.1).
    pub(super) is_typed_access: bool,
    /// Unverified.
    pub(super) claims: Claims,
}

/// The form of a token.
pub(super) enum Shape<'a> {
    /// Not a JWT: only the issuer can read it.
    Opaque,
    /// A JWT that cannot be used.
    Unusable,
    Jwt(Box<Jwt<'a>>),
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<IgnoredAny>,
}

/// What the header may call a token that a client shows.
const SHOWN: [&str; 4] = ["jwt", "application/jwt", "at+jwt", "application/at+jwt"];
/// What it may call a logout token (OpenID Connect Back-Channel Logout 1.0 §2.4).
const LOGOUT: [&str; 4] = ["jwt", "application/jwt", "logout+jwt", "application/logout+jwt"];

/// Parses a logout token.
pub(super) fn read_logout(token: &str) -> Option<Box<Jwt<'_>>> {
    match parse(token, &LOGOUT) {
        Shape::Jwt(jwt) => Some(jwt),
        Shape::Opaque | Shape::Unusable => None,
    }
}

/// Parses a token. Every text with JSON objects in the places of header and claims is a JWT, signed or not.
pub(super) fn read(token: &str) -> Shape<'_> {
    parse(token, &SHOWN)
}

fn parse<'t>(token: &'t str, types: &[&str]) -> Shape<'t> {
    let mut parts = token.split('.');
    let (Some(head), Some(body), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Shape::Opaque;
    };
    let (Ok(head_text), Ok(body_text)) = (URL_SAFE_NO_PAD.decode(head), URL_SAFE_NO_PAD.decode(body)) else {
        return Shape::Opaque;
    };
    let is_object = |text: &[u8]| serde_json::from_slice::<serde_json::Map<String, Value>>(text).is_ok();
    if !is_object(&head_text) || !is_object(&body_text) {
        return Shape::Opaque;
    }
    let read = || {
        let header: Header = serde_json::from_slice(&head_text).ok()?;
        let claims: Claims = serde_json::from_slice(&body_text).ok()?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let kind =
            header.typ.as_deref().is_none_or(|typ| types.iter().any(|known| typ.eq_ignore_ascii_case(known)));
        let is_typed_access = header.typ.as_deref().is_some_and(|typ| {
            ["at+jwt", "application/at+jwt"].iter().any(|known| typ.eq_ignore_ascii_case(known))
        });
        // An extension that must be understood is not (RFC 7515 §4.1.11).
        (kind && header.crit.is_none()).then(|| Jwt {
            algorithm: Algorithm::parse(&header.alg),
            key_id: header.kid,
            message: &token[..head.len() + 1 + body.len()],
            signature,
            is_typed_access,
            claims,
        })
    };
    read().map_or(Shape::Unusable, |jwt| Shape::Jwt(Box::new(jwt)))
}

#[cfg(test)]
#[path = "jwt_tests.rs"]
mod tests;
