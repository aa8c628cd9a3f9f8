//! Requests to Roblox's cloud, with the keys of this machine.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::timeout;
use vector_cloud::{
    AssetDelivery, AssetKind, AssetSearch, AssetSummary, CloudClient, CloudFailure,
    CloudFailureKind, CloudRequest, KeyDetails, KeyIntrospection, KeyPurpose, MeshyBalance,
    PlaceVersionUpload, SearchPage,
};
use vector_core::tools::{StoreKind, StoreSearch};
use vector_providers::http::CancelSwitch;
use vector_providers::keys::{KeyStore, SecretKey, SystemKeychain};

use super::fetch::CANCELLED_MESSAGE;

/// Replaces the addresses of Roblox's cloud, for tests and proxies: each host becomes the first part of
/// the path.
const BASE_URL: &str = "VECTOR_ROBLOX_CLOUD_URL";

/// Creates a client for Roblox's cloud.
///
/// # Errors
/// Requests cannot be sent from this machine.
pub fn cloud_client() -> Result<CloudClient, CloudFailure> {
    CloudClient::new(std::env::var(BASE_URL).ok().filter(|it| !it.is_empty()))
}

/// Finds the key for a purpose. Without one, the error says what it is needed for, and how to do
/// without.
pub(super) fn find_key(
    purpose: KeyPurpose,
    needed: &str,
    otherwise: &str,
) -> Result<SecretKey, String> {
    let env = |name: &str| std::env::var(name).ok();
    let keys = KeyStore::new(&env, &SystemKeychain);
    let found = keys.find_key(purpose.name(), purpose.variable());
    found.map(|(key, _)| key).map_err(|why| {
        if purpose == KeyPurpose::Meshy {
            return format!(
                "{needed} only with {} ({why}). Or {otherwise}.",
                purpose.describe_key()
            );
        }
        let word = if purpose.scopes().len() == 1 { "scope" } else { "scopes" };
        format!(
            "{needed} only with an API key of yours ({why}). Create one at \
             https://create.roblox.com/dashboard/credentials with the {word} {}, or {otherwise}. A \
             running daemon reads the keychain, and the variables of the terminal that started it.",
            purpose.scopes().join(", ")
        )
    })
}

/// Finds the key for uploads of places.
///
/// # Errors
/// A sentence about what is missing and what to do.
pub fn find_publish_key() -> Result<SecretKey, String> {
    let needed = "Roblox takes versions of a place";
    find_key(KeyPurpose::Publish, needed, "publish the place in Studio")
}

/// Finds the key for runs in Roblox's engine.
///
/// # Errors
/// A sentence about what is missing and what to do.
pub fn find_verify_key() -> Result<SecretKey, String> {
    let needed = "Roblox runs specs";
    find_key(KeyPurpose::Verify, needed, "run the specs headlessly with `vector test`")
}

/// Uploads a version of a place. Returns its number.
///
/// # Errors
/// It was not uploaded, or that is not known: after a failure of the server or the connection.
pub fn upload_version(
    request: &CloudRequest,
    upload: &PlaceVersionUpload,
    key: &SecretKey,
    cancel: &CancelSwitch,
) -> Result<u64, CloudFailure> {
    let client = cloud_client()?;
    let sent = wait_for(client.read(request, Some(key.expose())), cancel);
    // The request may be on its way when it is cancelled.
    upload.read_version(&sent.map_err(CloudFailure::stopped)??)
}

/// The size limit of an asset, after decompression.
const MAX_ASSET_BYTES: usize = 128 << 20;
/// How long the check of a key may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
/// What Open Cloud says of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyCheck {
    Valid,
    /// It is wrong, revoked, disabled or expired.
    Unusable(&'static str),
    MissingScopes(Vec<&'static str>),
    /// It was not checked, for this reason.
    Unknown(String),
}

/// Checks a key with a request that changes nothing.
pub fn check_key(purpose: KeyPurpose, key: &SecretKey) -> KeyCheck {
    let client = match cloud_client() {
        Ok(client) => client,
        Err(failure) => return KeyCheck::Unknown(failure.message),
    };
    if purpose == KeyPurpose::Meshy {
        return check_meshy_key(&client, key);
    }
    let introspection = KeyIntrospection::of(key.expose());
    let request = introspection.request();
    let body = match read_in_time(&client, &request, key) {
        Ok(body) => body,
        Err(message) => return KeyCheck::Unknown(message),
    };
    match body.and_then(|body| introspection.read_details(&body)) {
        Ok(KeyDetails { is_enabled: false, .. }) => KeyCheck::Unusable("disabled"),
        Ok(KeyDetails { is_expired: true, .. }) => KeyCheck::Unusable("expired"),
        Ok(details) => match details.missing_scopes(purpose.scopes()) {
            missing if missing.is_empty() => KeyCheck::Valid,
            missing => KeyCheck::MissingScopes(missing),
        },
        Err(failure) if failure.kind == CloudFailureKind::Unauthorized => {
            KeyCheck::Unusable("wrong or revoked")
        }
        Err(failure) => KeyCheck::Unknown(failure.message),
    }
}

/// Sends a request that changes nothing, for as long as the check of a key may take.
fn read_in_time(
    client: &CloudClient,
    request: &CloudRequest,
    key: &SecretKey,
) -> Result<Result<Vec<u8>, CloudFailure>, String> {
    let reading = client.read(request, Some(key.expose()));
    let asked = async { timeout(CHECK_TIMEOUT, reading).await };
    let answer = wait_for(asked, &CancelSwitch::new())?;
    Ok(answer.unwrap_or_else(|_| Err(CloudFailure::from_timeout(request.host, CHECK_TIMEOUT))))
}

/// Checks a key of Meshy, which has no scopes.
fn check_meshy_key(client: &CloudClient, key: &SecretKey) -> KeyCheck {
    match read_in_time(client, &MeshyBalance.request(), key) {
        Ok(Ok(_)) => KeyCheck::Valid,
        Ok(Err(failure)) if failure.kind == CloudFailureKind::Unauthorized => {
            KeyCheck::Unusable("wrong or revoked")
        }
        Ok(Err(failure)) => KeyCheck::Unknown(failure.message),
        Err(message) => KeyCheck::Unknown(message),
    }
}

/// Finds the key for downloads of assets.
///
/// # Errors
/// A sentence about what is missing and what to do.
pub(super) fn find_assets_key() -> Result<SecretKey, String> {
    let otherwise = "insert the asset with the place open in Studio";
    find_key(KeyPurpose::Assets, "Roblox delivers assets", otherwise)
}

/// Downloads the file of an asset.
///
/// # Errors
/// A sentence that says what to do.
pub(super) fn download_asset(
    asset: u64,
    key: &SecretKey,
    cancel: &CancelSwitch,
) -> Result<Vec<u8>, String> {
    let client = cloud_client().map_err(|failure| failure.message)?;
    let download = async {
        let delivery = AssetDelivery { asset };
        let answer = client.read(&delivery.request(), Some(key.expose())).await?;
        client.download(&delivery.read_location(&answer)?, MAX_ASSET_BYTES).await
    };
    wait_for(download, cancel)?
        .map_err(|failure| format!("Asset {asset} cannot be downloaded. {failure}"))
}

/// Searches the Creator Store. Returns the page for a model.
///
/// # Errors
/// A sentence that says what to do.
pub fn search_store(wanted: &StoreSearch, cancel: &CancelSwitch) -> Result<Json, String> {
    let kind = match wanted.kind {
        StoreKind::Model => AssetKind::Model,
        StoreKind::Mesh => AssetKind::MeshPart,
        StoreKind::Decal => AssetKind::Decal,
        StoreKind::Audio => AssetKind::Audio,
    };
    let search = AssetSearch {
        kind,
        only_verified: wanted.only_verified,
        limit: MODEL_RESULTS,
        page: wanted.page.clone(),
        ..AssetSearch::new(&wanted.query)
    };
    find_assets(&search, cancel).map(|page| page_json(&page))
}

/// Searches the Creator Store.
///
/// # Errors
/// A sentence that says what to do.
pub fn find_assets(search: &AssetSearch, cancel: &CancelSwitch) -> Result<SearchPage, String> {
    let client = cloud_client().map_err(|failure| failure.message)?;
    let request = search.request();
    let body = wait_for(client.read(&request, None), cancel)?;
    body.and_then(|body| SearchPage::read(&body)).map_err(|failure| failure.message)
}

/// The number of results that a model reads at once.
const MODEL_RESULTS: u32 = 20;
/// Maximum characters of a name that a model reads.
const MAX_NAME: usize = 100;

/// Returns what a model reads of a page: what is not known is left out.
fn page_json(page: &SearchPage) -> Json {
    let asset = |asset: &AssetSummary| {
        let mut json = json!({
            "assetId": asset.id,
            "name": asset.name.chars().take(MAX_NAME).collect::<String>(),
            "verified": asset.is_creator_verified,
        });
        let counts = &asset.counts;
        let votes = asset.votes.map(|votes| json!([votes.up, votes.down]));
        let price = asset.price.as_ref().filter(|price| price.amount > 0.0);
        let known = [
            ("creator", asset.creator.as_deref().map(Json::from)),
            ("votes", votes),
            ("price", price.map(|it| json!(it.to_string()))),
            ("triangles", counts.triangles.map(Json::from)),
            ("scripts", counts.scripts.filter(|_| counts.has_scripts).map(Json::from)),
            ("seconds", asset.seconds.map(Json::from)),
        ];
        for (name, value) in known {
            if let Some(value) = value {
                json[name] = value;
            }
        }
        json
    };
    let mut answer = json!({ "assets": page.assets.iter().map(asset).collect::<Vec<_>>() });
    let more = [
        ("total", page.total.map(Json::from)),
        ("nextPage", page.next_page.as_deref().map(Json::from)),
        ("didYouMean", page.suggestion.as_deref().map(Json::from)),
    ];
    for (name, value) in more {
        if let Some(value) = value {
            answer[name] = value;
        }
    }
    answer
}

/// Waits for a request, unless it is cancelled.
pub(super) fn wait_for<T>(
    request: impl Future<Output = T>,
    cancel: &CancelSwitch,
) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("Requests cannot be sent: {error}."))?;
    runtime.block_on(async {
        tokio::select! {
            biased;
            () = cancel.wait_until_cancelled() => Err(CANCELLED_MESSAGE.to_owned()),
            outcome = request => Ok(outcome),
        }
    })
}
