//! PostgreSQL goes away in the middle of a request: every answer is 503 with `Retry-After`, never 500. And callers go away
//! in the middle of a transaction.

use bailiwick_platform::write_check;
use bailiwick_store::{Db, Options, sql::Q, stats};
use bailiwick_testkit::{Call, Engine, PATIENCE, Test, api_test, eventually};
use serde_json::json;
use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    task::{Context, Waker},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp},
};

/// A request that differs with each number.
type MakeCall<'a> = &'a dyn Fn(&Test, i64) -> Call;

/// Everything passes.
const CONNECTED: i64 = i64::MAX / 2;

/// A way to the database that breaks off after a number of bytes from the server.
struct Wire {
    url: String,
    bytes_left: Arc<AtomicI64>,
}

impl Wire {
    async fn to(database_url: &str) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut url = url::Url::parse(database_url).unwrap();
        let server = format!("127.0.0.1:{}", url.port().unwrap());
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let bytes_left = Arc::new(AtomicI64::new(CONNECTED));
        let left = bytes_left.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if left.load(Ordering::SeqCst) > 0 {
                    let server = TcpStream::connect(&server).await.unwrap();
                    tokio::spawn(forward(client, server, left.clone()));
                }
            }
        });
        Wire { url: url.into(), bytes_left }
    }

    /// From now on `bytes` more arrive over all connections, then all are closed and new ones as well.
    fn break_after(&self, bytes: i64) {
        self.bytes_left.store(bytes, Ordering::SeqCst);
    }
}

async fn forward(client: TcpStream, server: TcpStream, left: Arc<AtomicI64>) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = copy(from_client, to_server, None) => {}
        () = copy(from_server, to_client, Some(&left)) => {}
    }
}

async fn copy(mut from: tcp::OwnedReadHalf, mut to: tcp::OwnedWriteHalf, left: Option<&AtomicI64>) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await.unwrap_or(0);
        let passes = match left {
            Some(left) => left.fetch_sub(read as i64, Ordering::SeqCst).clamp(0, read as i64) as usize,
            None => read,
        };
        if to.write_all(&buffer[..passes]).await.is_err() || read == 0 || passes < read {
            return;
        }
    }
}

api_test!(
    no_answer_is_500_wherever_the_connection_to_postgresql_breaks,
    |settings| settings.alerting.limits.request_burst = 1_000_000,
    |t| async move {
        if t.engine == Engine::Sqlite {
            return;
        }
        let mut t = t;
        let tree = t.tree().await;
        let (owner, system) = (t.owner().await, t.system(tree.customer).await);
        let wire = Wire::to(&t.database_url).await;
        t.database_url.clone_from(&wire.url);
        let replica = t.replica().await;
        let calls: [(&str, MakeCall<'_>); 6] = [
            ("push", &|t, n| {
                let alerts = json!([{"labels": {"alertname": format!("A{n}")}}]);
                let path = "/api/services/mimir/alertmanager/api/v2/alerts";
                t.post(path).basic(&system.key, &system.secret).json(alerts)
            }),
            ("silences", &|t, _| {
                let path = "/api/services/mimir/alertmanager/api/v2/silences";
                t.get(path).basic(&system.key, &system.secret)
            }),
            ("heartbeat", &|t, _| t.post("/api/systems/heartbeat").basic(&system.key, &system.secret)),
            ("inventory", &|t, n| {
                let document = json!({"facts": {"n": n}});
                t.post("/api/systems/inventory").basic(&system.key, &system.secret).json(document)
            }),
            ("list", &|t, n| t.get(&format!("/api/systems?page_size={}", n % 90 + 1)).bearer(&owner.token)),
            ("create", &|t, n| {
                let name = format!("Customer {n} {}", t.app.platform.now().0);
                t.post("/api/customers").bearer(&owner.token).json(json!({"name": name}))
            }),
        ];
        let mut unavailable = [0; 6];
        for n in (0..16).chain((16..4000).step_by(97)) {
            for (i, (name, call)) in calls.iter().enumerate() {
                wire.break_after(n);
                let reply = call(&replica, n).send().await;
                assert_ne!(reply.status, 500, "{name} after {n} bytes: {}", reply.text());
                if reply.status == 503 {
                    assert!(reply.header("retry-after").is_some(), "{name} after {n} bytes");
                    unavailable[i] += 1;
                }
                wire.break_after(CONNECTED);
            }
        }
        assert!(unavailable.iter().all(|n| *n >= 16), "the connection was broken each time: {unavailable:?}");
        // And everything works again.
        for (name, call) in calls {
            let status = call(&replica, 5000).send().await.status.as_u16();
            assert!([200, 201, 202, 400].contains(&status), "{name}: {status}");
        }
    }
);

// The pool alone would only report that it has no connection.
api_test!(the_check_of_writing_names_the_server_that_cannot_be_reached, |t| async move {
    if t.engine == Engine::Sqlite {
        return;
    }
    let mut t = t;
    let wire = Wire::to(&t.database_url).await;
    t.database_url.clone_from(&wire.url);
    let replica = t.replica().await;
    let port = url::Url::parse(&wire.url).unwrap().port().unwrap();
    wire.break_after(0);
    let mut problem = None;
    eventually("a check fails", async || {
        problem = write_check::check(&replica.app.platform).await.err();
        problem.is_some()
    })
    .await;
    let problem = problem.unwrap();
    assert!(problem.starts_with(&format!("PostgreSQL at 127.0.0.1, port {port}, database ")), "{problem}");
});

/// The caller of `work` goes away when it has waited this many times.
async fn abandon(work: impl Future, waits: usize) {
    let mut work = pin!(work);
    for _ in 0..waits {
        if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

// Whoever uses the connection next must not run in the transaction of a caller that went away before it had begun, nor with its
// settings.
api_test!(a_transaction_that_nobody_waits_for_ends, |t| async move {
    let db = match t.engine {
        Engine::Sqlite => t.app.platform.db.clone(),
        Engine::Postgres => {
            let mut url = url::Url::parse(&t.database_url).unwrap();
            url.query_pairs_mut().append_pair("options", "-c synchronous_commit=on");
            let url = url.as_str().replace('+', "%20");
            Db::open(&Options { connections: 1, acquire: PATIENCE, ..Options::new(url) }).await.unwrap()
        }
    };
    const TRANSACTION: &str = "SELECT [[CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT)||random()]]";
    const SETTINGS: &str = "SELECT [[CAST(CASE WHEN current_setting('synchronous_commit') = 'on' AND \
         current_setting('enable_seqscan') = 'on' THEN 0 ELSE 1 END AS BIGINT)||0]]";
    for waits in 1..8 {
        for what in ["begin", "begin_relaxed", "by_index"] {
            match what {
                "begin" => abandon(db.begin(), waits).await,
                "begin_relaxed" => abandon(db.begin_relaxed(), waits).await,
                _ => abandon(stats::work(&db, t.app.platform.now()), waits).await,
            }
            let (one, other): ((i64,), (i64,)) =
                (Q::new(TRANSACTION).one(&db).await.unwrap(), Q::new(TRANSACTION).one(&db).await.unwrap());
            assert_ne!(one, other, "{what} after {waits} waits: both reads are in one transaction");
            assert_eq!(Q::new(SETTINGS).count(&db).await.unwrap(), 0, "{what} after {waits} waits");
            // And the next transaction keeps what it writes.
            let mut tx = db.begin().await.unwrap();
            assert_eq!(Q::new(SETTINGS).count(&mut tx).await.unwrap(), 0, "{what} after {waits} waits");
            tx.commit().await.unwrap();
        }
    }
});
