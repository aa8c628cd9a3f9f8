//! Requests to Roblox's cloud, with the keys of this machine.

use vector_cloud::{AssetDelivery, CloudClient, CloudFailure, CloudFailureKind, KeyPurpose};
use vector_providers::http::CancelSwitch;
use vector_providers::keys::{KeyStore, SecretKey, SystemKeychain};

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

/// Finds the key for a purpose.
fn find_key(purpose: KeyPurpose) -> Result<SecretKey, String> {
    let env = |name: &str| std::env::var(name).ok();
    let keys = KeyStore::new(&env, &SystemKeychain);
    let found = keys.find_key(purpose.name(), purpose.variable());
    found.map(|(key, _)| key).map_err(|why| {
        format!(
            "Roblox delivers assets only with an API key of yours ({why}). Create one at \
             https://create.roblox.com/dashboard/credentials with the scope {}, or insert the asset \
             with the place open in Studio.",
            purpose.scopes().join(", ")
        )
    })
}

/// Downloads the file of an asset.
///
/// # Errors
/// A sentence that says what to do.
pub fn download_asset(asset: u64, cancel: &CancelSwitch) -> Result<Vec<u8>, String> {
    let key = find_key(KeyPurpose::Assets)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("The download cannot be started: {error}."))?;
    let client = cloud_client().map_err(|failure| failure.message)?;
    let download = async {
        let delivery = AssetDelivery { asset };
        let answer = client.read(&delivery.request(), Some(key.expose())).await?;
        client.download(&delivery.read_location(&answer)?).await
    };
    let outcome = runtime.block_on(async {
        tokio::select! {
            biased;
            () = cancel.wait_until_cancelled() => None,
            outcome = download => Some(outcome),
        }
    });
    match outcome {
        None => Err("It was ended: the task was cancelled.".to_owned()),
        Some(Ok(bytes)) => Ok(bytes),
        Some(Err(failure)) => Err(describe_failure(asset, &failure, &key)),
    }
}

/// Describes why an asset cannot be downloaded, with what is special to asset delivery.
fn describe_failure(asset: u64, failure: &CloudFailure, key: &SecretKey) -> String {
    let message = key.scrub_text(&failure.message);
    let hint = match failure.kind {
        CloudFailureKind::Unauthorized => {
            " Set it again with `vector key set roblox-assets`.".to_owned()
        }
        CloudFailureKind::Forbidden => format!(
            " The asset may be private, or the key may lack the scope {}.",
            KeyPurpose::Assets.scopes().join(", ")
        ),
        CloudFailureKind::NotFound => " `vector assets search` lists assets.".to_owned(),
        CloudFailureKind::Conflict
        | CloudFailureKind::Invalid
        | CloudFailureKind::TooMany { .. }
        | CloudFailureKind::Server
        | CloudFailureKind::Unreachable
        | CloudFailureKind::Unreadable => String::new(),
    };
    format!("Asset {asset} cannot be downloaded. {message}{hint}")
}
