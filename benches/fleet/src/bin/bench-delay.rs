//! A line between two machines, for `benches/fleet/spread.sh`: forwards TCP connections, each piece of data after a delay.
//! Threads instead of tasks: a timer of the runtime is no finer than a millisecond.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use clap::Parser;

/// Forwards connections of this machine, and holds everything back in both directions.
#[derive(Debug, Parser)]
struct Options {
    /// Port on the loopback address
    #[arg(long)]
    listen: u16,
    /// Port on the loopback address to which connections lead
    #[arg(long)]
    target: u16,
    /// Microseconds in each direction
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    delay: u64,
}

fn main() -> std::io::Result<()> {
    let Options { listen, target, delay } = Options::parse();
    let target = SocketAddr::from((Ipv4Addr::LOCALHOST, target));
    let delay = Duration::from_micros(delay);
    for client in TcpListener::bind((Ipv4Addr::LOCALHOST, listen))?.incoming() {
        let (client, server) = (client?, TcpStream::connect(target)?);
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        forward(client.try_clone()?, server.try_clone()?, delay);
        forward(server, client, delay);
    }
    Ok(())
}

/// One direction of a connection, until one of its ends closes it.
fn forward(from: TcpStream, to: TcpStream, delay: Duration) {
    let (sender, receiver) = channel();
    thread::spawn(move || take(from, &sender, delay));
    thread::spawn(move || give(to, &receiver));
}

/// Reads, and notes when each piece is to arrive.
fn take(mut from: TcpStream, sender: &Sender<(Instant, Vec<u8>)>, delay: Duration) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read) = from.read(&mut buffer) {
        let piece = buffer.get(..read).unwrap_or_default().to_vec();
        if read == 0 || sender.send((Instant::now() + delay, piece)).is_err() {
            return;
        }
    }
}

fn give(mut to: TcpStream, receiver: &Receiver<(Instant, Vec<u8>)>) {
    for (arrives, piece) in receiver {
        thread::sleep(arrives.saturating_duration_since(Instant::now()));
        if to.write_all(&piece).is_err() {
            break;
        }
    }
    // Both ends may have closed it before.
    let _ = to.shutdown(Shutdown::Both);
}
