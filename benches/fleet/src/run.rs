//! The load: a thread that says what is due, and connections that do it.
//!
//! The schedule is open: the next event comes at its time, however long the service takes for those before. An event that
//! has to wait for a free connection waits in a queue, and its time counts from the moment it was due.

use crate::{
    client::Connection,
    fleet::Fleet,
    processes::{Process, Usage, usage},
    schedule::{Event, Kind, Schedule},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::{
    sync::{
        Mutex,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
    task::JoinSet,
};

/// Events that wait for a connection at most; more are not sent.
const LONGEST_QUEUE: usize = 1_000_000;
/// How often memory is looked at.
const LOOK: Duration = Duration::from_secs(5);

/// How a run is made.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Where connections go, in turns.
    pub services: Vec<Arc<str>>,
    pub connections: u16,
    pub patience: Duration,
    pub length: Duration,
    /// How long requests that are due are still sent afterwards.
    pub drain: Duration,
    pub processes: Vec<Process>,
}

/// How a run went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// From the first moment to the last answer.
    pub took: Duration,
    /// The latest that this program itself was with an event.
    pub latest: Duration,
    /// Of each process: what it used, with the processor time of the run alone and the largest memory seen.
    pub usage: Vec<Usage>,
}

impl Plan {
    /// Connections to the services in turns.
    pub(crate) fn connections(&self) -> impl Iterator<Item = Connection> {
        let services = self.services.iter().cycle().take(usize::from(self.connections));
        services.map(|address| Connection::new(address.clone(), self.patience))
    }
}

/// Runs a schedule to its end.
///
/// # Errors
/// A text when a service cannot be reached at the beginning.
pub(crate) async fn run(fleet: &Arc<Fleet>, plan: &Plan, schedule: Schedule) -> Result<Outcome, String> {
    let mut connections: Vec<Connection> = plan.connections().collect();
    for connection in &mut connections {
        connection.open().await.map_err(|failure| format!("a service: {}", failure.word()))?;
    }
    let (send, receive) = unbounded_channel();
    let queue = Arc::new(Queue { receive: Mutex::new(receive), waiting: AtomicUsize::new(0) });
    let (stop, stopped) = channel();
    let watched = plan.processes.clone();
    let watcher = thread::spawn(move || watch(&watched, &stopped));
    let start = Instant::now();
    let (fleet, length) = (fleet.clone(), plan.length);
    let dispatcher = thread::spawn({
        let (fleet, queue) = (fleet.clone(), queue.clone());
        move || dispatch(&fleet, schedule, start, &send, &queue.waiting)
    });
    let mut workers = JoinSet::new();
    for connection in connections {
        workers.spawn(work(fleet.clone(), connection, queue.clone(), start, start + length + plan.drain));
    }
    while let Some(ended) = workers.join_next().await {
        ended.map_err(|why| why.to_string())?;
    }
    let took = start.elapsed();
    Ok(Outcome { took, latest: joined(dispatcher)?, usage: finish(stop, watcher)? })
}

fn joined<T>(thread: thread::JoinHandle<T>) -> Result<T, String> {
    thread.join().map_err(|_| "a thread of this program has panicked".to_owned())
}

fn finish(stop: Sender<()>, watcher: thread::JoinHandle<Vec<Usage>>) -> Result<Vec<Usage>, String> {
    drop(stop);
    joined(watcher)
}

#[derive(Debug)]
struct Queue {
    receive: Mutex<UnboundedReceiver<Event>>,
    waiting: AtomicUsize,
}

/// Puts each event into the queue when it is due; how late the latest was.
fn dispatch(
    fleet: &Fleet,
    schedule: Schedule,
    start: Instant,
    send: &UnboundedSender<Event>,
    waiting: &AtomicUsize,
) -> Duration {
    let mut latest = Duration::ZERO;
    let newcomers = fleet.newcomers();
    for event in schedule.filter(|e| e.kind != Kind::Registration || (e.turn as usize) < newcomers) {
        let due = start + Duration::from_micros(event.due);
        let early = due.saturating_duration_since(Instant::now());
        if !early.is_zero() {
            thread::sleep(early);
        }
        latest = latest.max(due.elapsed());
        fleet.measures.due(event.kind);
        if waiting.fetch_add(1, Ordering::Relaxed) >= LONGEST_QUEUE || send.send(event).is_err() {
            waiting.fetch_sub(1, Ordering::Relaxed);
            fleet.measures.unsent(event.kind);
        }
    }
    latest
}

/// Does what is due on one connection until there is nothing more, or nothing more is to be sent.
async fn work(
    fleet: Arc<Fleet>,
    mut connection: Connection,
    queue: Arc<Queue>,
    start: Instant,
    deadline: Instant,
) {
    loop {
        let event = queue.receive.lock().await.recv().await;
        let Some(event) = event else { return };
        queue.waiting.fetch_sub(1, Ordering::Relaxed);
        if Instant::now() > deadline {
            fleet.measures.unsent(event.kind);
        } else {
            fleet.act(&mut connection, event, start + Duration::from_micros(event.due)).await;
        }
    }
}

/// Looks at the processes until the other side of the channel goes.
fn watch(processes: &[Process], stopped: &std::sync::mpsc::Receiver<()>) -> Vec<Usage> {
    let before = usage(processes);
    let mut seen = before.clone();
    loop {
        let is_over = stopped.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout);
        for (seen, now) in seen.iter_mut().zip(usage(processes)) {
            seen.memory_kib = seen.memory_kib.max(now.memory_kib);
            // A process that has gone takes its figures with it.
            seen.processor_seconds = seen.processor_seconds.max(now.processor_seconds);
        }
        if is_over {
            break;
        }
    }
    for (seen, before) in seen.iter_mut().zip(before) {
        seen.processor_seconds -= before.processor_seconds;
    }
    seen
}
