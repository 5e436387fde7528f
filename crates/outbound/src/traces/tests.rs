use super::*;
use bailiwick_domain::Ts;
use span::{AttributeValue, Role};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};
use tracing::{field::Empty, subscriber::with_default, trace_span};
use tracing_subscriber::{Layer, layer::SubscriberExt};

/// A microsecond more at each look.
#[derive(Default)]
struct Ticks(AtomicI64);

impl Clock for Ticks {
    fn now(&self) -> Ts {
        Ts(self.0.fetch_add(1, SeqCst))
    }
}

/// Numbers that are spread like random ones.
#[derive(Default)]
struct Spread(AtomicU64);

impl Entropy for Spread {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let mut n = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, SeqCst);
            n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) ^ (n >> 31);
            chunk.copy_from_slice(&n.to_be_bytes()[..chunk.len()]);
        }
    }
}

fn traces(ratio: f64, endpoint: &str) -> Traces {
    let config =
        TraceConfig { endpoint: endpoint.to_owned(), authorization: None, ratio, service: "test".to_owned() };
    Traces::new(&config, Arc::new(Ticks::default()), Arc::new(Spread::default())).unwrap()
}

/// Runs something while spans are traced, and returns the spans.
fn traced<T>(traces: &Traces, work: impl FnOnce() -> T) -> (T, Vec<Span>) {
    let layer = traces.layer();
    let filter = layer.filter();
    let done = with_default(Registry::default().with(layer.with_filter(filter)), work);
    let mut exporter = lock(&traces.0.idle);
    let mut spans = Vec::new();
    while let Some(span) = exporter.as_mut().and_then(export::Exporter::next) {
        spans.push(span);
    }
    (done, spans)
}

const KEPT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn callers_are_read_as_the_standard_says() {
    let read = parent::parent(KEPT).unwrap();
    assert_eq!((read.trace[0], read.span[7], read.sampled), (0x0a, 0x31, true));
    assert!(!parent::parent(&KEPT.replace("-01", "-00")).unwrap().sampled);
    assert!(parent::parent(&KEPT.replace("-01", "-03")).unwrap().sampled, "other flags do not matter");
    assert!(parent::parent(&format!("cc{}-what-comes-later", &KEPT[2..])).is_some(), "a later version");
    let none = "0".repeat(32);
    for garbage in [
        "",
        "00",
        "-",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
        "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        &format!("00-{none}-b7ad6b7169203331-01"),
        "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
        "00-ä0af7651916cd43dd8448eb211c8031-b7ad6b7169203331-01",
    ] {
        assert_eq!(parent::parent(garbage), None, "{garbage}");
    }
}

#[test]
fn a_request_is_a_part_of_the_callers_trace_and_says_no_more_than_it_may() {
    let traces = traces(1.0, "http://127.0.0.1:1");
    let (given, spans) = traced(&traces, || {
        let request = trace_span!(
            "request",
            id = %"r-1",
            method = %"GET",
            path = "/secret",
            traceparent = KEPT,
            route = Empty,
            http.response.status_code = Empty,
        );
        let given = request.in_scope(|| {
            let call = trace_span!("call", call = "alert router", method = "POST", error.type = Empty);
            let given = traceparent(&call);
            call.record("error.type", "timed_out");
            given
        });
        request.record("route", "/systems/{id}");
        request.record("http.response.status_code", 500_u16);
        given
    });
    let [call, request] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!(request.parent, Some([0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]));
    assert_eq!(request.context.trace, parent::parent(KEPT).unwrap().trace);
    assert_eq!((call.context.trace, call.parent), (request.context.trace, Some(request.context.span)));
    assert_eq!(given.unwrap().to_str().unwrap(), call.context.to_string());
    assert_eq!((request.name.as_str(), call.name.as_str()), ("GET /systems/{id}", "alert router"));
    assert_eq!((request.role, call.role), (Role::Server, Role::Client));
    assert!(request.failed && call.failed && request.began < request.ended);
    let keys: Vec<&str> = request.attributes.iter().map(|(key, _)| *key).collect();
    assert_eq!(keys, ["request.id", "http.request.method", "http.route", "http.response.status_code"]);
    assert!(!spans.iter().any(|span| span.to_json().to_string().contains("secret")));
    let json = request.to_json();
    assert_eq!((json["kind"].as_u64(), json["status"]["code"].as_u64()), (Some(2), Some(2)));
    assert_eq!(json["attributes"][3]["value"]["intValue"], "500");
}

#[test]
fn what_belongs_to_nothing_is_no_trace_and_words_of_clients_are_not_names() {
    let traces = traces(1.0, "http://127.0.0.1:1");
    let (given, spans) = traced(&traces, || {
        drop(trace_span!("transaction", db.system.name = "sqlite"));
        let call = trace_span!("call", method = "GET");
        drop(trace_span!("request", id = %"x".repeat(1000), method = %"HUNTER2", traceparent = "garbage"));
        drop(trace_span!("job", job.kind = "mail"));
        traceparent(&call)
    });
    assert_eq!(given, None);
    let [request, job] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((request.parent, request.name.as_str(), job.name.as_str()), (None, "request", "job mail"));
    assert_eq!(request.attributes[1].1, AttributeValue::Text("_OTHER".to_owned()));
    assert_eq!(request.attributes[0].1, AttributeValue::Text("x".repeat(256)));
    assert_ne!(request.context.trace, job.context.trace);
}

#[test]
fn without_a_subscriber_nothing_is_given_on() {
    assert_eq!(traceparent(&trace_span!("call", method = "GET")), None);
}

#[test]
fn the_ratio_bounds_what_is_kept_and_callers_only_lessen_it() {
    let count_kept = |ratio: f64| {
        let traces = traces(ratio, "http://127.0.0.1:1");
        let begin = || (0..1000).for_each(|_| drop(trace_span!("request", method = "GET")));
        traced(&traces, begin).1.len()
    };
    assert_eq!((count_kept(0.0), count_kept(1.0)), (0, 1000));
    assert!((150..350).contains(&count_kept(0.25)), "{}", count_kept(0.25));
    // The trace of KEPT is a little beyond one half.
    let of_caller = |ratio: f64, flags: &str| {
        let traces = traces(ratio, "http://127.0.0.1:1");
        let given = KEPT.replace("-01", flags);
        traced(&traces, || {
            let request = trace_span!("request", method = "GET", traceparent = given.as_str());
            let passed = request.in_scope(|| traceparent(&trace_span!("call", method = "GET")));
            passed.unwrap().to_str().unwrap().to_owned()
        })
    };
    let is_same_trace = |passed: &str| passed.get(..36) == KEPT.get(..36);
    for (ratio, flags, is_kept) in
        [(1.0, "-01", true), (1.0, "-00", false), (0.01, "-01", false), (0.0, "-01", false)]
    {
        let (passed, spans) = of_caller(ratio, flags);
        assert!(is_same_trace(&passed), "{passed}");
        assert_eq!(
            (passed.ends_with("-01"), spans.len()),
            (is_kept, 2 * usize::from(is_kept)),
            "{ratio} {flags}"
        );
    }
}

#[test]
fn what_is_too_much_is_dropped_and_counted() {
    let traces = traces(1.0, "http://127.0.0.1:1");
    let (_, spans) = traced(&traces, || {
        (0..QUEUE + 10).for_each(|_| drop(trace_span!("request", method = "GET")));
    });
    assert_eq!(spans.len(), QUEUE);
    assert!(traces.page().contains("bailiwick_trace_spans_dropped_total 10\n"), "{}", traces.page());
}

#[tokio::test]
async fn a_dead_collector_does_not_hold_up_the_end() {
    // Connections are taken and nothing is ever said.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let traces = traces(1.0, &format!("http://{}", silent.local_addr().unwrap()));
    let layer = traces.layer();
    let filter = layer.filter();
    traces.start();
    with_default(Registry::default().with(layer.with_filter(filter)), || {
        (0..5).for_each(|_| drop(trace_span!("request", method = "GET")));
    });
    // Without a bound it would wait for ever.
    tokio::time::timeout(Duration::from_secs(60), traces.finish()).await.unwrap();
    assert!(traces.page().contains("bailiwick_trace_spans_dropped_total 5\n"), "{}", traces.page());
    assert!(traces.page().contains("bailiwick_trace_spans_exported_total 0\n"));
}
