//! The server: HTTP on this machine alone, for the plugin, the page and the terminal.
//!
//! It checks who calls and what they send, holds polls, and hands everything else to whoever sits at
//! the [`Desk`]. What is said there, and what waits on the [`Board`], it does not judge. The default
//! is refusal: a request reaches the desk only by a route that is known, with a token of its kind.

mod board;
mod clients;
mod deploy;
mod desk;
mod dispatch;
mod failure;
mod guard;
mod hold;
mod line;
mod mcp;
mod merges;
mod page;
mod past;
mod picture;
mod waiting;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

pub use self::board::{AWAY, Board, Decides, News, Seat, Seen, Size};
pub use self::clients::ConnectedClients;
pub use self::deploy::Deploying;
pub use self::desk::{Ask, Desk, Door, FoundInstance, PictureAsked, PictureOf, Reply, Verb};
pub use self::failure::failed;
pub use self::guard::Secret;
pub use self::mcp::{Agent, Gate, WAIT, listed, unique};
pub use self::merges::Merging;
pub use self::past::{Filter, Lines, Past, ScriptWanted, Wanted};
pub use self::waiting::{Extent, Waiting};

use self::dispatch::House;
use self::mcp::Http;

/// Serves until `shutdown` is there, and what is being answered has been. The sessions of MCP clients are
/// kept in the file `kept`, and their calls wait so long for a person.
///
/// # Errors
/// The listener broke.
pub async fn run(
    listener: TcpListener,
    board: Arc<Board>,
    desk: Desk,
    (kept, wait): (&Path, Duration),
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let port = listener.local_addr()?.port();
    let mcp = Arc::new(Http::new(&board, &desk, kept, wait));
    let own = Arc::clone(&mcp);
    let (own_board, patience) = (Arc::clone(&board), line::HEAD);
    let house = Arc::new(House { port, board: own_board, desk, mcp, patience });
    let ends = async move {
        shutdown.await;
        board.close();
        own.end();
    };
    line::serve(listener, house, line::HEAD, ends).await;
    Ok(())
}
