//! Wrong codes, over all processes (spec: openid-provider#second-factors).

use super::*;
use bailiwick_testkit::{Engine, api_test};

/// Codes sent after one password until the first refusal that is no wrong code; its status, and how many were wrong.
async fn wrong_codes(t: &Test, secret: &str, most: usize) -> (u16, usize) {
    let browser = Browser::new(t);
    let (page, mut shown) = after_password(&browser).await;
    for n in 0..most {
        let reply = send_code(&browser, &page, &shown, &wrong_code(t, secret)).await;
        if reply.status != 422 || reply.text().contains("too many wrong codes in a row") {
            return (reply.status.as_u16(), n);
        }
        shown = reply;
    }
    (422, most)
}

api_test!(ten_wrong_codes_in_a_quarter_of_an_hour_are_enough, |t| async move {
    let owner = owner(&t).await;
    assert_eq!(wrong_codes(&t, &owner.secret, 20).await, (429, 10));
    // Valid codes are not checked now, recovery codes are.
    let browser = Browser::new(&t);
    let (page, shown) = after_password(&browser).await;
    let refused = send_code(&browser, &page, &shown, &code_at(&t, &owner.secret, 0)).await.expect(429);
    assert_eq!(refused.header("retry-after"), Some("900"));
    send_code(&browser, &page, &shown, &owner.recovery_codes[0]).await.expect(303);
    // That makes the count begin anew.
    assert_eq!(wrong_codes(&t, &owner.secret, 20).await, (429, 10));
    t.advance(Duration::from_secs(900));
    let browser = Browser::new(&t);
    let (page, shown) = after_password(&browser).await;
    send_code(&browser, &page, &shown, &code_at(&t, &owner.secret, 0)).await.expect(303);
});

api_test!(after_a_hundred_wrong_codes_only_another_factor_helps, |t| async move {
    let owner = owner(&t).await;
    for _ in 0..10 {
        assert_eq!(wrong_codes(&t, &owner.secret, 10).await, (422, 10));
        t.advance(Duration::from_secs(901));
    }
    assert_eq!(wrong_codes(&t, &owner.secret, 1).await, (422, 0));
    t.advance(Duration::from_secs(86_400));
    let browser = Browser::new(&t);
    let (page, shown) = after_password(&browser).await;
    send_code(&browser, &page, &shown, &code_at(&t, &owner.secret, 0)).await.expect(422);
    send_code(&browser, &page, &shown, &owner.recovery_codes[3]).await.expect(303);
    t.advance(Duration::from_secs(60));
    let browser = Browser::new(&t);
    let (page, shown) = after_password(&browser).await;
    send_code(&browser, &page, &shown, &code_at(&t, &owner.secret, 0)).await.expect(303);
});

api_test!(three_processes_let_no_more_codes_pass_than_one, |t| async move {
    let owner = owner(&t).await;
    let mut processes = vec![&t];
    let others = match t.engine {
        Engine::Postgres => vec![t.replica().await, t.replica().await],
        Engine::Sqlite => Vec::new(),
    };
    processes.extend(&others);
    // All at once: each process has its own browsers, which wait at the step already.
    let mut waiting = Vec::new();
    for n in 0..24 {
        let browser = Browser::new(processes[n % processes.len()]);
        let (page, shown) = after_password(&browser).await;
        waiting.push((browser, page, shown));
    }
    let code = wrong_code(&t, &owner.secret);
    let sent = waiting.iter().map(|(browser, page, shown)| send_code(browser, page, shown, &code));
    let replies = futures_util::future::join_all(sent).await;
    let count = |status: u16| replies.iter().filter(|reply| reply.status == status).count();
    assert_eq!((count(422), count(429)), (10, 14));
});
