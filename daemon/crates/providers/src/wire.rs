//! The wire formats: how requests to providers and their answers are encoded.
//!
//! A wire format is a folder with a [`WireDescriptor`], and a line of the table below. Nothing else
//! distinguishes wire formats.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value as Json;
use vector_core::prompt::ModelPrompt;

use super::catalogue::{CatalogueModel, ChatDialect};
use super::decode::AnswerDecoder;
use super::{anthropic, bedrock, gemini, ollama, openai_chat, openai_responses};

/// What distinguishes a wire format from the others.
pub(super) struct WireDescriptor {
    /// Returns the URL for requests to a model, from the provider's base URL and the model's id.
    pub(super) url: fn(&str, &str) -> String,
    /// Headers of each request, besides the content type and the key.
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) key_header: KeyHeader,
    /// Whether credentials of AWS are used, and requests are signed with them.
    pub(super) uses_aws_credentials: bool,
    pub(super) body: fn(&ModelPrompt, &CatalogueModel, ChatDialect) -> Json,
    pub(super) decoder: fn() -> Box<dyn AnswerDecoder>,
    /// Whether JSON under another content type is a stream of lines.
    pub(super) has_unlabelled_lines: bool,
}

/// How a key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyHeader {
    Bearer,
    /// A header of its own.
    Named(&'static str),
}

/// Declares the wire formats: the name that settings, the catalogue and recorded answers use, and
/// the folder.
macro_rules! wire_formats {
    ($($(#[doc = $doc:literal])* $wire:ident = $name:literal in $folder:ident,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
        pub enum WireFormat {
            $($(#[doc = $doc])* #[serde(rename = $name)] $wire,)*
        }

        impl WireFormat {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$wire),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$wire => $name,)* }
            }

            pub(super) fn descriptor(self) -> &'static WireDescriptor {
                match self { $(Self::$wire => &$folder::WIRE,)* }
            }
        }
    };
}

wire_formats! {
    Anthropic = "anthropic_messages" in anthropic,
    /// OpenAI's Chat Completions, which many other providers use too.
    OpenaiChat = "openai_chat" in openai_chat,
    OpenaiResponses = "openai_responses" in openai_responses,
    Gemini = "gemini" in gemini,
    Bedrock = "bedrock_converse" in bedrock,
    Ollama = "ollama_chat" in ollama,
}

impl fmt::Display for WireFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for WireFormat {
    type Err = UnknownWireFormat;

    fn from_str(name: &str) -> Result<Self, UnknownWireFormat> {
        let found = Self::ALL.into_iter().find(|wire| wire.name() == name);
        found.ok_or_else(|| UnknownWireFormat(name.to_owned()))
    }
}

/// The name of a wire format that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no wire {0:?}; the wires are {list}", list = WireFormat::ALL.map(WireFormat::name).join(", "))]
pub struct UnknownWireFormat(pub String);
