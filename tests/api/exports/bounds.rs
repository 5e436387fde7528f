//! The bounds of an export: rows, bytes, and how many exports at once.

use super::{cells, csv, get, pdf};
use bailiwick_demo::{self as demo, Plan};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Persona, Test, api_test, eventually};
use futures_util::{StreamExt, TryStreamExt};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Rows of a PDF.
const MOST: u64 = 10_000;

/// More systems than a PDF may have, of a few organizations.
const SYSTEMS: Plan =
    Plan { organizations: 100, systems: MOST + 600, users: Some(10), applications: false, seed: 1 };
/// More of everything than a PDF may have.
const EVERYTHING: Plan = Plan { organizations: 11_700, users: Some(MOST + 600), ..SYSTEMS };

async fn fill(t: &Test, plan: Plan) {
    demo::fill(&t.app.fleet, &plan, &mut |_| {}).await.unwrap();
    // SQLite reads the new statistics when the schema has changed; the old ones know of a single organization.
    let mut tx = t.app.platform.db.begin().await.unwrap();
    for sql in ["CREATE TABLE reload (id BIGINT)", "DROP TABLE reload"] {
        Q::new(sql).run(&mut tx).await.unwrap();
    }
    tx.commit().await.unwrap();
}

async fn total(t: &Test, who: &Persona, kind: &str) -> u64 {
    let totals = get(t, who, &format!("/api/{kind}?page_size=1")).await.expect(200).data();
    totals["pagination"]["total_count"].as_u64().unwrap()
}

// Proves spec: guarantees#organizations 30.
api_test!(a_csv_has_no_upper_bound_and_a_pdf_has_one, |t| async move {
    let owner = t.owner().await;
    fill(&t, EVERYTHING).await;
    for (kind, order) in [("customers", "name"), ("users", "username"), ("systems", "system_key")] {
        let total = total(&t, &owner, kind).await;
        assert!(total > MOST, "{kind}: {total}");
        let path = format!("/api/{kind}/export?sort_by={order}&sort_direction=asc&format");
        let reply = get(&t, &owner, &format!("{path}=pdf")).await;
        let text =
            format!("too many {kind} to export ({total}). maximum allowed: 10000. please apply more filters");
        let data = reply.expect_message(400, &text).data();
        assert_eq!(data, json!({"total_count": total, "max_limit": MOST}));

        let reply = get(&t, &owner, &format!("{path}=csv")).await.expect(200);
        assert_eq!((reply.header("content-length"), reply.header("content-encoding")), (None, None));
        assert_eq!(reply.header("content-type"), Some("text/csv"));
        let text = String::from_utf8(reply.body.to_vec()).unwrap();
        let rows = cells(&text);
        assert_eq!(rows.len() as u64, total + 1, "{kind}: a header and a line for each row");
        assert!(rows.iter().skip(1).all(|row| row[0] != rows[0][0]), "{kind}: one header");
        // The first column of the last page of the list is that of the file.
        let pages = total.div_ceil(100);
        let last = format!("/api/{kind}?sort_by={order}&sort_direction=asc&page_size=100&page={pages}");
        let last = get(&t, &owner, &last).await.expect(200).data();
        let column = if kind == "users" { "username" } else { "name" };
        let names: Vec<&str> =
            last[kind].as_array().unwrap().iter().map(|row| row[column].as_str().unwrap()).collect();
        let end: Vec<&str> = rows[rows.len() - names.len()..].iter().map(|row| row[0].as_str()).collect();
        assert_eq!(end, names, "{kind}");
    }
});

api_test!(a_client_that_stops_reading_holds_no_connection, |t| async move {
    let owner = t.owner().await;
    fill(&t, Plan { systems: 3_600, ..SYSTEMS }).await;
    let open = async || {
        let response = t.get("/api/systems/export?format=csv").bearer(&owner.token).open().await;
        let mut body = response.into_body().into_data_stream();
        let first = body.next().await.unwrap().unwrap();
        assert!(first.starts_with(b"Name,"));
        body
    };
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(open().await);
    }
    eventually("no connection is in use", async || {
        t.app.platform.db.connections().pools.iter().all(|pool| pool.open == pool.idle)
    })
    .await;
    // Each holds its place, and gives it back when the client goes away.
    get(&t, &owner, "/api/systems/export?format=csv").await.expect(503);
    assert_eq!(t.app.directory.exports.occupy().len(), 12);
    waiting.pop();
    assert_eq!(t.app.directory.exports.occupy().len(), 13);
    // One that reads on gets all of it.
    let rest: Vec<_> = waiting.pop().unwrap().try_collect().await.unwrap();
    assert!(rest.len() >= 3 && rest.concat().ends_with(b"\n"), "{} portions", rest.len());
    drop(waiting);
    assert_eq!(t.app.directory.exports.occupy().len(), 16);
});

api_test!(a_fault_in_the_middle_breaks_the_transfer_off, |t| async move {
    let owner = t.owner().await;
    fill(&t, Plan { systems: 3_000, ..SYSTEMS }).await;
    // The file has 30 MB, many times what the buffers of a connection hold. Nobody reads it, so the service cannot have
    // sent it whole when the fault comes.
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("UPDATE systems SET notes = ?").bind("x".repeat(10_000)).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let served = t.serve().await;
    let address = served.url.strip_prefix("http://").unwrap().to_owned();
    let request = format!(
        "GET /api/systems/export?format=csv HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Connection: close\r\n\r\n",
        owner.token
    );
    let ask = async || {
        let mut socket = TcpStream::connect(&address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 16];
        socket.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200 OK\r");
        socket
    };
    const END: &[u8] = b"\r\n0\r\n\r\n";
    let mut whole = Vec::new();
    ask().await.read_to_end(&mut whole).await.unwrap();
    assert!(whole.ends_with(END), "a whole file ends as chunked bodies do");
    let mut broken = ask().await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    Q::new("ALTER TABLE systems RENAME TO gone").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let mut part = Vec::new();
    // A reset is as good a sign as the missing end.
    let _ = broken.read_to_end(&mut part).await;
    assert!(part.len() < whole.len() && !part.ends_with(END), "{} of {}", part.len(), whole.len());
});

api_test!(heavy_rows_go_into_a_csv_and_not_into_a_pdf, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    // 40 MiB in one row: more than all rows of a PDF may hold, and than a portion of a CSV reads at once.
    let text = "x".repeat(40 * 1024 * 1024);
    Q::new("UPDATE organizations SET description = ? WHERE id = ?")
        .bind(text)
        .bind(tree.customer)
        .run(&mut tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let reply = get(&t, &owner, "/api/customers/export?format=pdf").await;
    let data = reply.expect_message(400, "customers too large to export. please apply more filters").data();
    assert_eq!(data, json!({"max_bytes": 64 * 1024 * 1024}));
    let reply = get(&t, &owner, "/api/customers/export?format=csv").await.expect(200);
    assert!(reply.body.len() > 40 * 1024 * 1024);
    assert_eq!(reply.body.iter().filter(|byte| **byte == b'\n').count(), 3);
    csv(&t, &owner, "customers", "search=beta").await;
});

api_test!(a_report_reads_no_more_than_it_shows, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let note = async |mebibytes: usize| {
        let mut tx = t.app.platform.db.begin().await.unwrap();
        let data = json!({"vat": "IT1", "notes": "x".repeat(mebibytes * 1024 * 1024)});
        let q = Q::new("UPDATE organizations SET custom_data = ? WHERE id = ?");
        q.bind(data).bind(tree.customer).run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    };
    // More than all rows of a PDF may hold.
    note(40).await;
    let report = pdf(&t, &owner, "customers", "").await;
    assert!(report.contains("Alfa Customer"), "{report}");
    // More than a portion of a CSV reads at once.
    note(5).await;
    let reply = get(&t, &owner, "/api/customers/export?format=csv").await.expect(200);
    assert!(reply.body.len() > 5 * 1024 * 1024);
});

api_test!(too_many_exports_at_once_get_retry_after, |t| async move {
    t.tree().await;
    let owner = t.owner().await;
    let all = t.app.directory.exports.occupy();
    assert_eq!(all.len(), 16);
    for kind in ["customers", "users", "systems"] {
        let reply = get(&t, &owner, &format!("/api/{kind}/export?format=csv")).await;
        let reply = reply.expect_message(503, "service temporarily unavailable");
        assert_eq!(reply.header("retry-after"), Some("5"));
        // An error in the request comes first.
        get(&t, &owner, &format!("/api/{kind}/export")).await.expect(400);
    }
    drop(all);
    let many = futures_util::future::join_all((0..4).map(|_| csv(&t, &owner, "customers", ""))).await;
    assert!(many.iter().all(|file| *file == many[0]));
});

api_test!(one_organization_leaves_places_to_others, |t| async move {
    let tree = t.tree().await;
    let (owner, admin) = (t.owner().await, t.user(tree.distributor, &["admin"]).await);
    let own = t.app.directory.exports.occupy_of(tree.distributor);
    assert_eq!(own.len(), 4);
    for kind in ["customers", "users", "systems"] {
        let reply = get(&t, &admin, &format!("/api/{kind}/export?format=csv")).await;
        let reply = reply.expect_message(503, "service temporarily unavailable");
        assert_eq!(reply.header("retry-after"), Some("5"));
        csv(&t, &owner, kind, "").await;
    }
    drop(own);
    csv(&t, &admin, "customers", "").await;
});
