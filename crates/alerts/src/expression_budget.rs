//! The budget of regular expressions: what those of all silences of a system, and of a tenant, may take when compiled
//! (spec: alerts#limits). That of one silence is checked where it is read.

use super::{Fault, Sender, judging};
use crate::Alerts;
use bailiwick_alertmanager::{
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

/// Checks a silence for a remote router beside the system's silences in force, `own`. Returns how many bytes it adds to
/// the expressions of the tenant. One whose expressions grow no larger passes.
pub(super) async fn check_listed(
    service: &Alerts,
    who: &Sender<'_>,
    posted: &PostedSilence,
    own: Vec<ListedSilence>,
) -> Result<u64, Fault> {
    if posted.compiled_bytes == 0 {
        return Ok(0);
    }
    let (id, new) = (posted.id, posted.compiled_bytes);
    let most = service.settings.alerting.limits.compiled_per_system;
    let sizes = move |expressions: &Expressions| {
        let size = |is_replaced: bool, most: usize| {
            let silences = own.iter().filter(|s| (Some(s.id) == id) == is_replaced);
            expressions.size(silences.flat_map(|s| &s.matchers), most)
        };
        (size(true, new), size(false, most))
    };
    let (before, others) = judging::by_system(service, who.tenant, sizes).await?;
    if new <= before {
        return Ok(0);
    }
    if others.saturating_add(new) > most {
        return Err(too_complex("system").into());
    }
    Ok((new - before) as u64)
}

pub(super) fn too_complex(whose: &str) -> Reject {
    Reject::bad(format!(
        "the regular expressions of all silences of this {whose} are too complex: end some silences, or use matchers with ="
    ))
}
