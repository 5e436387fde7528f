//! Matchers, expressions, times and addresses as text. A text that can be read is written and read back as itself, an
//! expression and its opposite never agree, and nothing takes more than its bound. The first byte says what the rest
//! is; a value to be matched follows a zero byte.

use bailiwick_alertmanager::{
    AlertsQuery, Labels, Limits, Matcher, Nanos, Op, SilencesQuery, re2,
    webhook_target::{AllowedHosts, Target},
};

/// See the top of the file.
pub fn matchers(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let middle = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let text = String::from_utf8_lossy(&rest[..middle]);
    let value = String::from_utf8_lossy(rest.get(middle + 1..).unwrap_or_default());
    match kind % 5 {
        0 => matcher(&rest[..middle], &value),
        1 => expression(&text, &value),
        2 => time(&text),
        3 => address(&text),
        _ => query(&text),
    }
}

fn matcher(text: &[u8], value: &str) {
    let Ok(read) = Matcher::parse(text) else { return };
    assert_eq!(Matcher::parse(read.to_string().as_bytes()).as_ref(), Ok(&read));
    let labels: Labels = [(read.name.as_str(), value)].into_iter().collect();
    let opposite = Op::from_flags(read.op.is_regex(), !read.op.is_equal());
    let other = Matcher { op: opposite, ..read.clone() };
    match (read.clone().compile(), other.compile()) {
        (Ok(one), Ok(other)) => {
            assert_ne!(one.matches(&labels), other.matches(&labels));
            if !read.op.is_regex() {
                assert_eq!(one.matches_value(&read.value), read.op.is_equal());
            }
        }
        (one, other) => assert_eq!(one.is_ok(), other.is_ok()),
    }
}

fn expression(text: &str, value: &str) {
    let Ok(regex) = re2::anchored(text) else { return };
    // One value at a time or many, the answer is the same.
    assert_eq!(regex.is_match(value), regex.scan()(value), "{text:?} in {value:?}");
}

fn time(text: &str) {
    let Some(read) = Nanos::parse(text) else { return };
    assert_eq!(Nanos::parse(&read.exact()), Some(read));
    let millis = Nanos::parse(&read.millis()).expect("a time that is written can be read");
    assert!(millis <= read && read.minus(std::time::Duration::from_millis(1)) < millis);
}

fn address(text: &str) {
    let Ok(target) = Target::parse(text, &AllowedHosts::default()) else { return };
    assert!(!target.is_allowed_by_name);
    assert!(target.address().is_none_or(|address| AllowedHosts::default().permits(address)), "{text}");
    assert!(matches!(target.url.scheme(), "http" | "https") && target.url.username().is_empty());
    let again = Target::parse(target.url.as_str(), &AllowedHosts::default());
    assert_eq!(again.map(|again| (again.host, again.port)), Ok((target.host, target.port)));
}

/// No more is taken out of a query than the limits let in.
fn query(text: &str) {
    let limits = Limits::default();
    if let Ok(read) = SilencesQuery::parse(text, &limits) {
        assert!(read.filters.len() <= limits.filters);
    }
    let _ = AlertsQuery::parse(text, &limits);
}
