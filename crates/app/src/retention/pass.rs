//! One run, step by step. The database is consistent after every step, as if it had been the last.

use super::{
    RetentionReport,
    tiers::{Thinning, Tiers},
};
use crate::App;
use bailiwick_domain::{Result, SystemId, Ts};
use bailiwick_identity::{impersonation, logto_sync};
use bailiwick_store::{alert_handling, api_keys::events, history::expiry, inventory::retention};
use std::{collections::BTreeSet, time::Duration};
use uuid::Uuid;

/// Systems or records read by one statement.
const LOOK_AT: i64 = 500;
/// Records of a system read by one statement.
const READ: usize = 256;
/// Records that are removed by one transaction, about.
const RECORDS: usize = 128;
/// Rows of other kinds that are removed by one transaction.
const ROWS: i64 = 500;
/// Rows of the alert history that are removed by one transaction.
const HISTORY_ROWS: i64 = 1000;
/// Alerts end at this age and are removed this long after their end; quarantined documents are removed at this age.
const THIRTY_DAYS: Duration = Duration::from_secs(30 * 24 * 3600);

/// Refusals of API keys that do not work any more go at that age.
const REFUSALS: Duration = Duration::from_secs(90 * 24 * 3600);

/// Whether to remove the found rows or to count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Count,
    Remove,
}

#[derive(Debug)]
pub(super) struct Pass<'a> {
    app: &'a App,
    way: Way,
    /// The moment that ages are measured from, the same in all steps.
    pub(super) now: Ts,
    tiers: Tiers,
    /// Records to go, with their systems.
    gone: Vec<(SystemId, i64)>,
    pub figures: RetentionReport,
}

impl<'a> Pass<'a> {
    pub(super) fn new(app: &'a App, way: Way) -> Result<Pass<'a>> {
        let now = app.platform.now();
        let (tiers, figures) = (Tiers::at(now)?, RetentionReport::default());
        Ok(Pass { app, way, now, tiers, gone: Vec::new(), figures })
    }

    /// Whether to continue: not when the process stops or another one has taken over. Counting may always continue,
    /// because it changes nothing.
    async fn goes_on(&self) -> Result<bool> {
        Ok(self.way == Way::Count
            || (!self.app.platform.stop.is_cancelled() && super::take(self.app).await?))
    }

    /// Thins the records of all systems; false when cut off.
    pub(super) async fn thin_all(&mut self) -> Result<bool> {
        let mut after = SystemId(Uuid::nil());
        while self.goes_on().await? {
            let systems = retention::systems(&self.app.platform.db, after, LOOK_AT).await?;
            let Some(last) = systems.last() else {
                self.flush().await?;
                return Ok(true);
            };
            after = *last;
            for system in systems {
                self.thin(system).await?;
            }
        }
        Ok(false)
    }

    /// Thins the systems with a record that has passed an age limit since an earlier run; no other records can have
    /// become superfluous. False when interrupted.
    pub(super) async fn thin_since(&mut self, earlier: Tiers) -> Result<bool> {
        for (from, before) in self.tiers.passed_since(earlier) {
            // Ids begin at 1.
            let mut after = (from, 0);
            loop {
                if !self.goes_on().await? {
                    return Ok(false);
                }
                let records = retention::created(&self.app.platform.db, after, before, LOOK_AT).await?;
                let Some((at, id, _)) = records.last() else { break };
                after = (*at, *id);
                let systems: BTreeSet<SystemId> = records.into_iter().map(|record| record.2).collect();
                for system in systems {
                    self.thin(system).await?;
                }
            }
        }
        self.flush().await?;
        Ok(true)
    }

    /// Finds the superfluous records of a system.
    async fn thin(&mut self, system: SystemId) -> Result<()> {
        let mut thinning = Thinning::new(self.tiers);
        let (mut after, mut is_over) = (0, false);
        while !is_over {
            let limit = i64::try_from(READ).unwrap_or(i64::MAX);
            let records = retention::records(&self.app.platform.db, system, after, limit).await?;
            is_over = records.len() < READ;
            for (id, created_at) in records {
                after = id;
                if thinning.is_over(created_at) {
                    is_over = true;
                    break;
                }
                self.gone.extend(thinning.next(id, created_at).map(|id| (system, id)));
            }
            if self.gone.len() >= RECORDS {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// Removes or counts the records found so far.
    async fn flush(&mut self) -> Result<()> {
        for chunk in std::mem::take(&mut self.gone).chunks(RECORDS) {
            let ids: Vec<i64> = chunk.iter().map(|gone| gone.1).collect();
            if self.way == Way::Count {
                self.figures.records += retention::count_records(&self.app.platform.db, &ids).await?;
                continue;
            }
            let systems: BTreeSet<SystemId> = chunk.iter().map(|gone| gone.0).collect();
            let systems: Vec<SystemId> = systems.into_iter().collect();
            let mut tx = self.app.platform.db.begin_relaxed().await?;
            let removed = retention::remove_records(&mut tx, &ids).await?;
            if removed > 0 {
                retention::remove_bases(&mut tx, &systems).await?;
            }
            tx.commit().await?;
            self.figures.records += removed;
        }
        Ok(())
    }

    /// Removes all other expired rows; false when interrupted.
    pub(super) async fn sweep(&mut self) -> Result<bool> {
        let (db, now) = (&self.app.platform.db, self.now);
        let limit = now.minus(THIRTY_DAYS);
        if self.way == Way::Count {
            self.figures.alerts_ended = retention::count_ending_alerts(db, limit).await?;
            let raised = limit.minus(THIRTY_DAYS);
            self.figures.alerts_removed = retention::count_old_alerts(db, limit, raised).await?;
            self.figures.quarantined = retention::count_quarantined(db, limit).await?;
            return Ok(true);
        }
        while self.goes_on().await? {
            let mut tx = db.begin_relaxed().await?;
            let ended = retention::end_alerts(&mut tx, limit, now, ROWS).await?;
            let removed = retention::remove_alerts(&mut tx, limit, ROWS).await?;
            let quarantined = retention::remove_quarantined(&mut tx, limit, ROWS).await?;
            let others = logto_sync::purge_others(&self.app.identity, &mut tx, limit, ROWS).await?;
            tx.commit().await?;
            self.figures.alerts_ended += ended;
            self.figures.alerts_removed += removed;
            self.figures.quarantined += quarantined;
            if ended + removed + quarantined + others == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes expired alert history and records of alert handling; false when interrupted.
    pub(super) async fn purge_history(&mut self) -> Result<bool> {
        let db = &self.app.platform.db;
        let limit = self.now.minus(self.app.settings.alerting.history_retention);
        if self.way == Way::Count {
            self.figures.history = expiry::count_old(db, limit).await?;
            self.figures.activity = alert_handling::count_old(db, limit).await?;
            return Ok(true);
        }
        while self.goes_on().await? {
            let history = expiry::purge(db, limit, HISTORY_ROWS).await?;
            let mut tx = db.begin_relaxed().await?;
            let activity = alert_handling::purge(&mut tx, limit, HISTORY_ROWS).await?;
            if history + activity == 0 {
                expiry::forget_names(&mut tx, limit).await?;
            }
            tx.commit().await?;
            self.figures.history += history;
            self.figures.activity += activity;
            if history + activity == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes expired impersonation sessions and their entries; false when interrupted. The regular worker
    /// ([`impersonation::purge`]) may have been faster.
    pub(super) async fn purge_impersonations(&mut self) -> Result<bool> {
        let gone = match self.way {
            Way::Count => impersonation::count_old(&self.app.identity).await?,
            Way::Remove if self.goes_on().await? => impersonation::purge(&self.app.identity).await?,
            Way::Remove => return Ok(false),
        };
        (self.figures.impersonations, self.figures.impersonation_entries) = (gone.sessions, gone.entries);
        Ok(!self.app.platform.stop.is_cancelled())
    }

    /// Removes old refusals of API keys that are revoked or expired: some clients keep sending theirs. False when
    /// interrupted.
    pub(super) async fn purge_refusals(&mut self) -> Result<bool> {
        let (db, limit) = (&self.app.platform.db, self.now.minus(REFUSALS));
        if self.way == Way::Count {
            self.figures.key_refusals = events::count_old(db, self.now, limit).await?;
            return Ok(true);
        }
        while self.goes_on().await? {
            let mut tx = db.begin_relaxed().await?;
            let removed = events::purge(&mut tx, self.now, limit, ROWS).await?;
            tx.commit().await?;
            self.figures.key_refusals += removed;
            if removed == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
