//! Notifications about the list of resources: it changes when a place is opened or closed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleServer;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, SubscriptionContext};
use scene_schemas::api::{SessionId, Sessions};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::DaemonGate;

/// The places whose resources a client knows, because it has listed them or was notified of them. A
/// client that never lists resources is not notified.
#[derive(Debug, Clone)]
pub(super) struct PlaceWatch {
    known: watch::Sender<Option<BTreeSet<SessionId>>>,
    /// Cancelled when the connection ends.
    ended: CancellationToken,
    is_started: Arc<AtomicBool>,
}

impl PlaceWatch {
    pub(super) fn new() -> Self {
        Self {
            known: watch::Sender::new(None),
            ended: CancellationToken::new(),
            is_started: Arc::default(),
        }
    }

    /// Records that the client has listed the resources of these places.
    pub(super) fn note_listed(&self, open: &Sessions) {
        let ids = open.sessions.iter().map(|it| it.session.clone());
        self.known.send_replace(Some(ids.collect()));
    }

    /// Records that the client may have listed resources before its connection was restored.
    pub(super) fn note_restored(&self) {
        self.known.send_replace(Some(BTreeSet::new()));
    }

    pub(super) fn end(&self) {
        self.ended.cancel();
    }

    /// Notifies a client of each change until its connection ends.
    pub(super) async fn notify_client<G: DaemonGate>(self, gate: Arc<G>, client: Peer<RoleServer>) {
        // A client may say more than once that it is ready.
        if self.is_started.swap(true, Ordering::SeqCst) {
            return;
        }
        let mut listed = self.known.subscribe();
        loop {
            let known = listed.borrow_and_update().clone();
            let changed = async {
                match known {
                    Some(known) => gate.wait_for_places(known).await,
                    None => std::future::pending().await,
                }
            };
            let open = tokio::select! {
                () = self.ended.cancelled() => return,
                open = changed => open,
                // It has listed them again.
                _ = listed.changed() => continue,
            };
            if client.notify_resource_list_changed().await.is_err() {
                return;
            }
            self.known.send_replace(Some(open));
        }
    }
}

/// Returns the part of a filter that is served: changes of the list of resources.
pub(super) fn served_filter(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut served = SubscriptionFilter::default();
    served.resources_list_changed = requested.resources_list_changed;
    served
}

/// Serves a subscription until it is cancelled or the client is gone. The first notification comes at
/// once if a place is open, as it may have been opened since the client listed the resources.
pub(super) async fn serve_subscription<G: DaemonGate>(
    gate: &G,
    context: &SubscriptionContext,
    gone: &CancellationToken,
) {
    let is_accepted = context.accepted().resources_list_changed == Some(true);
    let notify = async {
        let mut known = BTreeSet::new();
        loop {
            known = gate.wait_for_places(known).await;
            if context.sink().notify_resource_list_changed().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = context.cancelled() => {}
        () = gone.cancelled() => {}
        () = notify, if is_accepted => {}
    }
}
