//! The audit record, as the people of a branch read it (spec: audit#list).
//!
//! A caller sees the rows of actions that used the rights of organizations in their hierarchy. Rows of users with more
//! rights than the caller's are left out.

use crate::Directory;
use bailiwick_domain::{OrgId, Result, Ts, UserId};
use bailiwick_policy::{Caller, Resource, Scope, list_scope, rank_gap};
use bailiwick_store::audit::{
    Cursor,
    listing::{self, Filter, Listed, Person},
};
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

/// Parts that are read for one page: rows of users with more rights are passed over.
const PARTS: usize = 10;

/// No row is later: the year 10000.
const END_OF_TIME: Ts = Ts::from_secs(253_402_300_800);

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
    /// Id.
    pub id: UserId,
    /// Name.
    pub name: Option<String>,
    /// Address.
    pub email: Option<String>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Number, in the order of writing.
    pub id: i64,
    /// When.
    pub at: Ts,
    /// Who acted; none = a system, a job, the command line, or a person outside the caller's hierarchy who impersonated.
    pub actor: Option<Named>,
    /// Whose rights they used while impersonating.
    pub acting_for: Option<Named>,
    /// Organization of the user whose rights were used, with its present name.
    pub organization: Option<(OrgId, Option<String>)>,
    /// `<object type>.<action>`.
    pub action: String,
    /// The kind of the object.
    pub object_type: String,
    /// The object.
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
pub struct Found {
    /// The rows.
    pub entries: Vec<Entry>,
    /// `cursor` of the next page; none at the end.
    pub next: Option<String>,
}

/// `GET /audit`.
///
/// # Errors
/// 403 without `read:users`.
pub async fn list(service: &Directory, caller: &Caller, query: Query) -> Result<Found> {
    let scope = list_scope(caller, Resource::Users)?;
    let (Some(filter), Some(mut after)) = (filter(&query), cursor(query.cursor.as_deref())) else {
        return Ok(Found::default());
    };
    let size = usize::try_from(query.page_size).unwrap_or(usize::MAX);
    let mut entries = Vec::new();
    for _ in 0..PARTS {
        let rows =
            listing::page(&service.db, &scope, &filter, after, query.page_size.saturating_add(1)).await?;
        let is_last = rows.len() <= size;
        let people = listing::people(&service.db, &named(&rows)).await?;
        for row in rows {
            if entries.len() == size {
                return Ok(Found { entries, next: after.map(text) });
            }
            after = Some((row.at, row.id));
            if may_see(service, caller, &row, &people) {
                entries.push(entry(&scope, row, &people));
            }
        }
        if is_last {
            return Ok(Found { entries, next: None });
        }
    }
    Ok(Found { entries, next: after.map(text) })
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
        object: id(&query.object)?,
        action: query.action.clone(),
    })
}

/// The inner none is the first page.
fn cursor(sent: Option<&str>) -> Option<Option<Cursor>> {
    let Some(sent) = sent else { return Some(None) };
    let (at, id) = sent.split_once('-')?;
    let at = at.parse().ok().filter(|at| (0..END_OF_TIME.0).contains(at))?;
    Some(Some((Ts(at), id.parse().ok()?)))
}

fn text((at, id): Cursor) -> String {
    format!("{}-{id}", at.0)
}

fn named(rows: &[Listed]) -> Vec<UserId> {
    let mut ids: Vec<UserId> = rows.iter().flat_map(|row| [row.actor, row.acting_for]).flatten().collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Rank: the rights that were used must not be more than the caller's. Which rights a destroyed user had is not known any
/// more, so the owner alone sees what they did.
fn may_see(service: &Directory, caller: &Caller, row: &Listed, people: &HashMap<UserId, Person>) -> bool {
    let Some(user) = row.acting_for.or(row.actor) else { return true };
    if caller.user_id() == Some(user) {
        return true;
    }
    let Some(person) = people.get(&user) else { return caller.is_owner_level() };
    let effective = service.catalogue.effective(person.org_type, &person.role_ids);
    rank_gap(caller, &effective).is_none()
}

fn entry(scope: &Scope, row: Listed, people: &HashMap<UserId, Person>) -> Entry {
    let named = |id: UserId| {
        let person = people.get(&id);
        Named { id, name: person.map(|p| p.name.clone()), email: person.map(|p| p.email.clone()) }
    };
    // Whoever impersonates may belong elsewhere, and so may a user who has been moved since.
    let is_near = |id: UserId| match people.get(&id) {
        Some(person) => scope.contains(&person.path),
        None => row.acting_for.is_none() || *scope == Scope::Everything,
    };
    Entry {
        id: row.id,
        at: row.at,
        actor: row.actor.filter(|id| is_near(*id)).map(named),
        acting_for: row
            .acting_for
            .filter(|id| people.get(id).is_none_or(|p| scope.contains(&p.path)))
            .map(named),
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
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written() {
        let at = (Ts(1_772_000_000_000_000), 17);
        assert_eq!(cursor(Some(&text(at))), Some(Some(at)));
        assert_eq!(cursor(None), Some(None));
        for bad in ["", "1", "a-1", "1-b", "1-2-3", "9223372036854775807-1"] {
            assert_eq!(cursor(Some(bad)), None, "{bad}");
        }
    }
}
