//! Parses the `Authorization` header of spec: systems-interface#authentication, cases 1 to 4.

use bailiwick_domain::{Error, Result};
use base64::{Engine, engine::general_purpose::STANDARD};

/// Key and password as presented.
pub(crate) struct Basic {
    /// The text before the first colon. Bytes that are not text cannot be a key.
    pub key: String,
    password: Vec<u8>,
}

impl Basic {
    /// The password, where it is text.
    pub fn password(&self) -> Option<&str> {
        std::str::from_utf8(&self.password).ok()
    }
}

pub(crate) fn parse(authorization: Option<&str>) -> Result<Basic> {
    let header = authorization.ok_or_else(|| Error::unauthenticated("authentication required"))?;
    let encoded = header
        .split_at_checked(6)
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Basic "))
        .map(|(_, rest)| rest.trim())
        .ok_or_else(|| Error::unauthenticated("invalid authentication format"))?;
    let mut decoded =
        STANDARD.decode(encoded).map_err(|_| Error::unauthenticated("invalid authentication encoding"))?;
    let colon = decoded
        .iter()
        .position(|b| *b == b':')
        .ok_or_else(|| Error::unauthenticated("invalid credentials format"))?;
    let password = decoded.split_off(colon + 1);
    decoded.pop();
    Ok(Basic { key: String::from_utf8(decoded).unwrap_or_default(), password })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(header: Option<&str>) -> String {
        match parse(header) {
            Err(Error::Unauthenticated { message, .. }) => message.into_owned(),
            _ => "accepted".to_owned(),
        }
    }

    #[test]
    fn the_four_cases_in_order() {
        assert_eq!(refusal(None), "authentication required");
        for header in ["", "Basic", "Bearer x", "Basicx y", "Digest abcdef", "Bäsic YTpi"] {
            assert_eq!(refusal(Some(header)), "invalid authentication format", "{header}");
        }
        for header in ["Basic *", "Basic YTp", "Basic YTpi YTpi", "basic YTpi="] {
            assert_eq!(refusal(Some(header)), "invalid authentication encoding", "{header}");
        }
        assert_eq!(refusal(Some("Basic ")), "invalid credentials format");
        assert_eq!(refusal(Some("Basic YWI=")), "invalid credentials format");
    }

    #[test]
    fn splits_at_the_first_colon() {
        for header in ["Basic YTpiOmM=", "bAsIc  YTpiOmM= "] {
            let basic = parse(Some(header)).unwrap();
            assert_eq!((basic.key.as_str(), basic.password()), ("a", Some("b:c")));
        }
        let binary = parse(Some("Basic /zr/")).unwrap();
        assert_eq!((binary.key.as_str(), binary.password()), ("", None));
        let empty = parse(Some("Basic Og==")).unwrap();
        assert_eq!((empty.key.as_str(), empty.password()), ("", Some("")));
    }
}
