//! When which system has which trouble: a pure function of the seed, so that every process, now and later, comes to the
//! same answer without remembering anything.

use super::{
    HOUR, MINUTE,
    kinds::{self, AlertTemplate},
};
use crate::random::{Dice, mix};
use bailiwick_domain::Ts;
use bailiwick_store::demo::life::{Load, Member};
use std::time::Duration;

/// The longest trouble.
pub(super) const LONGEST: Duration = Duration::from_secs(9 * 24 * 3600);
/// Systems from which on the number of alerts does not grow: about thirty fire at any time.
const ENOUGH: u64 = 250;
/// Two systems of a thousand are out at any time.
const OUT_PER_MILLE: u64 = 2;
/// How long a system is out.
const OUTAGE: Duration = Duration::from_secs(5 * 3600);

/// One occurrence of an alert.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incident<'m> {
    /// The system that has it.
    pub member: &'m Member,
    /// What it is.
    pub kind: &'static AlertTemplate,
    /// Chooses the details.
    pub variant: u64,
    pub start: Ts,
    pub end: Ts,
    /// Somebody has silenced it.
    pub is_silenced: bool,
}

/// Those that begin before `to` and end after `from`, by their start. `members`: by their number.
pub(super) fn between<'m>(load: &Load, members: &'m [Member], from: Ts, to: Ts) -> Vec<Incident<'m>> {
    let hour = |at: Ts| at.secs().div_euclid(3600);
    let mut found: Vec<Incident<'m>> = (hour(from.minus(LONGEST))..=hour(to))
        .flat_map(|hour| of_hour(load, members, hour))
        .filter(|incident| incident.start < to && incident.end > from)
        .collect();
    found.sort_by_key(|incident| incident.start);
    found
}

fn of_hour<'m>(load: &Load, members: &'m [Member], hour: i64) -> Vec<Incident<'m>> {
    let dice = Dice::new(mix(load.seed ^ mix(hour.cast_unsigned())));
    // 1.2 an hour, each a day long on average.
    let count = 1 + u64::from(dice.per_mille(200));
    (0..count).filter_map(|_| incident(load, members, hour, &dice)).collect()
}

/// The same number of draws for each, whatever becomes of it.
fn incident<'m>(load: &Load, members: &'m [Member], hour: i64, dice: &Dice) -> Option<Incident<'m>> {
    let number = dice.below(load.systems);
    let is_wanted = dice.below(ENOUGH) < load.systems;
    let (start, length) = (dice.below(HOUR.as_secs()), length(dice));
    let (choice, variant, is_silenced) = (dice.next(), dice.next(), dice.per_mille(150));
    let start = Ts::from_secs(hour * 3600).plus(Duration::from_secs(start));
    let index = members.binary_search_by_key(&number, |member| member.number).ok()?;
    let member = members.get(index).filter(|m| is_wanted && !m.is_silent && m.registered_at < start)?;
    let kind = kinds::choose(member.system_type.as_deref(), choice);
    Some(Incident { member, kind, variant, start, end: start.plus(length), is_silenced })
}

/// Half of them are short, and some last for days.
fn length(dice: &Dice) -> Duration {
    let (class, part) = (dice.below(100), dice.below(1000));
    let between = |from: Duration, to: Duration| from + (to - from) * u32::try_from(part).unwrap_or(0) / 1000;
    match class {
        0..=49 => between(12 * MINUTE, 2 * HOUR),
        50..=84 => between(3 * HOUR, 30 * HOUR),
        _ => between(48 * HOUR, LONGEST),
    }
}

/// Whether the system sends nothing for a while. Each system has its own beginning of the slots of time.
pub(super) fn is_out(load: &Load, member: &Member, at: Ts) -> bool {
    let own = mix(load.seed ^ mix(member.number));
    let slot = (at.secs().cast_unsigned().wrapping_add(own % OUTAGE.as_secs())) / OUTAGE.as_secs();
    Dice::new(mix(own ^ slot)).per_mille(OUT_PER_MILLE)
}

#[cfg(test)]
mod tests {
    use super::{super::DAY, *};
    use bailiwick_domain::{OrgId, OrgType, SystemId, org::OrgRef};
    use uuid::Uuid;

    const NOW: Ts = Ts::from_secs(1_772_618_400);

    fn members(count: u64) -> (Load, Vec<Member>) {
        let member = |number: u64| Member {
            id: SystemId(Uuid::from_u128(u128::from(number))),
            number,
            is_silent: number.is_multiple_of(10),
            next_document_at: None,
            system_key: format!("NETH-{number}"),
            name: String::new(),
            system_type: Some(if number.is_multiple_of(3) { "nsec" } else { "ns8" }.to_owned()),
            fqdn: String::new(),
            ipv4_address: String::new(),
            ipv6_address: String::new(),
            version: String::new(),
            registered_at: NOW.minus(DAY * 400),
            last_heartbeat: NOW,
            organization: OrgRef { id: OrgId(Uuid::nil()), name: String::new(), org_type: OrgType::Customer },
            vat: String::new(),
        };
        let load = Load { seed: 1, systems: count, made_at: NOW, lived_until: Some(NOW) };
        (load, (0..count).map(member).collect())
    }

    #[test]
    fn about_thirty_alerts_fire_at_any_time_on_systems_that_can_send_them() {
        let (load, members) = members(1_000);
        for day in 0..60 {
            let at = NOW.plus(DAY * day);
            let firing = between(&load, &members, at, at.plus(Duration::from_secs(1)));
            assert!((10..=50).contains(&firing.len()), "{day}: {}", firing.len());
            assert!(firing.iter().all(|i| !i.member.is_silent && i.start < i.end));
        }
        let names: std::collections::BTreeSet<_> =
            between(&load, &members, NOW, NOW.plus(DAY)).iter().map(|i| i.kind.name).collect();
        assert!(names.len() > 8, "{names:?}");
    }

    #[test]
    fn pieces_of_time_give_what_the_whole_gives() {
        let (load, members) = members(300);
        let starts = |from: Ts, to: Ts| -> Vec<(Ts, u64)> {
            let all = between(&load, &members, from, to);
            all.iter().filter(|i| i.start >= from).map(|i| (i.start, i.member.number)).collect()
        };
        let middle = NOW.plus(Duration::from_secs(5_000));
        let end = NOW.plus(DAY);
        let pieces = [starts(NOW, middle), starts(middle, end)].concat();
        assert_eq!(pieces, starts(NOW, end));
        assert!(pieces.len() > 15);
    }

    #[test]
    fn few_systems_have_few_alerts_and_few_are_out() {
        let (load, members) = members(1_000);
        let (small, some) = (Load { systems: 20, ..load }, &members[..20]);
        assert!(between(&small, some, NOW, NOW.plus(Duration::from_secs(1))).len() < 10);
        let out = members.iter().filter(|m| is_out(&load, m, NOW)).count();
        assert!(out < 10, "{out}");
        let times = |member| (0..500).filter(|n| is_out(&load, member, NOW.plus(OUTAGE * *n))).count();
        let outages: usize = members[..100].iter().map(times).sum();
        assert!((50..200).contains(&outages), "{outages}");
    }
}
