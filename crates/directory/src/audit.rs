//! The audit record, as the people of a branch read it (spec: audit#list).
//!
//! A caller sees the rows of actions that used the rights of organizations in their hierarchy. Rows of users with more
//! rights than the caller's are left out.

use crate::Directory;
use bailiwick_domain::{Entropy, OrgId, Result, Ts, UserId};
use bailiwick_platform::keys::Keys;
use bailiwick_policy::{Caller, Resource, Scope, list_scope, rank_gap};
use bailiwick_store::audit::{
    Cursor,
    listing::{self, Filter, Listed, Person},
};
use serde_json::Value;
use std::collections::HashMap;
use uuid::{Builder, Uuid};

/// Parts that are read for one page: rows of users with more rights are passed over.
const PARTS: usize = 10;

/// Rows of one object at one time that are searched for one action.
const AT_ONCE: u64 = 20;

/// The purpose for which positions of pages are sealed: the number of a row would reveal how much happens.
const PLACE: &str = "place in the audit record";

/// The query as sent. Malformed values match nothing.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// `object_id`.
    pub object: Option<String>,
    /// `actor_id`.
    pub actor: Option<String>,
    /// `action`, whole.
    pub action: Option<String>,
    /// Not before.
    pub since: Option<Ts>,
    /// Before.
    pub until: Option<Ts>,
    /// `cursor`: the end of the page before.
    pub cursor: Option<String>,
    /// Rows of a page.
    pub page_size: u64,
}

/// A user who is named in a row; name and address are those of today, none once the user is destroyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub id: UserId,
    pub name: Option<String>,
    /// Address.
    pub email: Option<String>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditChange {
    /// Names the row and reveals nothing of other rows. It stays the same while the secret of the service does.
    pub id: Uuid,
    /// When.
    pub at: Ts,
    /// Who acted; none = a system, a job, the command line, or a person outside the caller's hierarchy who
    /// impersonated.
    pub actor: Option<Named>,
    /// Whose rights they used while impersonating.
    pub acting_for: Option<Named>,
    /// Organization of the user whose rights were used, with its present name.
    pub organization: Option<(OrgId, Option<String>)>,
    /// `<object type>.<action>`.
    pub action: String,
    /// The kind of the object.
    pub object_type: String,
    pub object_id: Option<Uuid>,
    /// State before.
    pub before: Option<Value>,
    /// State after.
    pub after: Option<Value>,
    /// `X-Request-Id` of the request.
    pub request_id: Option<String>,
}

/// A page, the newest row first.
#[derive(Clone, Debug, Default)]
pub struct AuditChanges {
    /// The rows.
    pub entries: Vec<AuditChange>,
    /// `cursor` of the next page; none at the end.
    pub next: Option<String>,
}

/// `GET /audit`.
///
/// # Errors
/// 403 without `read:users`.
pub async fn list(service: &Directory, caller: &Caller, query: Query) -> Result<AuditChanges> {
    let scope = list_scope(caller, Resource::Users)?;
    let (Some(mut filter), Some(mut after)) =
        (filter(&query), cursor(&service.platform.keys, query.cursor.as_deref()))
    else {
        return Ok(AuditChanges::default());
    };
    if let Some(actor) = filter.actor {
        match listing::people(&service.platform.db, &[UserId(actor)]).await?.get(&UserId(actor)) {
            // Rows do not show this person, so a search must not find them either.
            Some(person) if !scope.contains(&person.path) => return Ok(AuditChanges::default()),
            Some(_) => {}
            None => filter.in_person = scope != Scope::Everything,
        }
    }
    let size = usize::try_from(query.page_size).unwrap_or(usize::MAX);
    let mut entries = Vec::new();
    for _ in 0..PARTS {
        let rows =
            listing::page(&service.platform.db, &scope, &filter, after, query.page_size.saturating_add(1))
                .await?;
        let is_last = rows.len() <= size;
        let people = listing::people(&service.platform.db, &user_ids(&rows)).await?;
        for row in rows {
            if entries.len() == size {
                return Ok(AuditChanges { entries, next: sealed(service, after)? });
            }
            after = Some((row.at, row.id));
            if may_see(service, caller, &row, &people) {
                entries.push(entry(service, &scope, row, &people));
            }
        }
        if is_last {
            return Ok(AuditChanges { entries, next: None });
        }
    }
    Ok(AuditChanges { entries, next: sealed(service, after)? })
}

/// The row of the action that gave an object its state at this time (`verb`: `suspend` or `delete`), as the caller
/// reads it in the record; none where they do not.
///
/// # Errors
/// The database's.
pub async fn of_mark(
    service: &Directory,
    caller: &Caller,
    object: Uuid,
    verb: &str,
    at: Ts,
) -> Result<Option<AuditChange>> {
    if list_scope(caller, Resource::Users).is_err() {
        return Ok(None);
    }
    let (since, until) = (Some(at), Some(Ts(at.0.saturating_add(1))));
    let query =
        Query { object: Some(object.to_string()), since, until, page_size: AT_ONCE, ..Query::default() };
    let listed = list(service, caller, query).await?;
    Ok(listed.entries.into_iter().find(|entry| entry.action.rsplit('.').next() == Some(verb)))
}

/// None where a value is malformed.
fn filter(query: &Query) -> Option<Filter> {
    let id = |text: &Option<String>| match text {
        Some(text) => text.parse::<Uuid>().ok().map(Some),
        None => Some(None),
    };
    let is_readable = query.action.as_ref().is_none_or(|action| !action.contains('\0'));
    is_readable.then_some(Filter {
        since: query.since,
        until: query.until,
        actor: id(&query.actor)?,
        in_person: false,
        object: id(&query.object)?,
        action: query.action.clone(),
    })
}

/// The inner none is the first page.
fn cursor(keys: &Keys, sent: Option<&str>) -> Option<Option<Cursor>> {
    let Some(sent) = sent else { return Some(None) };
    let position = keys.open_from_address(PLACE, sent).ok()?;
    let (at, id) = position.split_first_chunk()?;
    Some(Some((Ts(i64::from_be_bytes(*at)), i64::from_be_bytes(id.try_into().ok()?))))
}

fn sealed(service: &Directory, at: Option<Cursor>) -> Result<Option<String>> {
    at.map(|at| text(&service.platform.keys, at, &*service.platform.entropy)).transpose()
}

fn text(keys: &Keys, (at, id): Cursor, entropy: &dyn Entropy) -> Result<String> {
    let position = [at.0.to_be_bytes(), id.to_be_bytes()].concat();
    keys.seal_for_address(PLACE, &position, entropy)
}

/// The name of a row for readers.
fn public_id(keys: &Keys, id: i64) -> Uuid {
    let mac = keys.mac("row of the audit record", &id.to_be_bytes());
    Builder::from_custom_bytes(mac.first_chunk().copied().unwrap_or_default()).into_uuid()
}

fn user_ids(rows: &[Listed]) -> Vec<UserId> {
    let mut ids: Vec<UserId> = rows.iter().flat_map(|row| [row.actor, row.acting_for]).flatten().collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Rank: the rights that were used must not be more than the caller's. Which rights a destroyed user had is not known
/// any more, so the owner alone sees what they did.
fn may_see(service: &Directory, caller: &Caller, row: &Listed, people: &HashMap<UserId, Person>) -> bool {
    let Some(user) = row.acting_for.or(row.actor) else { return true };
    if caller.user_id() == Some(user) {
        return true;
    }
    let Some(person) = people.get(&user) else { return caller.is_owner_level() };
    let effective = service.platform.catalogue.effective(person.org_type, &person.role_ids);
    rank_gap(caller, &effective).is_none()
}

fn entry(service: &Directory, scope: &Scope, row: Listed, people: &HashMap<UserId, Person>) -> AuditChange {
    let name_of = |id: UserId| {
        let person = people.get(&id);
        Named { id, name: person.map(|p| p.name.clone()), email: person.map(|p| p.email.clone()) }
    };
    // Whoever impersonates may belong elsewhere, and so may a user who has been moved since.
    let is_near = |id: UserId| match people.get(&id) {
        Some(person) => scope.contains(&person.path),
        None => row.acting_for.is_none() || *scope == Scope::Everything,
    };
    AuditChange {
        id: public_id(&service.platform.keys, row.id),
        at: row.at,
        actor: row.actor.filter(|id| is_near(*id)).map(name_of),
        acting_for: row
            .acting_for
            .filter(|id| people.get(id).is_none_or(|p| scope.contains(&p.path)))
            .map(name_of),
        organization: row.organization,
        action: row.action,
        object_type: row.object_type,
        object_id: row.object_id,
        before: row.before,
        after: row.after,
        request_id: row.request_id,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

    use super::*;

    struct Same;
    impl Entropy for Same {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    #[test]
    fn a_cursor_is_read_as_it_is_written_and_reveals_nothing() {
        let keys = Keys::derive(&[1; 32], None).unwrap();
        let at = (Ts(1_772_000_000_000_000), 17);
        let written = text(&keys, at, &Same).unwrap();
        assert_eq!(cursor(&keys, Some(&written)), Some(Some(at)));
        assert_eq!(cursor(&keys, None), Some(None));
        let other = Keys::derive(&[2; 32], None).unwrap();
        assert_eq!(cursor(&other, Some(&written)), None);
        for bad in ["", "1-17", "1772000000000000-17", "%", &written[1..], &format!("{written}A")] {
            assert_eq!(cursor(&keys, Some(bad)), None, "{bad}");
        }
    }

    #[test]
    fn a_row_has_one_id_that_reveals_no_number() {
        let keys = Keys::derive(&[1; 32], None).unwrap();
        let ids: std::collections::HashSet<Uuid> = (0..1000).map(|row| public_id(&keys, row)).collect();
        assert_eq!((ids.len(), public_id(&keys, 1)), (1000, public_id(&keys, 1)));
        assert!(ids.iter().all(|id| id.get_version_num() == 8));
    }
}
