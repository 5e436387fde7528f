//! Processes that serve one database, and the secret that they must share.

use bailiwick_platform::{
    processes::{self, TokensTaken},
    secrets::{self, Purpose, SecretFingerprints, SecretRefused},
};
use bailiwick_store::{processes::Process, sql::Q};
use bailiwick_testkit::{Engine, Test, api_test};
use std::time::Duration;
use uuid::Uuid;

const SECOND: Duration = Duration::from_secs(1);
const LIFE: Duration = Duration::from_secs(7 * 86_400);

fn given(present: u8, previous: Option<u8>) -> SecretFingerprints {
    let previous = previous.map(|byte| [byte; 32]);
    SecretFingerprints::of(&[present; 32], previous.as_ref().map(|secret| &secret[..])).unwrap()
}

async fn admit(t: &Test, given: &SecretFingerprints) -> Result<(), SecretRefused> {
    secrets::admit(&t.app.platform.db, t.app.platform.now(), LIFE, given, Purpose::Service).await.unwrap()
}

async fn command(t: &Test, given: &SecretFingerprints) -> Result<(), SecretRefused> {
    secrets::admit(&t.app.platform.db, t.app.platform.now(), LIFE, given, Purpose::Command).await.unwrap()
}

/// Another process gives a sign of life.
async fn other(t: &Test, audience: &str, given: &SecretFingerprints) {
    let now = t.app.platform.now();
    let process = Process {
        id: Uuid::from_u128(7),
        host: "process 7 on other".to_owned(),
        public_url: "http://other.example".to_owned(),
        issuer: "127.0.0.1".to_owned(),
        audience: audience.to_owned(),
        secret: given.present.clone(),
        previous_secret: given.previous.clone(),
        started_at: now,
        seen_at: now,
    };
    bailiwick_store::processes::sign(&t.app.platform.db, &process, now.minus(3600 * SECOND)).await.unwrap();
}

api_test!(a_process_counts_while_it_gives_signs_of_life, |t| async move {
    assert_eq!(processes::are_tokens_taken(&t.app.platform).await.unwrap(), TokensTaken::NobodyServes);
    other(&t, "http://other.example/api", &given(1, None)).await;
    let TokensTaken::Not(names) = processes::are_tokens_taken(&t.app.platform).await.unwrap() else {
        panic!("it takes them")
    };
    assert_eq!(names[0].1, "http://other.example/api");
    t.advance(60 * SECOND);
    assert!(matches!(processes::are_tokens_taken(&t.app.platform).await.unwrap(), TokensTaken::Not(_)));
    t.advance(SECOND);
    assert_eq!(processes::are_tokens_taken(&t.app.platform).await.unwrap(), TokensTaken::NobodyServes);
    bailiwick_store::processes::leave(&t.app.platform.db, Uuid::from_u128(7)).await.unwrap();
    other(&t, "http://127.0.0.1:8080/api", &given(1, None)).await;
    assert_eq!(processes::are_tokens_taken(&t.app.platform).await.unwrap(), TokensTaken::ByAll);
    bailiwick_store::processes::leave(&t.app.platform.db, Uuid::from_u128(7)).await.unwrap();
    assert_eq!(processes::are_tokens_taken(&t.app.platform).await.unwrap(), TokensTaken::NobodyServes);
    // The row of a killed process does not stay for ever.
    other(&t, "a", &given(1, None)).await;
    t.advance(25 * 3600 * SECOND);
    processes::start(&t.app.platform, "process 8 on this".to_owned()).await.unwrap();
    assert_eq!(Q::new("SELECT COUNT(*) FROM processes").count(&t.app.platform.db).await.unwrap(), 1);
});

api_test!(a_secret_is_replaced_when_everybody_knows_the_new_one, |t| async move {
    assert_eq!(admit(&t, &given(1, None)).await, Ok(()));
    assert_eq!(admit(&t, &given(2, None)).await, Err(SecretRefused::Other));
    other(&t, "a", &given(1, None)).await;
    let unaware = Err(SecretRefused::Unaware("process 7 on other".to_owned()));
    assert_eq!(command(&t, &given(2, Some(1))).await, unaware);
    if t.engine == Engine::Postgres {
        assert_eq!(admit(&t, &given(2, Some(1))).await, unaware);
    }
    // It was killed.
    t.advance(61 * SECOND);
    assert_eq!(admit(&t, &given(2, Some(1))).await, Ok(()));
    assert_eq!(admit(&t, &given(1, None)).await, Err(SecretRefused::Behind));
    assert_eq!(admit(&t, &given(2, None)).await, Err(SecretRefused::NotResealed));
    assert_eq!(admit(&t, &given(1, Some(2))).await, Ok(()));
});

api_test!(a_lost_secret_is_given_up_while_no_process_runs, |t| async move {
    assert_eq!(admit(&t, &given(1, None)).await, Ok(()));
    other(&t, "a", &given(1, None)).await;
    let adopt = async |given: &SecretFingerprints| {
        let tx = secrets::adopt(&t.app.platform.db, t.app.platform.now(), given).await.unwrap()?;
        tx.commit().await.unwrap();
        Ok::<(), String>(())
    };
    // The adopting process holds a SQLite file alone.
    if t.engine == Engine::Postgres {
        assert_eq!(adopt(&given(2, None)).await, Err("process 7 on other".to_owned()));
        bailiwick_store::processes::leave(&t.app.platform.db, Uuid::from_u128(7)).await.unwrap();
    }
    assert_eq!(adopt(&given(2, None)).await, Ok(()));
    assert_eq!(admit(&t, &given(2, None)).await, Ok(()));
    assert_eq!(admit(&t, &given(1, None)).await, Err(SecretRefused::Other));
});

api_test!(a_database_in_use_takes_its_secret_from_a_service_alone, |t| async move {
    assert!(!secrets::is_unused(&t.app.platform.db).await.unwrap(), "there is an owner");
    assert_eq!(command(&t, &given(1, None)).await, Ok(()));
    assert_eq!(admit(&t, &given(2, None)).await, Ok(()));
    assert_eq!(command(&t, &given(1, None)).await, Err(SecretRefused::Other));
    assert_eq!(command(&t, &given(2, None)).await, Ok(()));
});
