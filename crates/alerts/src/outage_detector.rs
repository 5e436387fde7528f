//! Signs of life of the processes that serve the embedded router. A gap between them is an outage, during which no
//! alert could be refreshed, whether the processes, their machine or the database had stopped (spec:
//! alert-router#life).
//!
//! Code that treats alerts as over because of the time calls [`sign_if_due`] first. So a process that comes back knows
//! of the outage before it answers or writes anything, and a process that cannot give a sign waits.

use crate::Alerts;
use bailiwick_alertmanager::{
    Nanos,
    router::{Outage, REFRESH_AFTER_OUTAGE},
};
use bailiwick_domain::Ts;
use bailiwick_store::{StoreError, router as rows};
use std::{
    sync::{PoisonError, RwLock},
    time::Duration,
};

/// Between two signs of life.
pub const INTERVAL: Duration = Duration::from_secs(15);

/// The last outage, as far as this process knows.
#[derive(Debug, Default)]
pub(super) struct KnownOutage(RwLock<OutageState>);

#[derive(Clone, Copy, Debug, Default)]
struct OutageState {
    outage: Option<Outage>,
    /// When this process gave its last sign of life.
    signed_at: Option<Ts>,
}

impl KnownOutage {
    /// None as long as there has been none.
    pub(super) fn get(&self) -> Option<Outage> {
        self.state().outage
    }

    /// When that was over.
    pub(super) fn ended_at(&self) -> Option<Ts> {
        self.get().map(|outage| outage.ended_at().to_ts())
    }

    fn state(&self) -> OutageState {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: OutageState) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// Gives a sign of life unless the last one is recent, and learns of an outage that has just ended.
pub(super) async fn sign_if_due(service: &Alerts) -> Result<(), StoreError> {
    let signed_at = service.state.outage.state().signed_at;
    let now = service.platform.now();
    // If the clock was set back, the last sign does not count.
    let is_recent = signed_at.is_some_and(|at| at <= now && now.since(at) < INTERVAL);
    if is_recent { Ok(()) } else { sign(service).await }
}

async fn sign(service: &Alerts) -> Result<(), StoreError> {
    let short = service.settings.alerting.short_outage;
    let (at, outage) =
        rows::note_alive(&service.platform.db, &*service.platform.clock, short, REFRESH_AFTER_OUTAGE).await?;
    let ends = outage.map(|o| (Nanos::from_ts(o.down_since), Nanos::from_ts(o.up_since)));
    let outage = ends.and_then(|(down, up)| Outage::new(down, up));
    let state = &service.state;
    if let Some(new) = outage.filter(|new| state.outage.get() != Some(*new)) {
        tracing::warn!(outage = %new, "alerts could not be received for a while; those that ended meanwhile get five more minutes");
    }
    state.outage.set(OutageState { outage, signed_at: Some(at) });
    Ok(())
}
