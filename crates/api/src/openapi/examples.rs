//! Examples: requests and answers recorded by the tests, so that none can show an answer the service does not give.
//! `tests/api/examples.rs` writes those of successes; those of refusals are in the transcripts of
//! `tests/api/operations.rs`. The tests compare both on both engines.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// One success of each operation, by its name.
const SUCCESSES: &str = include_str!("examples.json");

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
/// Longest request and answer shown; longer ones exist to test limits.
const MOST_BYTES: usize = 4096;

/// A request with its answer.
#[derive(Debug, Deserialize)]
pub(super) struct Example {
    /// Method, path and query.
    pub request: String,
    /// Body; none for no body and for files that are no text.
    pub sent: Option<Value>,
    /// The media type of the answer, or empty.
    #[serde(default, rename = "type")]
    pub media_type: String,
    /// The whole answer, with long lists cut; none where it is empty or no text.
    pub answer: Option<Value>,
}

/// The examples of all operations.
pub(super) struct Examples {
    successes: BTreeMap<String, Example>,
    /// The first of each status.
    refusals: BTreeMap<(String, u16), Value>,
}

impl Examples {
    /// Of these operations: method, path template and name.
    pub(super) fn of(operations: &[(String, String, String)]) -> Examples {
        let mut refusals = BTreeMap::new();
        for transcript in TRANSCRIPTS {
            let mut lines = transcript.lines().peekable();
            while let Some(line) = lines.next() {
                let Some(answer) = lines.next_if(|next| next.starts_with("    {")) else { continue };
                if let Some((of, answer)) = read(line, answer, operations) {
                    refusals.entry(of).or_insert(answer);
                }
            }
        }
        // If the file cannot be read, all operations lack their example, and a test fails.
        Examples { successes: serde_json::from_str(SUCCESSES).unwrap_or_default(), refusals }
    }

    /// Of an operation's success.
    pub(super) fn success(&self, name: &str) -> Option<&Example> {
        self.successes.get(name)
    }

    /// The refusals of an operation, by status.
    pub(super) fn refusals(&self, name: &str) -> impl Iterator<Item = (u16, &Value)> {
        let range = (name.to_owned(), 400)..=(name.to_owned(), u16::MAX);
        self.refusals.range(range).map(|((_, status), answer)| (*status, answer))
    }
}

type RefusalExample = ((String, u16), Value);

fn read(line: &str, answer: &str, operations: &[(String, String, String)]) -> Option<RefusalExample> {
    if line.len().max(answer.len()) > MOST_BYTES {
        return None;
    }
    let (method, rest) = line.split_once(' ')?;
    let path = rest.split(' ').next().unwrap_or(rest);
    let path = path.split('?').next().unwrap_or(path);
    let fits = |(m, template, _): &&(String, String, String)| m == method && is_of(template, path);
    // Literal segments win over parameters.
    let (_, _, name) =
        operations.iter().filter(fits).min_by_key(|(_, template, _)| template.matches('{').count())?;
    let answer: Value = serde_json::from_str(&numbered(answer.trim())).ok()?;
    let status = u16::try_from(answer["code"].as_u64()?).ok()?;
    Some(((name.clone(), status), answer))
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

/// Converts `"#7"` into an id again, always the same one for a number.
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
