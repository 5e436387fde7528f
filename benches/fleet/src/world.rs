//! The fleet and its people: credentials from the file that `bailiwick demo --credentials` writes, tokens from another.

use crate::random::draw;
use base64::{Engine, engine::general_purpose::STANDARD};
use std::collections::HashMap;
use uuid::Uuid;

/// Systems with their organizations. Those of the fleet have the first numbers, the new ones follow.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// All `key:secret`, one after the other.
    credentials: String,
    systems: Vec<System>,
    fleet: usize,
    organizations: HashMap<Uuid, Option<Uuid>>,
}

#[derive(Clone, Copy, Debug)]
struct System {
    /// Where its credential begins.
    at: usize,
    length: usize,
    id: Uuid,
}

impl World {
    /// Reads the lines of the file and takes `fleet` of the registered systems, spread evenly over the file, or all if
    /// there are fewer.
    ///
    /// # Errors
    /// A text that names the line that is not of the form.
    pub(crate) fn read(text: &str, fleet: usize) -> Result<World, String> {
        let is_registered = |line: &&str| line.ends_with("\tregistered");
        let registered = text.lines().filter(is_registered).count();
        let fleet = fleet.min(registered);
        let mut world = World { fleet, ..World::default() };
        let mut seen = 0;
        for (number, line) in text.lines().enumerate() {
            let wrong = || format!("line {} is no line of a file of credentials", number + 1);
            if is_registered(&line) {
                seen += 1;
                // One of `registered / fleet` neighbours.
                if seen * fleet / registered == (seen - 1) * fleet / registered {
                    continue;
                }
                world.add(line).ok_or_else(wrong)?;
            }
        }
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !is_registered(line)) {
            let added = line.ends_with("\tnew").then(|| world.add(line)).flatten();
            added.ok_or_else(|| format!("line {} is no line of a file of credentials", number + 1))?;
        }
        Ok(world)
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let [credential, id, place, _] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
        let (_, secret) = credential.split_once(':')?;
        secret.starts_with("my_").then_some(())?;
        let mut above = None;
        for organization in place.split('/') {
            let organization = Uuid::parse_str(organization).ok()?;
            self.organizations.entry(organization).or_insert(above);
            above = Some(organization);
        }
        let (at, id) = (self.credentials.len(), Uuid::parse_str(id).ok()?);
        self.systems.push(System { at, length: credential.len(), id });
        self.credentials.push_str(credential);
        Some(())
    }

    /// How many systems behave as the fleet does.
    pub(crate) const fn fleet(&self) -> usize {
        self.fleet
    }

    /// How many there are with those that have not registered.
    pub(crate) const fn len(&self) -> usize {
        self.systems.len()
    }

    /// How many organizations have systems, or organizations with systems below them.
    pub(crate) fn organizations(&self) -> usize {
        self.organizations.len()
    }

    fn credential(&self, system: usize) -> &str {
        let System { at, length, .. } = self.systems[system];
        &self.credentials[at..at + length]
    }

    /// The user name of its credential.
    pub(crate) fn key(&self, system: usize) -> &str {
        self.credential(system).split_once(':').map_or("", |(key, _)| key)
    }

    /// The password of its credential.
    pub(crate) fn secret(&self, system: usize) -> &str {
        self.credential(system).split_once(':').map_or("", |(_, secret)| secret)
    }

    /// The value of its `Authorization`.
    pub(crate) fn basic(&self, system: usize) -> String {
        format!("Basic {}", STANDARD.encode(self.credential(system)))
    }

    pub(crate) fn id(&self, system: usize) -> Uuid {
        self.systems[system].id
    }

    /// Whether an organization is that of a person or below it; nothing when this world does not know the organization.
    pub(crate) fn is_within(&self, organization: Uuid, person: &Person) -> Option<bool> {
        if person.sees_all || organization == person.organization {
            return Some(true);
        }
        let mut above = *self.organizations.get(&organization)?;
        while let Some(next) = above {
            if next == person.organization {
                return Some(true);
            }
            above = self.organizations.get(&next).copied().flatten();
        }
        Some(false)
    }

    /// A system of the fleet.
    pub(crate) fn any(&self, words: &[u64]) -> usize {
        let fleet = self.fleet.max(1) as u64;
        usize::try_from(draw(words) % fleet).unwrap_or(0)
    }
}

/// Somebody with a token.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    /// The value of `Authorization`.
    pub bearer: String,
    pub organization: Uuid,
    /// Whether they belong to the owner organization.
    pub sees_all: bool,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const DISTRIBUTOR: Uuid = Uuid::from_u128(1);
    pub(crate) const CUSTOMER: Uuid = Uuid::from_u128(2);
    pub(crate) const OTHER: Uuid = Uuid::from_u128(3);

    /// The lines of systems with these states; the even ones belong to the customer, the others to the other distributor.
    pub(crate) fn lines(states: &[&str]) -> String {
        let line = |(n, state): (usize, &&str)| {
            let place = if n % 2 == 0 { format!("{DISTRIBUTOR}/{CUSTOMER}") } else { OTHER.to_string() };
            format!("SYS-{n}:my_{n}.secret\t{}\t{place}\t{state}\n", Uuid::from_u128(100 + n as u128))
        };
        states.iter().enumerate().map(line).collect()
    }

    pub(crate) fn person(organization: Uuid) -> Person {
        Person { bearer: String::new(), organization, sees_all: false }
    }

    #[test]
    fn the_file_gives_systems_with_their_credentials() {
        let world = World::read(&lines(&["registered", "new", "registered"]), 10).unwrap();
        assert_eq!((world.fleet(), world.len(), world.organizations()), (2, 3, 3));
        assert_eq!((world.key(1), world.secret(1)), ("SYS-2", "my_2.secret"));
        assert_eq!(world.key(2), "SYS-1", "the new one comes last");
        assert_eq!(world.id(1), Uuid::from_u128(102));
        assert_eq!(world.basic(0), "Basic U1lTLTA6bXlfMC5zZWNyZXQ=");
    }

    #[test]
    fn a_smaller_fleet_is_spread_over_the_file() {
        let world = World::read(&lines(&["registered"; 100]), 10).unwrap();
        assert_eq!((world.fleet(), world.len()), (10, 10));
        let numbers: Vec<_> = (0..10).map(|n| world.key(n)[4..].parse::<usize>().unwrap()).collect();
        assert!(numbers.windows(2).all(|two| two[1] - two[0] == 10), "{numbers:?}");
    }

    #[test]
    fn other_files_are_refused_with_the_line() {
        let good = lines(&["registered", "new"]);
        for (bad, line) in [
            (good.replace("SYS-1:", "SYS-1"), 2),
            (good.replacen("\tregistered", "\tregistered\tmore\tregistered", 1), 1),
            (good.replace("\tnew", "\told"), 2),
            (good.replace(&OTHER.to_string(), "nowhere"), 2),
            (format!("{good}\n"), 3),
        ] {
            let why = World::read(&bad, 10).unwrap_err();
            assert!(why.starts_with(&format!("line {line} ")), "{why}: {bad}");
        }
    }

    #[test]
    fn people_see_their_own_branch() {
        let world = World::read(&lines(&["registered"; 2]), 10).unwrap();
        let sees = |who, what| world.is_within(what, &person(who));
        assert_eq!(sees(DISTRIBUTOR, CUSTOMER), Some(true));
        assert_eq!(sees(CUSTOMER, CUSTOMER), Some(true));
        assert_eq!(sees(CUSTOMER, DISTRIBUTOR), Some(false));
        assert_eq!(sees(DISTRIBUTOR, OTHER), Some(false));
        assert_eq!(sees(DISTRIBUTOR, Uuid::from_u128(9)), None);
        let owner = Person { sees_all: true, ..person(OTHER) };
        assert_eq!(world.is_within(CUSTOMER, &owner), Some(true));
    }
}
