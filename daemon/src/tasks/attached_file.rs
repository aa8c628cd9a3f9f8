//! Files of the user that are attached to a request: images, and texts.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use imagesize::ImageType;
use scene_schemas::Fingerprint;
use scene_schemas::entry::{AttachmentSnapshot, Image, ImageFormat};

/// The longest text that can be attached, in bytes: the limit of a script in Studio.
const MAX_TEXT: usize = 200_000;

/// The largest image that can be attached, in bytes: what fits into a request from Studio.
pub const MAX_IMAGE: usize = 600_000;

/// The most pixels of a side. Providers refuse larger images.
const MAX_SIDE: usize = 8_000;

/// Reads the content of a file as an attachment.
///
/// # Errors
/// A sentence that begins with the file's name: it is too large, or neither an image nor a text.
pub fn snapshot(name: &str, bytes: Vec<u8>) -> Result<AttachmentSnapshot, String> {
    match image_format(&bytes) {
        Some(format) => attach_image(name, format, &bytes),
        None if bytes.len() > MAX_TEXT => Err(format!(
            "{name} is longer than {MAX_TEXT} bytes, the most of a text that can be attached."
        )),
        None => {
            let hash = Fingerprint::hash_bytes(&bytes);
            let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
            let text = text.ok_or_else(|| {
                format!("{name} is neither a text nor an image (PNG, JPEG, GIF or WebP).")
            })?;
            Ok(AttachmentSnapshot::File { path: name.to_owned(), hash, text })
        }
    }
}

/// Returns the format of an image by its first bytes.
fn image_format(bytes: &[u8]) -> Option<ImageFormat> {
    match imagesize::image_type(bytes).ok()? {
        ImageType::Png => Some(ImageFormat::Png),
        ImageType::Jpeg => Some(ImageFormat::Jpeg),
        ImageType::Gif => Some(ImageFormat::Gif),
        ImageType::Webp => Some(ImageFormat::Webp),
        _ => None,
    }
}

fn attach_image(
    name: &str,
    format: ImageFormat,
    bytes: &[u8],
) -> Result<AttachmentSnapshot, String> {
    if bytes.len() > MAX_IMAGE {
        return Err(format!(
            "{name} is larger than {MAX_IMAGE} bytes, the most of an image that can be attached: \
             save it smaller, or as JPEG."
        ));
    }
    let size = imagesize::blob_size(bytes)
        .map_err(|error| format!("{name} is not a whole image: {error}."))?;
    if size.width.max(size.height) > MAX_SIDE || size.width.min(size.height) == 0 {
        return Err(format!(
            "{name} has {} × {} pixels; models read at most {MAX_SIDE} on a side.",
            size.width, size.height
        ));
    }
    let image = Image {
        format,
        width: size.width as u32,
        height: size.height as u32,
        data: BASE64_STANDARD.encode(bytes),
    };
    Ok(AttachmentSnapshot::Image { name: name.to_owned(), image })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first 24 bytes of a PNG, which hold its size.
    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    #[track_caller]
    fn refuse(bytes: Vec<u8>, why: &str) {
        let refused = snapshot("shot.png", bytes).unwrap_err();
        assert!(refused.starts_with("shot.png") && refused.contains(why), "{refused}");
    }

    #[test]
    fn images_are_known_by_their_content() {
        let attached = snapshot("shot.txt", png(640, 480)).unwrap();
        assert_eq!(attached.describe(), "shot.txt (PNG, 640 × 480 pixels)");
        let image = attached.image().unwrap();
        assert_eq!(BASE64_STANDARD.decode(&image.data).unwrap(), png(640, 480));
        let gif = snapshot("a.png", b"GIF89a\x04\0\x02\0\0\0\0".to_vec()).unwrap();
        assert_eq!(gif.describe(), "a.png (GIF, 4 × 2 pixels)");
        let text = snapshot("notes.png", b"# Notes\n".to_vec()).unwrap();
        assert!(matches!(text, AttachmentSnapshot::File { text, .. } if text == "# Notes\n"));
    }

    #[test]
    fn other_files_are_refused_with_advice() {
        refuse(png(640, 480)[..16].to_vec(), "is not a whole image");
        refuse(png(9_000, 10), "models read at most 8000 on a side");
        refuse(png(0, 10), "has 0 × 10 pixels");
        let mut long = png(640, 480);
        long.resize(MAX_IMAGE + 1, 0);
        refuse(long, "save it smaller");
        refuse(b"BM\0\0\0\0".to_vec(), "neither a text nor an image");
        refuse(b"\xff\xfe".to_vec(), "neither a text nor an image");
        refuse(vec![b'a'; MAX_TEXT + 1], "longer than 200000 bytes");
        assert!(snapshot("empty.txt", Vec::new()).is_ok());
    }
}
