//! The content of a downloaded asset that may not load: Roblox is asked about the images, meshes and
//! sounds that it uses. An asset without any sends no request, and no failure stops the insertion.
//!
//! Images, decals and meshes may be restricted: they load only in experiences that have a grant.

use std::collections::HashMap;
use std::time::Duration;

use scene_schemas::command::{AssetFinding, AssetFindingKind};
use tokio::time::{Instant, timeout_at};
use vector_cloud::{
    AssetDelivery, CloudClient, CloudFailure, CloudFailureKind, CloudRequest, ThumbnailSearch,
    ThumbnailState,
};
use vector_place::{ContentUse, ContentUses, MAX_CONTENT_USES, count_noun};
use vector_providers::http::CancelSwitch;
use vector_providers::keys::SecretKey;

use super::cloud::{cloud_client, wait_for};

// One request has the thumbnails of all.
const _: () = assert!(MAX_CONTENT_USES <= ThumbnailSearch::MAX_ASSETS);

/// How long all requests may take: somebody waits for the card.
const ASK_TIME: Duration = Duration::from_secs(5);
/// How many assets asset delivery is asked for at most.
const MAX_DELIVERIES: usize = 10;

/// Why an asset may not load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadProblem {
    /// Roblox does not deliver it to the owner of the key.
    Restricted,
    /// Roblox does not have it.
    Missing,
    /// Its thumbnail is blocked.
    Blocked,
}

/// What Roblox said of the assets that a model uses.
#[derive(Debug, Default)]
struct ContentAnswers<'a> {
    problems: Vec<(&'a ContentUse, LoadProblem)>,
    /// The assets of which it is not known whether they load.
    unknown: Vec<&'a ContentUse>,
    /// The first failure, and what to do.
    failure: Option<String>,
}

/// Asks Roblox about the assets that a model uses. The key is the one that downloaded the model; it is
/// sent to asset delivery only. Returns a finding for each asset that may not load, and one for all that
/// are not known to.
pub(super) fn find_unresolved(
    uses: &ContentUses,
    key: &SecretKey,
    cancel: &CancelSwitch,
) -> Vec<AssetFinding> {
    if uses.listed.is_empty() {
        return Vec::new();
    }
    let asked = cloud_client()
        .map_err(|failure| failure.message)
        .and_then(|client| wait_for(ask_roblox(&client, &uses.listed, key), cancel));
    let answers = asked.unwrap_or_else(|failure| ContentAnswers {
        problems: Vec::new(),
        unknown: uses.listed.iter().collect(),
        failure: Some(failure),
    });
    let problems = answers.problems.iter();
    let mut found: Vec<AssetFinding> =
        problems.map(|(used, problem)| finding(used, describe_problem(used, *problem))).collect();
    // The order of the instances, as in the rest of the card.
    found.sort_by_key(|it| it.at);
    found.extend(describe_unknown(uses, &answers));
    found
}

fn finding(used: &ContentUse, text: String) -> AssetFinding {
    AssetFinding { at: used.at + 1, text, kind: AssetFindingKind::Content }
}

/// Asks for the thumbnails of all assets, and for the files of those that have none.
async fn ask_roblox<'a>(
    client: &CloudClient,
    listed: &'a [ContentUse],
    key: &SecretKey,
) -> ContentAnswers<'a> {
    let end = Instant::now() + ASK_TIME;
    let mut answers = ContentAnswers::default();
    let assets: Vec<u64> = listed.iter().map(|used| used.asset).collect();
    let search = ThumbnailSearch { assets: &assets };
    let thumbnails = read_until(end, client, &search.request(), None).await;
    let thumbnails = match thumbnails.and_then(|body| search.read(&body)) {
        Ok(thumbnails) => HashMap::<u64, ThumbnailState>::from_iter(thumbnails),
        Err(failure) => {
            answers.unknown.extend(listed);
            answers.failure = Some(failure.message);
            return answers;
        }
    };
    let mut left = MAX_DELIVERIES;
    for used in listed {
        let is_blocked = match thumbnails.get(&used.asset) {
            Some(ThumbnailState::Completed(_) | ThumbnailState::Pending) => continue,
            Some(ThumbnailState::Blocked) => true,
            Some(ThumbnailState::Missing) | None => false,
        };
        let mut problem = is_blocked.then_some(LoadProblem::Blocked);
        let mut is_known = is_blocked;
        if left > 0 {
            left -= 1;
            match ask_delivery(end, client, used.asset, key).await {
                Ok(reason) => {
                    is_known = true;
                    problem = reason.or(problem);
                }
                Err(failure) => {
                    if failure.kind.is_passing() {
                        // The next request would fail as well.
                        left = 0;
                    }
                    answers.failure.get_or_insert(failure.message);
                }
            }
        }
        answers.problems.extend(problem.map(|problem| (used, problem)));
        if !is_known {
            answers.unknown.push(used);
        }
    }
    answers
}

/// Asks where the file of an asset is. Returns why it does not load, if Roblox does not say where.
async fn ask_delivery(
    end: Instant,
    client: &CloudClient,
    asset: u64,
    key: &SecretKey,
) -> Result<Option<LoadProblem>, CloudFailure> {
    let delivery = AssetDelivery { asset };
    let answer = read_until(end, client, &delivery.request(), Some(key)).await;
    match answer.and_then(|body| delivery.read_location(&body)) {
        Ok(_) => Ok(None),
        Err(failure) => match failure.kind {
            CloudFailureKind::Unauthorized | CloudFailureKind::Forbidden => {
                Ok(Some(LoadProblem::Restricted))
            }
            CloudFailureKind::NotFound => Ok(Some(LoadProblem::Missing)),
            CloudFailureKind::Invalid
            | CloudFailureKind::PaymentRequired
            | CloudFailureKind::Conflict
            | CloudFailureKind::TooMany { .. }
            | CloudFailureKind::Server
            | CloudFailureKind::Unreachable
            | CloudFailureKind::Unreadable => Err(failure),
        },
    }
}

/// Sends a request, and waits for the answer until `end`.
async fn read_until(
    end: Instant,
    client: &CloudClient,
    request: &CloudRequest,
    key: Option<&SecretKey>,
) -> Result<Vec<u8>, CloudFailure> {
    let reading = client.read(request, key.map(SecretKey::expose));
    let late = || Err(CloudFailure::from_timeout(request.host, ASK_TIME));
    timeout_at(end, reading).await.unwrap_or_else(|_| late())
}

fn describe_problem(used: &ContentUse, problem: LoadProblem) -> String {
    let ContentUse { asset, property, at: _ } = used;
    let rest = match problem {
        LoadProblem::Restricted => {
            "which Roblox does not give to your key: it is private or restricted, and loads only in \
             experiences that have a grant. Ask its creator to grant it to yours, or use another asset."
        }
        LoadProblem::Missing => {
            "which Roblox does not have, so that it does not load. Use another asset."
        }
        LoadProblem::Blocked => {
            "whose thumbnail Roblox blocks: it may have been moderated, and not load. Look at it on \
             create.roblox.com, or use another asset."
        }
    };
    format!("Its {property} is asset {asset}, {rest}")
}

/// Says which assets are not known to load, and why not. None if all are known.
fn describe_unknown(uses: &ContentUses, answers: &ContentAnswers<'_>) -> Option<AssetFinding> {
    let (at, what) = match answers.unknown.split_first() {
        Some((first, others)) => {
            let ContentUse { asset, property, at: _ } = first;
            let this = format!("Its {property}, asset {asset},");
            match others.len() + uses.more {
                0 => (*first, format!("{this} was not checked.")),
                more => (*first, format!("{this} and {more} more of the model were not checked.")),
            }
        }
        None if uses.more == 0 => return None,
        None => {
            let what = count_noun(uses.more, "more asset", "more assets");
            (uses.listed.last()?, format!("The model uses {what}, which Vector did not check."))
        }
    };
    let limits = || {
        format!(
            "Vector checks up to {MAX_CONTENT_USES} assets of a model, and up to {MAX_DELIVERIES} \
             without a thumbnail."
        )
    };
    let why = answers.failure.clone().unwrap_or_else(limits);
    let next = "What does not load is named in Studio's Output when you open the place.";
    Some(finding(at, format!("{what} {why} {next}")))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn used(asset: u64, at: u32) -> ContentUse {
        ContentUse { asset, at, property: "Texture" }
    }

    #[test]
    fn cancel_ends_the_wait_for_roblox() {
        // It accepts connections and never answers.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", silent.local_addr().unwrap());
        let client = CloudClient::new(Some(base)).unwrap();
        let cancel = CancelSwitch::new();
        let key = SecretKey::new("key");
        let listed = [used(7, 0)];
        thread::scope(|scope| {
            let own = cancel.clone();
            scope.spawn(move || {
                let _connection = silent.accept().unwrap();
                own.cancel();
            });
            let asked = wait_for(ask_roblox(&client, &listed, &key), &cancel);
            assert!(asked.is_err_and(|why| why.contains("cancelled")));
        });
    }

    #[test]
    fn cancelled_check_names_all_and_fails_nothing() {
        let cancel = CancelSwitch::new();
        cancel.cancel();
        let uses = ContentUses { listed: vec![used(7, 3), used(8, 4)], more: 2 };
        let key = SecretKey::new("key");
        let found = find_unresolved(&uses, &key, &cancel);
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((found.at, found.kind), (4, AssetFindingKind::Content));
        let what = "Its Texture, asset 7, and 3 more of the model were not checked. It was ended";
        assert!(found.text.starts_with(what), "{}", found.text);
    }
}
