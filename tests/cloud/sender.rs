//! Requests to a fake cloud, each until it is answered or has failed.

use fake_cloud::FakeCloud;
use vector_cloud::{CloudClient, CloudFailure, CloudRequest};

/// Waits for what is done with a client of a fake cloud.
pub(super) fn run<T>(cloud: &FakeCloud, work: impl AsyncFnOnce(CloudClient) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work(CloudClient::new(Some(cloud.url())).unwrap()))
}

pub(super) fn send(
    cloud: &FakeCloud,
    request: &CloudRequest,
    key: &str,
) -> Result<Vec<u8>, CloudFailure> {
    run(cloud, async |client| client.read(request, Some(key)).await)
}
