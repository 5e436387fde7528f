//! Token buckets that all processes share: one row and one statement for the requests of many keys.

use super::{Purger, WAIT, key, purge_at, warn};
use crate::{
    Platform,
    group_commit::{GroupError, Pending},
};
use bailiwick_domain::{Error, Result, Ts};
use bailiwick_store::{
    Db, StoreError,
    shared_limits::{self, Bucket, Passed, Requests},
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};
use uuid::Uuid;

/// A rate with a burst, over all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    purpose: &'static str,
    bucket: Bucket,
}

impl Rate {
    /// `per_second` steady requests and `burst` at once; zero counts as one. No other limit has the same purpose.
    pub fn new(purpose: &'static str, per_second: u32, burst: u32) -> Rate {
        let step = (1_000_000 / i64::from(per_second.max(1))).max(1);
        Rate { purpose, bucket: Bucket { step, burst: i64::from(burst.max(1)) } }
    }

    /// Begins to take one request of the key out of its bucket.
    pub fn begin(&self, platform: &Platform, subject: &[u8]) -> Taking {
        let key = key(&platform.keys, self.purpose, subject);
        let request = Request { key, bucket: self.bucket, at: platform.now() };
        Taking { purpose: self.purpose, answer: platform.shared_limits().rates.begin(request) }
    }
}

/// A request that is being taken out of its bucket.
#[derive(Debug)]
#[must_use]
pub struct Taking {
    purpose: &'static str,
    answer: Result<Pending<Result<(), Duration>>, GroupError>,
}

impl Taking {
    /// Waits for the outcome. If the processes cannot count together, the request passes.
    ///
    /// # Errors
    /// 429 with the time until the next one is allowed.
    pub async fn done(self) -> Result<()> {
        let Taking { purpose, answer } = self;
        let counted = async { answer?.await };
        match tokio::time::timeout(WAIT, counted).await {
            Ok(Ok(outcome)) => outcome.map_err(|retry_after| Error::TooMany { retry_after }),
            Ok(Err(lost)) => {
                warn(purpose, &lost.0);
                Ok(())
            }
            Err(late) => {
                warn(purpose, &late);
                Ok(())
            }
        }
    }
}

/// A request that waits for its count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    key: Uuid,
    bucket: Bucket,
    at: Ts,
}

/// The requests of one key in a group.
#[derive(Clone, Copy, Debug)]
struct Asked {
    count: i64,
    at: Ts,
}

/// Counts a group: one statement for each kind of bucket in it.
pub(super) async fn count(
    db: Db,
    purger: Arc<Purger>,
    group: Vec<Request>,
) -> Result<Vec<Result<(), Duration>>, StoreError> {
    let latest = group.iter().map(|request| request.at).max().unwrap_or(Ts::EPOCH);
    let mut answers: HashMap<Uuid, Answer> = HashMap::new();
    let mut requested: BTreeMap<(i64, i64), BTreeMap<Uuid, Asked>> = BTreeMap::new();
    for Request { key, bucket, at } in &group {
        let of_bucket = requested.entry((bucket.step, bucket.burst)).or_default();
        let of_key = of_bucket.entry(*key).or_insert(Asked { count: 0, at: *at });
        *of_key = Asked { count: of_key.count + 1, at: of_key.at.max(*at) };
    }
    for ((step, burst), keys) in requested {
        let bucket = Bucket { step, burst };
        let requests: Vec<Requests> = keys
            .into_iter()
            .map(|(key, Asked { count, at })| {
                let full_again_at = at.plus(Duration::from_micros(bucket.size().unsigned_abs()));
                Requests { key, requested: count.min(burst), at, purge_at: purge_at(full_again_at) }
            })
            .collect();
        let passed = shared_limits::pass(&db, bucket, &requests).await?;
        purger.after(&db, requests.len(), latest).await;
        answers.extend(passed.into_iter().map(|passed| (passed.key, Answer::of(bucket, passed))));
    }
    Ok(group
        .iter()
        .map(|request| answers.get_mut(&request.key).map_or(Ok(()), |a| a.next(request.at)))
        .collect())
}

/// The answers to the requests of one key, in their order.
struct Answer {
    passing: i64,
    /// When the bucket has room for another one.
    next_at: Ts,
}

impl Answer {
    fn of(bucket: Bucket, passed: Passed) -> Answer {
        let room_in = passed.used.saturating_sub(bucket.size()).saturating_add(bucket.step).max(0);
        Answer { passing: passed.passed, next_at: Ts(passed.at.0.saturating_add(room_in)) }
    }

    fn next(&mut self, now: Ts) -> Result<(), Duration> {
        if self.passing > 0 {
            self.passing -= 1;
            return Ok(());
        }
        Err(self.next_at.since(now).max(Duration::from_micros(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_of_a_group_pass_as_the_statement_allows() {
        let bucket = Rate::new("test", 50, 3).bucket;
        assert_eq!(bucket, Bucket { step: 20_000, burst: 3 });
        let now = Ts::from_secs(1_000);
        let full = Passed { key: Uuid::nil(), passed: 2, used: 60_000, at: now };
        let mut answer = Answer::of(bucket, full);
        let wait = Duration::from_millis(20);
        assert_eq!([0; 4].map(|_| answer.next(now)), [Ok(()), Ok(()), Err(wait), Err(wait)]);
        // The statement lets none pass, and a fraction of a request has room.
        let mut answer = Answer::of(bucket, Passed { passed: 0, used: 45_000, ..full });
        assert_eq!(answer.next(now), Err(Duration::from_millis(5)));
    }

    #[test]
    fn a_rate_of_nothing_is_one_of_one() {
        assert_eq!(Rate::new("test", 0, 0).bucket, Bucket { step: 1_000_000, burst: 1 });
        assert_eq!(Rate::new("test", u32::MAX, 1).bucket.step, 1);
    }
}
