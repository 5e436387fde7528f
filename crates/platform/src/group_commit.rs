//! Group commit: waiting requests share one round trip or one commit. The requests that arrive while a group is under
//! way form the next group, which starts at once. There is no timer, so a lone request does not wait.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The most requests that may wait; further ones are refused at once.
const WAITING: usize = 16_384;

/// The reason why a request got no answer; the text is for the log.
#[derive(Clone, Debug)]
pub struct GroupError(pub Arc<str>);

type Answer<R> = oneshot::Sender<Result<R, GroupError>>;

/// The answer to an item of a group, to be awaited.
#[derive(Debug)]
pub struct Pending<R>(oneshot::Receiver<Result<R, GroupError>>);

impl<R> Future for Pending<R> {
    type Output = Result<R, GroupError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let given_up = |_| Err(GroupError("the group was given up".into()));
        Pin::new(&mut self.0).poll(cx).map(|answered| answered.unwrap_or_else(given_up))
    }
}

/// The queue of a group commit. Its worker ends with the process, after all accepted items.
#[derive(Debug)]
pub struct GroupCommit<T, R> {
    sender: mpsc::Sender<(T, Answer<R>)>,
}

impl<T: Send + 'static, R: Send + 'static> GroupCommit<T, R> {
    /// Starts the worker. `work` gets up to `limit` items and answers each of them in order, or fails for all of them.
    pub fn start<F, W, E>(
        tasks: &TaskTracker,
        stop: CancellationToken,
        limit: usize,
        work: W,
    ) -> GroupCommit<T, R>
    where
        W: Fn(Vec<T>) -> F + Send + 'static,
        F: Future<Output = Result<Vec<R>, E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(WAITING);
        tasks.spawn(run(receiver, stop, limit, work));
        GroupCommit { sender }
    }

    /// Waits for the answer to this item from its group.
    ///
    /// # Errors
    /// Too many requests wait, the service stops, or the work of the group failed.
    pub async fn submit(&self, item: T) -> Result<R, GroupError> {
        self.begin(item)?.await
    }

    /// As [`submit`](Self::submit), for this time at most. A late group may still be done.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), and when the time is over.
    pub async fn submit_within(&self, longest: Duration, item: T) -> Result<R, GroupError> {
        let late = |_| Err(GroupError(format!("not done within {} s", longest.as_secs_f64()).into()));
        tokio::time::timeout(longest, self.submit(item)).await.unwrap_or_else(late)
    }

    /// Adds this item to the next group. Its answer may be waited for later.
    ///
    /// # Errors
    /// Too many requests wait, or the service stops.
    pub fn begin(&self, item: T) -> Result<Pending<R>, GroupError> {
        let (answer, answered) = oneshot::channel();
        self.sender.try_send((item, answer)).map_err(|e| match e {
            mpsc::error::TrySendError::Full(_) => GroupError("too many requests are waiting".into()),
            mpsc::error::TrySendError::Closed(_) => GroupError("the service is stopping".into()),
        })?;
        Ok(Pending(answered))
    }

    /// Whether the queue accepts nothing any more, because the process stops.
    pub fn is_stopped(&self) -> bool {
        self.sender.is_closed()
    }

    /// Adds this item to the next group, unless too many wait. The answer is dropped.
    pub fn hint(&self, item: T) {
        let _ = self.sender.try_send((item, oneshot::channel().0));
    }
}

async fn run<T, R, F, W, E>(
    mut receiver: mpsc::Receiver<(T, Answer<R>)>,
    stop: CancellationToken,
    limit: usize,
    work: W,
) where
    W: Fn(Vec<T>) -> F,
    F: Future<Output = Result<Vec<R>, E>>,
    E: std::fmt::Display,
{
    let mut group = Vec::with_capacity(limit);
    loop {
        let received = tokio::select! {
            biased;
            n = receiver.recv_many(&mut group, limit) => n,
            // No further item is accepted; the waiting ones are still done.
            () = stop.cancelled(), if !receiver.is_closed() => { receiver.close(); continue }
        };
        if received == 0 {
            return;
        }
        let (items, answers): (Vec<T>, Vec<Answer<R>>) = group.drain(..).unzip();
        // A send fails if its request waits no longer.
        match work(items).await {
            Ok(results) => answers.into_iter().zip(results).for_each(|(a, r)| drop(a.send(Ok(r)))),
            Err(e) => {
                let failure = GroupError(e.to_string().into());
                answers.into_iter().for_each(|a| drop(a.send(Err(failure.clone()))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn waiting_requests_share_a_group_and_stopping_drains() {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let groups = Arc::new(AtomicUsize::new(0));
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        let (counted, opened) = (groups.clone(), gate.clone());
        let batch = Arc::new(GroupCommit::start(&tasks, stop.clone(), 64, move |items: Vec<u32>| {
            counted.fetch_add(1, Ordering::SeqCst);
            let opened = opened.clone();
            async move {
                let _turn = opened.acquire().await.map_err(|e| e.to_string())?;
                Ok::<_, String>(items.into_iter().map(|n| n * 2).collect())
            }
        }));
        let submit = |n| {
            let batch = batch.clone();
            tasks.spawn(async move { batch.submit(n).await.map_err(|e| e.0) })
        };
        let first = submit(0);
        while groups.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        // These arrive while the first group is under way.
        let rest: Vec<_> = (1..20).map(submit).collect();
        tokio::task::yield_now().await;
        stop.cancel();
        gate.add_permits(1);
        assert_eq!(first.await.unwrap(), Ok(0));
        for (n, task) in (1..20).zip(rest) {
            assert_eq!(task.await.unwrap(), Ok(n * 2));
        }
        assert_eq!(groups.load(Ordering::SeqCst), 2);
        tasks.close();
        tasks.wait().await;
        assert_eq!(batch.submit(1).await.unwrap_err().0.as_ref(), "the service is stopping");
    }

    #[tokio::test]
    async fn a_failure_reaches_every_item_of_its_group_and_no_other() {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let batch = GroupCommit::start(&tasks, stop, 1, |items: Vec<u32>| async move {
            if items[0] == 13 { Err("unlucky") } else { Ok(items) }
        });
        let lost = batch.submit(13).await.unwrap_err();
        assert_eq!(lost.0.as_ref(), "unlucky");
        assert_eq!(batch.submit(14).await.unwrap(), 14);
    }
}
