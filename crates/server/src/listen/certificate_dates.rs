//! The validity period of a certificate (X.509, RFC 5280 §4.1), which rustls does not report. No other field is read.

use bailiwick_domain::Ts;
use jiff::{civil::DateTime, fmt::strtime, tz::Offset};

/// The times of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first moment.
    pub from: Ts,
    /// The last one.
    pub until: Ts,
}

const SEQUENCE: u8 = 0x30;
/// `[0]`, the version; absent in certificates of version 1.
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The times; none when the certificate cannot be parsed.
pub fn validity(certificate: &[u8]) -> Option<Validity> {
    let (mut certificate, _) = inside(certificate, SEQUENCE)?;
    let (body, _) = inside(certificate, SEQUENCE)?;
    certificate = body;
    let rest = inside(certificate, VERSION).map_or(certificate, |(_, rest)| rest);
    // Serial number, algorithm, issuer.
    let rest = (0..3).try_fold(rest, |rest, _| element(rest).map(|(_, _, rest)| rest))?;
    let (times, _) = inside(rest, SEQUENCE)?;
    let (kind, from, times) = element(times)?;
    let (other, until, _) = element(times)?;
    Some(Validity { from: time(kind, from)?, until: time(other, until)? })
}

/// The content of the first element, if it is of this kind, and the rest.
fn inside(bytes: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    element(bytes).filter(|(found, ..)| *found == kind).map(|(_, content, rest)| (content, rest))
}

/// Kind and content of the first element, and the rest.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&kind, bytes) = bytes.split_first()?;
    let (&first, mut bytes) = bytes.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let digits;
        (digits, bytes) = bytes.split_at_checked(usize::from(first & 0x7f)).filter(|(d, _)| d.len() <= 4)?;
        length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
    }
    let (content, rest) = bytes.split_at_checked(length)?;
    Some((kind, content, rest))
}

fn time(kind: u8, text: &[u8]) -> Option<Ts> {
    let text = std::str::from_utf8(text).ok()?;
    let text = match (kind, text.get(..2)?.parse::<u8>().ok()?) {
        (UTC_TIME, ..50) => format!("20{text}"),
        (UTC_TIME, _) => format!("19{text}"),
        (GENERALIZED_TIME, _) => text.to_owned(),
        _ => return None,
    };
    let time: DateTime = strtime::parse("%Y%m%d%H%M%SZ", text).ok()?.to_datetime().ok()?;
    Some(Offset::UTC.to_timestamp(time).ok()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(from: i32, until: i32) -> Vec<u8> {
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(from, 3, 4);
        parameters.not_after = rcgen::date_time_ymd(until, 3, 4);
        let key = rcgen::KeyPair::generate().unwrap();
        parameters.self_signed(&key).unwrap().der().to_vec()
    }

    fn days(certificate: &[u8]) -> Option<[String; 2]> {
        validity(certificate).map(|v| [v.from.rfc3339(0), v.until.rfc3339(0)])
    }

    #[test]
    fn both_forms_of_time() {
        for (from, until) in [(1999, 2049), (2026, 2050), (2050, 2999)] {
            let wanted = [from, until].map(|year| format!("{year}-03-04T00:00:00Z"));
            assert_eq!(days(&made(from, until)), Some(wanted));
        }
    }

    #[test]
    fn nothing_of_what_is_cut_or_something_else() {
        let whole = made(2026, 2027);
        let dates = validity(&whole);
        assert!(dates.is_some());
        for end in 0..whole.len() {
            assert!(validity(&whole[..end]).is_none_or(|found| Some(found) == dates), "cut at {end}");
        }
        for other in
            [&b""[..], b"no certificate at all", &[0x30, 0xff, 1, 2], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]]
        {
            assert_eq!(validity(other), None);
        }
    }
}
