//! The Creator Store for people: searches, and thumbnails for the page, which are kept in memory.
//!
//! The thumbnails of a page of results are requested together, as soon as the results are known. The
//! page loads nothing from elsewhere: it asks the daemon.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use scene_schemas::api::{Failure, FailureKind};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use vector_cloud::{
    AssetSearch, CloudClient, CloudFailure, CloudFailureKind, SearchPage, ThumbnailSearch,
    ThumbnailState,
};

use crate::failure::failure;
use crate::tasks::cloud::cloud_client;

/// The most thumbnails that are kept; each is some 20 KB.
const MAX_KEPT: usize = 2_000;
/// The size limit of a thumbnail, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// How many thumbnails are downloaded at the same time.
const DOWNLOADS: usize = 8;
/// How often a thumbnail that is being made is asked for, and the pause before.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(2);
/// How long a search may take. The plugin sends one request after the other, so that what it has to
/// send waits as long.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a request waits for a thumbnail that others have asked for.
const WAIT: Duration = Duration::from_secs(30);

/// What is known of a thumbnail.
#[derive(Debug, Clone)]
enum KnownThumbnail {
    /// It was asked for.
    Requested,
    Picture(Arc<[u8]>),
    /// There is none, in a sentence.
    Missing(&'static str),
}

#[derive(Debug)]
pub(crate) struct AssetStore {
    client: OnceLock<Result<CloudClient, CloudFailure>>,
    thumbnails: Mutex<HashMap<u64, KnownThumbnail>>,
    /// Notified when something becomes known of a thumbnail.
    changed: Notify,
    downloads: Semaphore,
}

impl AssetStore {
    pub(crate) fn new() -> Self {
        Self {
            client: OnceLock::new(),
            thumbnails: Mutex::default(),
            changed: Notify::new(),
            downloads: Semaphore::new(DOWNLOADS),
        }
    }

    fn client(&self) -> Result<&CloudClient, CloudFailure> {
        self.client.get_or_init(cloud_client).as_ref().map_err(Clone::clone)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, KnownThumbnail>> {
        self.thumbnails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches the Creator Store, within 15 s.
    ///
    /// # Errors
    /// The store cannot be searched, or does not answer in time.
    pub(crate) async fn search(&self, search: &AssetSearch) -> Result<SearchPage, Failure> {
        let client = self.client().map_err(cloud_failure)?;
        let request = search.request();
        let answer = timeout(SEARCH_TIMEOUT, client.read(&request, None)).await;
        let late = || Err(CloudFailure::from_timeout(request.host, SEARCH_TIMEOUT));
        let body = answer.unwrap_or_else(|_| late()).map_err(cloud_failure)?;
        SearchPage::read(&body).map_err(cloud_failure)
    }

    /// Begins to load thumbnails that are not known.
    pub(crate) fn request_thumbnails(self: &Arc<Self>, assets: &[u64]) {
        let mut thumbnails = self.lock();
        let mut new = assets.to_vec();
        new.retain(|asset| !thumbnails.contains_key(asset));
        if thumbnails.len() + new.len() > MAX_KEPT {
            thumbnails.retain(|_, known| matches!(known, KnownThumbnail::Requested));
        }
        thumbnails.extend(new.iter().map(|asset| (*asset, KnownThumbnail::Requested)));
        drop(thumbnails);
        for assets in new.chunks(ThumbnailSearch::MAX_ASSETS) {
            let (store, assets) = (Arc::clone(self), assets.to_vec());
            tokio::spawn(async move { store.load_thumbnails(assets).await });
        }
    }

    async fn load_thumbnails(self: Arc<Self>, assets: Vec<u64>) {
        let mut missing = assets;
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                sleep(PAUSE).await;
            }
            let Ok(states) = self.ask_states(&missing).await else {
                return self.forget(&missing);
            };
            for (asset, state) in states {
                match state {
                    ThumbnailState::Pending => continue,
                    ThumbnailState::Completed(address) => {
                        let store = Arc::clone(&self);
                        tokio::spawn(async move { store.download(asset, &address).await });
                    }
                    ThumbnailState::Blocked => {
                        self.set(
                            asset,
                            KnownThumbnail::Missing("Roblox does not show this thumbnail."),
                        );
                    }
                    ThumbnailState::Missing => {
                        self.set(
                            asset,
                            KnownThumbnail::Missing("Roblox has not made a thumbnail."),
                        );
                    }
                }
                missing.retain(|it| *it != asset);
            }
            if missing.is_empty() {
                return;
            }
        }
        // It may be there when somebody asks again.
        self.forget(&missing);
    }

    async fn ask_states(&self, assets: &[u64]) -> Result<Vec<(u64, ThumbnailState)>, CloudFailure> {
        let search = ThumbnailSearch { assets };
        search.read(&self.client()?.read(&search.request(), None).await?)
    }

    async fn download(&self, asset: u64, address: &str) {
        let permit = self.downloads.acquire().await;
        let picture = match self.client() {
            Ok(client) => client.download(address, MAX_BYTES).await.ok(),
            Err(_) => None,
        };
        drop(permit);
        match picture {
            Some(bytes) if picture_type(&bytes).is_some() => {
                self.set(asset, KnownThumbnail::Picture(bytes.into()));
            }
            Some(_) => self.set(asset, KnownThumbnail::Missing("The thumbnail is not a picture.")),
            None => self.forget(&[asset]),
        }
    }

    fn set(&self, asset: u64, known: KnownThumbnail) {
        self.lock().insert(asset, known);
        self.changed.notify_waiters();
    }

    /// Forgets thumbnails that could not be loaded, so that they are asked for again.
    fn forget(&self, assets: &[u64]) {
        let mut thumbnails = self.lock();
        for asset in assets {
            thumbnails.remove(asset);
        }
        drop(thumbnails);
        self.changed.notify_waiters();
    }

    /// Returns the pictures of these assets that are there already.
    pub(crate) fn known_thumbnails(&self, assets: &[u64]) -> Vec<(u64, Arc<[u8]>)> {
        let thumbnails = self.lock();
        let picture = |asset: &u64| match thumbnails.get(asset)? {
            KnownThumbnail::Picture(picture) => Some((*asset, Arc::clone(picture))),
            KnownThumbnail::Requested | KnownThumbnail::Missing(_) => None,
        };
        assets.iter().filter_map(picture).collect()
    }

    /// Returns the picture of an asset.
    ///
    /// # Errors
    /// There is none, or it cannot be loaded.
    pub(crate) async fn thumbnail(self: &Arc<Self>, asset: u64) -> Result<Arc<[u8]>, Failure> {
        let missing = |why: &str| {
            failure(FailureKind::NotFound, why, "Look at the asset on create.roblox.com.")
        };
        let end = Instant::now() + WAIT;
        let mut was_requested = false;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that no notification is missed between the two.
            changed.as_mut().enable();
            let known = self.lock().get(&asset).cloned();
            match known {
                Some(KnownThumbnail::Picture(picture)) => return Ok(picture),
                Some(KnownThumbnail::Missing(why)) => return Err(missing(why)),
                None if was_requested => return Err(missing("The thumbnail could not be loaded.")),
                None => self.request_thumbnails(&[asset]),
                Some(KnownThumbnail::Requested) => {}
            }
            was_requested = true;
            if timeout_at(end, changed).await.is_err() {
                return Err(missing("The thumbnail has not arrived in time."));
            }
        }
    }
}

/// Returns the media type of a picture, by its first bytes; None for anything else.
pub(crate) fn picture_type(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 3] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"RIFF", "image/webp"),
    ];
    KINDS.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, kind)| *kind)
}

fn cloud_failure(error: CloudFailure) -> Failure {
    let kind = match error.kind {
        CloudFailureKind::Invalid => FailureKind::BadRequest,
        CloudFailureKind::NotFound => FailureKind::NotFound,
        CloudFailureKind::TooMany { .. } => FailureKind::TooMany,
        CloudFailureKind::Unauthorized
        | CloudFailureKind::PaymentRequired
        | CloudFailureKind::Forbidden
        | CloudFailureKind::Conflict
        | CloudFailureKind::Server
        | CloudFailureKind::Unreachable
        | CloudFailureKind::Unreadable => FailureKind::Provider,
    };
    failure(kind, error.message, "The rest of Vector works without the Creator Store.")
}
