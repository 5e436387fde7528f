//! The golden matrix: every default role at every level, and its rights on each neighbour. `matrix.txt` is written only
//! when `BAILIWICK_WRITE_MATRIX` is set; every change of it is a change of rights.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail so")]

mod common;

use bailiwick_domain::OrgType;
use bailiwick_policy::*;
use common::{DELETED, LIVE, Node, built_in, tree};
use std::fmt::Write;

const ROLES: [&str; 5] = ["super", "admin", "backoffice", "support", "reader"];

/// The neighbours of a caller's organization, by index into the tree; `None` where the level has none.
struct Neighbours {
    own: usize,
    child: Option<usize>,
    grandchild: Option<usize>,
    sibling: Option<usize>,
    foreign: Option<usize>,
    parent: Option<usize>,
}

const COLUMNS: [&str; 8] = ["self", "own", "child", "grandchild", "sibling", "foreign", "parent", "deleted"];

fn neighbours(org_type: OrgType) -> Neighbours {
    let (own, child, grandchild, sibling, foreign, parent) = match org_type {
        OrgType::Owner => (0, Some(1), Some(3), None, None, None),
        OrgType::Distributor => (1, Some(3), Some(7), Some(2), Some(5), Some(0)),
        OrgType::Reseller => (3, Some(7), None, Some(4), Some(11), Some(1)),
        OrgType::Customer => (7, None, None, Some(8), Some(10), Some(3)),
    };
    Neighbours { own, child, grandchild, sibling, foreign, parent }
}

fn word<Id>(decision: Decision<Id>) -> &'static str {
    match decision {
        Decision::Allowed(_) => "yes",
        Decision::Hidden(_) => "404",
        Decision::Refused(refusal) => match refusal {
            Refusal::Gate => "gate",
            Refusal::OnSelf | Refusal::ImpersonateSelf => "self",
            Refusal::AccessDenied { .. } => "denied",
            Refusal::OwnersOnly { .. } | Refusal::Creation(_) => "level",
            Refusal::NotInHierarchy | Refusal::UserHome { .. } | Refusal::AttributionScope => "scope",
            Refusal::UnknownOrganization { .. } => "400",
            Refusal::AttributionLevel { .. } | Refusal::AttributionType(_) => "attr",
            Refusal::Outranked(_) | Refusal::Ungrantable(_) => "rank",
            Refusal::NoConsent => "consent",
            Refusal::Misapplied { .. } => "n/a",
            other => panic!("no word for {other:?}"),
        },
    }
}

/// One cell for each column; `ask` gets the organization, its state and whether the target is the caller.
fn cells(n: &Neighbours, ask: impl Fn(&Node, Standing, bool) -> &'static str) -> Vec<&'static str> {
    let nodes = tree();
    let live = |index: Option<usize>| index.map_or("-", |i| ask(&nodes[i], LIVE, false));
    vec![
        ask(&nodes[n.own], LIVE, true),
        live(Some(n.own)),
        live(n.child),
        live(n.grandchild),
        live(n.sibling),
        live(n.foreign),
        live(n.parent),
        ask(&nodes[n.child.unwrap_or(n.own)], DELETED, false),
    ]
}

fn line(out: &mut String, label: &str, cells: &[&str]) {
    write!(out, "  {label:<44}").unwrap();
    cells.iter().for_each(|c| write!(out, " {c:<10}").unwrap());
    out.truncate(out.trim_end().len());
    out.push('\n');
}

/// Actions with the same cells share a line.
fn table(
    out: &mut String,
    kind: &str,
    n: &Neighbours,
    ask: impl Fn(Action, &Node, Standing, bool) -> &'static str,
) {
    let mut rows: Vec<(Vec<String>, Vec<&'static str>)> = Vec::new();
    for action in Action::all() {
        let cells = cells(n, |node, standing, own| ask(action, node, standing, own));
        if cells.iter().all(|c| ["-", "n/a"].contains(c)) {
            continue;
        }
        let name = format!("{action:?}").to_lowercase();
        match rows.iter_mut().find(|(_, other_cells)| *other_cells == cells) {
            Some((names, _)) => names.push(name),
            None => rows.push((vec![name], cells)),
        }
    }
    for (names, cells) in rows {
        for (i, chunk) in names.chunks(4).enumerate() {
            let lead = if i == 0 { kind } else { "" };
            let blank = vec![""; cells.len()];
            let last = (i + 1) * 4 >= names.len();
            line(out, &format!("{lead:<7} {}", chunk.join(" ")), if last { &cells } else { &blank });
        }
    }
}

fn block(out: &mut String, title: &str, caller: &Caller, org_type: OrgType) {
    let n = neighbours(org_type);
    writeln!(out, "\n{title}").unwrap();
    line(out, "", &COLUMNS);
    table(out, "org", &n, |action, node, standing, own| {
        if own || action == Action::Create {
            "-"
        } else {
            word(decide(caller, action, &node.target(standing)))
        }
    });
    table(out, "user", &n, |action, node, standing, own| {
        if action == Action::Create {
            return "-";
        }
        let target = node.user(if own { 1 } else { 2 }, built_in(node.org_type, &["reader"]), standing);
        word(decide(caller, action, &target))
    });
    table(out, "system", &n, |action, node, standing, own| {
        if own || action == Action::Create {
            "-"
        } else {
            word(decide(caller, action, &node.system(standing)))
        }
    });
    table(
        out,
        "app",
        &n,
        |action, node, standing, own| {
            if own { "-" } else { word(decide(caller, action, &node.application(standing))) }
        },
    );
    placements(out, caller, &n);
    scopes(out, caller);
}

fn placements(out: &mut String, caller: &Caller, n: &Neighbours) {
    for (label, action) in [("new user in", Action::Create), ("move user to", Action::Update)] {
        let ask = |node: &Node, standing, own| {
            let home = UserHome { requested_id: String::new(), node: Some(node.org_node(standing)) };
            if own { "-" } else { word(decide(caller, action, &home)) }
        };
        line(out, label, &cells(n, ask));
    }
    let ask = |node: &Node, standing, own| {
        let home = SystemHome { node: Some(node.org_node(standing)) };
        if own { "-" } else { word(decide(caller, Action::Create, &home)) }
    };
    line(out, "new system in", &cells(n, ask));
    for family in [OrgType::Distributor, OrgType::Reseller, OrgType::Customer] {
        let ask = |node: &Node, standing, own| {
            let parent = if own { Parent::Own } else { Parent::Named(Some(node.org_node(standing))) };
            word(decide(caller, Action::Create, &NewOrganization { family, parent }))
        };
        line(out, &format!("new {} below (self: by default)", family.as_str()), &cells(n, ask));
    }
}

fn scopes(out: &mut String, caller: &Caller) {
    let shown = Resource::ALL.map(|resource| {
        let scope = match list_scope(caller, resource) {
            Ok(Scope::Everything) => "all",
            Ok(Scope::Subtree { .. }) => "subtree",
            Ok(Scope::Organization(_)) => "own",
            Ok(Scope::SelfOnly(_) | Scope::Nothing) => "nothing",
            Err(Refusal::Gate) => "gate",
            Err(_) => "level",
        };
        format!("{}={scope}", resource.as_str())
    });
    writeln!(out, "  lists: {}", shown.join(" ")).unwrap();
}

fn rank_table(out: &mut String, org_type: OrgType) {
    let nodes = tree();
    let n = neighbours(org_type);
    let own = &nodes[n.own];
    let other = &nodes[n.child.unwrap_or(n.own)];
    writeln!(
        out,
        "\nrank: {} caller (down) updates a user of {} {} (across), and gives them that role",
        org_type.as_str(),
        if n.child.is_some() { "a child" } else { "the same" },
        other.org_type.as_str()
    )
    .unwrap();
    line(out, "", &ROLES);
    for role in ROLES {
        let caller = Caller::user(own.identity(1, built_in(org_type, &[role])), None);
        let cells = ROLES.map(|role_key| {
            let target = other.user(2, built_in(other.org_type, &[role_key]), LIVE);
            let act = word(decide(&caller, Action::Update, &target));
            let granted = may_grant(&caller, Catalogue::built_in(), &[role_key.to_owned()], other.org_type);
            match (act, granted.is_ok()) {
                ("yes", true) => "yes",
                ("rank", false) => "rank",
                ("gate", false) => "gate",
                ("gate", true) => "gate+",
                odd => panic!("acting and granting disagree: {odd:?}"),
            }
        });
        let offered: Vec<&str> =
            visible_roles(&caller, Catalogue::built_in()).iter().map(|r| r.key.as_str()).collect();
        line(out, &format!("{role} ({})", offered.join(" ")), &cells);
    }
}

fn matrix() -> String {
    let mut out = String::from(
        "Who may do what: built-in catalogue. Written by tests/matrix.rs; see there.\n\n\
         yes = allowed; 404 = hidden; everything else is 403:\n\
         gate = insufficient permissions; self = on oneself; denied = not on the own organization, or promote;\n\
         level = the caller's level may not; scope = organization out of reach; attr = may not be attributed so;\n\
         rank = the user has more than the caller; consent = nobody to impersonate;\n\
         400 = unknown organization, told to owners only; - = no such case.\n\
         Users across are readers with live consent; self is the caller. The deleted column: below the caller's\n\
         organization, or in it where nothing is below. Foreign: somebody else's of a lower or the same level.\n",
    );
    for org_type in OrgType::ALL {
        let own = &tree()[neighbours(org_type).own];
        for role in ROLES {
            let caller = Caller::user(own.identity(1, built_in(org_type, &[role])), None);
            block(&mut out, &format!("{} / {role}", org_type.as_str()), &caller, org_type);
        }
        for (word, mode) in [("write", KeyMode::Write), ("read", KeyMode::Read)] {
            let identity = own.identity(1, built_in(org_type, &["super"]));
            let caller = Caller::ApiKey { identity, mode };
            block(&mut out, &format!("{} / super, {word} key", org_type.as_str()), &caller, org_type);
        }
    }
    OrgType::ALL.into_iter().for_each(|org_type| rank_table(&mut out, org_type));
    out.push_str(
        "\n(in brackets: the roles GET /roles offers; gate+ = the roles would pass, the gate does not)\n",
    );
    out
}

#[test]
fn matrix_is_as_written() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/matrix.txt");
    let now = matrix();
    if std::env::var_os("BAILIWICK_WRITE_MATRIX").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    for (number, (was, is)) in written.lines().zip(now.lines()).enumerate() {
        assert_eq!(was, is, "matrix.txt line {}: the rules say something else now", number + 1);
    }
    assert_eq!(written.lines().count(), now.lines().count());
}
