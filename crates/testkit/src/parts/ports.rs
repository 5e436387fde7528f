//! Spare loopback ports.

use super::{PartError, Result};
use std::{
    net::{Ipv4Addr, TcpListener},
    sync::atomic::{AtomicU32, Ordering},
};

/// The first port handed out. The range ends below 32768, where Linux starts to take ports for outgoing connections and
/// for `bind(0)`, so that no other program takes a port between the test here and the start of the part.
const FIRST: u32 = 15_000;
/// How many ports the range has.
const COUNT: u32 = 17_000;

static HANDED_OUT: AtomicU32 = AtomicU32::new(0);

/// A TCP port on 127.0.0.1 without a listener, never handed out twice by this process.
///
/// # Errors
/// When no port of the range is free.
pub fn spare() -> Result<u16> {
    // Processes that run at the same time begin at different places (the factor spreads neighbouring ids).
    let start = std::process::id().wrapping_mul(97) % COUNT;
    for _ in 0..COUNT {
        let step = HANDED_OUT.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(FIRST + (start + step) % COUNT).unwrap_or(u16::MAX);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(PartError::new("no spare port on 127.0.0.1 between 15000 and 31999"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ports_are_free_and_differ() {
        let ports: HashSet<u16> = (0..50).map(|_| spare().unwrap()).collect();
        assert_eq!(ports.len(), 50);
        for port in ports {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        }
    }

    #[test]
    fn a_taken_port_is_passed_over() {
        let first = spare().unwrap();
        let next = FIRST + (u32::from(first) - FIRST + 1) % COUNT;
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, u16::try_from(next).unwrap()));
        assert_ne!(u32::from(spare().unwrap()), next);
    }
}
