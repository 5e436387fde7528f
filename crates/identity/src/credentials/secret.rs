//! Secrets as stored: `hex(salt16):hex(SHA-256(salt ‖ secret part))` (spec: systems-interface#credentials). A secret
//! has 160 random bits, so a fast hash is enough.

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    digest::{Context, Digest, SHA256},
};
use bailiwick_domain::{
    Entropy,
    ports::{hex, random},
};

/// A stored hash, decoded.
#[derive(Clone, Debug)]
pub struct SaltedHash {
    salt: [u8; 16],
    digest: [u8; 32],
}

impl SaltedHash {
    /// From the stored form; none for any other text.
    pub fn parse(stored: &str) -> Option<SaltedHash> {
        let (salt, digest) = stored.split_once(':')?;
        Some(SaltedHash { salt: unhex(salt)?, digest: unhex(digest)? })
    }

    /// Of no secret.
    pub(super) const fn none() -> SaltedHash {
        SaltedHash { salt: [0; 16], digest: [0; 32] }
    }
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn digest(salt: &[u8; 16], secret: &str) -> Digest {
    let mut context = Context::new(&SHA256);
    context.update(salt);
    context.update(secret.as_bytes());
    context.finish()
}

/// The stored form of a secret part, with a fresh salt.
pub fn hash_secret(secret: &str, entropy: &dyn Entropy) -> String {
    let salt = random::<16>(entropy);
    format!("{}:{}", hex(&salt), hex(digest(&salt, secret).as_ref()))
}

/// Whether the secret part has this hash. Without a hash the work is the same and the result is false.
pub fn is_secret(stored: Option<&SaltedHash>, secret: &str) -> bool {
    let none = SaltedHash::none();
    let hash = stored.unwrap_or(&none);
    let equal = verify_slices_are_equal(digest(&hash.salt, secret).as_ref(), &hash.digest).is_ok();
    equal & stored.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Zeros;
    impl Entropy for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0xab);
        }
    }

    #[test]
    fn verifies_what_it_made_and_nothing_else() {
        let stored = hash_secret("correct", &Zeros);
        assert!(stored.starts_with(&"ab".repeat(16)) && stored.len() == 32 + 1 + 64);
        let parsed = SaltedHash::parse(&stored).unwrap();
        assert!(is_secret(Some(&parsed), "correct"));
        assert!(!is_secret(Some(&parsed), "wrong") && !is_secret(Some(&parsed), ""));
        assert!(!is_secret(None, "correct"));
        for broken in ["", ":", "ab:cd", "$argon2id$v=19$x", &stored[1..], &stored.replace('a', "g")] {
            assert!(SaltedHash::parse(broken).is_none(), "{broken}");
        }
    }
}
