//! A generated model in the format GLB: its triangles with their colors, for a picture of it.
//!
//! Colors are those of the materials and of their base color textures, one for each triangle. Other maps
//! are not read. A file may come from anywhere, so counts are checked before anything is kept.

use std::collections::HashMap;
use std::panic::catch_unwind;

use gltf::image::Source;
use gltf::mesh::Mode;
use gltf::mesh::util::ReadTexCoords;
use gltf::{Gltf, Material, Node, Primitive};
use vector_render::{ModelTriangle, Picture, draw_model};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// The most triangles, which is more than Meshy makes.
const MAX_TRIANGLES: usize = 1_000_000;
/// The most nodes and primitives that are visited. A file may name one often.
const MAX_VISITS: usize = 10_000;
/// The most pixels of a texture.
const MAX_PIXELS: usize = 64 << 20;

/// A model that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedModel {
    pub triangles: Vec<ModelTriangle>,
}

impl GeneratedModel {
    /// Reads a GLB file.
    ///
    /// # Errors
    /// It is not one, is too large, or has no triangles.
    pub fn read(file: &[u8]) -> Result<Self, String> {
        // The crate panics at some files whose numbers do not fit together.
        let read = catch_unwind(|| Self::read_parts(file));
        read.unwrap_or_else(|_| Err("its parts do not fit together".to_owned()))
            .map_err(|why| format!("The model cannot be read: {why}. Generate it again."))
    }

    fn read_parts(file: &[u8]) -> Result<Self, String> {
        let parsed = Gltf::from_slice(file).map_err(|error| error.to_string())?;
        let Gltf { document, blob } = parsed;
        let mut reading = ModelReading {
            buffer: blob.unwrap_or_default(),
            triangles: Vec::new(),
            textures: HashMap::new(),
            visits: 0,
        };
        let scene = document.default_scene().or_else(|| document.scenes().next());
        let mut waiting: Vec<(Node<'_>, Transform)> = Vec::new();
        waiting.extend(scene.iter().flat_map(gltf::Scene::nodes).map(|node| (node, IDENTITY)));
        while let Some((node, above)) = waiting.pop() {
            reading.count_visit()?;
            let own = multiply(&above, &node.transform().matrix());
            for primitive in node.mesh().iter().flat_map(gltf::Mesh::primitives) {
                reading.count_visit()?;
                reading.add_primitive(&primitive, &own)?;
            }
            waiting.extend(node.children().map(|child| (child, own)));
        }
        if reading.triangles.is_empty() {
            return Err("it has no triangles".to_owned());
        }
        Ok(Self { triangles: reading.triangles })
    }

    /// Returns the extents of the model along X, Y and Z, in the unit of its file.
    pub fn size(&self) -> [f32; 3] {
        let corners = || self.triangles.iter().flat_map(|it| it.corners);
        [0, 1, 2].map(|axis| {
            let along = || corners().map(|corner| corner[axis]);
            let extent =
                along().fold(f32::NEG_INFINITY, f32::max) - along().fold(f32::INFINITY, f32::min);
            (extent * 1_000.0).round() / 1_000.0
        })
    }

    /// Draws the model. Returns None if it has no extent.
    pub fn draw(&self, size: (u32, u32)) -> Option<Picture> {
        draw_model(&self.triangles, size)
    }
}

/// A matrix, column by column.
type Transform = [[f32; 4]; 4];

const IDENTITY: Transform =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

fn multiply(one: &Transform, other: &Transform) -> Transform {
    let cell = |column: usize, row: usize| (0..4).map(|at| one[at][row] * other[column][at]).sum();
    [0, 1, 2, 3].map(|column| [0, 1, 2, 3].map(|row| cell(column, row)))
}

fn place_corner(transform: &Transform, corner: [f32; 3]) -> [f32; 3] {
    let along = |row: usize| (0..3).map(|axis| transform[axis][row] * corner[axis]).sum::<f32>();
    [0, 1, 2].map(|row| along(row) + transform[3][row])
}

/// A texture: red, green and blue of each pixel, row by row.
struct Texture {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Texture {
    /// The color at a place, of which 0 to 1 is the whole texture. It repeats.
    fn color_at(&self, place: [f32; 2]) -> Option<[u8; 3]> {
        let [across, down] = place.map(|part| part - part.floor());
        let x = ((across * self.width as f32) as usize).min(self.width.checked_sub(1)?);
        let y = ((down * self.height as f32) as usize).min(self.height.checked_sub(1)?);
        let start = (y * self.width + x) * 3;
        self.pixels.get(start..start + 3)?.try_into().ok()
    }
}

struct ModelReading {
    buffer: Vec<u8>,
    triangles: Vec<ModelTriangle>,
    /// The textures by the number of their image; None if one cannot be read.
    textures: HashMap<usize, Option<Texture>>,
    visits: usize,
}

impl ModelReading {
    fn count_visit(&mut self) -> Result<(), String> {
        self.visits += 1;
        if self.visits > MAX_VISITS {
            return Err(format!("it has more than {MAX_VISITS} nodes"));
        }
        Ok(())
    }

    fn add_primitive(
        &mut self,
        primitive: &Primitive<'_>,
        transform: &Transform,
    ) -> Result<(), String> {
        if primitive.mode() != Mode::Triangles {
            return Ok(());
        }
        let counts = primitive.attributes().map(|(_, it)| it.count());
        let most = counts.chain(primitive.indices().map(|it| it.count())).max().unwrap_or(0);
        if most > MAX_TRIANGLES * 3 {
            return Err(format!("it has more than {MAX_TRIANGLES} triangles"));
        }
        let buffer = std::mem::take(&mut self.buffer);
        let reader = primitive.reader(|_| Some(buffer.as_slice()));
        let corners: Vec<[f32; 3]> = reader.read_positions().into_iter().flatten().collect();
        let places: Vec<[f32; 2]> =
            reader.read_tex_coords(0).into_iter().flat_map(ReadTexCoords::into_f32).collect();
        let order: Vec<u32> = match reader.read_indices() {
            Some(indices) => indices.into_u32().collect(),
            None => (0..corners.len() as u32).collect(),
        };
        let material = primitive.material();
        let factors = material.pbr_metallic_roughness().base_color_factor();
        let texture = self.find_texture(&material, &buffer);
        let mut found = Vec::new();
        for triangle in order.chunks_exact(3) {
            let at = |list: &[u32]| [0, 1, 2].map(|index| list[index] as usize);
            let numbers = at(triangle);
            let known: Vec<[f32; 3]> =
                numbers.iter().filter_map(|number| corners.get(*number).copied()).collect();
            let Ok(triangle) = <[[f32; 3]; 3]>::try_from(known) else {
                continue;
            };
            let texture = texture.and_then(|texture| {
                let place = |axis: usize| {
                    let along = numbers.iter().map(|number| Some(places.get(*number)?[axis]));
                    along.sum::<Option<f32>>().map(|sum| sum / 3.0)
                };
                texture.color_at([place(0)?, place(1)?])
            });
            let texture = texture.unwrap_or([255; 3]);
            // A factor is linear, and a texture is not.
            let colour = [0, 1, 2].map(|part| {
                let factor = factors[part].clamp(0.0, 1.0).powf(1.0 / 2.2);
                (f32::from(texture[part]) * factor).round() as u8
            });
            let corners = triangle.map(|corner| place_corner(transform, corner));
            found.push(ModelTriangle { corners, colour });
        }
        self.buffer = buffer;
        if self.triangles.len() + found.len() > MAX_TRIANGLES {
            return Err(format!("it has more than {MAX_TRIANGLES} triangles"));
        }
        self.triangles.append(&mut found);
        Ok(())
    }

    /// Returns the base color texture of a material. One that cannot be read is left out.
    fn find_texture(&mut self, material: &Material<'_>, buffer: &[u8]) -> Option<&Texture> {
        let texture = material.pbr_metallic_roughness().base_color_texture()?.texture();
        let image = texture.source();
        let read = || match image.source() {
            Source::View { view, .. } => {
                let end = view.offset().checked_add(view.length())?;
                read_texture(buffer.get(view.offset()..end)?)
            }
            Source::Uri { .. } => None,
        };
        self.textures.entry(image.index()).or_insert_with(read).as_ref()
    }
}

/// Reads a PNG or a JPEG.
fn read_texture(file: &[u8]) -> Option<Texture> {
    if file.starts_with(b"\x89PNG") { read_png(file) } else { read_jpeg(file) }
}

fn read_png(file: &[u8]) -> Option<Texture> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    if width.checked_mul(height)? > MAX_PIXELS {
        return None;
    }
    let mut bytes = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut bytes).ok()?;
    let samples = info.color_type.samples();
    let color =
        |pixel: &[u8]| if samples < 3 { [pixel[0]; 3] } else { [pixel[0], pixel[1], pixel[2]] };
    let pixels = bytes[..info.buffer_size()].chunks_exact(samples).flat_map(color).collect();
    Some(Texture { width, height, pixels })
}

fn read_jpeg(file: &[u8]) -> Option<Texture> {
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder.decode_headers().ok()?;
    let (width, height) = decoder.dimensions()?;
    if width.checked_mul(height)? > MAX_PIXELS {
        return None;
    }
    let pixels = decoder.decode().ok()?;
    Some(Texture { width, height, pixels })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    /// A file of JSON and binary data.
    fn glb(scene: &Json, mut data: Vec<u8>) -> Vec<u8> {
        let mut text = scene.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        data.resize(data.len().next_multiple_of(4), 0);
        let length = 12 + 8 + text.len() + 8 + data.len();
        let mut file = b"glTF\x02\0\0\0".to_vec();
        file.extend((length as u32).to_le_bytes());
        for (kind, chunk) in [(b"JSON", &text), (b"BIN\0", &data)] {
            file.extend((chunk.len() as u32).to_le_bytes());
            file.extend(kind);
            file.extend(chunk);
        }
        file
    }

    fn floats(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|it| it.to_le_bytes()).collect()
    }

    /// A scene of one triangle, with a material and data behind the coordinates.
    fn scene(material: &Json, more: usize) -> Json {
        json!({
            "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0] }],
            "nodes": [{ "children": [1], "translation": [10, 0, 0] }, { "mesh": 0, "scale": [2, 2, 2] }],
            "meshes": [{ "primitives": [{
                "attributes": { "POSITION": 0, "TEXCOORD_0": 1 }, "material": 0,
            }] }],
            "materials": [material],
            "textures": [{ "source": 0 }], "images": [{ "bufferView": 2, "mimeType": "image/png" }],
            "buffers": [{ "byteLength": 60 + more }],
            "bufferViews": [
                { "buffer": 0, "byteOffset": 0, "byteLength": 36 },
                { "buffer": 0, "byteOffset": 36, "byteLength": 24 },
                { "buffer": 0, "byteOffset": 60, "byteLength": more },
            ],
            "accessors": [
                {
                    "bufferView": 0, "componentType": 5_126, "count": 3, "type": "VEC3",
                    "min": [0, 0, 0], "max": [1, 1, 0],
                },
                { "bufferView": 1, "componentType": 5_126, "count": 3, "type": "VEC2" },
            ],
        })
    }

    /// The coordinates of a triangle, and places near the lower right corner of a texture.
    fn data(more: &[u8]) -> Vec<u8> {
        let corners = floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        [corners, floats(&[0.9, 0.9, 0.8, 0.9, 0.9, 0.8]), more.to_vec()].concat()
    }

    fn picture() -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 2, 2);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[255, 0, 0, 0, 255, 0, 0, 0, 255, 40, 50, 60]).unwrap();
        drop(writer);
        file
    }

    #[test]
    fn triangles_are_placed_and_have_the_color_of_their_texture() {
        let textured = json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } });
        let file = glb(&scene(&textured, picture().len()), data(&picture()));
        let model = GeneratedModel::read(&file).unwrap();
        let corners = [[10.0, 0.0, 0.0], [12.0, 0.0, 0.0], [10.0, 2.0, 0.0]];
        assert_eq!(model.triangles, [ModelTriangle { corners, colour: [40, 50, 60] }]);
        assert_eq!(model.size(), [2.0, 2.0, 0.0]);
        assert!(model.draw((64, 64)).is_some());
        let plain = json!({ "pbrMetallicRoughness": { "baseColorFactor": [1.0, 0.0, 0.25, 1.0] } });
        let model = GeneratedModel::read(&glb(&scene(&plain, 4), data(&[0; 4]))).unwrap();
        assert_eq!(model.triangles[0].colour, [255, 0, 136]);
        // A texture that cannot be read leaves the model.
        let model = GeneratedModel::read(&glb(&scene(&textured, 4), data(b"none"))).unwrap();
        assert_eq!(model.triangles[0].colour, [255; 3]);
    }

    #[test]
    fn broken_and_hostile_files_are_refused_without_harm() {
        let plain = json!({});
        let whole = glb(&scene(&plain, 4), data(&[0; 4]));
        for length in 0..whole.len() {
            assert!(GeneratedModel::read(&whole[..length]).is_err(), "{length}");
        }
        for at in 0..whole.len() {
            for bit in [1, 64] {
                let mut file = whole.clone();
                file[at] ^= bit;
                if let Ok(model) = GeneratedModel::read(&file) {
                    assert!(model.triangles.len() <= 1);
                }
            }
        }
        let edited = |edit: fn(&mut Json)| {
            let mut scene = scene(&plain, 4);
            edit(&mut scene);
            GeneratedModel::read(&glb(&scene, data(&[0; 4]))).unwrap_err()
        };
        let circle = edited(|it| it["nodes"][1]["children"] = json!([0]));
        assert!(circle.contains("more than 10000 nodes"), "{circle}");
        let many = edited(|it| it["accessors"][0]["count"] = json!(2_000_000_000));
        assert!(many.contains("more than 1000000 triangles"), "{many}");
        let far = edited(|it| it["bufferViews"][0]["byteOffset"] = json!(4_000_000_000_u32));
        assert!(far.contains("cannot be read"), "{far}");
        let empty = edited(|it| it["scenes"][0]["nodes"] = json!([]));
        assert!(empty.contains("no triangles"), "{empty}");
    }
}
