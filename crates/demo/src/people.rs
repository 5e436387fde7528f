//! The users of a synthetic tree.

use super::{
    random::Dice,
    tree::{Admin, Node, Tree, created_at_clock},
    words::slug,
};
use bailiwick_domain::{
    Result, Ts, User, UserId,
    id::uuid_v7,
    org::{Creator, Mark, OrgRef, SyncState},
};
use bailiwick_policy::Catalogue;
use bailiwick_store::demo::PlacedUser;

/// Roles that every user may assign; the first is that of an organization's first user.
pub(super) fn roles(catalogue: &Catalogue) -> Vec<String> {
    let mut keys: Vec<String> = catalogue
        .user_roles()
        .iter()
        .filter(|role| role.assignable_by.is_none())
        .map(|role| role.key.clone())
        .collect();
    keys.sort_by_key(|key| key != "admin");
    keys
}

/// Makes user number `n` of the tree in the organization at `at`; the first user of an organization creates everything
/// else in it.
pub fn user(
    tree: &mut Tree,
    index: usize,
    n: u64,
    roles: &[String],
    dice: &Dice,
    now: Ts,
) -> Result<PlacedUser> {
    let is_first = tree.nodes[index].admin.is_none();
    let created_by = tree.admin(if is_first { tree.nodes[index].parent } else { index }).creator.clone();
    let node = &tree.nodes[index];
    let (first, last) = node.country.person(dice);
    let (series, local) = (tree.series, format!("{}.{}", slug(first), slug(last)));
    let created_at = if is_first { node.created_at } else { dice.time(node.created_at, now) };
    let user = User {
        id: UserId(uuid_v7(&created_at_clock(created_at), dice)),
        username: format!("{}_{series}_{n}", local.replace(['.', '-'], "_")),
        email: format!("{local}.{n}@{}", node.domain),
        email_verified: dice.per_mille(900),
        name: format!("{first} {last}"),
        phone: dice.per_mille(600).then(|| format!("{}3{series}{n:06}", node.country.calling_code())),
        organization: OrgRef { id: node.path.id, name: node.name.clone(), org_type: node.org_type },
        role_ids: role_ids(is_first, roles, dice),
        custom_data: None,
        created_at,
        updated_at: created_at,
        latest_login_at: None,
        created_by: Some(created_by),
        suspended: own_mark(dice, if is_first { 0 } else { 20 }, created_at, now),
        deleted: own_mark(dice, if is_first { 0 } else { 10 }, created_at, now),
        mirrored: SyncState::default(),
    };
    let path = node.path;
    if is_first {
        tree.nodes[index].admin = Some(Admin::new(as_creator(&user, &tree.nodes[index]))?);
    }
    Ok(PlacedUser { user, path })
}

fn role_ids(is_first: bool, roles: &[String], dice: &Dice) -> Vec<String> {
    if is_first || roles.is_empty() {
        return roles.first().cloned().into_iter().collect();
    }
    let mut picked = vec![roles[dice.position(roles.len())].clone()];
    if dice.per_mille(100) {
        let more = &roles[dice.position(roles.len())];
        if !picked.contains(more) {
            picked.push(more.clone());
        }
    }
    picked
}

fn own_mark(dice: &Dice, per_mille: u64, from: Ts, to: Ts) -> Mark {
    Mark { at: dice.per_mille(per_mille).then(|| dice.time(from, to)), by: None }
}

fn as_creator(user: &User, node: &Node) -> Creator {
    Creator {
        user_id: Some(user.id),
        username: user.username.clone(),
        name: user.name.clone(),
        email: user.email.clone(),
        organization_id: Some(node.path.id),
        organization_name: node.name.clone(),
        ..Creator::default()
    }
}
