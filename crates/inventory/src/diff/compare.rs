//! Walks two documents at the same time (spec: inventory-changes#comparison). It only finds the differences; the rules
//! classify them.

use super::{
    ChangeKind,
    number::{self, Decimal},
    path::{Frame, MAX_DEPTH},
};
use crate::member;
use bailiwick_domain::json::Json;
use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash, Hasher},
};

/// Calls `report` for every difference, once for each path.
pub(super) fn walk<'j, 'a, F>(frame: &Frame<'_, 'j, 'a>, report: &mut F)
where
    F: FnMut(&Frame<'_, 'j, 'a>, ChangeKind),
{
    let (Some(previous), Some(current)) = (frame.previous, frame.current) else {
        report(frame, if frame.current.is_some() { ChangeKind::Create } else { ChangeKind::Delete });
        return;
    };
    match (previous, current) {
        (Json::Obj(_), Json::Obj(_)) | (Json::Arr(_), Json::Arr(_)) if frame.depth == MAX_DEPTH => {
            if !are_same(previous, current) {
                report(frame, ChangeKind::Update);
            }
        }
        (Json::Obj(old), Json::Obj(new)) => objects(frame, old, new, report),
        (Json::Arr(old), Json::Arr(new)) => arrays(frame, old, new, report),
        _ => {
            if !are_same(previous, current) {
                report(frame, ChangeKind::Update);
            }
        }
    }
}

/// Both are sorted by key.
fn objects<'j, 'a, F>(
    frame: &Frame<'_, 'j, 'a>,
    old: &'j [(Cow<'a, str>, Json<'a>)],
    new: &'j [(Cow<'a, str>, Json<'a>)],
    report: &mut F,
) where
    F: FnMut(&Frame<'_, 'j, 'a>, ChangeKind),
{
    merge(
        old,
        new,
        |a, b| a.0.cmp(&b.0),
        |old, new| {
            let Some((key, _)) = old.or(new) else { return };
            walk(&frame.member(key, old.map(|pair| &pair.1), new.map(|pair| &pair.1)), report);
        },
    );
}

fn arrays<'j, 'a, F>(frame: &Frame<'_, 'j, 'a>, old: &'j [Json<'a>], new: &'j [Json<'a>], report: &mut F)
where
    F: FnMut(&Frame<'_, 'j, 'a>, ChangeKind),
{
    let (mut old_rest, mut new_rest): (Vec<usize>, Vec<usize>) =
        ((0..old.len()).collect(), (0..new.len()).collect());
    if let Some(field) = frame.collection.identity() {
        let (old_known, new_known) =
            (identified(old, field, &mut old_rest), identified(new, field, &mut new_rest));
        merge(
            &old_known,
            &new_known,
            |a, b| a.0.cmp(&b.0),
            |old, new| {
                walk(&frame.element(old.map(|e| e.1), new.map(|e| e.1)), report);
            },
        );
    }
    drop_equal(old, new, &mut old_rest, &mut new_rest);
    for index in 0..old_rest.len().max(new_rest.len()) {
        walk(&frame.element(old_rest.get(index).copied(), new_rest.get(index).copied()), report);
    }
}

/// The identity of an array element: the kind of the scalar and its text.
type Identity<'j> = (u8, Cow<'j, str>);

/// The elements with a unique identity, sorted by it; they are removed from `rest`.
fn identified<'j>(items: &'j [Json<'_>], field: &str, rest: &mut Vec<usize>) -> Vec<(Identity<'j>, usize)> {
    let mut identities: Vec<(Identity<'j>, usize)> = items
        .iter()
        .enumerate()
        .filter_map(|(index, item)| Some((identity(member(item, field)?)?, index)))
        .collect();
    identities.sort_unstable();
    let mut unique = Vec::with_capacity(identities.len());
    let mut left = identities.into_iter().peekable();
    while let Some(entry) = left.next() {
        let mut is_unique = true;
        while left.next_if(|next| next.0 == entry.0).is_some() {
            is_unique = false;
        }
        if is_unique {
            unique.push(entry);
        }
    }
    let mut is_known = vec![false; items.len()];
    for (_, index) in &unique {
        is_known[*index] = true;
    }
    rest.retain(|index| !is_known[*index]);
    unique
}

fn identity<'j>(value: &'j Json<'_>) -> Option<Identity<'j>> {
    match value {
        Json::Str(text) if !text.is_empty() => Some((0, Cow::Borrowed(text.as_ref()))),
        Json::Num(literal) => Some((
            1,
            match Decimal::parse(literal) {
                Some(number) => Cow::Owned(number.to_string()),
                None => Cow::Borrowed(literal),
            },
        )),
        Json::Bool(true) => Some((2, Cow::Borrowed("true"))),
        Json::Bool(false) => Some((2, Cow::Borrowed("false"))),
        _ => None,
    }
}

/// Removes elements that both sides have, as often as both have them: the k-th occurrence here pairs with the k-th
/// there.
fn drop_equal(old: &[Json<'_>], new: &[Json<'_>], old_rest: &mut Vec<usize>, new_rest: &mut Vec<usize>) {
    // A common prefix pairs off in any case, and mostly it is everything.
    let common = old_rest.iter().zip(&*new_rest).take_while(|&(&a, &b)| old[a] == new[b]).count();
    old_rest.drain(..common);
    new_rest.drain(..common);
    if old_rest.is_empty() || new_rest.is_empty() {
        return;
    }
    let digests = |items: &[Json<'_>], rest: &[usize]| {
        let mut digests: Vec<(u64, usize)> =
            rest.iter().map(|&index| (digest(&items[index]), index)).collect();
        digests.sort_unstable();
        digests
    };
    let (old_digests, new_digests) = (digests(old, old_rest), digests(new, new_rest));
    old_rest.clear();
    new_rest.clear();
    let mut new_left = new_digests.iter().peekable();
    for (digest, index) in &old_digests {
        while let Some((_, only_new)) = new_left.next_if(|next| next.0 < *digest) {
            new_rest.push(*only_new);
        }
        if new_left.next_if(|next| next.0 == *digest).is_none() {
            old_rest.push(*index);
        }
    }
    new_rest.extend(new_left.map(|(_, index)| *index));
    old_rest.sort_unstable();
    new_rest.sort_unstable();
}

/// Goes through two sorted lists, equal entries together.
fn merge<'j, T>(
    old: &'j [T],
    new: &'j [T],
    compare: impl Fn(&T, &T) -> std::cmp::Ordering,
    mut each: impl FnMut(Option<&'j T>, Option<&'j T>),
) {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (Some(a), Some(b)) => compare(a, b),
            (Some(_), None) => Less,
            (None, Some(_)) => Greater,
            (None, None) => return,
        };
        let a = if matches!(order, Less | Equal) { old.next() } else { None };
        let b = if matches!(order, Greater | Equal) { new.next() } else { None };
        each(a, b);
    }
}

/// Whether nothing differs: numbers by value, arrays in any order.
pub(super) fn are_same(a: &Json<'_>, b: &Json<'_>) -> bool {
    match (a, b) {
        (Json::Num(a), Json::Num(b)) => number::are_equal(a, b),
        (Json::Obj(_), Json::Obj(_)) | (Json::Arr(_), Json::Arr(_)) => a == b || digest(a) == digest(b),
        _ => a == b,
    }
}

/// The same number for equal values, and almost always different ones for others.
pub(super) fn digest(value: &Json<'_>) -> u64 {
    // The hasher's keys are fixed: the same in every process; the result is never stored.
    let mut hasher = DefaultHasher::new();
    match value {
        Json::Null => 0_u8.hash(&mut hasher),
        Json::Bool(flag) => (1_u8, flag).hash(&mut hasher),
        Json::Num(literal) => match Decimal::parse(literal) {
            Some(number) => (2_u8, number).hash(&mut hasher),
            None => (3_u8, literal).hash(&mut hasher),
        },
        Json::Str(text) => (4_u8, text).hash(&mut hasher),
        Json::Arr(items) => {
            let mut digests: Vec<u64> = items.iter().map(digest).collect();
            digests.sort_unstable();
            (5_u8, digests).hash(&mut hasher);
        }
        Json::Obj(pairs) => {
            (6_u8, pairs.len()).hash(&mut hasher);
            for (key, value) in pairs {
                (key, digest(value)).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}
