//! Silences as systems post them (spec: silences#create-for-systems, silences#one-silence).

use crate::{
    Compiled, Labels, Limits, Matcher, Nanos, Op, Reject,
    alert::{BODY_DEPTH, text},
    labels::is_name,
    quote::quoted,
    re2::RegexError,
    sender_labels::{SYSTEM_KEY, SenderLabels},
};
use bailiwick_domain::json::{self, Json, write_str};
use uuid::Uuid;

/// A silence that passed all checks except the ownership of its id, which needs the stored one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedSilence {
    /// The silence to update, if any.
    pub id: Option<Uuid>,
    /// The client's matchers in order without those on stable labels, then the one of the own system.
    pub matchers: Vec<Matcher>,
    /// Start; may lie in the past.
    pub starts_at: Nanos,
    /// End.
    pub ends_at: Nanos,
    /// Author, maybe empty.
    pub created_by: String,
    /// Comment, maybe empty.
    pub comment: String,
    /// Free texts, mostly none.
    pub annotations: Labels,
    /// The size of its expressions when compiled, in bytes.
    pub compiled_bytes: usize,
}

/// The settings by which a silence is checked.
#[derive(Clone, Copy, Debug)]
pub struct SilenceIntake<'a> {
    /// The calling system. `None` keeps the matchers as they are; only for the plain interface of conformance tests.
    pub identity: Option<&'a SenderLabels>,
    /// Time of the request.
    pub now: Nanos,
    /// Sizes.
    pub limits: &'a Limits,
}

/// Reads the body of a POST and binds the silence to the calling system.
pub fn parse_silence(body: &[u8], intake: &SilenceIntake<'_>) -> Result<PostedSilence, Reject> {
    if body.trim_ascii().is_empty() {
        return Err(Reject::required("silence"));
    }
    let limits = json::Limits::strict(BODY_DEPTH);
    let body = String::from_utf8_lossy(body);
    let value = json::parse(body.as_bytes(), &limits).map_err(|e| Reject::not_json("silence", &e))?;
    if !matches!(value, Json::Obj(_) | Json::Null) {
        return Err(Reject::unreadable("silence", &format!("expected an object, found {}", value.kind())));
    }
    let raw = Raw::read(&value).map_err(|reason| Reject::unreadable("silence", &reason))?;
    raw.check(intake)
}

/// The object with the right types; `None` is missing or null.
struct Raw<'j> {
    id: Option<&'j str>,
    matchers: Option<Vec<RawMatcher<'j>>>,
    starts_at: Option<Nanos>,
    ends_at: Option<Nanos>,
    created_by: Option<&'j str>,
    comment: Option<&'j str>,
    annotations: Labels,
}

struct RawMatcher<'j> {
    name: Option<&'j str>,
    value: Option<&'j str>,
    is_regex: Option<bool>,
    is_equal: bool,
}

impl<'j> Raw<'j> {
    fn read(value: &'j Json<'_>) -> Result<Raw<'j>, String> {
        let matchers = match value.get("matchers") {
            None | Some(Json::Null) => None,
            Some(Json::Arr(list)) => {
                let each = list.iter().enumerate();
                Some(each.map(|(i, m)| RawMatcher::read(i, m)).collect::<Result<_, _>>()?)
            }
            Some(other) => return Err(format!("matchers: expected an array, found {}", other.kind())),
        };
        Ok(Raw {
            id: string(value, "id", "")?,
            matchers,
            starts_at: time(value, "startsAt")?,
            ends_at: time(value, "endsAt")?,
            created_by: string(value, "createdBy", "")?,
            comment: string(value, "comment", "")?,
            annotations: annotations(value.get("annotations"))?,
        })
    }

    /// All missing fields are reported before any value is checked; the order is that of the interface.
    fn check(self, intake: &SilenceIntake<'_>) -> Result<PostedSilence, Reject> {
        let comment = self.comment.ok_or_else(|| Reject::required("comment"))?;
        let created_by = self.created_by.ok_or_else(|| Reject::required("createdBy"))?;
        let ends_at = self.ends_at.ok_or_else(|| Reject::required("endsAt"))?;
        let raw_matchers = self.matchers.ok_or_else(|| Reject::required("matchers"))?;
        let starts_at = self.starts_at.ok_or_else(|| Reject::required("startsAt"))?;
        if raw_matchers.is_empty() {
            return Err(Reject::unprocessable(612, "matchers in body should have at least 1 items"));
        }
        let matchers =
            raw_matchers.iter().enumerate().map(|(i, m)| m.complete(i)).collect::<Result<Vec<_>, _>>()?;
        let id = self.id.filter(|id| !id.is_empty()).map(parse_id);
        let mut silence = PostedSilence {
            id: id.flatten(),
            matchers,
            starts_at,
            ends_at,
            created_by: text(created_by.into()),
            comment: text(comment.into()),
            annotations: self.annotations,
            compiled_bytes: 0,
        };
        check_size(&silence, intake.limits)?;
        check_times(&silence, intake)?;
        silence.compiled_bytes = check_matchers(&silence.matchers, intake)?;
        if id == Some(None) {
            return Err(Reject::silence_not_found());
        }
        if let Some(identity) = intake.identity {
            silence.matchers.retain(|m| identity.stable_value(&m.name).is_none());
            silence.matchers.push(Matcher::equal(SYSTEM_KEY, &identity.system_key));
        }
        Ok(silence)
    }
}

impl<'j> RawMatcher<'j> {
    fn read(index: usize, value: &'j Json<'_>) -> Result<RawMatcher<'j>, String> {
        let path = format!("matchers.{index}.");
        if !matches!(value, Json::Obj(_) | Json::Null) {
            return Err(format!("matchers.{index}: expected an object, found {}", value.kind()));
        }
        Ok(RawMatcher {
            name: string(value, "name", &path)?,
            value: string(value, "value", &path)?,
            is_regex: boolean(value, "isRegex", &path)?,
            is_equal: boolean(value, "isEqual", &path)?.unwrap_or(true),
        })
    }

    fn complete(&self, index: usize) -> Result<Matcher, Reject> {
        let missing = |key: &str| Reject::required(&format!("matchers.{index}.{key}"));
        let is_regex = self.is_regex.ok_or_else(|| missing("isRegex"))?;
        let name = self.name.ok_or_else(|| missing("name"))?;
        let value = self.value.ok_or_else(|| missing("value"))?;
        Ok(Matcher {
            name: name.to_owned(),
            value: text(value.into()),
            op: Op::from_flags(is_regex, self.is_equal),
        })
    }
}

fn wrong(path: &str, key: &str, expected: &str, value: &Json<'_>) -> String {
    format!("{path}{key}: expected {expected}, found {}", value.kind())
}

fn string<'j>(value: &'j Json<'_>, key: &str, path: &str) -> Result<Option<&'j str>, String> {
    match value.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Str(s)) => Ok(Some(s)),
        Some(other) => Err(wrong(path, key, "a string", other)),
    }
}

fn boolean(value: &Json<'_>, key: &str, path: &str) -> Result<Option<bool>, String> {
    match value.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Bool(b)) => Ok(Some(*b)),
        Some(other) => Err(wrong(path, key, "a boolean", other)),
    }
}

fn time(value: &Json<'_>, key: &str) -> Result<Option<Nanos>, String> {
    match string(value, key, "")? {
        // Other routers read an empty text as the epoch: a start in the past, or an end that has passed.
        Some("") => Ok(Some(Nanos::EPOCH)),
        Some(text) => Nanos::parse(text).map(Some).ok_or_else(|| format!("{key}: not a date-time")),
        None => Ok(None),
    }
}

fn annotations(value: Option<&Json<'_>>) -> Result<Labels, String> {
    let pairs = match value {
        None | Some(Json::Null) => return Ok(Labels::new()),
        Some(Json::Obj(pairs)) => pairs,
        Some(other) => return Err(wrong("", "annotations", "an object", other)),
    };
    let mut out = Vec::with_capacity(pairs.len());
    for (name, value) in pairs {
        match value {
            Json::Str(value) => out.push((text(name.clone()), text(value.clone()))),
            Json::Null => {}
            other => return Err(wrong("", "annotations", "strings", other)),
        }
    }
    Ok(Labels::from_pairs(out))
}

fn too_large() -> Reject {
    Reject::bad("silence exceeds the size limit")
}

/// Before any expression is compiled.
fn check_size(silence: &PostedSilence, limits: &Limits) -> Result<(), Reject> {
    let matchers: usize = silence.matchers.iter().map(|m| m.name.len() + m.value.len()).sum();
    let size = matchers + silence.comment.len() + silence.created_by.len() + silence.annotations.size();
    let expressions_fit =
        silence.matchers.iter().all(|m| !m.op.is_regex() || m.value.len() <= limits.expression_bytes);
    let fits = size <= limits.silence_bytes && silence.matchers.len() <= limits.matchers && expressions_fit;
    if fits { Ok(()) } else { Err(too_large()) }
}

fn check_times(silence: &PostedSilence, intake: &SilenceIntake<'_>) -> Result<(), Reject> {
    let (start, end) = (silence.starts_at, silence.ends_at);
    let fault = if start >= end {
        "start time must be before end time"
    } else if end < intake.now {
        "end time can't be in the past"
    } else if end.exceeds(intake.now, intake.limits.silence_length) {
        "duration exceeds the maximum"
    } else {
        return Ok(());
    };
    Err(Reject::bad(format!("Failed to create silence: {fault}")))
}

/// Checks the names, the expressions, that the silence selects something, and that a matcher of a stable label selects
/// the calling system. A silence of the whole system is allowed. Returns the compiled size of the expressions that are
/// kept.
fn check_matchers(matchers: &[Matcher], intake: &SilenceIntake<'_>) -> Result<usize, Reject> {
    let mut only_match_empty = true;
    let mut only_stable = true;
    let mut foreign = None;
    let mut memory = 0;
    let mut left = intake.limits.compiled_bytes;
    for (index, matcher) in matchers.iter().enumerate() {
        let compiled = compiled(index, matcher, left)?;
        let own = intake.identity.and_then(|identity| identity.stable_value(&matcher.name));
        let bytes = compiled.bytes();
        left = left.saturating_sub(bytes);
        memory += if own.is_none() { bytes } else { 0 };
        // As in other routers, only `=` and `=~` count; what the others select is wide, but within the own system.
        only_match_empty &= matcher.op.is_equal() && compiled.matches_value("");
        only_stable &= own.is_some();
        if own.is_some_and(|own| !compiled.matches_value(own)) {
            foreign.get_or_insert(&matcher.name);
        }
    }
    if let Some(name) = foreign {
        return Err(Reject::bad(format!("matcher {name} does not match this system")));
    }
    if only_match_empty && !only_stable {
        let text = "invalid silence: matcher set 0: at least one matcher must not match the empty string";
        return Err(Reject::bad(text));
    }
    Ok(memory)
}

/// A matcher with a good name and a good expression, whose compiled form takes at most `left` bytes.
fn compiled(index: usize, matcher: &Matcher, left: usize) -> Result<Compiled, Reject> {
    let invalid = |what: String| {
        Reject::bad(format!("invalid silence: invalid label matcher {index} in set 0: {what}"))
    };
    if !is_name(&matcher.name) {
        return Err(invalid(format!("invalid label name {}", quoted(&matcher.name))));
    }
    matcher.clone().compile_alone(left).map_err(|e| match e {
        RegexError::TooLarge => Reject::bad(
            "silence exceeds the size limit: its regular expressions are too complex; use shorter ones, or matchers with =",
        ),
        RegexError::Syntax(text) => {
            invalid(format!("invalid regular expression {}: {text}", quoted(&matcher.value)))
        }
    })
}

/// The id of a silence in a body or a path: a UUID in its usual form.
fn parse_id(text: &str) -> Option<Uuid> {
    if text.len() == 36 { Uuid::try_parse(text).ok() } else { None }
}

/// The id in a path, or the 422 for it (spec: silences#one-silence).
pub fn path_id(text: &str) -> Result<Uuid, Reject> {
    parse_id(text).ok_or_else(|| {
        Reject::unprocessable(601, format!("silenceID in path must be of type uuid: {}", quoted(text)))
    })
}

/// Whether a silence with these matchers belongs to the system. Only a literal, positive matcher counts.
pub fn is_owned(matchers: &[Matcher], system_key: &str) -> bool {
    matchers.iter().any(|m| m.op == Op::Equal && m.name == SYSTEM_KEY && m.value == system_key)
}

/// The body for a remote router, written from the parsed silence only.
pub fn write_silence(silence: &PostedSilence) -> String {
    let mut out = String::with_capacity(512);
    out.push('{');
    if let Some(id) = silence.id {
        out.push_str(&format!("\"id\":\"{id}\","));
    }
    write_matchers(&mut out, &silence.matchers);
    for (key, time) in [(",\"startsAt\":\"", silence.starts_at), (",\"endsAt\":\"", silence.ends_at)] {
        out.push_str(key);
        time.write_exact(&mut out);
        out.push('"');
    }
    out.push_str(",\"createdBy\":");
    write_str(&mut out, &silence.created_by);
    out.push_str(",\"comment\":");
    write_str(&mut out, &silence.comment);
    if !silence.annotations.is_empty() {
        out.push_str(",\"annotations\":");
        silence.annotations.write(&mut out);
    }
    out.push('}');
    out
}

/// Appends `"matchers":[…]`.
pub(crate) fn write_matchers(out: &mut String, matchers: &[Matcher]) {
    out.push_str("\"matchers\":[");
    for (i, m) in matchers.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&format!("{{\"isEqual\":{},\"isRegex\":{},\"name\":", m.op.is_equal(), m.op.is_regex()));
        write_str(out, &m.name);
        out.push_str(",\"value\":");
        write_str(out, &m.value);
        out.push('}');
    }
    out.push(']');
}

/// The answer to a POST that worked.
pub fn created(id: Uuid) -> String {
    format!("{{\"silenceID\":\"{id}\"}}\n")
}

#[cfg(test)]
mod tests;
