//! Examples: what the tests have really sent and got. Their transcripts are snapshots that the tests compare on both
//! engines, so no example can say what the service does not.

use serde_json::Value;
use std::collections::BTreeMap;

/// Conversations: a line with method, path and body, below it the answer. Ids are numbers there.
const TRANSCRIPTS: [&str; 4] = [
    include_str!(
        "../../../../tests/api/operations/snapshots/api__operations__families__distributors__distributors.snap"
    ),
    include_str!(
        "../../../../tests/api/operations/snapshots/api__operations__families__resellers__resellers.snap"
    ),
    include_str!(
        "../../../../tests/api/operations/snapshots/api__operations__families__customers__customers.snap"
    ),
    include_str!("../../../../tests/api/operations/snapshots/api__operations__people__users__users.snap"),
];
/// Longest request and answer shown; longer ones are there to find limits.
const MOST_BYTES: usize = 4096;

/// A request with its answer.
#[derive(Debug)]
pub(super) struct Example {
    /// Body; null without one.
    pub sent: Value,
    /// The whole answer.
    pub answer: Value,
}

/// The first example of each answer, by operation and status.
pub(super) struct Examples(BTreeMap<(String, u16), Example>);

impl Examples {
    /// Of these operations: method, path template and name.
    pub(super) fn of(operations: &[(String, String, String)]) -> Examples {
        let mut all = BTreeMap::new();
        for transcript in TRANSCRIPTS {
            let mut lines = transcript.lines().peekable();
            while let Some(line) = lines.next() {
                let Some(answer) = lines.next_if(|next| next.starts_with("    {")) else { continue };
                let Some(found) = read(line, answer, operations) else { continue };
                let ((name, status), example) = found;
                // A success that has been asked for with something says more than one without.
                all.entry((name, status)).or_insert(example);
            }
        }
        Examples(all)
    }

    /// Of an operation, by status.
    pub(super) fn of_operation(&self, name: &str) -> impl Iterator<Item = (u16, &Example)> {
        let range = (name.to_owned(), 0)..=(name.to_owned(), u16::MAX);
        self.0.range(range).map(|((_, status), example)| (*status, example))
    }
}

type Found = ((String, u16), Example);

fn read(line: &str, answer: &str, operations: &[(String, String, String)]) -> Option<Found> {
    if line.len().max(answer.len()) > MOST_BYTES {
        return None;
    }
    let (method, rest) = line.split_once(' ')?;
    let (path, body) = rest.split_once(' ').unwrap_or((rest, "null"));
    let path = path.split('?').next().unwrap_or(path);
    let fits = |(m, template, _): &&(String, String, String)| m == method && is_of(template, path);
    // Literal segments win over parameters.
    let (_, _, name) =
        operations.iter().filter(fits).min_by_key(|(_, template, _)| template.matches('{').count())?;
    let answer: Value = serde_json::from_str(&numbered(answer.trim())).ok()?;
    let sent = serde_json::from_str(&numbered(body)).ok()?;
    let status = u16::try_from(answer["code"].as_u64()?).ok()?;
    Some(((name.clone(), status), Example { sent, answer }))
}

fn is_of(template: &str, path: &str) -> bool {
    let (mut a, mut b) = (template.split('/'), path.split('/'));
    loop {
        match (a.next(), b.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b || a.starts_with('{') => {}
            _ => return false,
        }
    }
}

/// `"#7"` as an id again, the same number always the same.
fn numbered(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\"#") {
        let (before, after) = rest.split_at(at);
        let digits = after[2..].bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(before);
        match after.get(2..2 + digits).and_then(|number| number.parse::<u32>().ok()) {
            Some(number) if after[2 + digits..].starts_with('"') => {
                out.push_str(&format!("\"01950000-0000-7000-8000-{number:012}\""));
                rest = &after[3 + digits..];
            }
            _ => {
                out.push_str("\"#");
                rest = &after[2..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::{is_of, numbered};

    #[test]
    fn paths_and_ids() {
        assert!(
            is_of("/users/{id}", "/users/#1")
                && !is_of("/users/{id}", "/users/#1/x")
                && !is_of("/users", "/x")
        );
        let id = |n: u32| format!("\"01950000-0000-7000-8000-{n:012}\"");
        assert_eq!(
            numbered(r##"{"a":"#12","b":"#x","c":"#3"}"##),
            format!(r##"{{"a":{},"b":"#x","c":{}}}"##, id(12), id(3))
        );
    }
}
