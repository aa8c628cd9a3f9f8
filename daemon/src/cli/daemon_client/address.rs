//! The address of a daemon, as it writes it into the ledger's folder when it starts.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, bail};

use crate::daemon::access::{AGENT_TOKEN, TOKEN};

/// Whose token is sent to the daemon. That of an agent cannot decide proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum TokenKind {
    Person,
    Agent,
}

impl TokenKind {
    fn file_name(self) -> &'static str {
        match self {
            Self::Person => TOKEN,
            Self::Agent => AGENT_TOKEN,
        }
    }
}

/// A daemon's port on this machine, the token for it, and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DaemonAddress {
    pub(super) port: u16,
    pub(super) token: String,
    /// None if the daemon is so old that it does not say.
    pub(super) version: Option<String>,
}

impl DaemonAddress {
    /// Reads the address of the daemon that serves the ledger in `home`.
    pub(super) fn read(home: &Path, kind: TokenKind) -> anyhow::Result<Self> {
        let file = home.join(kind.file_name());
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("no daemon serves this ledger; start it with `vector serve`")
            }
            Err(error) => return Err(error).context("the daemon's token cannot be read"),
        };
        let mut fields = text.split_whitespace();
        let port = fields.next().and_then(|port| port.parse().ok());
        let (Some(port), Some(token)) = (port, fields.next()) else {
            bail!("{} is not a token file of `vector serve`; restart it", file.display())
        };
        let (token, version) = (token.to_owned(), fields.next().map(str::to_owned));
        Ok(Self { port, token, version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_read_from_the_file_of_its_token() {
        let home = tempfile::tempdir().unwrap();
        let read = |kind| DaemonAddress::read(home.path(), kind);
        let error = read(TokenKind::Person).unwrap_err().to_string();
        assert_eq!(error, "no daemon serves this ledger; start it with `vector serve`");
        for version in [None, Some("0.1.0".to_owned())] {
            let text = format!("4000 secret {}\n", version.as_deref().unwrap_or_default());
            fs::write(home.path().join(TOKEN), text).unwrap();
            let expected = DaemonAddress { port: 4_000, token: "secret".to_owned(), version };
            assert_eq!(read(TokenKind::Person).unwrap(), expected);
        }
        assert!(read(TokenKind::Agent).is_err());
        for damaged in ["", "4000", "70000 secret"] {
            fs::write(home.path().join(TOKEN), damaged).unwrap();
            let error = read(TokenKind::Person).unwrap_err().to_string();
            assert!(
                error.ends_with("is not a token file of `vector serve`; restart it"),
                "{error}"
            );
        }
    }
}
