//! Reachability checks (spec: systems#reachability). The appliance is a TLS server on a loopback address of its own,
//! which a laboratory's allow-list permits; port 9090 is the one of the fixed ports that needs no right.

use super::*;
use bailiwick_outbound::reachability::Candidate;
use bailiwick_settings::{Network, Settings};
use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::aws_lc_rs, pki_types::PrivateKeyDer},
};

/// Loopback as a laboratory.
fn laboratory(settings: &mut Settings) {
    settings.systems.reachability_networks = vec![Network { address: "127.0.0.0".parse().unwrap(), bits: 8 }];
}

/// An address that no other test of this run uses.
async fn appliance_address() -> (Ipv4Addr, TcpListener) {
    for _ in 0..100 {
        let [a, b, c, ..] = uuid::Uuid::new_v4().into_bytes();
        let address = Ipv4Addr::new(127, a.max(1), b, c.clamp(1, 254));
        if let Ok(listener) = TcpListener::bind((address, 9090)).await {
            return (address, listener);
        }
    }
    panic!("no free loopback address");
}

/// TLS with a certificate of its own making.
fn acceptor() -> TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(["appliance.invalid".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Serves TLS and answers 503 to everything; counts the requests.
fn serve(listener: TcpListener) -> Arc<AtomicUsize> {
    let (acceptor, connections) = (acceptor(), Arc::new(AtomicUsize::new(0)));
    let counted = connections.clone();
    tokio::task::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut head = [0; 1024];
            let n = stream.read(&mut head).await.unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..n]).to_ascii_lowercase();
            assert!(head.starts_with("head / http/1.1") && !head.contains("authorization"), "{head}");
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"HTTP/1.1 503 Busy\r\nLocation: https://127.0.0.1/\r\n\r\n").await;
            let _ = stream.shutdown().await;
        }
    });
    connections
}

async fn system_at(t: &Test, system_type: &str, fqdn: &str) -> String {
    let tree = t.tree().await;
    let made = made(t, &t.owner().await, tree.customer, "S").await;
    let id = text(&made, "id").to_owned();
    let update = Q::new("UPDATE systems SET type = ?, fqdn = ? WHERE id = ?")
        .bind(system_type)
        .bind(fqdn)
        .bind(id.parse::<bailiwick_domain::SystemId>().unwrap());
    change(t, update).await;
    id
}

async fn check(t: &Test, id: &str) -> Reply {
    get(t, &t.owner().await, &format!("/{id}/reachability")).await
}

// Proves spec: acceptance#scenarios 28.
api_test!(any_answer_counts, |settings| laboratory(settings), |t| async move {
    let (address, listener) = appliance_address().await;
    let connections = serve(listener);
    let id = system_at(&t, "nsec", &address.to_string()).await;
    let reply = check(&t, &id).await.expect_message(200, "reachability check completed");
    assert_eq!(reply.data(), json!({"reachable": true, "url": format!("https://{address}:9090")}));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
});

api_test!(nobody_there_names_the_first_address, |settings| laboratory(settings), |t| async move {
    let (address, listener) = appliance_address().await;
    drop(listener);
    let id = system_at(&t, "nsec", &address.to_string()).await;
    assert_eq!(
        check(&t, &id).await.data(),
        json!({"reachable": false, "url": format!("https://{address}:443")})
    );
});

api_test!(internal_addresses_are_never_contacted, |t| async move {
    let (address, listener) = appliance_address().await;
    let connections = serve(listener);
    for fqdn in
        [address.to_string(), format!("[::ffff:{address}]"), format!("user@{address}"), "localhost".into()]
    {
        let id = system_at(&t, "nsec", &fqdn).await;
        assert_eq!(check(&t, &id).await.expect(200).data(), json!({"reachable": false, "url": ""}), "{fqdn}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
});

api_test!(ten_checks_a_minute_and_only_within_the_scope, |t| async move {
    let tree = t.tree().await;
    let id = system_at(&t, "legacy", "").await;
    let foreign = t.user(tree.other_customer, &["admin"]).await;
    get(&t, &foreign, &format!("/{id}/reachability")).await.expect_message(404, "system not found");
    for _ in 0..10 {
        assert_eq!(check(&t, &id).await.expect(200).data(), json!({"reachable": false, "url": ""}));
    }
    let refused = check(&t, &id).await.expect_message(429, "rate limit exceeded");
    assert_eq!(refused.header("retry-after"), Some("6"));
    t.advance(Duration::from_secs(6));
    check(&t, &id).await.expect(200);
});

/// Counts the connections to an address.
fn count_connections(listener: TcpListener) -> Arc<AtomicUsize> {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    tokio::task::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    connections
}

// Proves spec: guarantees#systems 38.
api_test!(no_spelling_of_an_address_inside_leads_to_a_connection, |t| async move {
    let (address, listener) = appliance_address().await;
    let connections = count_connections(listener);
    let [a, b, c, d] = address.octets();
    let number = u32::from(address);
    for fqdn in [
        address.to_string(),
        number.to_string(),
        format!("0x{number:08x}"),
        format!("{a}.{}", number & 0x00ff_ffff),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"),
        format!("::ffff:{address}"),
        format!("[::ffff:{address}]"),
        format!("[::{address}]"),
        format!("[64:ff9b::{address}]"),
        format!("{address}:9090"),
        format!("{address}/"),
        format!("{address}#"),
        format!("{address}@example.org"),
        format!("example.org@{address}"),
        format!("{address}."),
        "localhost".to_owned(),
        "localhost.localdomain".to_owned(),
        "ip6-localhost".to_owned(),
        "0".to_owned(),
        "0.0.0.0".to_owned(),
        "[::]".to_owned(),
    ] {
        for kind in ["nsec", "ns8"] {
            let id = system_at(&t, kind, &fqdn).await;
            // A person of its own: each may ask ten times a minute.
            let who = t.user(t.owner().await.org, &["admin"]).await;
            let answer = get(&t, &who, &format!("/{id}/reachability")).await.expect(200).data();
            assert_eq!(answer, json!({"reachable": false, "url": ""}), "{kind} {fqdn}");
        }
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
});

/// Serves TLS and answers every request with a redirect to another address.
fn redirect(listener: TcpListener, to: Ipv4Addr) {
    let acceptor = acceptor();
    tokio::task::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _ = stream.read(&mut [0; 1024]).await;
            let answer =
                format!("HTTP/1.1 302 Found\r\nLocation: https://{to}:9090/\r\nContent-Length: 0\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
}

// Proves spec: guarantees#systems 38.
api_test!(neither_a_redirect_nor_a_second_look_at_the_name_leads_inside, |t| async move {
    let (inside, listener) = appliance_address().await;
    let connections = count_connections(listener);
    let (appliance, listener) = appliance_address().await;
    redirect(listener, inside);
    // Only the appliance's own address may be asked.
    let p = t
        .replica_with(|settings| {
            settings.systems.reachability_networks = vec![Network { address: appliance.into(), bits: 32 }];
        })
        .await;
    let id = system_at(&p, "nsec", &appliance.to_string()).await;
    let answer = check(&p, &id).await.expect(200).data();
    assert_eq!(answer, json!({"reachable": true, "url": format!("https://{appliance}:9090")}));
    assert_eq!(connections.load(Ordering::SeqCst), 0);
    // The connection goes to the address that was checked, whatever the name means by then. `localhost` means an
    // address that may not be asked, and a name that does not exist any more is no obstacle.
    let candidate = Candidate { url: String::new(), port: 9090, path: "/" };
    for name in ["localhost", "gone.invalid", &inside.to_string()] {
        assert!(p.app.fleet.reach.answers(name, &[appliance.into()], &candidate).await, "{name}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
});
