//! An authenticator in software that can lie: ES256, no attestation (Web Authentication Level 3, sections 5.8.1, 6.1 and 6.5).

use aws_lc_rs::{
    digest,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 4;
const ATTESTED: u8 = 64;

/// The data of a WebAuthn ceremony: right unless a test changes it.
#[derive(Clone)]
pub struct Ceremony {
    pub origin: String,
    pub site: String,
    pub kind: Option<&'static str>,
    pub challenge: Option<String>,
    pub flags: u8,
    pub counter: u32,
    pub user: Option<Vec<u8>>,
    pub breaks_signature: bool,
}

impl Default for Ceremony {
    fn default() -> Ceremony {
        Ceremony {
            origin: super::LOCALHOST.to_owned(),
            site: "localhost".to_owned(),
            kind: None,
            challenge: None,
            flags: USER_PRESENT | USER_VERIFIED,
            counter: 0,
            user: None,
            breaks_signature: false,
        }
    }
}

impl Ceremony {
    /// The person was there and has not proved who they are.
    pub fn unverified() -> Ceremony {
        Ceremony { flags: USER_PRESENT, ..Ceremony::default() }
    }
}

pub struct Authenticator {
    key: EcdsaKeyPair,
    pub id: Vec<u8>,
    user: Vec<u8>,
}

pub fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A CBOR head of this major type.
fn head(major: u8, n: usize) -> Vec<u8> {
    match u8::try_from(n) {
        Ok(n) if n < 24 => vec![(major << 5) | n],
        Ok(n) => vec![(major << 5) | 24, n],
        Err(_) => [&[(major << 5) | 25][..], &u16::try_from(n).unwrap().to_be_bytes()].concat(),
    }
}

fn cbor_bytes(bytes: &[u8]) -> Vec<u8> {
    [head(2, bytes.len()), bytes.to_vec()].concat()
}

fn cbor_text(text: &str) -> Vec<u8> {
    [head(3, text.len()), text.as_bytes().to_vec()].concat()
}

impl Authenticator {
    /// With an id that follows from the name: ids have at least 16 bytes (section 4, credential id).
    pub fn new(name: &str) -> Authenticator {
        let id = digest::digest(&digest::SHA256, name.as_bytes());
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        Authenticator { key, id: id.as_ref().to_vec(), user: Vec::new() }
    }

    fn client_data(&self, usual: &str, options: &Value, ceremony: &Ceremony) -> Vec<u8> {
        let challenge =
            ceremony.challenge.clone().unwrap_or(options["challenge"].as_str().unwrap().to_owned());
        let kind = ceremony.kind.unwrap_or(usual);
        // The order of section 5.8.1.1.
        format!(
            "{{\"type\":\"{kind}\",\"challenge\":\"{challenge}\",\"origin\":\"{}\",\"crossOrigin\":false}}",
            ceremony.origin
        )
        .into_bytes()
    }

    fn data(&self, ceremony: &Ceremony, flags: u8) -> Vec<u8> {
        let site = digest::digest(&digest::SHA256, ceremony.site.as_bytes());
        [site.as_ref(), &[flags], &ceremony.counter.to_be_bytes()].concat()
    }

    /// Makes a passkey: the browser's answer.
    pub fn make(&mut self, options: &Value, ceremony: &Ceremony) -> Value {
        self.user = URL_SAFE_NO_PAD.decode(options["user"]["id"].as_str().unwrap()).unwrap();
        let point = self.key.public_key().as_ref();
        let key = [
            head(5, 5),
            vec![1, 2, 3, 0x26, 0x20, 1, 0x21],
            cbor_bytes(&point[1..33]),
            vec![0x22],
            cbor_bytes(&point[33..65]),
        ]
        .concat();
        let id = &self.id;
        let length = u16::try_from(id.len()).unwrap().to_be_bytes();
        let data =
            [self.data(ceremony, ceremony.flags | ATTESTED), vec![0; 16], length.to_vec(), id.clone(), key]
                .concat();
        let attestation = [
            head(5, 3),
            cbor_text("fmt"),
            cbor_text("none"),
            cbor_text("attStmt"),
            head(5, 0),
            cbor_text("authData"),
            cbor_bytes(&data),
        ]
        .concat();
        json!({
            "id": encoded(id),
            "rawId": encoded(id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encoded(&self.client_data("webauthn.create", options, ceremony)),
                "attestationObject": encoded(&attestation),
                "transports": ["internal"],
            },
        })
    }

    /// Proves it: the browser's answer.
    pub fn prove(&self, options: &Value, ceremony: &Ceremony) -> Value {
        let client_data = self.client_data("webauthn.get", options, ceremony);
        let data = self.data(ceremony, ceremony.flags);
        let signed = [&data[..], digest::digest(&digest::SHA256, &client_data).as_ref()].concat();
        let mut signature = self.key.sign(&SystemRandom::new(), &signed).unwrap().as_ref().to_vec();
        if ceremony.breaks_signature {
            *signature.last_mut().unwrap() ^= 1;
        }
        json!({
            "id": encoded(&self.id),
            "rawId": encoded(&self.id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encoded(&client_data),
                "authenticatorData": encoded(&data),
                "signature": encoded(&signature),
                "userHandle": encoded(ceremony.user.as_deref().unwrap_or(&self.user)),
            },
        })
    }
}
