//! The HTTP front: worker threads, each with its own single-threaded runtime and its own listening socket on the shared
//! port, so that a connection lives and is served on one core from accept to close.

mod certificate_dates;
mod connection;
mod connection_state;
mod connections;
mod cores;
#[cfg(test)]
mod tests;
mod tls;
mod unread_bodies;

pub use connections::{Connections, Limits};
pub use tls::Tls;

use crate::STACK;
use axum::Router;
use connection::Front;
use cores::Cores;
use socket2::{Domain, Protocol, Socket, Type};
use std::{
    io, mem,
    net::{SocketAddr, TcpListener},
    num::NonZeroUsize,
    sync::Arc,
    thread,
    time::Duration,
};
use tokio::{runtime, sync::oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Connections that may wait to be accepted; the kernel caps it.
const BACKLOG: i32 = 4096;

/// Pause after a failed accept: without it, running out of file descriptors would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Threads of each worker for blocking work such as password hashing and file access.
const BLOCKING_THREADS: usize = 16;

/// The limits of connections; the defaults are those of spec: conventions#limits.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Worker threads; `None` = one per processor.
    pub workers: Option<NonZeroUsize>,
    /// From the first byte of a request (or from connecting) to the end of its head.
    pub head_timeout: Duration,
    /// Between two requests of a connection.
    pub idle_timeout: Duration,
    /// How long a client may accept no byte of an answer that is being sent.
    pub write_timeout: Duration,
    /// Largest request line and headers together; more is 431.
    pub head_bytes: usize,
    /// How long requests in flight may take during shutdown.
    pub grace: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            workers: None,
            head_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            head_bytes: 32 * 1024,
            grace: crate::shutdown::GRACE,
        }
    }
}

/// A running front. Dropping it stops accepting and ends the workers without waiting for them.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    release: CancellationToken,
    drained: Vec<oneshot::Receiver<()>>,
    threads: Vec<thread::JoinHandle<()>>,
}

/// Sockets that listen; clients that connect wait until [`start`] accepts them. Dropping them gives the address back.
#[derive(Debug)]
pub struct Bound {
    address: SocketAddr,
    options: Options,
    listeners: Vec<TcpListener>,
}

impl Bound {
    /// Where they listen, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Listens on `address` (port 0 = any free one).
///
/// # Errors
/// The system's: the address is in use or not of this machine, or the user may not use the port.
pub fn bind(address: SocketAddr, options: Options) -> io::Result<Bound> {
    let workers = options.workers.map_or_else(thread::available_parallelism, Ok).map_or(1, NonZeroUsize::get);
    let listeners = sockets(address, workers)?;
    let address = listeners.first().ok_or(io::ErrorKind::InvalidInput)?.local_addr()?;
    Ok(Bound { address, options, listeners })
}

/// Serves. `router` is called once per worker, inside the worker's runtime, with the worker's number: the objects it
/// creates there (connection pools to upstreams) stay on that core. Every request carries
/// `axum::extract::ConnectInfo<SocketAddr>`, the address of the connection's other end. With `tls` connections begin
/// with its handshake. `connections` bounds how many are open over all workers.
///
/// # Errors
/// The system's, when it has no threads.
pub fn start(
    bound: Bound,
    connections: Arc<Connections>,
    tls: Option<Arc<Tls>>,
    router: impl Fn(usize) -> Router + Send + Sync + 'static,
) -> io::Result<Server> {
    let Bound { address, options, listeners } = bound;
    let workers = listeners.len();
    let router = Arc::new(router);
    let (stop, release) = (CancellationToken::new(), CancellationToken::new());
    let mut server = Server { address, stop, release, drained: Vec::new(), threads: Vec::new() };
    let cores = Cores::of(workers);
    for (number, listener) in listeners.into_iter().enumerate() {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name(format!("http-{number}-blocking"))
            .on_thread_start(move || cores.anywhere())
            .build()?;
        let (done, drained) = oneshot::channel();
        // Children: each worker's connections wait on a token of their own and share no lock with other cores.
        let (stop, release) = (server.stop.child_token(), server.release.clone());
        let (router, tls, connections) = (Arc::clone(&router), tls.clone(), Arc::clone(&connections));
        let work = async move {
            let front = Front::new(router(number), options, tls);
            serve(listener, front, connections, options.grace, stop).await;
            let _ = done.send(());
            release.cancelled().await;
        };
        let thread =
            thread::Builder::new().name(format!("http-{number}")).stack_size(STACK).spawn(move || {
                cores.keep_to(number);
                runtime.block_on(work);
                runtime.shutdown_background();
            })?;
        server.drained.push(drained);
        server.threads.push(thread);
    }
    Ok(server)
}

impl Server {
    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting, lets requests in flight finish within the grace and closes idle connections. The workers'
    /// runtimes go on: database connections opened on them may still be in use by background work.
    pub async fn drain(&mut self) {
        self.stop.cancel();
        for worker in mem::take(&mut self.drained) {
            // An error means that the worker has ended, so it is drained.
            let _ = worker.await;
        }
    }

    /// Ends the workers and waits for their threads. Blocks; call it outside a runtime, after [`Server::drain`].
    pub fn close(mut self) {
        self.stop.cancel();
        self.release.cancel();
        for thread in mem::take(&mut self.threads) {
            if thread.join().is_err() {
                tracing::error!("an HTTP worker ended with a panic");
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
        self.release.cancel();
    }
}

/// One listening socket per worker on the same address.
fn sockets(address: SocketAddr, workers: usize) -> io::Result<Vec<TcpListener>> {
    // A shared port would also be shared with another process of the same user: a socket that does not share detects
    // that first.
    let probe = socket(address, false)?;
    let address = probe.local_addr()?.as_socket().ok_or(io::ErrorKind::InvalidInput)?;
    drop(probe);
    (0..workers).map(|_| socket(address, true).map(TcpListener::from)).collect()
}

/// A listening socket, non-blocking.
fn socket(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Accepts until `stop`, then waits for the open connections for at most `grace`.
async fn serve(
    listener: TcpListener,
    front: Front,
    connections: Arc<Connections>,
    grace: Duration,
    stop: CancellationToken,
) {
    let tasks = TaskTracker::new();
    match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => accept(listener, Arc::new(front), &connections, &tasks, &stop).await,
        Err(why) => tracing::error!("cannot listen: {why}"),
    }
    tasks.close();
    crate::shutdown::within(grace, "a connection", tasks.wait()).await;
}

/// Accepts until `stop`; the listening socket closes on return.
async fn accept(
    listener: tokio::net::TcpListener,
    front: Arc<Front>,
    connections: &Arc<Connections>,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                let Some(slot) = connections.admit(peer.ip()) else {
                    tracing::debug!("connection of {peer}: refused, too many are open");
                    continue;
                };
                let (front, stop) = (Arc::clone(&front), stop.clone());
                tasks.spawn(async move { front.serve(stream, peer, slot, stop).await });
            }
            // The client disconnected before it was accepted; not an error of the service.
            Err(why) if why.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(why) => {
                tracing::warn!("cannot accept a connection: {why}");
                connections.make_room();
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
