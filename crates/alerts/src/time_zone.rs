//! A time zone of the system's database as plain data.

use bailiwick_alertmanager::texts::{Offset, Zone};
use jiff::{Timestamp, tz::TimeZone};

/// Between 2020 and 2046, in seconds since 1970: alerts are neither older nor later.
const FROM: i64 = 1_577_836_800;
const UNTIL: i64 = 2_398_377_600;

/// The zone of this IANA name; `None` if the system knows none. UTC needs no system that knows it.
pub fn zone_named(name: &str) -> Option<Zone> {
    if name == "UTC" {
        return Some(Zone::utc());
    }
    let zone = TimeZone::get(name).ok()?;
    let (start, end) = (Timestamp::from_second(FROM).ok()?, Timestamp::from_second(UNTIL).ok()?);
    let offset = |at| {
        let info = zone.to_offset_info(at);
        Offset { seconds: info.offset().seconds().into(), name: info.abbreviation().to_owned() }
    };
    let base = offset(end);
    let mut others: Vec<(Offset, Vec<(i64, i64)>)> = Vec::new();
    let mut add = |offset: &Offset, span: (i64, i64)| {
        if *offset == base {
            return;
        }
        match others.iter_mut().find(|(other, _)| other == offset) {
            Some((_, spans)) => spans.push(span),
            None => others.push((offset.clone(), vec![span])),
        }
    };
    let (mut from, mut current) = (FROM, offset(start));
    for transition in zone.following(start).take_while(|t| t.timestamp() < end) {
        let at = transition.timestamp();
        add(&current, (from, at.as_second()));
        (from, current) = (at.as_second(), offset(at));
    }
    add(&current, (from, UNTIL));
    Some(Zone { base, others })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_written_out() {
        assert_eq!(zone_named("UTC"), Some(Zone::utc()));
        let rome = zone_named("Europe/Rome").unwrap();
        let offset_name = |text: &str| rome.at(text.parse::<Timestamp>().unwrap().as_second()).name.as_str();
        assert_eq!(
            ["2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z", "2026-10-25T00:59:59Z", "2026-10-25T01:00:00Z"]
                .map(offset_name),
            ["CET", "CEST", "CEST", "CET"]
        );
        assert_eq!((rome.base.seconds, rome.others.len(), rome.others[0].0.seconds), (3600, 1, 7200));
        let south = zone_named("America/Santiago").unwrap();
        assert!(south.at(1_767_225_600).seconds < 0);
        for unknown in ["", "Mars/Olympus", "../../etc/passwd", "CEST "] {
            assert_eq!(zone_named(unknown), None, "{unknown}");
        }
    }
}
