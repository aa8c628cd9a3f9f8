//! Notifications about the list of resources: it changes when a place is opened or closed.

use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, SubscriptionContext};
use scene_schemas::api::{SessionId, Sessions};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::DaemonGate;

/// The places that a client knows: those that it has listed, or was notified of. A client that never
/// lists resources is not notified.
#[derive(Debug, Clone)]
pub(super) struct PlaceWatch {
    known: watch::Sender<Option<BTreeSet<SessionId>>>,
    /// Cancelled when the connection ends.
    ended: CancellationToken,
}

fn session_ids(open: &Sessions) -> BTreeSet<SessionId> {
    open.sessions.iter().map(|it| it.session.clone()).collect()
}

impl PlaceWatch {
    pub(super) fn new() -> Self {
        Self { known: watch::Sender::new(None), ended: CancellationToken::new() }
    }

    /// Records that the client has listed the resources of these places.
    pub(super) fn note_listed(&self, open: &Sessions) {
        self.known.send_replace(Some(session_ids(open)));
    }

    pub(super) fn end(&self) {
        self.ended.cancel();
    }

    /// Notifies a client of each change until its connection ends.
    pub(super) async fn notify_client<G: DaemonGate>(self, gate: Arc<G>, client: Peer<RoleServer>) {
        let mut listed = self.known.subscribe();
        loop {
            let known = listed.borrow_and_update().clone();
            let changed = async {
                match known {
                    Some(known) => gate.wait_for_places(Some(known)).await,
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
            self.note_listed(&open);
        }
    }
}

/// Returns the part of a filter that is served: changes of the list of resources.
pub(super) fn served_filter(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut served = SubscriptionFilter::default();
    served.resources_list_changed = requested.resources_list_changed;
    served
}

/// Serves a subscription until it is cancelled.
pub(super) async fn serve_subscription<G: DaemonGate>(gate: &G, context: &SubscriptionContext) {
    let notify = async {
        let mut known = session_ids(&gate.wait_for_places(None).await);
        loop {
            known = session_ids(&gate.wait_for_places(Some(known)).await);
            if context.sink().notify_resource_list_changed().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = context.cancelled() => {}
        () = notify => context.cancelled().await,
    }
}
