//! Attachments of requests, with their contents at the time of the request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::ProposalStatus;
use crate::command::{Fingerprint, Target};
use crate::entry::Seq;
use crate::playtest::StudioOutput;

/// An attachment of a request, with its content at the time of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AttachmentSnapshot {
    /// An instance.
    Instance {
        /// The attached instance.
        target: Target,
        /// The instance's class.
        class: String,
    },
    /// Text selected in a script.
    Text {
        /// The script.
        target: Target,
        /// The hash of the script's text.
        hash: Fingerprint,
        /// The selection's first line, from 1. None if the selected text occurs more than once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
        /// The selected text.
        selected: String,
    },
    /// A file on this machine.
    File {
        /// The path as the person wrote it.
        path: String,
        /// The hash of the file's text.
        hash: Fingerprint,
        /// The file's text.
        text: String,
    },
    /// An image, which is sent to the model beside the text.
    Image {
        /// The file's name or path, as the person gave it.
        name: String,
        /// The image.
        image: Image,
    },
    /// A listing of a folder on this machine.
    Folder {
        /// The path as the person wrote it.
        path: String,
        /// The names in the folder. Names of subfolders end with a slash.
        names: Vec<String>,
        /// Number of further names.
        #[serde(default)]
        more: u32,
    },
    /// A web page.
    Page {
        /// The page's address.
        address: String,
        /// The page's text, fenced as data.
        text: String,
    },
    /// Problems found in the scripts of the place.
    Problems {
        /// Number of scripts that were checked.
        scripts: u32,
        /// The first findings, one line each, errors first.
        findings: Vec<String>,
        /// Number of further findings.
        #[serde(default)]
        more: u32,
    },
    /// A proposal.
    Proposal {
        /// The ledger position that identifies it.
        proposal: Seq,
        /// Its title.
        title: String,
        /// Its status when it was attached.
        status: ProposalStatus,
        /// Its changes as text: a line per operation, and a unified diff per script.
        text: String,
    },
    /// The output of the place in Studio.
    Output {
        /// The newest messages when it was attached.
        output: StudioOutput,
    },
}

/// An image of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// The format.
    pub format: ImageFormat,
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// The image file in base64.
    pub data: String,
}

/// The image formats that models read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImageFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
}

impl ImageFormat {
    /// Returns the name, as in `image/png`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }
}

impl AttachmentSnapshot {
    /// Returns the image, if it is one.
    pub fn image(&self) -> Option<&Image> {
        match self {
            Self::Image { image, .. } => Some(image),
            Self::Instance { .. }
            | Self::Text { .. }
            | Self::File { .. }
            | Self::Folder { .. }
            | Self::Output { .. }
            | Self::Page { .. }
            | Self::Proposal { .. }
            | Self::Problems { .. } => None,
        }
    }

    /// Returns a short description for display.
    pub fn describe(&self) -> String {
        match self {
            Self::Instance { target, class } => format!("{} ({class})", target.path),
            Self::File { path, text, .. } => format!("{path} ({} bytes)", text.len()),
            Self::Image { name, image } => {
                let Image { format, width, height, .. } = image;
                format!("{name} ({}, {width} × {height} pixels)", format.as_str().to_uppercase())
            }
            Self::Folder { path, names, more } => {
                format!("{path} ({} names)", names.len() + *more as usize)
            }
            Self::Page { address, text } => format!("{address} ({} bytes)", text.len()),
            Self::Problems { scripts, findings, more } => {
                let findings = findings.len() + *more as usize;
                format!("problems of {scripts} scripts ({findings} findings)")
            }
            Self::Proposal { proposal, title, status, .. } => {
                format!("proposal {proposal}, {}: {title}", status.as_str())
            }
            Self::Output { output } => {
                format!("output of Studio ({} messages)", output.messages.len())
            }
            Self::Text { target, line, selected, .. } => {
                let lines = selected.lines().count().max(1) as u32;
                match (line, lines) {
                    (Some(line), 1) => format!("line {line} of {}", target.path),
                    (Some(line), n) => {
                        format!("lines {line} to {} of {}", line + n - 1, target.path)
                    }
                    (None, 1) => format!("a line of {}", target.path),
                    (None, n) => format!("{n} lines of {}", target.path),
                }
            }
        }
    }
}
