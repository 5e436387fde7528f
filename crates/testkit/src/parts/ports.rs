//! Spare loopback ports.

use super::{PartError, Result};
use std::{
    fs::{self, File},
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

/// The first port handed out. The range ends below 32768, where Linux starts to take ports for outgoing connections and
/// for `bind(0)`, so that no other program takes a port between the test here and the start of the part.
const FIRST: u16 = 15_000;
/// How many ports a process takes at a time. A locked file keeps other test processes away from them for as long as it
/// runs: they would otherwise find a port free that a part of this process is about to listen on.
const BLOCK: u16 = 50;
/// How many blocks the range has.
const BLOCKS: u16 = 340;

/// The ports that this process has taken.
struct Taken {
    /// The locks of the blocks.
    locks: Vec<File>,
    /// The ports of the last block that were not handed out.
    rest: std::ops::Range<u16>,
}

static TAKEN: Mutex<Taken> = Mutex::new(Taken { locks: Vec::new(), rest: 0..0 });

impl Taken {
    fn next(&mut self) -> Option<u16> {
        loop {
            let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
            if let Some(port) = self.rest.find(is_free) {
                return Some(port);
            }
            let (block, lock) = (0..BLOCKS).find_map(|block| Some((block, lock(block)?)))?;
            self.locks.push(lock);
            let first = FIRST + block * BLOCK;
            self.rest = first..first + BLOCK;
        }
    }
}

fn lock_path(block: u16) -> PathBuf {
    std::env::temp_dir().join(format!("bailiwick-ports/{block}"))
}

/// The lock of a block; none if it is taken.
fn lock(block: u16) -> Option<File> {
    let path = lock_path(block);
    fs::create_dir_all(path.parent()?).ok()?;
    let file = File::options().create(true).write(true).truncate(false).open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// A TCP port on 127.0.0.1 without a listener, never handed out twice by this process, nor by another one while this
/// runs.
///
/// # Errors
/// When no port of the range is free.
pub fn spare() -> Result<u16> {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    taken.next().ok_or_else(|| PartError::new("no spare port on 127.0.0.1 between 15000 and 31999"))
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
        let mut taken = Taken { locks: Vec::new(), rest: 0..0 };
        let first = taken.next().unwrap();
        let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, first + 1));
        assert_ne!(taken.next().unwrap(), first + 1);
    }

    #[test]
    fn two_processes_never_find_the_same_port_free() {
        let mut processes = [(); 2].map(|()| Taken { locks: Vec::new(), rest: 0..0 });
        let ports: Vec<u16> =
            (0..2 * BLOCK).flat_map(|_| processes.each_mut().map(|taken| taken.next().unwrap())).collect();
        assert_eq!(ports.iter().collect::<HashSet<_>>().len(), usize::from(4 * BLOCK));
    }
}
