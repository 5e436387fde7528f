//! Several people who have seen the same change it at the same moment.

use super::*;
use bailiwick_testkit::api_test;
use futures_util::future::join_all;

/// The requests at once, each as a task of its own.
async fn at_once(calls: Vec<Call>) -> Vec<Reply> {
    let tasks: Vec<_> = calls.into_iter().map(|call| tokio::spawn(call.send())).collect();
    join_all(tasks).await.into_iter().map(Result::unwrap).collect()
}

/// The index of the request that was faster. All others must be refused for that reason.
#[track_caller]
fn winner(replies: Vec<Reply>) -> usize {
    let texts: Vec<String> = replies.iter().map(Reply::text).collect();
    let won: Vec<usize> = (0..replies.len()).filter(|n| replies[*n].status == 200).collect();
    assert_eq!(won.len(), 1, "{texts:#?}");
    replies.into_iter().filter(|reply| reply.status != 200).for_each(|lost| refused(lost, "If-Match"));
    won[0]
}

api_test!(of_changes_of_one_state_exactly_one_is_made, |t| async move {
    let tree = t.tree().await;
    let (owner, entities) = entities(&t, &tree).await;
    for entity in entities {
        for round in 0..3 {
            let etag = entity.tag(&t, &owner).await;
            let words: Vec<String> = (0..4).map(|n| format!("round{round}by{n}")).collect();
            let write = |word: &String| entity.write(&t, &owner, word).header("if-match", &etag);
            let won = winner(at_once(words.iter().map(write).collect()).await);
            let shown = entity.word(&t, &owner).await;
            assert!(shown.as_str().unwrap().starts_with(&words[won]), "{}: {shown}", entity.path);
        }
    }
});

// A suspension changes the entity that the caller has seen, too.
api_test!(of_a_change_and_a_suspension_one_is_made, |t| async move {
    let tree = t.tree().await;
    let (owner, entities) = entities(&t, &tree).await;
    for entity in entities {
        if entity.path.contains("/config") || entity.path.contains("/applications") {
            continue;
        }
        for round in 0..3 {
            let etag = entity.tag(&t, &owner).await;
            let patch = |what: &str| t.patch(&format!("{}/{what}", entity.path)).bearer(&owner.token);
            let write = entity.write(&t, &owner, &format!("round{round}")).header("if-match", &etag);
            let won = winner(at_once(vec![write, patch("suspend").header("if-match", &etag)]).await);
            if won == 1 {
                patch("reactivate").send().await.expect(200);
            }
        }
    }
});

api_test!(of_first_layers_one_is_saved, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let path = format!("/api/alerts/config?organization_id={}", tree.customer);
    let save = |n: i32| {
        let call = t.post(&path).bearer(&owner.token).json(layer(&format!("by{n}")));
        call.header("if-none-match", "*")
    };
    let replies = at_once((0..4).map(save).collect()).await;
    assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 1);
    for lost in replies.into_iter().filter(|reply| reply.status != 200) {
        refused(lost, "If-None-Match");
    }
});
