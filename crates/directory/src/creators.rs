//! The users who have created what a list shows: the choices of its `created_by` filter (spec: organizations#filters).

use crate::{Directory, organizations};
use bailiwick_domain::Result;
use bailiwick_platform::answer_cache::{self, DependsOn};
use bailiwick_policy::{Caller, Refusal, Resource, list_scope, resource_of};
use bailiwick_store::creators;

pub use bailiwick_store::creators::Of;

/// Those who have created entities that the caller sees, by name: id and name; at most `most`.
///
/// # Errors
/// 403 without the permission to read such entities.
pub async fn names(
    service: &Directory,
    caller: &Caller,
    of: Of,
    most: usize,
) -> Result<Vec<(String, String)>> {
    let (resource, depends_on, other) = match of {
        Of::Family(family) => (resource_of(family).ok_or(Refusal::Gate)?, DependsOn::People, family.as_str()),
        Of::Users => (Resource::Users, DependsOn::People, "user"),
        Of::Systems => (Resource::Systems, DependsOn::Systems, "system"),
    };
    let scope = list_scope(caller, resource)?;
    let make = async {
        let found = organizations::by_name(creators::creators(&service.db, of, &scope).await?);
        let names = found.into_iter().map(|c| (c.user_id.to_string(), c.name));
        Ok(names.take(most).collect::<Vec<_>>())
    };
    let other = format!("{other} {most}");
    answer_cache::computed(service, depends_on, "creators", scope, other, make).await
}
