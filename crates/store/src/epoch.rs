//! What a process knows of the *auth epoch*: a number that moves with every commit that can change the rights of a
//! system's credential, and of which systems each move concerns.
//!
//! Where the process holds the database alone (SQLite), it knows the epoch at every moment. On PostgreSQL other
//! processes move it, and a query per request would cost more than the request. So an epoch counts for [`EPOCH_TTL`]
//! from the start of its read, and a commit that moves it returns only [`PROPAGATION_DELAY`] later: by then no process
//! relies on a read that began before the commit, and every process refuses the very next request. Each process
//! measures both times on its own monotonic clock, so clocks need not agree.
//!
//! Most moves concern one system. They are noted in `auth_changes`, each with the number before it, so that a reader
//! sees whether it knows all moves since its last read. If so, only the systems of these moves are read again;
//! otherwise (a move that concerns all, one of an older version of the service, too many) everything that is cached is.
//!
//! In the same way processes learn which pairs of address and credential are refused after too many failures
//! ([`crate::shared_limits`]): the key of such a pair takes the place of a system, of which no row exists. Older
//! versions of the service take it for a system that they do not know.

mod refused;

use bailiwick_domain::SystemId;
use refused::RefusedPairs;
use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// How long an epoch counts from the start of its read.
pub const EPOCH_TTL: Duration = Duration::from_millis(40);
/// From this age on, the epoch is read again.
const REFRESH_AFTER: Duration = Duration::from_millis(10);
/// How long after its commit every process knows a move. The excess over [`EPOCH_TTL`] allows for clocks that run at
/// different speeds.
pub const PROPAGATION_DELAY: Duration = Duration::from_millis(45);
/// The most systems whose last move is remembered.
const SYSTEMS: usize = 50_000;

/// The epoch as known without a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedEpoch {
    /// The epoch.
    Fresh(i64),
    /// The epoch, about to expire: the caller that gets this starts a read, without waiting for it. Other callers get
    /// the epoch as fresh meanwhile, so that a thousand requests cause one read.
    Ageing(i64),
    /// It must be read.
    Unknown,
}

/// The systems that a move of the epoch concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AffectedSystems {
    /// Any system.
    All,
    /// Only these; at least one.
    Systems(Vec<SystemId>),
}

/// A move of the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// The number before it.
    pub before: i64,
    /// The number after it.
    pub n: i64,
    pub concerns: AffectedSystems,
}

/// The last moves.
#[derive(Debug, Default)]
struct Moves {
    /// The number of a database that had lost its last moves.
    lost_to: Option<i64>,
    /// The last one that concerns all systems.
    all: i64,
    /// The last one of a system, unless it is before `all`.
    systems: HashMap<SystemId, i64>,
}

impl Moves {
    fn note(&mut self, n: i64, concerns: &AffectedSystems, refused: &RefusedPairs) {
        match concerns {
            AffectedSystems::Systems(ids) if ids.iter().all(|id| refused.note(id.0)) => {}
            AffectedSystems::Systems(ids) if self.systems.len() + ids.len() <= SYSTEMS => {
                for id in ids {
                    let last = self.systems.entry(*id).or_default();
                    *last = n.max(*last);
                }
            }
            _ if n > self.all => {
                self.all = n;
                self.systems.retain(|_, last| *last > n);
            }
            _ => {}
        }
    }
}

/// The knowledge of this process; see above.
#[derive(Debug)]
pub struct Epoch {
    n: AtomicI64,
    moves: RwLock<Moves>,
    /// Pairs that other processes may refuse.
    pub(crate) refused: RefusedPairs,
    /// Start of the newest read, in nanoseconds since `base`.
    read_at: AtomicU64,
    /// When a caller last started a read, likewise.
    asked_at: AtomicU64,
    base: Instant,
}

impl Epoch {
    pub(crate) fn new() -> Epoch {
        Epoch {
            n: AtomicI64::new(0),
            moves: RwLock::default(),
            refused: RefusedPairs::new(),
            read_at: AtomicU64::new(0),
            asked_at: AtomicU64::new(0),
            base: Instant::now(),
        }
    }

    /// The highest known number.
    pub(crate) fn number(&self) -> i64 {
        self.n.load(Ordering::SeqCst)
    }

    /// Whether what was read of a system at this epoch still counts, as far as moves are known.
    pub(crate) fn holds(&self, system: SystemId, read: i64) -> bool {
        let moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        read >= moves.all && moves.systems.get(&system).is_none_or(|last| read >= *last)
    }

    /// This process has committed a move. It counts at once. If other processes have moved the epoch meanwhile, the
    /// next read counts their moves; a process that is `alone` needs none.
    pub(crate) fn note_move(&self, own: &Move, alone: bool) {
        let mut moves = self.moves.write().unwrap_or_else(PoisonError::into_inner);
        moves.note(own.n, &own.concerns, &self.refused);
        // What concerns all includes everything that others may have done before.
        if alone || own.concerns == AffectedSystems::All || self.number() == own.before {
            self.n.fetch_max(own.n, Ordering::SeqCst);
        }
    }

    /// Makes everything that was read so far count no more.
    fn forget(&self, moves: &mut Moves) {
        let next = self.number() + 1;
        moves.note(next, &AffectedSystems::All, &self.refused);
        self.n.fetch_max(next, Ordering::SeqCst);
    }

    /// Records that a read that started at this moment has found this number, and these moves since `since`, a number
    /// that was known, in order. Returns whether there may have been moves that are not among them.
    pub(crate) fn read(&self, began: Instant, since: i64, n: i64, new_moves: &[Move]) -> bool {
        let mut is_gap = false;
        let mut moves = self.moves.write().unwrap_or_else(PoisonError::into_inner);
        if n < since {
            // A number is read only once its commit is on the disk, so the database was taken back, and what it has
            // lost may have been read. Once, because its number stays behind until its next move.
            if moves.lost_to.replace(n) != Some(n) {
                self.forget(&mut moves);
            }
        } else if n > since {
            let last = new_moves.iter().try_fold(since, |at, next| (next.before == at).then_some(next.n));
            is_gap = last != Some(n);
            match is_gap {
                false => {
                    new_moves.iter().for_each(|next| moves.note(next.n, &next.concerns, &self.refused));
                }
                true => moves.note(n, &AffectedSystems::All, &self.refused),
            }
        }
        // The moves and the number first: a reader that sees the time of this read must not miss any.
        self.n.fetch_max(n, Ordering::SeqCst);
        self.read_at.fetch_max(self.since_base(began), Ordering::SeqCst);
        is_gap
    }

    /// At this moment.
    pub(crate) fn cached(&self, now: Instant) -> CachedEpoch {
        let read_at = self.read_at.load(Ordering::SeqCst);
        if read_at == 0 {
            return CachedEpoch::Unknown;
        }
        let (n, now) = (self.number(), self.since_base(now));
        match Duration::from_nanos(now.saturating_sub(read_at)) {
            age if age < REFRESH_AFTER => CachedEpoch::Fresh(n),
            age if age < EPOCH_TTL && self.is_first_to_ask(now) => CachedEpoch::Ageing(n),
            age if age < EPOCH_TTL => CachedEpoch::Fresh(n),
            _ => CachedEpoch::Unknown,
        }
    }

    /// Whether no other caller has started a read for as long as the epoch takes to age.
    fn is_first_to_ask(&self, now: u64) -> bool {
        let asked_at = self.asked_at.load(Ordering::Relaxed);
        let is_time = asked_at == 0 || Duration::from_nanos(now.saturating_sub(asked_at)) >= REFRESH_AFTER;
        is_time && self.asked_at.compare_exchange(asked_at, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// At least 1: 0 is for no read at all.
    fn since_base(&self, moment: Instant) -> u64 {
        let nanos = moment.saturating_duration_since(self.base).as_nanos();
        u64::try_from(nanos).unwrap_or(u64::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const A: SystemId = SystemId(Uuid::from_u128(1));
    const B: SystemId = SystemId(Uuid::from_u128(2));

    fn move_of(before: i64, n: i64, system: SystemId) -> Move {
        Move { before, n, concerns: AffectedSystems::Systems(vec![system]) }
    }

    #[test]
    fn a_read_counts_from_its_start_and_for_less_time_than_a_move_waits() {
        assert!(EPOCH_TTL < PROPAGATION_DELAY);
        let epoch = Epoch::new();
        let began = Instant::now();
        assert_eq!(epoch.cached(began), CachedEpoch::Unknown);
        epoch.read(began, 0, 7, &[]);
        assert_eq!(epoch.cached(began), CachedEpoch::Fresh(7));
        assert_eq!(epoch.cached(began + REFRESH_AFTER), CachedEpoch::Ageing(7));
        // One caller starts a read, and another one if that read failed.
        assert_eq!(epoch.cached(began + REFRESH_AFTER), CachedEpoch::Fresh(7));
        assert_eq!(epoch.cached(began + 2 * REFRESH_AFTER), CachedEpoch::Ageing(7));
        assert_eq!(epoch.cached(began + EPOCH_TTL), CachedEpoch::Unknown);
    }

    #[test]
    fn neither_a_late_answer_nor_an_own_move_is_taken_back() {
        let epoch = Epoch::new();
        let began = Instant::now();
        epoch.read(began + REFRESH_AFTER, 0, 8, &[]);
        epoch.read(began, 0, 7, &[]);
        assert_eq!(epoch.cached(began + REFRESH_AFTER), CachedEpoch::Fresh(8));
        epoch.note_move(&Move { before: 8, n: 9, concerns: AffectedSystems::All }, false);
        assert_eq!(epoch.cached(began + REFRESH_AFTER), CachedEpoch::Fresh(9));
        assert!(!epoch.holds(A, 8) && epoch.holds(A, 9));
        // A move by this process says nothing about later moves by others.
        assert_eq!(epoch.cached(began + REFRESH_AFTER + EPOCH_TTL), CachedEpoch::Unknown);
    }

    #[test]
    fn a_move_of_one_system_leaves_the_others() {
        let epoch = Epoch::new();
        let began = Instant::now();
        epoch.read(began, 0, 7, &[]);
        assert!(!epoch.holds(A, 0), "the moves before the first read are not known");
        epoch.read(began, 7, 9, &[move_of(7, 8, A), move_of(8, 9, A)]);
        assert_eq!(epoch.number(), 9);
        assert!(epoch.holds(B, 7) && !epoch.holds(A, 8) && epoch.holds(A, 9));
        // Nothing new.
        epoch.read(began, 9, 9, &[]);
        assert!(epoch.holds(B, 7));
    }

    #[test]
    fn a_database_that_was_taken_back_leaves_nothing_that_was_read() {
        let epoch = Epoch::new();
        let began = Instant::now();
        epoch.read(began, 0, 7, &[]);
        epoch.read(began, 7, 20, &[move_of(7, 20, A)]);
        epoch.read(began, 20, 7, &[]);
        assert!(!epoch.holds(A, 20) && !epoch.holds(B, 20));
        // What is read from now on counts, as long as the database says the same.
        let next = epoch.number();
        epoch.read(began, next, 7, &[]);
        assert!(epoch.holds(B, next));
        // A clock that is behind: its moves have lower numbers.
        epoch.read(began, next, 8, &[move_of(7, 8, B)]);
        assert!(!epoch.holds(B, next));
    }

    #[test]
    fn a_process_that_is_alone_follows_its_own_moves_from_any_number() {
        let epoch = Epoch::new();
        epoch.note_move(&move_of(5, 6, A), true);
        assert_eq!(epoch.number(), 6);
        assert!(!epoch.holds(A, 0) && epoch.holds(A, 6) && epoch.holds(B, 0));
    }

    #[test]
    fn moves_that_are_not_all_known_concern_all_systems() {
        for moves in [
            vec![],
            vec![move_of(8, 9, A)],
            vec![move_of(7, 8, A)],
            vec![move_of(7, 8, A), move_of(8, 10, A)],
        ] {
            let epoch = Epoch::new();
            epoch.read(Instant::now(), 0, 7, &[]);
            epoch.read(Instant::now(), 7, 9, &moves);
            assert!(!epoch.holds(B, 8) && epoch.holds(B, 9), "{moves:?}");
        }
    }

    #[test]
    fn an_own_move_counts_at_once_and_hides_none_of_others() {
        let epoch = Epoch::new();
        let began = Instant::now();
        epoch.read(began, 0, 7, &[]);
        epoch.note_move(&move_of(7, 8, A), false);
        assert_eq!(epoch.number(), 8);
        assert!(!epoch.holds(A, 7) && epoch.holds(B, 7));
        // Another process has moved it to 9 before.
        epoch.note_move(&move_of(9, 10, A), false);
        assert_eq!(epoch.number(), 8, "9 is not known yet");
        assert!(!epoch.holds(A, 8));
        epoch.read(began, 8, 10, &[move_of(8, 9, B), move_of(9, 10, A)]);
        assert!(!epoch.holds(B, 8) && epoch.holds(B, 9));
    }

    #[test]
    fn a_refused_pair_is_known_and_concerns_no_system() {
        let pair = SystemId(uuid::Builder::from_custom_bytes([7; 16]).into_uuid());
        let epoch = Epoch::new();
        let began = Instant::now();
        assert!(epoch.read(began, 0, 7, &[]), "what was before is not known");
        assert!(!epoch.refused.may_be(pair.0));
        assert!(!epoch.read(began, 7, 8, &[move_of(7, 8, pair)]));
        assert!(epoch.refused.may_be(pair.0) && !epoch.refused.may_be(A.0));
        assert!(epoch.holds(A, 7));
        assert!(epoch.moves.read().unwrap().systems.is_empty());
    }

    #[test]
    fn the_memory_of_moves_is_bounded() {
        let epoch = Epoch::new();
        epoch.read(Instant::now(), 0, 1, &[]);
        for n in 1..=SYSTEMS as i64 {
            epoch.note_move(&move_of(n, n + 1, SystemId(Uuid::from_u128(n.unsigned_abs().into()))), false);
        }
        let other = SystemId(Uuid::from_u128(u128::MAX));
        assert!(epoch.holds(other, 1));
        let n = SYSTEMS as i64 + 1;
        epoch.note_move(&move_of(n, n + 1, other), false);
        assert!(!epoch.holds(A, n) && epoch.holds(A, n + 1));
        assert!(epoch.moves.read().unwrap().systems.is_empty());
    }
}
