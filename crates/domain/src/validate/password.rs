//! Passwords: strength and generation (spec: account#password-strength).

use super::Rule;
use crate::Entropy;
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;

/// Fewest and most bytes of a password.
const BYTES: std::ops::RangeInclusive<usize> = 12..=128;

/// Equal characters in a row that are too many.
const REPEATS: usize = 4;

/// Words no password may contain, in any case.
const WEAK_WORDS: [&str; 10] =
    ["password", "123456", "qwerty", "abc123", "admin", "letmein", "welcome", "monkey", "dragon", "master"];

/// Ascending runs; three consecutive characters of one are weak.
const RUNS: [&str; 2] = ["01234567890", "abcdefghijklmnopqrstuvwxyz"];

const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &[u8] = b"0123456789";
const SPECIAL: &[u8] = b"!@#$%^&*()_+-=[]{}|;:,.<>?~";

/// Length of a generated password.
const GENERATED_CHARS: usize = 14;

/// The form in which passwords are hashed and compared, so that one password typed on two keyboards is one:
/// OpaqueString of RFC 8265, section 4.2 (spaces of any script as U+0020, then NFC).
pub fn normal_password(value: &str) -> Cow<'_, str> {
    if value.is_ascii() {
        return value.into();
    }
    let is_space = |c: char| c.is_whitespace() && !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}');
    value.chars().map(|c| if is_space(c) { ' ' } else { c }).nfc().collect::<String>().into()
}

/// Strength of a password in its [normal form](normal_password): the first failing code of spec:
/// account#password-strength, `required` when empty.
pub fn password(value: &str) -> Rule<()> {
    if value.is_empty() {
        return Err("required");
    }
    let value = &*normal_password(value);
    if value.contains(char::is_control) {
        return Err("invalid_format");
    }
    let has = |class: fn(&u8) -> bool| value.as_bytes().iter().any(class);
    if value.len() < *BYTES.start() {
        Err("min_length")
    } else if value.len() > *BYTES.end() {
        Err("max_length")
    } else if !has(u8::is_ascii_uppercase) {
        Err("missing_uppercase")
    } else if !has(u8::is_ascii_lowercase) {
        Err("missing_lowercase")
    } else if !has(u8::is_ascii_digit) {
        Err("missing_digit")
    } else if !has(u8::is_ascii_punctuation) {
        Err("missing_special_char")
    } else if has_repeats(value) {
        Err("too_many_repeating_chars")
    } else if has_weak_pattern(value) {
        Err("contains_weak_patterns")
    } else {
        Ok(())
    }
}

fn has_repeats(value: &str) -> bool {
    let mut before = None;
    let mut count = 0;
    value.chars().any(|c| {
        count = if before == Some(c) { count + 1 } else { 1 };
        before = Some(c);
        count >= REPEATS
    })
}

fn has_weak_pattern(value: &str) -> bool {
    let lower = value.to_lowercase();
    WEAK_WORDS.iter().any(|word| lower.contains(word))
        || RUNS.iter().any(|run| {
            // The runs are ASCII, so every window of three bytes is text.
            run.as_bytes().windows(3).any(|part| lower.as_bytes().windows(3).any(|have| have == part))
        })
}

/// A password that passes [`password`]: 14 characters, at least 3 lower, 3 upper, 2 digits and 2 special ones, in
/// random order, drawn again until the rules pass (spec: account#password-strength).
///
/// More than nine in ten draws pass. With a source that repeats the same bytes for ever, it may never return.
pub fn generate_password(entropy: &dyn Entropy) -> String {
    loop {
        let candidate = draw_password(entropy);
        if password(&candidate).is_ok() {
            return candidate;
        }
    }
}

fn draw_password(entropy: &dyn Entropy) -> String {
    let all = [LOWER, UPPER, DIGITS, SPECIAL].concat();
    let mut chars = Vec::with_capacity(GENERATED_CHARS);
    for (alphabet, count) in [(LOWER, 3), (UPPER, 3), (DIGITS, 2), (SPECIAL, 2), (all.as_slice(), 4)] {
        for _ in 0..count {
            chars.push(char::from(alphabet[below(entropy, alphabet.len())]));
        }
    }
    for last in (1..chars.len()).rev() {
        chars.swap(last, below(entropy, last + 1));
    }
    chars.into_iter().collect()
}

/// A random index below `bound` (at most a few dozen: the bias of one part in 2^58 does not matter).
fn below(entropy: &dyn Entropy, bound: usize) -> usize {
    let random = u128::from(u64::from_le_bytes(crate::ports::random(entropy)));
    usize::try_from((random * bound as u128) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A reproducible source: enough to see different draws.
    struct Seeded(AtomicU64);

    impl Entropy for Seeded {
        fn fill(&self, bytes: &mut [u8]) {
            for byte in bytes {
                let n = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
                let mixed = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                *byte = (mixed >> 56) as u8;
            }
        }
    }

    #[test]
    fn every_code_in_its_order() {
        let longest = format!("aZ7!{}", "xQ".repeat(62));
        assert_eq!(longest.len(), 128);
        for (value, expected) in [
            ("", Err("required")),
            ("Zx9!kW2?rT5", Err("min_length")),
            ("Zx9!kW2?rT5b", Ok(())),
            (&longest, Ok(())),
            (&format!("{longest}x"), Err("max_length")),
            ("zx9!kw2?rt5b", Err("missing_uppercase")),
            ("ZX9!KW2?RT5B", Err("missing_lowercase")),
            ("Zxp!kWp?rTpb", Err("missing_digit")),
            ("Zx9pkW2prT5b", Err("missing_special_char")),
            // A space and a letter beyond ASCII are no special characters.
            ("Zx9 kW2èrT5b", Err("missing_special_char")),
            ("Zx9!kkkkrT5b", Err("too_many_repeating_chars")),
            ("Zx9!kkk?rT5b", Ok(())),
            ("Zx9!kkKkrT5b", Ok(())),
            ("Zx9!kèèèèT5b", Err("too_many_repeating_chars")),
            // Only the first failing rule is reported.
            ("password", Err("min_length")),
            ("passwordpassword", Err("missing_uppercase")),
            ("Passwordd!!!!9", Err("too_many_repeating_chars")),
            ("Zx9!kW2?r\0T5b", Err("invalid_format")),
            ("Zx9!kW2?r\tT5b", Err("invalid_format")),
        ] {
            assert_eq!(password(value), expected, "{value}");
        }
        // 12 bytes, not 12 characters.
        assert_eq!(password("Zx9!kèèT5b"), Ok(()));
    }

    #[test]
    fn one_password_has_one_form() {
        for (typed, form) in [
            ("Caff\u{e9} 9!", "Caff\u{e9} 9!"),
            ("Caffe\u{301} 9!", "Caff\u{e9} 9!"),
            ("a\u{a0}b\u{3000}c\u{2009}d", "a b c d"),
            // Neither case nor width is mapped.
            ("\u{ff21}\u{df}", "\u{ff21}\u{df}"),
            ("plain\t", "plain\t"),
        ] {
            assert_eq!(normal_password(typed), form);
            assert_eq!(normal_password(form), form);
        }
    }

    #[test]
    fn every_weak_pattern() {
        for word in WEAK_WORDS {
            let upper = word.to_uppercase();
            assert_eq!(password(&format!("Zk9!wT7?{word}")), Err("contains_weak_patterns"), "{word}");
            assert_eq!(password(&format!("Zk9!wt7?{upper}q")), Err("contains_weak_patterns"), "{upper}");
        }
        for run in ["012", "123", "789", "890", "abc", "xyz", "DEF", "hIj"] {
            assert_eq!(password(&format!("Zk9!wT7?{run}kk")), Err("contains_weak_patterns"), "{run}");
        }
        for fine in ["901", "321", "cba", "yza", "ace", "12a"] {
            assert_eq!(password(&format!("Zk9!wT7?{fine}kk")), Ok(()), "{fine}");
        }
    }

    #[test]
    fn generated_ones_differ() {
        let source = Seeded(AtomicU64::new(1));
        let mut made: Vec<_> = (0..500).map(|_| generate_password(&source)).collect();
        made.sort_unstable();
        made.dedup();
        assert_eq!(made.len(), 500);
    }

    proptest! {
        #[test]
        fn generated_ones_obey_the_rules(seed in any::<u64>()) {
            let made = generate_password(&Seeded(AtomicU64::new(seed)));
            let count = |alphabet: &[u8]| made.bytes().filter(|b| alphabet.contains(b)).count();
            prop_assert_eq!(password(&made), Ok(()));
            prop_assert_eq!(made.len(), 14);
            prop_assert!(count(LOWER) >= 3 && count(UPPER) >= 3 && count(DIGITS) >= 2 && count(SPECIAL) >= 2);
            prop_assert_eq!(count(LOWER) + count(UPPER) + count(DIGITS) + count(SPECIAL), 14);
        }

        #[test]
        fn any_text_has_an_answer(value in any::<String>()) {
            let _ = password(&value);
        }
    }
}
