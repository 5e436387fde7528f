use super::*;
use crate::listen::connection_state::RequestInWork;
use std::future::Future;

fn limits(open: usize, of_one_address: usize) -> Limits {
    let trusted = vec![Network { address: "10.0.0.0".parse().unwrap(), bits: 8 }];
    Limits { open, of_one_address, trusted }
}

/// Connections from these addresses, each of which begins a second after the one before.
async fn admit(connections: &Arc<Connections>, peers: &[&str]) -> Vec<Option<ConnectionSlot>> {
    let mut slots = Vec::new();
    for peer in peers {
        slots.push(connections.admit(peer.parse().unwrap()));
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    slots
}

/// Whether the connection was asked to end; its task would do so now.
fn is_asked(slot: &ConnectionSlot) -> bool {
    let mut request = Box::pin(slot.state.asked_to_end());
    let waker = futures_util::task::noop_waker();
    request.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_ready()
}

fn all_asked(slots: &[Option<ConnectionSlot>]) -> Vec<bool> {
    slots.iter().flatten().map(is_asked).collect()
}

fn series(connections: &Connections) -> Vec<u64> {
    let page = connections.page();
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_longest_idle_connection_makes_room() {
    let connections = Connections::new(limits(3, 3));
    let mut slots = admit(&connections, &["192.0.2.1", "192.0.2.2", "192.0.2.3"]).await;
    // The first is busy; the second was, and is idle for a shorter time than the third.
    let busy = RequestInWork::begin(&slots[0].as_ref().unwrap().state);
    drop(RequestInWork::begin(&slots[1].as_ref().unwrap().state));
    slots.extend(admit(&connections, &["192.0.2.4"]).await);
    assert_eq!(all_asked(&slots), [false, false, true, false]);
    assert_eq!(series(&connections), [1, 2, 3, 0, 1, 0, 0]);
    drop(busy);
    // Its place is free already; that its task ends later changes nothing.
    drop(slots.remove(2));
    assert_eq!(series(&connections), [0, 3, 3, 0, 1, 0, 0]);
    slots.extend(admit(&connections, &["192.0.2.5", "192.0.2.6"]).await);
    assert_eq!(all_asked(&slots), [false, true, true, false, false]);
    slots.clear();
    assert_eq!(series(&connections)[..2], [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn busy_connections_stay_and_newcomers_are_refused() {
    let connections = Connections::new(limits(2, 2));
    let slots = admit(&connections, &["192.0.2.1", "192.0.2.2"]).await;
    let busy: Vec<RequestInWork> =
        slots.iter().flatten().map(|slot| RequestInWork::begin(&slot.state)).collect();
    assert!(admit(&connections, &["192.0.2.3"]).await[0].is_none());
    assert_eq!(series(&connections), [2, 0, 2, 0, 0, 0, 1]);
    drop(busy);
    tokio::time::advance(SEARCH_PAUSE).await;
    assert!(admit(&connections, &["192.0.2.3"]).await[0].is_some());
    assert_eq!(all_asked(&slots), [true, false]);
}

#[tokio::test(start_paused = true)]
async fn an_address_displaces_its_own_connections_only() {
    let connections = Connections::new(limits(10, 2));
    // The same network of 64 bits, and an IPv4 address written in two ways.
    let flooder = ["2001:db8::1", "2001:db8::2:1", "2001:db8::3", "2001:db8::4"];
    let older = admit(&connections, &["192.0.2.9", "2001:db8:0:1::1", "::ffff:192.0.2.9"]).await;
    let slots = admit(&connections, &flooder).await;
    assert_eq!(all_asked(&older), [false, false, false]);
    assert_eq!(all_asked(&slots), [true, true, false, false]);
    let busy: Vec<RequestInWork> =
        slots[2..].iter().flatten().map(|slot| RequestInWork::begin(&slot.state)).collect();
    assert!(connections.admit("2001:db8::5".parse().unwrap()).is_none());
    assert!(connections.admit("192.0.2.10".parse().unwrap()).is_some());
    assert_eq!(series(&connections)[3..], [2, 0, 1, 0]);
    drop(busy);
}

#[tokio::test(start_paused = true)]
async fn a_trusted_proxy_has_no_share_of_its_own() {
    let connections = Connections::new(limits(4, 1));
    let slots = admit(&connections, &["10.1.1.1", "10.1.1.1", "10.1.1.1", "10.1.1.1"]).await;
    assert_eq!(all_asked(&slots), [false; 4]);
    let another = admit(&connections, &["192.0.2.1", "192.0.2.1"]).await;
    assert_eq!(
        (all_asked(&slots), all_asked(&another)),
        (vec![true, false, false, false], vec![true, false])
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_arrives_first_keeps_the_connection() {
    let connections = Connections::new(limits(1, 1));
    let old = connections.admit("192.0.2.1".parse().unwrap()).unwrap();
    // The head of its request may be on its way.
    assert!(connections.admit("192.0.2.2".parse().unwrap()).is_none());
    tokio::time::advance(Duration::from_secs(1)).await;
    let new = connections.admit("192.0.2.2".parse().unwrap()).unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    let busy = RequestInWork::begin(&old.state);
    assert!(is_asked(&old));
    old.stay();
    old.stay();
    assert_eq!(series(&connections)[..2], [1, 1]);
    drop((busy, old));
    assert_eq!(series(&connections)[..2], [0, 1]);
    drop(new);
    assert_eq!(series(&connections)[..2], [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_flood_costs_one_search_for_many_newcomers() {
    let connections = Connections::new(limits(1000, 1000));
    let mut slots: Vec<ConnectionSlot> = Vec::new();
    for n in 0..3000_u32 {
        let peer = IpAddr::V4((0xc000_0200 + n % 8).into());
        slots.extend(connections.admit(peer));
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    // In the order in which they came.
    let ended: Vec<bool> = slots.iter().map(is_asked).collect();
    assert_eq!(ended, [[true; 1000], [true; 1000], [false; 1000]].concat());
    assert_eq!(connections.state().open.len(), 1000);
    connections.make_room();
    assert_eq!(connections.state().open.len(), 999);
}
