//! Tells systemd how the process is (`Type=notify`, sd_notify(3)): a datagram to the socket that `NOTIFY_SOCKET` names.

use std::{
    env,
    ffi::OsStr,
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::{ffi::OsStrExt, net},
    },
};

/// Sends a state, `READY=1` or `STOPPING=1`, if a supervisor listens.
pub fn notify(state: &str) {
    let Some(socket) = env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else { return };
    if let Err(why) = send(&socket, state) {
        tracing::warn!(error = %why, state, "cannot notify the service manager (NOTIFY_SOCKET)");
    }
}

fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    let address = match socket.as_bytes().split_first() {
        // A name that is no file.
        Some((b'@', name)) => net::SocketAddr::from_abstract_name(name)?,
        _ => net::SocketAddr::from_pathname(socket)?,
    };
    net::UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_a_file_or_a_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let name = format!("bailiwick-test-{}", std::process::id());
        let of_file = net::UnixDatagram::bind(&path).unwrap();
        let address = net::SocketAddr::from_abstract_name(&name).unwrap();
        let of_name = net::UnixDatagram::bind_addr(&address).unwrap();
        for (socket, listener) in [(path.into_os_string(), of_file), (format!("@{name}").into(), of_name)] {
            send(&socket, "READY=1").unwrap();
            let mut datagram = [0; 32];
            let length = listener.recv(&mut datagram).unwrap();
            assert_eq!(&datagram[..length], b"READY=1");
        }
        assert!(send(OsStr::new("/no/such/socket"), "READY=1").is_err());
    }
}
