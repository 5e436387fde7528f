//! Plans the rows to write for queued documents: the part of the work that needs no database.

use super::pack;
use crate::applications::{Listing, ReportedApplications};
use bailiwick_domain::{Result, SystemId};
use bailiwick_inventory::{Diff, Document, Facts, Rules};
use bailiwick_store::inventory::{Claimed, Packed, Stored};

/// The entries of a system in order, and its latest record.
#[derive(Debug)]
pub(super) struct Work {
    pub system: SystemId,
    pub(super) entries: Vec<QueuedDocument>,
    pub(super) latest: Option<Stored>,
}

/// A queued entry, with its body or the text of the record it repeats.
#[derive(Debug)]
pub(super) struct QueuedDocument {
    pub(super) claimed: Claimed,
    pub(super) body: Vec<u8>,
    /// The text of the record it names instead of a body.
    pub(super) same: Option<Packed>,
}

impl QueuedDocument {
    fn text(&self) -> Result<String> {
        match &self.same {
            Some(packed) => pack::unpack(packed),
            None => pack::unpack_whole(&self.body, self.claimed.data_size),
        }
    }
}

/// The rows to write for a system.
#[derive(Debug)]
pub(super) struct Plan {
    pub system: SystemId,
    /// The record the first step was compared with.
    pub(super) latest: Option<i64>,
    /// Whole texts to store: bytes of the text and the text compressed.
    pub(super) bases: Vec<(i64, Vec<u8>)>,
    pub(super) steps: Vec<Step>,
    /// Columns of the system after all steps; none: no new value.
    pub(super) facts: Facts,
    /// The applications that each document lists.
    pub(super) reported: Vec<ReportedApplications>,
    /// The entry at which the steps end, and why.
    pub(super) failed: Option<(Claimed, String)>,
    /// Entries behind that one.
    pub(super) untouched: Vec<Claimed>,
}

impl Plan {
    /// About how many rows it writes.
    pub(super) fn rows(&self) -> usize {
        let changes =
            self.steps.iter().filter_map(|step| step.new.as_ref()).map(|new| new.diff.changes.len());
        changes.sum::<usize>() + self.reported.iter().map(ReportedApplications::len).sum::<usize>()
    }
}

/// One entry done.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) claimed: Claimed,
    /// None: the same text as the previous record.
    pub(super) new: Option<New>,
}

/// A record to be made.
#[derive(Debug)]
pub(super) struct New {
    pub(super) body: Vec<u8>,
    pub(super) base: Base,
    pub(super) diff: Diff,
}

/// The base that a body is compressed against.
#[derive(Clone, Copy, Debug)]
pub(super) enum Base {
    /// A stored one.
    Stored(i64),
    /// One of the plan's.
    Planned(usize),
}

/// The previous document's text and hash.
struct Previous {
    hash: String,
    text: String,
}

struct Planner<'r> {
    rules: &'r Rules,
    plan: Plan,
    previous: Option<Previous>,
    /// With its text and its bytes compressed.
    base: Option<(Base, String, usize)>,
}

/// Plans the work of one system; an unusable document ends the plan there.
pub(super) fn plan(rules: &Rules, work: Work) -> Plan {
    let plan = Plan {
        system: work.system,
        latest: work.latest.as_ref().map(|latest| latest.id),
        bases: Vec::new(),
        steps: Vec::new(),
        facts: Facts::default(),
        reported: Vec::new(),
        failed: None,
        untouched: Vec::new(),
    };
    let mut planner = Planner { rules, plan, previous: None, base: None };
    let mut latest = work.latest;
    for entry in work.entries {
        if planner.plan.failed.is_some() {
            planner.plan.untouched.push(entry.claimed);
            continue;
        }
        let is_again = match (&planner.previous, &latest) {
            (Some(previous), _) => previous.hash == entry.claimed.data_hash,
            (None, Some(latest)) => latest.data_hash == entry.claimed.data_hash,
            (None, None) => false,
        };
        let outcome = if is_again {
            Ok(None)
        } else {
            let recalled = latest.take().map_or(Ok(()), |latest| planner.recall(latest));
            recalled.and_then(|()| planner.next(&entry)).map(Some)
        };
        match outcome {
            Ok(new) => {
                if new.is_none() {
                    planner
                        .plan
                        .reported
                        .push(ReportedApplications { received_at: entry.claimed.received_at, new: None });
                }
                planner.plan.steps.push(Step { claimed: entry.claimed, new });
            }
            Err(e) => planner.plan.failed = Some((entry.claimed, reason(&e))),
        }
    }
    planner.plan
}

/// The operator's text, not the client's.
fn reason(error: &bailiwick_domain::Error) -> String {
    match error {
        bailiwick_domain::Error::Internal(log) => log.to_string(),
        other => other.to_string(),
    }
}

impl Planner<'_> {
    /// Unpacks the latest record.
    fn recall(&mut self, latest: Stored) -> Result<()> {
        let text = match &latest.text.base {
            None => pack::unpack_whole(&latest.text.body, latest.text.size)?,
            Some((id, size, packed)) => {
                let base = pack::unpack_whole(packed, *size)?;
                let text = pack::unpack_against(&base, &latest.text.body, latest.text.size)?;
                self.base = Some((Base::Stored(*id), base, packed.len()));
                text
            }
        };
        self.previous = Some(Previous { hash: latest.data_hash, text });
        Ok(())
    }

    fn next(&mut self, entry: &QueuedDocument) -> Result<New> {
        let text = entry.text()?;
        let document = Document::parse(text.as_bytes()).map_err(bailiwick_domain::Error::internal)?;
        let facts = document.facts();
        let diff = match &self.previous {
            // There is nothing the first one differs from.
            None => Diff::default(),
            Some(previous) => {
                let before =
                    Document::parse(previous.text.as_bytes()).map_err(bailiwick_domain::Error::internal)?;
                self.rules.diff(&before, &document)
            }
        };
        let listing = Listing::of(&document);
        drop(document);
        let (base, body) = self.pack(&text)?;
        self.record(facts);
        self.plan
            .reported
            .push(ReportedApplications { received_at: entry.claimed.received_at, new: Some(listing) });
        self.previous = Some(Previous { hash: entry.claimed.data_hash.clone(), text });
        Ok(New { body, base, diff })
    }

    /// Compresses against the present base, or against a new one if that has little of the text.
    fn pack(&mut self, text: &str) -> Result<(Base, Vec<u8>)> {
        if let Some((base, base_text, packed)) = &self.base {
            let body = pack::pack_against(base_text, text)?;
            if !pack::wants_new_base(body.len(), *packed) {
                return Ok((*base, body));
            }
        }
        let base = Base::Planned(self.plan.bases.len());
        let packed = pack::pack_base(text)?;
        self.base = Some((base, text.to_owned(), packed.len()));
        self.plan.bases.push((i64::try_from(text.len()).unwrap_or(i64::MAX), packed));
        Ok((base, pack::pack_against(text, text)?))
    }

    /// Facts of the newest document replace the known ones; facts it lacks stay.
    fn record(&mut self, facts: Facts) {
        let stored = &mut self.plan.facts;
        stored.system_type = facts.system_type.or(stored.system_type.take());
        stored.fqdn = facts.fqdn.or(stored.fqdn.take());
        stored.ipv4 = facts.ipv4.or(stored.ipv4.take());
        stored.ipv6 = facts.ipv6.or(stored.ipv6.take());
        stored.version = facts.version.or(stored.version.take());
    }
}
