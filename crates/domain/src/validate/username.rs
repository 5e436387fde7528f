//! User names: the rule and the derivation from an e-mail address (spec: users#username).

use super::{Email, Rule};
use crate::Ts;

/// Longest user name, in characters.
pub const MAX_USERNAME_CHARS: usize = 128;

/// Highest number appended before the time is.
const LAST_NUMBER: u32 = 1000;

/// Reserved in any case. The one user name that the API never assigns (spec: authorization#owner-organization).
pub const OWNER_USERNAME: &str = "owner";

/// A user name (spec: users#username): `cannot_be_empty`, `invalid_format`, or the text about the reserved `owner`.
/// `present` is the name the user already has: unchanged, it always passes.
pub fn username(value: &str, present: Option<&str>) -> Rule<()> {
    if present == Some(value) {
        return Ok(());
    }
    if value.is_empty() {
        return Err("cannot_be_empty");
    }
    let mut bytes = value.bytes();
    let starts_well = bytes.next().is_some_and(starts_a_name);
    if !starts_well || !bytes.all(continues_a_name) || value.len() > MAX_USERNAME_CHARS {
        return Err("invalid_format");
    }
    if value.eq_ignore_ascii_case(OWNER_USERNAME) {
        return Err("username 'owner' is reserved and cannot be used");
    }
    Ok(())
}

const fn starts_a_name(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

const fn continues_a_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// The names to try for a user without one, in order: from the local part, then with `_1` … `_1000`, then with the
/// seconds of `now`. Long ones are cut so that each obeys [`username`]; the reserved name is left out.
pub fn username_candidates(email: &Email, now: Ts) -> impl Iterator<Item = String> {
    let base = derived_base(email.local_part());
    let numbers = (1..=LAST_NUMBER).map(|n| format!("_{n}"));
    std::iter::once(String::new())
        .chain(numbers)
        .chain(std::iter::once(format!("_{}", now.secs())))
        .map(move |suffix| {
            let base_chars = base.len().min(MAX_USERNAME_CHARS - suffix.len());
            format!("{}{suffix}", &base[..base_chars])
        })
        .filter(|name| !name.eq_ignore_ascii_case(OWNER_USERNAME))
}

/// ASCII only, so it may be cut anywhere.
fn derived_base(local_part: &str) -> String {
    let mut base: String =
        local_part.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if !base.bytes().next().is_some_and(starts_a_name) {
        base.insert(0, '_');
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Ts = Ts::from_secs(1_772_355_600);

    fn candidates(address: &str) -> Vec<String> {
        username_candidates(&Email::stored(address), NOW).collect()
    }

    #[test]
    fn rule() {
        let longest = "a".repeat(128);
        for name in ["a", "_", "_9", "Mario_Rossi2", "owners", &longest] {
            assert_eq!(username(name, None), Ok(()), "{name}");
        }
        let longer = "a".repeat(129);
        for name in ["9a", "-a", "a.b", "a b", "é", "aé", "a\0", "a\n", &longer] {
            assert_eq!(username(name, None), Err("invalid_format"), "{name}");
        }
        assert_eq!(username("", None), Err("cannot_be_empty"));
        let reserved = Err("username 'owner' is reserved and cannot be used");
        for name in ["owner", "Owner", "OWNER"] {
            assert_eq!(username(name, None), reserved);
            assert_eq!(username(name, Some("other")), reserved);
            assert_eq!(username(name, Some(name)), Ok(()));
        }
    }

    #[test]
    fn derivation() {
        let all = candidates("mario.rossi+x@example.org");
        assert_eq!(all.len(), 1002);
        assert_eq!(all[..3], ["mario_rossi_x", "mario_rossi_x_1", "mario_rossi_x_2"]);
        assert_eq!(all[1000..], ["mario_rossi_x_1000", "mario_rossi_x_1772355600"]);
        assert_eq!(candidates("9lives@example.org")[0], "_9lives");
        assert_eq!(candidates("_x@example.org")[0], "_x");
        assert_eq!(candidates("-x@example.org")[0], "_x");
        assert_eq!(candidates("èa@example.org")[0], "_a");
        assert_eq!(candidates("Owner@example.org")[0], "Owner_1");
    }

    #[test]
    fn long_local_parts_leave_room_for_the_number() {
        let all = candidates(&format!("{}@x.example", "é".repeat(32)));
        assert!(all.iter().all(|name| name.len() <= 128));
        assert!(all[1000].ends_with("__1000"));
    }

    proptest! {
        #[test]
        fn candidates_obey_the_rule_and_differ(local in "[a-zA-Z0-9à-öø-ü_+-]{1,32}") {
            let mut all = candidates(&format!("{local}@x.example"));
            for name in &all {
                prop_assert_eq!(username(name, None), Ok(()));
            }
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), count);
        }
    }
}
