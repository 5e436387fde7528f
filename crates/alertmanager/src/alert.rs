//! Alerts as systems push them: reading, checking, adding the identity, writing for a remote router
//! (spec: alerts#push, alerts#identity-labels, alerts#limits).

use crate::{
    Fingerprint, Labels, Limits, Nanos, Reject, SenderLabels,
    labels::is_name,
    quote::quoted,
    sender_labels::{expand, is_server_owned},
    uri::is_uri,
};
use bailiwick_domain::json::{self, Json, write_str};
use std::{borrow::Cow, time::Duration};

/// Deepest nesting of a body (spec: alerts#request-order).
pub const BODY_DEPTH: usize = 16;

/// One alert that passed all checks. Times are those the sender gave; the router sets missing ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedAlert {
    /// Without empty values; with the stable labels of the sender. They never change, so the cached `fingerprint` stays
    /// valid: each push needs it several times.
    labels: Labels,
    fingerprint: Fingerprint,
    /// With the display values of the sender, placeholders replaced.
    pub annotations: Labels,
    /// Start, if given.
    pub starts_at: Option<Nanos>,
    /// End, if given.
    pub ends_at: Option<Nanos>,
    /// Address that produced the alert; empty = none.
    pub generator_url: String,
}

impl PostedAlert {
    /// Starts with these labels; without annotations, times and address.
    pub fn of(labels: Labels) -> PostedAlert {
        PostedAlert {
            fingerprint: Fingerprint::of(&labels),
            labels,
            annotations: Labels::default(),
            starts_at: None,
            ends_at: None,
            generator_url: String::new(),
        }
    }

    /// Without empty values; with the stable labels of the sender.
    pub const fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The labels alone, for callers that need nothing else.
    pub fn into_labels(self) -> Labels {
        self.labels
    }

    /// Its identity within the tenant.
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The key of its system: every alert from a system or the service itself has one.
    pub fn system_key(&self) -> &str {
        self.labels.value("system_key")
    }

    /// The start, or its default if none was given (spec: alert-router#ingest).
    pub fn start(&self, now: Nanos) -> Nanos {
        self.starts_at.or(self.ends_at).unwrap_or(now)
    }

    /// Start and end, with defaults for missing ones, and whether the end is a default (spec: alert-router#ingest).
    pub fn span(&self, now: Nanos, resolve_timeout: Duration) -> (Nanos, Nanos, bool) {
        let start = self.start(now);
        match self.ends_at {
            Some(end) => (start, end, false),
            None => (start, now.plus(resolve_timeout), true),
        }
    }
}

/// The settings by which a push is checked.
#[derive(Clone, Copy, Debug)]
pub struct Intake<'a> {
    /// The sender. `None` leaves labels and annotations alone; only for the plain interface of conformance tests.
    pub identity: Option<&'a SenderLabels>,
    /// Time of the request.
    pub now: Nanos,
    /// How long an alert without end lives unless it is refreshed.
    pub resolve_timeout: Duration,
    /// Sizes.
    pub limits: &'a Limits,
}

/// The good alerts of a push, in order, and the texts about the bad ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// To be stored.
    pub alerts: Vec<PostedAlert>,
    /// Why others are not, in their order.
    pub refused: Vec<String>,
}

impl Batch {
    /// The answer when alerts were refused; it is sent after the others were stored.
    pub fn refusal(&self) -> Option<Reject> {
        if self.refused.is_empty() { None } else { Some(Reject::bad(self.refused.join("\n"))) }
    }
}

/// Reads the body of a push. `Err` refuses the whole push.
pub fn parse_alerts(body: &[u8], intake: &Intake<'_>) -> Result<Batch, Reject> {
    if body.trim_ascii().is_empty() {
        return Err(Reject::required("alerts"));
    }
    // An alert with a repeated key is refused (spec: alerts#request-order), except for vmalert, which writes one label
    // twice with the same value (clients#alertmanager-clients).
    let limits = json::Limits {
        duplicates: json::Duplicates::SameStringIn("labels"),
        ..json::Limits::strict(BODY_DEPTH)
    };
    let body = String::from_utf8_lossy(body);
    let (value, faults) =
        json::parse_each(body.as_bytes(), &limits).map_err(|e| Reject::not_json("alerts", &e))?;
    let elements = match value {
        Json::Arr(elements) => elements,
        Json::Null => return Ok(Batch::default()),
        other => {
            return Err(Reject::unreadable("alerts", &format!("expected an array, found {}", other.kind())));
        }
    };
    if elements.len() > intake.limits.alerts_per_request {
        return Err(Reject::TOO_LARGE);
    }
    // Wrong types are reported before missing values, as by decoders that read everything first and check then.
    let mut read = Vec::with_capacity(elements.len());
    for (index, element) in elements.into_iter().enumerate() {
        read.push(Raw::read(element).map_err(|reason| {
            let (field, found) = reason;
            Reject::unreadable("alerts", &format!("{index}{field}: {found}"))
        })?);
    }
    for (index, raw) in read.iter().enumerate() {
        if !raw.generator_url.is_empty() && !is_uri(&raw.generator_url) {
            let value = quoted(&raw.generator_url);
            let message = format!("{index}.generatorURL in body must be of type uri: {value}");
            return Err(Reject::unprocessable(601, message));
        }
        if raw.labels.is_none() {
            return Err(Reject::required(&format!("{index}.labels")));
        }
    }
    let mut batch = Batch { alerts: Vec::with_capacity(read.len()), refused: Vec::new() };
    let mut faults = faults.into_iter().peekable();
    for (index, raw) in read.into_iter().enumerate() {
        let checked = match faults.next_if(|(of, _)| *of == index) {
            Some((_, fault)) => Err(fault.to_string()),
            None => raw.check(intake),
        };
        match checked {
            Ok(alert) => batch.alerts.push(alert),
            Err(text) => batch.refused.push(text),
        }
    }
    Ok(batch)
}

type Pairs<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// One element with the right types.
#[derive(Default)]
struct Raw<'a> {
    labels: Option<Pairs<'a>>,
    annotations: Pairs<'a>,
    starts_at: Option<Nanos>,
    ends_at: Option<Nanos>,
    generator_url: Cow<'a, str>,
}

/// The place within the element, and the problem.
type WrongType = (&'static str, String);

impl<'a> Raw<'a> {
    fn read(element: Json<'a>) -> Result<Raw<'a>, WrongType> {
        let pairs = match element {
            Json::Obj(pairs) => pairs,
            Json::Null => return Ok(Raw::default()),
            other => return Err(("", format!("expected an object, found {}", other.kind()))),
        };
        let mut raw = Raw::default();
        for (key, value) in pairs {
            match key.as_ref() {
                // A null value of a label is an empty one, which is dropped later on.
                "labels" => raw.labels = string_map(value).map_err(|e| (".labels", e))?,
                "annotations" => {
                    raw.annotations = string_map(value).map_err(|e| (".annotations", e))?.unwrap_or_default();
                }
                "startsAt" => raw.starts_at = time(&value).map_err(|e| (".startsAt", e))?,
                "endsAt" => raw.ends_at = time(&value).map_err(|e| (".endsAt", e))?,
                "generatorURL" => raw.generator_url = address(value).map_err(|e| (".generatorURL", e))?,
                _ => {}
            }
        }
        Ok(raw)
    }

    /// The checks that concern one alert; the text is for the client.
    fn check(self, intake: &Intake<'_>) -> Result<PostedAlert, String> {
        let foreign = |name: &str| intake.identity.is_none() || !is_server_owned(name);
        let own = |pairs: Pairs<'_>| {
            let foreign_pairs = pairs.into_iter().filter(|(name, _)| foreign(name));
            Labels::from_pairs(foreign_pairs.map(|(name, value)| (text(name), text(value))).collect())
        };
        let mut labels = own(self.labels.unwrap_or_default());
        labels.retain(|_, value| !value.is_empty());
        let mut alert = PostedAlert {
            labels,
            fingerprint: Fingerprint(0),
            annotations: own(self.annotations),
            starts_at: self.starts_at,
            ends_at: self.ends_at,
            generator_url: text(self.generator_url),
        };
        let (start, end, _) = alert.span(intake.now, intake.resolve_timeout);
        if end < start {
            return Err("start time must be before end time".to_owned());
        }
        if alert.labels.is_empty() {
            return Err("at least one label pair required".to_owned());
        }
        names_are_valid("invalid label set", &alert.labels)?;
        names_are_valid("invalid annotations", &alert.annotations)?;
        if !fits(&alert, intake.limits) || !identify(&mut alert, intake) {
            return Err("alert exceeds the size limit".to_owned());
        }
        // Now that all labels are there.
        alert.fingerprint = Fingerprint::of(&alert.labels);
        Ok(alert)
    }
}

/// Text that every storage engine can hold: some have no NUL character.
pub(crate) fn text(text: Cow<'_, str>) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.into_owned() }
}

fn string_map(value: Json<'_>) -> Result<Option<Pairs<'_>>, String> {
    let pairs = match value {
        Json::Obj(pairs) => pairs,
        Json::Null => return Ok(None),
        other => return Err(format!("expected an object, found {}", other.kind())),
    };
    let mut out = Vec::with_capacity(pairs.len() + 10);
    for (name, value) in pairs {
        match value {
            Json::Str(value) => out.push((name, value)),
            Json::Null => {}
            other => return Err(format!("expected strings, found {}", other.kind())),
        }
    }
    Ok(Some(out))
}

/// A time; null, the empty text and the zero time stand for none.
fn time(value: &Json<'_>) -> Result<Option<Nanos>, String> {
    match value {
        Json::Null => Ok(None),
        Json::Str(s) if s.is_empty() => Ok(None),
        Json::Str(s) => match Nanos::parse(s) {
            Some(t) => Ok(Some(t).filter(|t| !t.is_zero_time())),
            None => Err("not a date-time".to_owned()),
        },
        other => Err(format!("expected a date-time, found {}", other.kind())),
    }
}

fn address(value: Json<'_>) -> Result<Cow<'_, str>, String> {
    match value {
        Json::Str(s) => Ok(s),
        Json::Null => Ok(Cow::Borrowed("")),
        other => Err(format!("expected a string, found {}", other.kind())),
    }
}

fn names_are_valid(what: &str, labels: &Labels) -> Result<(), String> {
    match labels.iter().find(|(name, _)| !is_name(name)) {
        Some((name, _)) => Err(format!("{what}: invalid name {}", quoted(name))),
        None => Ok(()),
    }
}

fn fits(alert: &PostedAlert, limits: &Limits) -> bool {
    let each = |labels: &Labels, count: usize, value_bytes: usize| {
        labels.len() <= count
            && labels.iter().all(|(n, v)| n.len() <= limits.name_bytes && v.len() <= value_bytes)
    };
    each(&alert.labels, limits.labels, limits.label_value_bytes)
        && each(&alert.annotations, limits.annotations, limits.annotation_value_bytes)
        && size(alert) <= limits.alert_bytes
}

fn size(alert: &PostedAlert) -> usize {
    alert.labels.size() + alert.annotations.size() + alert.generator_url.len()
}

/// Replaces placeholders, then adds labels and annotations of the sender. False when the alert becomes too large.
fn identify(alert: &mut PostedAlert, intake: &Intake<'_>) -> bool {
    let Some(identity) = intake.identity else { return true };
    let limits = intake.limits;
    let expanded: Option<Vec<(String, String)>> = if alert.annotations.iter().any(|(_, v)| v.contains("{{")) {
        let value = |name: &str| identity.get(name).or_else(|| alert.labels.get(name));
        let each = alert
            .annotations
            .iter()
            .map(|(name, text)| Some((name.to_owned(), expand(text, limits.annotation_value_bytes, value)?)));
        let Some(pairs) = each.collect() else { return false };
        Some(pairs)
    } else {
        None
    };
    if let Some(pairs) = expanded {
        alert.annotations = Labels::from_pairs(pairs);
        if size(alert) > limits.alert_bytes {
            return false;
        }
    }
    for (name, value) in identity.stable() {
        alert.labels.insert(name, value);
    }
    for (name, value) in identity.display() {
        if !value.is_empty() {
            alert.annotations.insert(name, value);
        }
    }
    true
}

/// The body for a remote router, written from the parsed alerts only.
pub fn write_alerts(alerts: &[PostedAlert]) -> String {
    write_with(alerts, |alert| alert.starts_at)
}

/// As [`write_alerts`], with a start for every alert: the one a router that receives the alert without a start at `now`
/// would set. So the router later reports the same start that is stored here, however long the request takes.
pub fn write_started_alerts(alerts: &[PostedAlert], now: Nanos) -> String {
    write_with(alerts, |alert| Some(alert.start(now)))
}

fn write_with(alerts: &[PostedAlert], start: impl Fn(&PostedAlert) -> Option<Nanos>) -> String {
    let mut out = String::with_capacity(alerts.iter().map(|a| size(a) + 160).sum());
    out.push('[');
    for (i, alert) in alerts.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str("{\"labels\":");
        alert.labels.write(&mut out);
        out.push_str(",\"annotations\":");
        alert.annotations.write(&mut out);
        for (key, time) in [(",\"startsAt\":\"", start(alert)), (",\"endsAt\":\"", alert.ends_at)] {
            if let Some(time) = time {
                out.push_str(key);
                time.write_exact(&mut out);
                out.push('"');
            }
        }
        if !alert.generator_url.is_empty() {
            out.push_str(",\"generatorURL\":");
            write_str(&mut out, &alert.generator_url);
        }
        out.push('}');
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests;
