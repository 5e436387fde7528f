//! The applications that a document lists, from parsing it to its transaction (spec: applications#intake).

use crate::Fleet;
use aws_lc_rs::digest;
use bailiwick_domain::{SystemId, Ts};
use bailiwick_inventory::{Application, Document, administered_at};
use bailiwick_store::{
    StoreError, Tx,
    applications::intake::{self, Arrival, Listed, Seen},
};

/// The applications a document lists, read before its transaction.
#[derive(Debug)]
pub(crate) struct Listing(Vec<Application>);

impl Listing {
    /// How many.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// None when it lists none: in that case known applications have not disappeared.
    pub(crate) fn of(document: &Document<'_>) -> Option<Listing> {
        // The name of the system is only known in the transaction.
        let found = document.applications(None);
        (!found.is_empty()).then_some(Listing(found))
    }
}

/// The applications in one document of a system.
#[derive(Debug)]
pub(crate) struct ReportedApplications {
    /// Receipt.
    pub(crate) received_at: Ts,
    /// None: the same text as the previous document.
    pub(crate) new: Option<Option<Listing>>,
}

impl ReportedApplications {
    /// How many applications it lists, none for the same text as before.
    pub(crate) fn len(&self) -> usize {
        self.new.iter().flatten().map(Listing::len).sum()
    }

    fn arrival(self, system_id: SystemId, fqdn: &str) -> Arrival {
        let listed = match self.new {
            None => Listed::Again,
            Some(None) => Listed::Nothing,
            Some(Some(Listing(found))) => {
                let applications: Vec<Seen> = found.into_iter().map(|found| seen(found, fqdn)).collect();
                let digest = digest_of(&applications);
                Listed::These(applications, digest)
            }
        };
        Arrival { system_id, received_at: self.received_at, listed }
    }
}

/// Stores the applications of the documents of locked systems, those of a system in order; each comes with the system's
/// host name after the document. Call it before raising the auth epoch, as every writer waits for that row.
pub async fn take_over(
    service: &Fleet,
    tx: &mut Tx,
    reported: Vec<(SystemId, String, Vec<ReportedApplications>)>,
    now: Ts,
) -> Result<(), StoreError> {
    let arrivals: Vec<Arrival> = reported
        .into_iter()
        .flat_map(|(id, fqdn, reported)| reported.into_iter().map(move |h| h.arrival(id, &fqdn)))
        .collect();
    if arrivals.is_empty() {
        return Ok(());
    }
    let most = usize::try_from(service.settings.systems.applications).unwrap_or(usize::MAX);
    intake::store_listed(tx, arrivals, most, now, || service.platform.fresh()).await
}

fn seen(application: Application, system_fqdn: &str) -> Seen {
    let url = application.url.or_else(|| {
        let is_known = application.is_user_facing && !system_fqdn.is_empty();
        is_known.then(|| administered_at(system_fqdn, &application.module_id))
    });
    Seen {
        url,
        module_id: application.module_id,
        instance_of: application.instance_of,
        name: application.name,
        source: application.source,
        display_name: application.display_name,
        node_id: application.node_id,
        node_label: application.node_label,
        version: application.version.unwrap_or_default(),
        certification_level: application.certification_level.map(i64::from),
        is_user_facing: application.is_user_facing,
        inventory_data: application.inventory_data,
    }
}

/// Equal for equal lists only: every text goes in with its length.
fn digest_of(applications: &[Seen]) -> Vec<u8> {
    let mut context = digest::Context::new(&digest::SHA256);
    let mut text = |t: Option<&str>| {
        let length = t.map_or(u64::MAX, |t| t.len() as u64);
        context.update(&length.to_be_bytes());
        context.update(t.unwrap_or_default().as_bytes());
    };
    for s in applications {
        let texts = [&s.name, &s.source, &s.display_name, &s.node_label, &s.url].map(|t| t.as_deref());
        let required =
            [&s.module_id, &s.instance_of, &s.version, &s.inventory_data].map(|t| Some(t.as_str()));
        texts.into_iter().chain(required).for_each(&mut text);
        let number = |n: Option<i64>| n.map_or_else(|| "None".to_owned(), |n| format!("Some({n})"));
        let numbers = format!("{}{}{}", number(s.node_id), number(s.certification_level), s.is_user_facing);
        text(Some(&numbers));
    }
    context.finish().as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(modules: &str) -> Vec<Seen> {
        let body = format!(r#"{{"installation":"nethserver","facts":{{"modules":[{modules}]}}}}"#);
        let document = Document::parse(body.as_bytes()).unwrap();
        Listing::of(&document)
            .map(|l| l.0)
            .unwrap_or_default()
            .into_iter()
            .map(|a| seen(a, "a.example"))
            .collect()
    }

    #[test]
    fn every_difference_shows_in_the_digest() {
        let texts = [
            r#"{"id":"a","module":"b"}"#,
            r#"{"id":"ab","module":"b"}"#,
            r#"{"id":"a","module":"bb"}"#,
            r#"{"id":"a","module":"b","name":""}"#,
            r#"{"id":"a","module":"b","source":""}"#,
            r#"{"id":"a","module":"b","version":"1"}"#,
            r#"{"id":"a","module":"b","node":"1"}"#,
            r#"{"id":"a","module":"b","certification_level":1}"#,
            r#"{"id":"a","module":"b","x":1}"#,
            r#"{"id":"a","module":"b"},{"id":"c","module":"b"}"#,
        ];
        let digests: Vec<_> = texts.iter().map(|t| digest_of(&listed(t))).collect();
        for (i, digest) in digests.iter().enumerate() {
            assert_eq!(digests.iter().filter(|d| *d == digest).count(), 1, "{}", texts[i]);
        }
        assert_eq!(digests[0], digest_of(&listed(r#"{ "module":"b", "id":"a" }"#)));
        assert_eq!(listed(texts[0])[0].url.as_deref(), Some("https://a.example/cluster-admin/#/apps/a"));
    }
}
