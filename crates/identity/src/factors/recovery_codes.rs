//! Recovery codes: ten, each usable once, shown once. A code has 79 random bits, so its plain digest reveals nothing
//! and guessing it is hopeless.

use crate::Identity;
use bailiwick_domain::{Result, UserId, ports::random};
use bailiwick_platform::keys::token_digest;
use bailiwick_store::{Tx, factors};

/// How many there are.
const CODES: usize = 10;

/// Without letters and digits that look alike.
const LETTERS: &[u8; 31] = b"abcdefghjkmnpqrstuvwxyz23456789";

const LETTERS_OF_A_CODE: usize = 16;

fn fresh(service: &Identity) -> String {
    let bytes = random::<LETTERS_OF_A_CODE>(&*service.platform.entropy);
    let letter = |byte: &u8| char::from(*LETTERS.get(usize::from(*byte) % LETTERS.len()).unwrap_or(&b'a'));
    let letters: Vec<char> = bytes.iter().map(letter).collect();
    let groups = letters.chunks(4).map(|group| group.iter().collect::<String>());
    groups.collect::<Vec<_>>().join("-")
}

/// The digest of a code, however it was typed; none for a text that is no code.
fn digest_of(typed: &str) -> Option<Vec<u8>> {
    let letters: String =
        typed.chars().filter(|c| !c.is_whitespace() && *c != '-').map(|c| c.to_ascii_lowercase()).collect();
    let is_code = letters.len() == LETTERS_OF_A_CODE && letters.bytes().all(|c| LETTERS.contains(&c));
    is_code.then(|| token_digest(&format!("recovery code {letters}")))
}

/// Replaces the user's codes by new ones, which are shown only now.
pub(super) async fn renew(service: &Identity, tx: &mut Tx, user: UserId) -> Result<Vec<String>> {
    let codes: Vec<String> = (0..CODES).map(|_| fresh(service)).collect();
    let hashes: Vec<Vec<u8>> = codes.iter().filter_map(|code| digest_of(code)).collect();
    factors::set_recovery_codes(tx, user, &hashes).await?;
    Ok(codes)
}

/// Uses a code up. False when it is none of the user's.
pub(super) async fn take(tx: &mut Tx, user: UserId, typed: &str) -> Result<bool> {
    match digest_of(typed) {
        Some(hash) => Ok(factors::use_recovery_code(tx, user, &hash).await?),
        None => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_may_be_typed_in_any_way() {
        let stored = digest_of("abcd-efgh-jkmn-pqr2");
        assert!(stored.is_some());
        for typed in ["ABCD-EFGH-JKMN-PQR2", " abcd efgh jkmn pqr2 ", "abcdefghjkmnpqr2"] {
            assert_eq!(digest_of(typed), stored, "{typed}");
        }
        for wrong in ["", "abcd-efgh-jkmn-pqr", "abcd-efgh-jkmn-pqro", "abcd-efgh-jkmn-pqr22", "123456"] {
            assert_eq!(digest_of(wrong), None, "{wrong}");
        }
    }
}
