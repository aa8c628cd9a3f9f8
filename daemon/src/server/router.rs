//! The router, which connects each route of the table to its handler.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::Response;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, delete, get, post, put};
use scene_schemas::api::{FailureKind, Method, RouteId};

use super::AppState;
use super::api::{
    access, agents, assets, history, luau, place, plugin, proposals, settings, stream, verify,
};
use super::guard::{GuardedHandler, method_not_allowed};
use super::page;
use super::response::ApiError;
use crate::failure::failure;

/// Builds the router from the table of the routes.
pub(super) fn build_router(app: &AppState) -> Router {
    let mut router = Router::new();
    for id in RouteId::ALL {
        router = router.route(id.route().path, method_router(*id));
    }
    router.fallback(unknown_path).method_not_allowed_fallback(wrong_method).with_state(app.clone())
}

async fn unknown_path(request: Request) -> Response<Body> {
    let message = format!("There is no route {}.", request.uri().path());
    let hint = "The routes are in openapi.json.";
    ApiError(failure(FailureKind::NotFound, message, hint)).into_response()
}

async fn wrong_method(request: Request) -> Response<Body> {
    let (method, path) = (request.method().as_str(), request.uri().path());
    ApiError(method_not_allowed(method, path)).into_response()
}

fn handle<T: 'static>(id: RouteId, handler: impl Handler<T, AppState>) -> MethodRouter<AppState> {
    let handler = GuardedHandler::new(id, handler);
    match id.route().method {
        // axum would pass HEAD to the handler of GET.
        Method::Get => get(handler).head(wrong_method),
        Method::Post => post(handler),
        Method::Put => put(handler),
        Method::Delete => delete(handler),
    }
}

/// Returns the handler of a route. A new route does not compile until it has one.
fn method_router(id: RouteId) -> MethodRouter<AppState> {
    match id {
        RouteId::Health => handle(id, settings::health),
        RouteId::Pair => handle(id, plugin::pair),
        RouteId::Hello => handle(id, plugin::hello),
        RouteId::Poll => handle(id, plugin::poll),
        RouteId::UpdateScene => handle(id, plugin::update_scene),
        RouteId::Acknowledge => handle(id, plugin::acknowledge),
        RouteId::PluginLog => handle(id, plugin::log),
        RouteId::OpenPlace => handle(id, place::open),
        RouteId::Chat => handle(id, place::chat),
        RouteId::EstimateTask => handle(id, place::estimate),
        RouteId::Decide => handle(id, proposals::decide),
        RouteId::Revert => handle(id, proposals::revert),
        RouteId::Events => handle(id, stream::events),
        RouteId::EventStream => handle(id, stream::event_stream),
        RouteId::Sessions => handle(id, place::sessions),
        RouteId::Proposals => handle(id, proposals::list),
        RouteId::Proposal => handle(id, proposals::proposal),
        RouteId::ProposalCard => handle(id, proposals::card),
        RouteId::ProposalRows => handle(id, proposals::rows),
        RouteId::ProposedScript => handle(id, proposals::script),
        RouteId::ReviewQuote => handle(id, proposals::quote_review),
        RouteId::ReviewProposal => handle(id, proposals::review),
        RouteId::CheckScript => handle(id, luau::check),
        RouteId::CompleteScript => handle(id, luau::complete),
        RouteId::ProposalPicture => handle(id, proposals::picture),
        RouteId::PlacePicture => handle(id, place::picture),
        RouteId::ScriptFile => handle(id, place::script_file),
        RouteId::Reveal => handle(id, place::reveal),
        RouteId::AssetThumbnail => handle(id, assets::thumbnail),
        RouteId::GenerationPicture => handle(id, assets::generation_picture),
        RouteId::SearchAssets => handle(id, assets::search),
        RouteId::InsertAsset => handle(id, assets::insert),
        RouteId::OfferedMentions => handle(id, place::offer_mentions),
        RouteId::Workflows => handle(id, place::workflows),
        RouteId::Workflow => handle(id, place::workflow),
        RouteId::CancelWorkflow => handle(id, place::cancel),
        RouteId::DecidePermission => handle(id, place::decide_permission),
        RouteId::RevokeRule => handle(id, place::revoke_rule),
        RouteId::RetryWorkflow => handle(id, place::retry),
        RouteId::ResumeWorkflow => handle(id, place::resume),
        RouteId::ClearWorkflow => handle(id, place::clear),
        RouteId::Checkpoints => handle(id, place::checkpoints),
        RouteId::MakeCheckpoint => handle(id, place::make_checkpoint),
        RouteId::RestoreCheckpoint => handle(id, place::restore_checkpoint),
        RouteId::Settings => handle(id, settings::settings),
        RouteId::ChangeSettings => handle(id, settings::change),
        RouteId::History => handle(id, history::history),
        RouteId::ExportHistory => handle(id, history::export),
        RouteId::HistoryEntry => handle(id, history::entry),
        RouteId::PlanCommit => handle(id, history::plan_commit),
        RouteId::StartCommit => handle(id, history::start_commit),
        RouteId::CommitState => handle(id, history::commit_state),
        RouteId::PlanDeploy => handle(id, history::plan_deploy),
        RouteId::Deploy => handle(id, history::deploy),
        RouteId::PlanVerify => handle(id, verify::plan),
        RouteId::StartVerify => handle(id, verify::start),
        RouteId::VerifyRuns => handle(id, verify::runs),
        RouteId::CancelVerify => handle(id, verify::cancel),
        RouteId::Merges => handle(id, history::merges),
        RouteId::DecideConflicts => handle(id, history::decide_conflicts),
        RouteId::FinishMerge => handle(id, history::finish_merge),
        RouteId::ScriptAt => handle(id, history::script_at),
        RouteId::Figures => handle(id, history::figures),
        RouteId::Usage => handle(id, settings::usage),
        RouteId::Stop => handle(id, settings::stop),
        RouteId::About => handle(id, settings::about),
        RouteId::ProviderKeys => handle(id, settings::provider_keys),
        RouteId::HandOverKeys => handle(id, settings::hand_over_keys),
        RouteId::PairingCode => handle(id, access::pairing_code),
        RouteId::Access => handle(id, access::access),
        RouteId::PageLink => handle(id, access::page_link),
        RouteId::EnterPage => handle(id, access::enter_page),
        RouteId::Conversation => handle(id, place::conversation),
        RouteId::Page => handle(id, page::shell_response),
        RouteId::PageAsset => handle(id, page::asset),
        RouteId::PageStream => handle(id, stream::page_stream),
        RouteId::PagePart => handle(id, page::part),
        RouteId::MakeToken => handle(id, access::make_token),
        RouteId::RevokeAccess => handle(id, access::revoke),
        RouteId::CallTool => handle(id, agents::call_tool),
        RouteId::CallStatus => handle(id, agents::call_status),
        RouteId::ReplyToComments => handle(id, agents::reply_to_comments),
        RouteId::CancelCall => handle(id, agents::cancel_call),
        RouteId::AgentLog => handle(id, agents::log),
        RouteId::EndConnection => handle(id, agents::end_connection),
        RouteId::HoldConnection => handle(id, agents::hold_connection),
        RouteId::WaitForPlaces => handle(id, agents::wait_for_places),
        RouteId::AgentScripts => handle(id, agents::scripts),
        RouteId::McpMessage | RouteId::McpStream | RouteId::McpEnd => handle(id, agents::mcp),
    }
}
