//! Inventory documents (spec: systems-interface#inventory, inventory#processing).

use super::*;

async fn latest(t: &Test, who: &Persona, id: SystemId) -> Reply {
    t.get(&format!("/api/systems/{id}/inventory/latest")).bearer(&who.token).send().await
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

api_test!(the_samples_fill_the_system, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for (sample, size, hash, kind, version, fqdn, v4, v6) in [
        (
            NS8,
            25_666,
            "a971ed3ad722d04e94ed5ee7e02dd1b2699c794a1bbf052186cba8d304be3ced",
            "ns8",
            "3.19.2",
            "ns1.acme-demo.example",
            "203.0.113.21",
            "2001:db8:10::21",
        ),
        (
            NSEC,
            20_800,
            "e6baf395af121cd61c399690033d1ae16508938a9f4661f785a2b7b3349d6ad6",
            "nsec",
            "8.7.1",
            "fw1.acme-demo.example",
            "203.0.113.130",
            "2001:db8:77::130",
        ),
    ] {
        let s = t.system(tree.customer).await;
        let nothing = latest(&t, &owner, s.id).await.expect_message(200, "no inventory available");
        assert_eq!(nothing.data(), Value::Null);
        t.advance(Duration::from_secs(1));
        let receipt = t.app.platform.now();
        let reply = send(&t, &s, sample).await;
        let data = reply.expect_message(202, "Inventory received and queued for processing").data();
        let expected = json!({"system_id": s.id, "system_key": s.key, "timestamp": receipt, "data_size": size,
            "queue_status": "queued", "message": "Your inventory data has been received and will be processed shortly"});
        assert_eq!(data, expected);
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
        let shown = system(&t, &owner, s.id).await;
        let columns =
            ["type", "version", "fqdn", "ipv4_address", "ipv6_address"].map(|k| shown[k].as_str().unwrap());
        assert_eq!(columns, [kind, version, fqdn, v4, v6]);
        assert_eq!((&shown["last_inventory"], &shown["status"]), (&json!(receipt), &json!("unknown")));
        let record = latest(&t, &owner, s.id).await;
        let record = record.expect_message(200, "latest inventory retrieved successfully").data();
        assert_eq!(record["data"], serde_json::from_slice::<Value>(sample).unwrap());
        assert_eq!((&record["data_hash"], &record["data_size"]), (&json!(hash), &json!(size)));
        assert_eq!((&record["timestamp"], &record["system_id"]), (&json!(receipt), &json!(s.id)));
        // Rule 34.
        assert!(record["processed_at"].is_string() && record["id"].is_i64());
        assert_eq!((&record["has_changes"], &record["change_count"]), (&json!(false), &json!(0)));
        let list = format!("/api/systems?search={}&type={kind}", fqdn.to_uppercase());
        let list = t.get(&list).bearer(&owner.token).send().await.expect(200).data();
        assert_eq!(list["pagination"]["total_count"], 1);
    }
    assert_eq!(count(&t, "inventory_queue").await, 0);
});

api_test!(a_document_again_moves_only_times, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    let mut ids = Vec::new();
    let mut updated = Vec::new();
    for body in [r#"{"a":1}"#, r#"{ "a": 1 }"#, r#"{"b":1}"#, r#"{"a":1}"#] {
        t.advance(Duration::from_secs(60));
        send(&t, &s, body).await.expect(202);
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
        let record = latest(&t, &owner, s.id).await.expect(200).data();
        assert_eq!(record["timestamp"], json!(t.app.platform.now()));
        assert!(record["processed_at"].is_string());
        ids.push(record["id"].as_i64().unwrap());
        let shown = system(&t, &owner, s.id).await;
        assert_eq!(shown["last_inventory"], json!(t.app.platform.now()));
        updated.push(shown["updated_at"].clone());
    }
    // Rule 24: A, A again, B, A.
    assert!(ids[0] == ids[1] && ids[1] < ids[2] && ids[2] < ids[3], "{ids:?}");
    assert_eq!(count(&t, "inventory_records").await, 3);
    // No column of the system came from any of them.
    assert!(updated.iter().all(|time| *time == updated[0]), "{updated:?}");
});

api_test!(a_system_changes_only_where_the_document_differs, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    let before = t.app.platform.now();
    let mut expected_update = before;
    for (body, version, fqdn, moves) in [
        (
            r#"{"installation":"nethsecurity","facts":{"fqdn":"a.example","distro":{"version":"8.1"}}}"#,
            "8.1",
            "a.example",
            true,
        ),
        (r#"{"installation":"nethsecurity","facts":{"fqdn":"","uptime":2}}"#, "8.1", "a.example", false),
        (
            r#"{"installation":"nethsecurity","facts":{"default_ipv4":"anon-00","distro":{"version":"8.2"}}}"#,
            "8.2",
            "a.example",
            true,
        ),
        (r#"{"installation":"nethsecurity","facts":null}"#, "8.2", "a.example", false),
        (r#"{"installation":"nethsecurity","facts":[]}"#, "8.2", "a.example", false),
    ] {
        t.advance(Duration::from_secs(60));
        send(&t, &s, body).await.expect(202);
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
        if moves {
            expected_update = t.app.platform.now();
        }
        let shown = system(&t, &owner, s.id).await;
        assert_eq!((&shown["version"], &shown["fqdn"]), (&json!(version), &json!(fqdn)));
        assert_eq!((&shown["updated_at"], &shown["type"]), (&json!(expected_update), &json!("nsec")));
    }
});

// Proves spec: guarantees#systems 22 30.
api_test!(values_survive_exactly, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    // Rules 22 and 30; the last of two keys wins, halves of surrogates have no text.
    let body = "{\"z\":1.0,\"big\":12345678901234567890123,\"e\":1e400,\"n\":\"a\\u0000b\",\"z\":-0,\"s\":\"\\ud800\",\
        \"deep\":[[[[]]]],\"installation\":\"nethserver\",\"facts\":{\"modules\":[{\"certification_level\":\"x\"}]}}";
    send(&t, &s, body).await.expect(202);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    let text = latest(&t, &owner, s.id).await.expect(200).text();
    let stored = "\"data\":{\"big\":12345678901234567890123,\"deep\":[[[[]]]],\"e\":1e400,\
        \"facts\":{\"modules\":[{\"certification_level\":\"x\"}]},\"installation\":\"nethserver\",\
        \"n\":\"a\u{fffd}b\",\"s\":\"\u{fffd}\",\"z\":-0}";
    assert!(text.contains(stored), "{text}");
});

// Proves spec: guarantees#systems 23.
api_test!(what_is_no_document, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let nested = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
    for (body, error) in [
        (Vec::new(), "data is required"),
        (b" ".to_vec(), "data must be valid JSON: unexpected end of input at line 1 column 2"),
        (b"{".to_vec(), "data must be valid JSON: unexpected end of input at line 1 column 2"),
        (b"{} {}".to_vec(), "data must be valid JSON: data after the value at line 1 column 4"),
        (b"{\"a\":\"\xff\"}".to_vec(), "data must be valid JSON: invalid UTF-8 at line 1 column 7"),
        (nested(128).into_bytes(), "data must be valid JSON: nesting is too deep at line 1 column 133"),
        (
            "[".repeat(200_000).into_bytes(),
            "data must be valid JSON: nesting is too deep at line 1 column 129",
        ),
        (b"[]".to_vec(), "data must be a JSON object"),
        (b"null".to_vec(), "data must be a JSON object"),
    ] {
        let reply = send(&t, &s, body).await.expect_message(400, "invalid inventory data");
        assert_eq!(reply.data(), json!({"validation_error": error}));
    }
    let encoded = |encoding: &str, body: Vec<u8>| {
        t.post("/systems/inventory")
            .basic(&s.key, &s.secret)
            .header("content-encoding", encoding)
            .body(body)
            .send()
    };
    for encoding in ["br", "deflate", "gzip, gzip", "zstd"] {
        encoded(encoding, gzip(b"{}")).await.expect_message(415, "unsupported content encoding");
    }
    encoded("gzip", b"{}".to_vec()).await.expect_message(400, "invalid inventory data");
    let cut = gzip(NS8);
    encoded("gzip", cut[..cut.len() / 2].to_vec()).await.expect_message(400, "invalid inventory data");
    assert_eq!(count(&t, "inventory_queue").await + count(&t, "inventory_records").await, 0);
    send(&t, &s, nested(127)).await.expect(202);
    assert_eq!(encoded("GZIP", gzip(NS8)).await.expect(202).data()["data_size"], 25_666);
    let members: Vec<u8> = NS8.chunks(20_000).flat_map(gzip).collect();
    assert_eq!(encoded("gzip", members).await.expect(202).data()["data_size"], 25_666);
    encoded("identity", NSEC.to_vec()).await.expect(202);
    // Authentication comes before anything is read.
    let foreign = t.post("/systems/inventory").basic(&s.key, "my_a.b").body("{").send().await;
    refused(foreign, "invalid system credentials");
});

// Proves spec: guarantees#systems 23.
api_test!(too_large, |settings| settings.systems.inventory_max_bytes = 10_000, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let reply = send(&t, &s, NS8).await.expect_message(413, "request too large");
    assert_eq!(reply.data(), json!({"max_size_bytes": 10_000, "received_bytes": NS8.len()}));
    let chunks: Vec<Result<Vec<u8>, std::io::Error>> = NS8.chunks(1000).map(|c| Ok(c.to_vec())).collect();
    let body = axum_body(chunks);
    let reply = t.post("/systems/inventory").basic(&s.key, &s.secret).body(body).send().await;
    assert_eq!(reply.expect(413).data(), json!({"max_size_bytes": 10_000, "received_bytes": null}));
    let bomb = gzip(format!("{{\"a\":\"{}\"}}", "x".repeat(1_000_000)).as_bytes());
    assert!(bomb.len() < 10_000);
    let call = t.post("/systems/inventory").basic(&s.key, &s.secret).header("content-encoding", "gzip");
    call.body(bomb).send().await.expect_message(413, "request too large");
    assert_eq!(count(&t, "inventory_queue").await + count(&t, "inventory_records").await, 0);
});

/// A cluster's document whose modules have these numbers.
fn of_modules(numbers: std::ops::Range<usize>) -> Vec<u8> {
    let modules: Vec<Value> = numbers.map(|n| json!({"id": format!("m{n}"), "module": "m"})).collect();
    json!({"installation": "nethserver", "facts": {"modules": modules}}).to_string().into_bytes()
}

api_test!(
    lists_of_a_document_have_limits,
    |settings| {
        settings.systems.applications = 30;
        settings.systems.inventory_list_entries = 40;
    },
    |t| async move {
        let s = t.system(t.tree().await.customer).await;
        let list = |n: usize| json!({"a": [0, {"b": vec![1; n]}]}).to_string().into_bytes();
        for (body, refusal) in [
            (of_modules(0..31), "facts.modules has 31 entries, at most 30 are allowed"),
            (list(41), "a.1.b has 41 entries, at most 40 are allowed"),
        ] {
            let reply = send(&t, &s, body).await.expect_message(400, "invalid inventory data");
            assert_eq!(reply.data(), json!({"validation_error": refusal}));
        }
        assert_eq!(count(&t, "inventory_queue").await + count(&t, "inventory_records").await, 0);
        for body in [of_modules(0..30), list(40)] {
            send(&t, &s, body).await.expect(202);
        }
    }
);

// A system that sends other modules each time does not fill the database.
api_test!(
    a_system_has_a_limited_number_of_applications,
    |settings| settings.systems.applications = 10,
    |t| async move {
        let tree = t.tree().await;
        let s = t.system(tree.customer).await;
        let id = async |module: &str| {
            // A token does not last as long as this test.
            let owner = t.owner().await;
            let path = format!("/api/applications/{}-{module}", s.id);
            let reply = t.get(&path).bearer(&owner.token).send().await;
            if reply.status == 404 { None } else { Some(reply.expect(200).data()["id"].clone()) }
        };
        send(&t, &s, of_modules(0..10)).await.expect(202);
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
        let noted = id("m3").await.unwrap();
        let owner = t.owner().await;
        let path = format!("/api/applications/{}", noted.as_str().unwrap());
        t.put(&path).bearer(&owner.token).json(json!({"notes": "kept"})).send().await.expect(200);
        for round in 1..40 {
            t.advance(Duration::from_secs(60));
            send(&t, &s, of_modules(round * 10..round * 10 + 9)).await.expect(202);
            // Several documents at once, too.
            if round % 3 == 0 {
                inventory::run_until_idle(&t.app.fleet).await.unwrap();
            }
        }
        t.advance(Duration::from_secs(60));
        send(&t, &s, of_modules(1000..1009)).await.expect(202);
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
        let rows = count(&t, "applications").await;
        assert!(rows <= 20, "{rows} applications");
        assert_eq!((id("m1000").await.is_some(), id("m390").await.is_some()), (true, false));
        // One with notes goes last.
        send(&t, &s, of_modules(3..4)).await.expect(202);
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
        assert_eq!(id("m3").await, Some(noted));
        assert_eq!(count(&t, "applications").await, 10);
    }
);

api_test!(
    documents_of_a_system_have_a_rate,
    |settings| settings.systems.inventories_per_hour = 3,
    |t| async move {
        let tree = t.tree().await;
        let (s, other) = (t.system(tree.customer).await, t.system(tree.customer).await);
        for _ in 0..3 {
            send(&t, &s, NSEC).await.expect(202);
        }
        let refused = send(&t, &s, NSEC).await.expect_message(429, "rate limit exceeded");
        assert_eq!(refused.header("retry-after"), Some("1200"));
        assert_eq!(refused.data(), Value::Null);
        send(&t, &other, NSEC).await.expect(202);
        beat(&t, &s).send().await.expect(200);
        t.advance(Duration::from_secs(1200));
        send(&t, &s, NSEC).await.expect(202);
        send(&t, &s, NSEC).await.expect(429);
    }
);

// A document that waits for its commit takes memory, also when its request has gone.
api_test!(a_document_keeps_its_room_until_it_is_written, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let turn = t.app.fleet.ingest().hold_worker().await;
    let free = || t.app.fleet.ingest().free_room();
    let all = free();
    send(&t, &s, NSEC).await.expect(202);
    // On SQLite every writer waits for this transaction.
    let mut tx = t.begin_apart().await;
    let hold = Q::new("SELECT id FROM systems WHERE id = ? [[FOR UPDATE||]]").bind(s.id);
    assert!(hold.optional::<(uuid::Uuid,)>(&mut tx).await.unwrap().is_some());
    let call = t.post("/systems/inventory").basic(&s.key, &s.secret).body(NS8.to_vec());
    let request = tokio::spawn(call.send());
    eventually("it waits for its commit", async || free() < all).await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    assert!(free() < all);
    tx.commit().await.unwrap();
    eventually("it is written", async || free() == all).await;
    drop(turn);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    assert_eq!(count(&t, "inventory_records").await, 2);
});

/// A body without an announced length.
fn axum_body(chunks: Vec<Result<Vec<u8>, std::io::Error>>) -> axum::body::Body {
    let mut chunks = chunks.into_iter();
    axum::body::Body::from_stream(futures_util::stream::poll_fn(move |_| {
        std::task::Poll::Ready(chunks.next())
    }))
}

/// A queue entry with a body that is no stored document, so that no worker can do anything with it.
async fn poison(t: &Test, id: SystemId) {
    let now = t.app.platform.now();
    let insert = "INSERT INTO inventory_queue (system_id, received_at, data_hash, data_size, body, next_at) \
         VALUES (?, ?, 'x', 10, ?, ?)";
    change(t, Q::new(insert).bind(id).bind(now).bind(vec![1_u8, 2, 3]).bind(now)).await;
}

// Proves spec: guarantees#systems 21.
api_test!(a_document_that_cannot_be_used_is_put_aside, |t| async move {
    let tree = t.tree().await;
    let (owner, s, other) = (t.owner().await, t.system(tree.customer).await, t.system(tree.customer).await);
    poison(&t, s.id).await;
    send(&t, &s, NS8).await.expect(202);
    send(&t, &other, NSEC).await.expect(202);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    // Rule 21: the other system is not affected; this one's next document waits its turn.
    assert_eq!(system(&t, &owner, other.id).await["type"], "nsec");
    assert_eq!(system(&t, &owner, s.id).await["type"], Value::Null);
    t.get("/health").send().await.expect(200);
    for (attempt, delay) in [(1, 5), (2, 10)] {
        let row: (i64, String) =
            Q::new("SELECT attempts, error FROM inventory_queue WHERE error IS NOT NULL")
                .one(&t.app.platform.db)
                .await
                .unwrap();
        assert!(row.0 == attempt && !row.1.is_empty(), "{row:?}");
        t.advance(Duration::from_secs(delay - 1));
        assert_eq!(inventory::run_until_idle(&t.app.fleet).await.unwrap(), 0);
        t.advance(Duration::from_secs(1));
        inventory::run_until_idle(&t.app.fleet).await.unwrap();
    }
    assert_eq!(system(&t, &owner, s.id).await["type"], "ns8");
    let (attempts, body): (i64, Vec<u8>) =
        Q::new("SELECT attempts, body FROM inventory_queue WHERE quarantined_at IS NOT NULL")
            .one(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!((attempts, body, count(&t, "inventory_queue").await), (3, vec![1, 2, 3], 1));
});

api_test!(documents_of_a_system_stay_in_order, |t| async move {
    let tree = t.tree().await;
    let (owner, s, other) = (t.owner().await, t.system(tree.customer).await, t.system(tree.customer).await);
    let body =
        |n: usize| format!("{{\"installation\":\"nethsecurity\",\"facts\":{{\"fqdn\":\"n{n}.example\"}}}}");
    // Documents sent side by side have no order between systems, those sent one after the other have.
    for n in 0..10 {
        let (a, b) = tokio::join!(send(&t, &s, body(n)), send(&t, &other, body(n + 100)));
        a.expect(202);
        b.expect(202);
    }
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    assert_eq!(system(&t, &owner, s.id).await["fqdn"], "n9.example");
    assert_eq!(system(&t, &owner, other.id).await["fqdn"], "n109.example");
    assert_eq!(count(&t, "inventory_records").await, 20);
    let unsorted: Vec<(i64,)> =
        Q::new("SELECT id FROM inventory_records WHERE system_id = ? ORDER BY timestamp, id")
            .bind(s.id)
            .all(&t.app.platform.db)
            .await
            .unwrap();
    assert!(unsorted.is_sorted());
});

api_test!(a_deleted_system_has_no_use_for_its_document, |t| async move {
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    // Kept from the worker until the system is gone.
    let turn = t.app.fleet.ingest().hold_worker().await;
    send(&t, &s, NS8).await.expect(202);
    t.delete_system(s.id).await;
    drop(turn);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    assert_eq!((count(&t, "inventory_queue").await, count(&t, "inventory_records").await), (0, 0));
});

// Proves spec: guarantees#systems 20.
api_test!(an_entry_of_a_dead_worker_is_taken_over, |t| async move {
    let tree = t.tree().await;
    let (owner, s) = (t.owner().await, t.system(tree.customer).await);
    let turn = t.app.fleet.ingest().hold_worker().await;
    send(&t, &s, NS8).await.expect(202);
    let mut tx = t.app.platform.db.begin().await.unwrap();
    // As long as that of a worker: a much longer one would be taken for that of a clock that was set back.
    let lease = Duration::from_secs(30);
    let claimed = bailiwick_store::inventory::claim(&mut tx, t.app.platform.now(), lease, 10).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(claimed.len(), 1);
    drop(turn);
    assert_eq!(inventory::run_until_idle(&t.app.fleet).await.unwrap(), 0);
    t.advance(lease);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    assert_eq!(system(&t, &owner, s.id).await["type"], "ns8");
    // Had the first worker lived after all, it would find its lease gone.
    let mut tx = t.app.platform.db.begin().await.unwrap();
    assert!(!bailiwick_store::inventory::hold(&mut tx, &claimed[0]).await.unwrap());
    assert_eq!(count(&t, "inventory_records").await, 1);
});

api_test!(two_workers_never_share_a_system, |t| async move {
    let tree = t.tree().await;
    let (s, other) = (t.system(tree.customer).await, t.system(tree.customer).await);
    let turn = t.app.fleet.ingest().hold_worker().await;
    let claim = async |limit| {
        let mut tx = t.app.platform.db.begin().await.unwrap();
        let lease = Duration::from_secs(120);
        let claimed =
            bailiwick_store::inventory::claim(&mut tx, t.app.platform.now(), lease, limit).await.unwrap();
        tx.commit().await.unwrap();
        claimed.into_iter().map(|c| c.system_id).collect::<Vec<_>>()
    };
    for n in 0..3 {
        send(&t, &s, format!("{{\"n\":{n}}}")).await.expect(202);
    }
    send(&t, &other, NSEC).await.expect(202);
    assert_eq!(claim(2).await, [s.id, s.id]);
    // The third document of the first system waits for the two before it.
    assert_eq!(claim(2).await, [other.id]);
    assert_eq!(claim(2).await, []);
    t.advance(Duration::from_secs(120));
    drop(turn);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    assert_eq!((count(&t, "inventory_queue").await, count(&t, "inventory_records").await), (0, 4));
    assert_eq!(latest(&t, &t.owner().await, s.id).await.expect(200).data()["data"], json!({"n": 2}));
});

api_test!(a_document_does_not_wait_for_the_worker_that_writes_its_system, |t| async move {
    if t.engine != Engine::Postgres {
        return;
    }
    let tree = t.tree().await;
    let s = t.system(tree.customer).await;
    let named = |name: &str| json!({"networking": {"fqdn": name}}).to_string();
    // The worker has written the system by the time that it asks for this row.
    let mut tx = t.begin_apart().await;
    let hold = Q::new("SELECT n FROM auth_epoch WHERE id = 1 FOR UPDATE");
    assert!(hold.optional::<(i64,)>(&mut tx).await.unwrap().is_some());
    send(&t, &s, named("a.example.org")).await.expect(202);
    let meanwhile = async {
        const WAITING: &str = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND wait_event_type = 'Lock' AND starts_with(query, 'SELECT n FROM auth_epoch')";
        eventually("the worker waits", async || Q::new(WAITING).count(&t.app.platform.db).await.unwrap() > 0)
            .await;
        let reply = send(&t, &s, named("b.example.org")).await;
        tx.commit().await.unwrap();
        reply.expect(202);
    };
    let (worked, ()) = tokio::join!(inventory::run_until_idle(&t.app.fleet), meanwhile);
    worked.unwrap();
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    let owner = t.owner().await;
    assert_eq!(system(&t, &owner, s.id).await["fqdn"], "b.example.org");
});
