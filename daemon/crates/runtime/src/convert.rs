//! Conversion of values between the file formats and Luau.
//!
//! The datatypes themselves are created in Luau. Here they are only a kind and a row of numbers,
//! passed to `make` and returned by `take`, which the engine stores in the registry.

use mlua::{AnyUserData, Function, IntoLua, Lua, Result, Table, UserData, Value};
use rbx_types::{
    Attributes, Axes, BrickColor, CFrame, Color3, Color3uint8, ColorSequence,
    ColorSequenceKeypoint, Content, ContentId, ContentType, CustomPhysicalProperties, Enum,
    EnumItem, Faces, Font, FontStyle, FontWeight, Matrix3, NumberRange, NumberSequence,
    NumberSequenceKeypoint, PhysicalProperties, Ray, Rect, Region3, Region3int16,
    SecurityCapabilities, Tags, UDim, UDim2, Variant, VariantType, Vector2, Vector2int16, Vector3,
    Vector3int16,
};

/// The registry names of the engine's two functions.
pub(crate) const MAKE: &str = "engine.make";
pub(crate) const TAKE: &str = "engine.take";

/// A value that scripts cannot inspect, kept so that it survives reading and writing.
pub(crate) struct Opaque(pub(crate) Variant);

impl UserData for Opaque {}

fn make(lua: &Lua, kind: &str, numbers: impl IntoIterator<Item = f32>) -> Result<Value> {
    let row = lua.create_sequence_from(numbers.into_iter().map(f64::from))?;
    made(lua, kind, row)
}

fn made(lua: &Lua, kind: &str, row: Table) -> Result<Value> {
    lua.named_registry_value::<Function>(MAKE)?.call((kind, row))
}

fn cframe(it: &CFrame) -> [f32; 12] {
    let (at, turn) = (it.position, it.orientation);
    let (x, y, z) = (turn.x, turn.y, turn.z);
    [at.x, at.y, at.z, x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z]
}

/// Converts a value for scripts. Referents become nil here; the caller converts them.
pub(crate) fn to_luau(lua: &Lua, variant: &Variant) -> Result<Value> {
    match variant {
        Variant::Bool(it) => it.into_lua(lua),
        Variant::Float32(it) => f64::from(*it).into_lua(lua),
        Variant::Float64(it) => it.into_lua(lua),
        Variant::Int32(it) => f64::from(*it).into_lua(lua),
        Variant::Int64(it) => (*it as f64).into_lua(lua),
        Variant::String(it) => it.as_str().into_lua(lua),
        Variant::ContentId(it) => it.as_str().into_lua(lua),
        Variant::Vector3(it) => Ok(Value::Vector(mlua::Vector::new(it.x, it.y, it.z))),
        Variant::Content(it) => match it.value() {
            ContentType::Uri(uri) => made(lua, "Content", lua.create_sequence_from([&**uri])?),
            _ => made(lua, "Content", lua.create_table()?),
        },
        Variant::Enum(it) => f64::from(it.to_u32()).into_lua(lua),
        Variant::EnumItem(it) => {
            let row = lua.create_table()?;
            row.push(it.ty.as_str())?;
            row.push(it.value)?;
            made(lua, "EnumItem", row)
        }
        Variant::Font(it) => {
            let row = lua.create_table()?;
            row.push(it.family.as_str())?;
            row.push(it.weight.as_u16())?;
            row.push(it.style.as_u8())?;
            made(lua, "Font", row)
        }
        Variant::Ref(_)
        | Variant::OptionalCFrame(None)
        | Variant::PhysicalProperties(PhysicalProperties::Default) => Ok(Value::Nil),
        _ => geometry_to_luau(lua, variant),
    }
}

fn geometry_to_luau(lua: &Lua, variant: &Variant) -> Result<Value> {
    match variant {
        Variant::CFrame(it) | Variant::OptionalCFrame(Some(it)) => make(lua, "CFrame", cframe(it)),
        Variant::Vector2(it) => make(lua, "Vector2", [it.x, it.y]),
        Variant::Vector2int16(it) => make(lua, "Vector2int16", [f32::from(it.x), f32::from(it.y)]),
        Variant::Vector3int16(it) => make(lua, "Vector3int16", [it.x, it.y, it.z].map(f32::from)),
        Variant::UDim(it) => make(lua, "UDim", [it.scale, it.offset as f32]),
        Variant::UDim2(it) => {
            make(lua, "UDim2", [it.x.scale, it.x.offset as f32, it.y.scale, it.y.offset as f32])
        }
        Variant::Rect(it) => make(lua, "Rect", [it.min.x, it.min.y, it.max.x, it.max.y]),
        Variant::Ray(it) => {
            let (from, to) = (it.origin, it.direction);
            make(lua, "Ray", [from.x, from.y, from.z, to.x, to.y, to.z])
        }
        Variant::Region3(it) => {
            let (min, max) = (it.min, it.max);
            make(lua, "Region3", [min.x, min.y, min.z, max.x, max.y, max.z])
        }
        Variant::Region3int16(it) => {
            let (min, max) = (it.min, it.max);
            let row = [min.x, min.y, min.z, max.x, max.y, max.z].map(f32::from);
            make(lua, "Region3int16", row)
        }
        _ => others_to_luau(lua, variant),
    }
}

fn others_to_luau(lua: &Lua, variant: &Variant) -> Result<Value> {
    match variant {
        Variant::Color3(it) => make(lua, "Color3", [it.r, it.g, it.b]),
        Variant::Color3uint8(it) => {
            make(lua, "Color3", [it.r, it.g, it.b].map(|part| f32::from(part) / 255.0))
        }
        Variant::BrickColor(it) => make(lua, "BrickColor", [f32::from(*it as u16)]),
        Variant::NumberRange(it) => make(lua, "NumberRange", [it.min, it.max]),
        Variant::NumberSequence(it) => {
            let points = it.keypoints.iter();
            make(lua, "NumberSequence", points.flat_map(|at| [at.time, at.value, at.envelope]))
        }
        Variant::ColorSequence(it) => {
            let row = it.keypoints.iter();
            let row = row.flat_map(|at| [at.time, at.color.r, at.color.g, at.color.b]);
            make(lua, "ColorSequence", row)
        }
        Variant::PhysicalProperties(PhysicalProperties::Custom(it)) => {
            let row = [
                it.density(),
                it.friction(),
                it.elasticity(),
                it.friction_weight(),
                it.elasticity_weight(),
                it.acoustic_absorption(),
            ];
            make(lua, "PhysicalProperties", row)
        }
        Variant::Faces(it) => make(lua, "Faces", [f32::from(it.bits())]),
        Variant::SecurityCapabilities(it) => {
            let part = |at: u32| f32::from((it.bits() >> (16 * at)) as u16);
            make(lua, "SecurityCapabilities", (0..4).map(part))
        }
        Variant::Axes(it) => make(lua, "Axes", [f32::from(it.bits())]),
        Variant::Tags(it) => lua.create_sequence_from(it.iter())?.into_lua(lua),
        Variant::Attributes(it) => {
            let table = lua.create_table()?;
            for (name, value) in it {
                // Files hold the texts of attributes as bytes.
                let value = match value {
                    Variant::BinaryString(text) => Value::String(lua.create_string(text)?),
                    value => to_luau(lua, value)?,
                };
                table.set(name.as_str(), value)?;
            }
            table.into_lua(lua)
        }
        other => lua.create_userdata(Opaque(other.clone()))?.into_lua(lua),
    }
}

/// A value from Luau in parts: its kind, as `typeof` names it, and its row of numbers and strings.
struct Taken {
    kind: String,
    row: Table,
}

impl Taken {
    fn number(&self, at: usize) -> f32 {
        self.row.get::<f64>(at).unwrap_or_default() as f32
    }

    fn numbers(&self) -> Vec<f32> {
        (1..=self.row.raw_len()).map(|at| self.number(at)).collect()
    }

    fn vector2(&self, at: usize) -> Vector2 {
        Vector2::new(self.number(at), self.number(at + 1))
    }

    fn vector3(&self, at: usize) -> Vector3 {
        Vector3::new(self.number(at), self.number(at + 1), self.number(at + 2))
    }

    fn udim(&self, at: usize) -> UDim {
        UDim::new(self.number(at), self.number(at + 1) as i32)
    }

    fn vector3int16(&self, at: usize) -> Vector3int16 {
        let [x, y, z] = [0, 1, 2].map(|add| self.number(at + add) as i16);
        Vector3int16::new(x, y, z)
    }
}

/// Converts a value for a file, for a property of type `wanted`; None if the value has no such
/// form.
pub(crate) fn from_luau(lua: &Lua, value: &Value, wanted: VariantType) -> Result<Option<Variant>> {
    let number = match value {
        Value::Integer(it) => Some(*it as f64),
        Value::Number(it) => Some(*it),
        _ => None,
    };
    Ok(match (value, number, wanted) {
        (Value::Boolean(it), ..) => Some(Variant::Bool(*it)),
        (_, Some(it), VariantType::Float32) => Some(Variant::Float32(it as f32)),
        (_, Some(it), VariantType::Int32) => Some(Variant::Int32(it as i32)),
        (_, Some(it), VariantType::Int64) => Some(Variant::Int64(it as i64)),
        (_, Some(it), VariantType::Enum) => Some(Variant::Enum(Enum::from_u32(it as u32))),
        (_, Some(it), _) => Some(Variant::Float64(it)),
        (Value::String(it), _, VariantType::ContentId) => {
            Some(Variant::ContentId(ContentId::from(it.to_string_lossy())))
        }
        (Value::String(it), _, VariantType::BinaryString) => {
            Some(Variant::BinaryString(it.as_bytes().to_vec().into()))
        }
        (Value::String(it), ..) => Some(Variant::String(it.to_string_lossy())),
        (Value::Vector(it), ..) => Some(Variant::Vector3(Vector3::new(it.x(), it.y(), it.z()))),
        (Value::UserData(it), ..) if it.is::<Opaque>() => opaque(it)?,
        (Value::UserData(_), ..) => {
            let take = lua.named_registry_value::<Function>(TAKE)?;
            let (kind, row) = take.call::<(String, Table)>(value.clone())?;
            from_taken(&Taken { kind, row }, wanted)?
        }
        _ => None,
    })
}

fn opaque(value: &AnyUserData) -> Result<Option<Variant>> {
    Ok(Some(value.borrow::<Opaque>()?.0.clone()))
}

fn from_taken(it: &Taken, wanted: VariantType) -> Result<Option<Variant>> {
    Ok(Some(match it.kind.as_str() {
        "CFrame" => {
            let frame = CFrame::new(
                it.vector3(1),
                Matrix3::new(it.vector3(4), it.vector3(7), it.vector3(10)),
            );
            match wanted {
                VariantType::OptionalCFrame => Variant::OptionalCFrame(Some(frame)),
                _ => Variant::CFrame(frame),
            }
        }
        "Vector2" => Variant::Vector2(it.vector2(1)),
        "Vector2int16" => {
            Variant::Vector2int16(Vector2int16::new(it.number(1) as i16, it.number(2) as i16))
        }
        "Vector3int16" => Variant::Vector3int16(it.vector3int16(1)),
        "UDim" => Variant::UDim(it.udim(1)),
        "UDim2" => Variant::UDim2(UDim2::new(it.udim(1), it.udim(3))),
        "Rect" => Variant::Rect(Rect::new(it.vector2(1), it.vector2(3))),
        "Ray" => Variant::Ray(Ray::new(it.vector3(1), it.vector3(4))),
        "Region3" => Variant::Region3(Region3::new(it.vector3(1), it.vector3(4))),
        "Region3int16" => {
            Variant::Region3int16(Region3int16::new(it.vector3int16(1), it.vector3int16(4)))
        }
        "Color3" => {
            let color = Color3::new(it.number(1), it.number(2), it.number(3));
            match wanted {
                VariantType::Color3uint8 => Variant::Color3uint8(Color3uint8::from(color)),
                _ => Variant::Color3(color),
            }
        }
        _ => return others_from_taken(it, wanted),
    }))
}

fn others_from_taken(it: &Taken, wanted: VariantType) -> Result<Option<Variant>> {
    Ok(match it.kind.as_str() {
        "BrickColor" => BrickColor::from_number(it.number(1) as u16).map(Variant::BrickColor),
        "NumberRange" => Some(NumberRange::new(it.number(1), it.number(2)).into()),
        "NumberSequence" => {
            let points = it.numbers();
            let points = points
                .chunks_exact(3)
                .map(|at| NumberSequenceKeypoint::new(at[0], at[1], at[2]))
                .collect();
            Some(NumberSequence { keypoints: points }.into())
        }
        "ColorSequence" => {
            let points = it.numbers();
            let points = points
                .chunks_exact(4)
                .map(|at| ColorSequenceKeypoint::new(at[0], Color3::new(at[1], at[2], at[3])))
                .collect();
            Some(ColorSequence { keypoints: points }.into())
        }
        "PhysicalProperties" => {
            let [density, friction, elasticity] = [1, 2, 3].map(|at| it.number(at));
            let [friction_weight, elasticity_weight, absorption] =
                [4, 5, 6].map(|at| it.number(at));
            let custom = CustomPhysicalProperties::new(
                density,
                friction,
                elasticity,
                friction_weight,
                elasticity_weight,
                absorption,
            );
            Some(PhysicalProperties::Custom(custom).into())
        }
        "Faces" => Faces::from_bits(it.number(1) as u8).map(Variant::Faces),
        "Axes" => Axes::from_bits(it.number(1) as u8).map(Variant::Axes),
        "SecurityCapabilities" => {
            let bits = (1..=4).rev().fold(0, |bits, at| bits << 16 | it.number(at) as u64);
            Some(SecurityCapabilities::from_bits(bits).into())
        }
        "Content" => Some(match it.row.get::<Option<String>>(1)? {
            Some(uri) => Content::from_uri(uri).into(),
            None => Content::none().into(),
        }),
        "Font" => {
            let weight = FontWeight::from_u16(it.number(2) as u16).unwrap_or_default();
            let style = FontStyle::from_u8(it.number(3) as u8).unwrap_or_default();
            Some(Font::new(&it.row.get::<String>(1)?, weight, style).into())
        }
        "EnumItem" => {
            let value = it.number(2) as u32;
            Some(match wanted {
                VariantType::Enum => Variant::Enum(Enum::from_u32(value)),
                _ => Variant::EnumItem(EnumItem { ty: it.row.get(1)?, value }),
            })
        }
        _ => None,
    })
}

/// Converts the attributes of an instance for a file, and drops those that no file can contain.
pub(crate) fn attributes(lua: &Lua, table: &Table) -> Result<Attributes> {
    let mut attributes = Attributes::new();
    for pair in table.pairs::<String, Value>() {
        let (name, value) = pair?;
        if let Some(value) = from_luau(lua, &value, VariantType::Float64)? {
            attributes.insert(name, value);
        }
    }
    Ok(attributes)
}

/// Converts the tags of an instance for a file.
pub(crate) fn tags(table: &Table) -> Result<Tags> {
    table.sequence_values::<String>().collect::<Result<Vec<_>>>().map(Tags::from)
}
