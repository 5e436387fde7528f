//! The budget of regular expressions: what those of all silences of a system, and of a tenant, may take when compiled (spec:
//! alerts#limits). That of one silence is checked where it is read.

use super::{Fault, Sender, judging};
use crate::Alerts;
use bailiwick_alerting::{
    ListedSilence, PostedSilence, Reject, active_silence::Expressions, router::SilencePut,
};
use bailiwick_settings::AlertLimits;
use bailiwick_store::router::Counts;

/// Checks a silence of the embedded router beside the others in force. One whose expressions grow no larger passes.
pub(super) fn check_stored(
    limits: &AlertLimits,
    counts: &Counts,
    decided: &SilencePut,
) -> Result<(), Reject> {
    let before = decided.replaced.as_ref().map_or(0, |silence| silence.compiled_bytes as u64);
    let new = decided.put.compiled_bytes as u64;
    let is_beyond = |used: u64, most: usize| used.saturating_sub(before).saturating_add(new) > most as u64;
    if new <= before {
        return Ok(());
    }
    if is_beyond(counts.compiled_of_system, limits.compiled_per_system) {
        return Err(too_complex("system"));
    }
    if is_beyond(counts.compiled_of_tenant, limits.compiled_per_tenant) {
        return Err(too_complex("organization"));
    }
    Ok(())
}

/// Checks a silence for a remote router beside the system's silences in force, `own`. One that keeps its matchers passes.
pub(super) async fn check_listed(
    service: &Alerts,
    who: &Sender<'_>,
    posted: &PostedSilence,
    mut own: Vec<ListedSilence>,
) -> Result<(), Fault> {
    let is_kept = |s: &ListedSilence| Some(s.id) == posted.id && s.matchers == posted.matchers;
    if posted.compiled_bytes == 0 || own.iter().any(is_kept) {
        return Ok(());
    }
    own.retain(|s| Some(s.id) != posted.id);
    let most = service.settings.alerting.limits.compiled_per_system;
    let left = most.checked_sub(posted.compiled_bytes).ok_or_else(|| too_complex("system"))?;
    let size = move |expressions: &Expressions| expressions.size(own.iter().flat_map(|s| &s.matchers), left);
    if judging::by_system(service, who.tenant, size).await? > left {
        return Err(too_complex("system").into());
    }
    Ok(())
}

fn too_complex(whose: &str) -> Reject {
    Reject::bad(format!(
        "the regular expressions of all silences of this {whose} are too complex: end some silences, or use matchers with ="
    ))
}
