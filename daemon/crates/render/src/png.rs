//! A picture as pixels, and its encoding as PNG.

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};
use scene_schemas::refusal::Refusal;

use super::raster::mix_colors;

/// The colour of the seam between two pictures.
const SEAM: [u8; 3] = [120, 126, 138];
/// The width of the seam, in pixels.
const SEAM_WIDTH: u32 = 2;

/// A picture: the red, green and blue of each pixel, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    pub points: Vec<[u8; 3]>,
}

impl Picture {
    pub(super) fn new(size: (u32, u32)) -> Self {
        let (width, height) = size;
        Self { width, height, points: vec![[0; 3]; width as usize * height as usize] }
    }

    pub(super) fn put_pixel(&mut self, x: usize, y: usize, colour: [u8; 3]) {
        let at = y * self.width as usize + x;
        if let Some(point) = self.points.get_mut(at).filter(|_| x < self.width as usize) {
            *point = colour;
        }
    }

    /// Blends a colour over a pixel. Does nothing outside of the picture.
    pub(super) fn blend_pixel(&mut self, x: i64, y: i64, colour: [u8; 3], opacity: u8) {
        let inside = |at: i64, len: u32| usize::try_from(at).ok().filter(|at| *at < len as usize);
        if let Some((x, y)) = inside(x, self.width).zip(inside(y, self.height)) {
            let point = &mut self.points[y * self.width as usize + x];
            *point = mix_colors(*point, colour, opacity);
        }
    }

    /// Joins two pictures side by side, cut to the lower height.
    #[must_use]
    pub fn join_beside(&self, other: &Self) -> Self {
        let height = self.height.min(other.height);
        let mut both = Self::new((self.width + SEAM_WIDTH + other.width, height));
        let row = |it: &Self, y: u32| {
            let start = (y * it.width) as usize;
            it.points[start..start + it.width as usize].to_vec()
        };
        both.points.clear();
        for y in 0..height {
            both.points.extend(row(self, y));
            both.points.extend([SEAM; SEAM_WIDTH as usize]);
            both.points.extend(row(other, y));
        }
        both
    }

    /// Encodes the picture as PNG.
    ///
    /// # Errors
    /// The picture has no pixels.
    pub fn to_png(&self) -> Result<Vec<u8>, Refusal> {
        let mut bytes = Vec::new();
        self.encode_png(&mut bytes).map_err(|error| {
            Refusal(format!("The picture cannot be written: {error}. Ask for another size."))
        })?;
        Ok(bytes)
    }

    fn encode_png(&self, bytes: &mut Vec<u8>) -> Result<(), EncodingError> {
        let mut encoder = Encoder::new(bytes, self.width, self.height);
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::Balanced);
        // Areas of a single colour compress best without a filter.
        encoder.set_filter(Filter::NoFilter);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.points.as_flattened())?;
        writer.finish()
    }
}
