//! Credentials and names as text: a text that is read as one says exactly what was sent, no secret prints, and an
//! accepted one is accepted again.

use bailiwick_domain::{
    Ts,
    validate::{ApiKeyToken, SystemKey, SystemSecret, email, phone, username, username_candidates},
};

/// See the top of the file.
pub fn tokens(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(key) = SystemKey::parse(&text) {
        assert_eq!(key.as_str(), text);
    }
    if let Some(secret) = SystemSecret::parse(&text) {
        assert_eq!(secret.reveal(), text);
        // The public part prints, and may be anything.
        let hidden = secret.secret.reveal();
        let is_looked_for = secret.is_long_enough() && !secret.public.contains(hidden);
        assert!(!is_looked_for || !format!("{secret:?}").contains(hidden));
    }
    if let Some(token) = ApiKeyToken::parse(&text) {
        assert!(ApiKeyToken::is_meant_by(&text));
        assert_eq!(token.reveal(text.starts_with("myo_")), text);
        assert!(!format!("{token:?}").contains(token.secret.reveal()));
    }
    // None of them is two things at once.
    let readings = [
        SystemKey::parse(&text).is_some(),
        SystemSecret::parse(&text).is_some(),
        ApiKeyToken::parse(&text).is_some(),
    ];
    assert!(readings.iter().filter(|is| **is).count() < 2, "{text:?}");
    if let Ok(address) = email(&text) {
        assert_eq!(
            email(address.as_str()).map(|again| again.as_str().to_owned()),
            Ok(address.as_str().to_owned())
        );
        for name in username_candidates(&address, Ts(0)).take(3) {
            assert_eq!(username(&name, None), Ok(()), "{name} of {text:?}");
        }
    }
    if let Ok(Some(number)) = phone(&text) {
        assert!(number.bytes().all(|digit| digit.is_ascii_digit()), "{text:?}");
        // Signs count for the least length, so a short number may be too short without them.
        assert!(number.len() < 7 || phone(&number) == Ok(Some(number.clone())), "{text:?}");
    }
}
