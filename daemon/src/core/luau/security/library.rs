//! The functions of Luau's library that the scan folds: those that put texts and numbers together,
//! and those that hand on what they are given.

use std::rc::Rc;

use super::evaluator::Evaluator;
use super::tree::{Expr, ExprId};
use super::value::{Value, bounded, concat, number, some_number, text};

const LIBRARIES: [&str; 11] = [
    "string",
    "table",
    "math",
    "bit32",
    "utf8",
    "task",
    "coroutine",
    "debug",
    "os",
    "buffer",
    "vector",
];

/// Arguments of a call, and items of a list, that are folded.
const MAX_FOLDED: usize = 300;

pub(super) fn is_library(name: &str) -> bool {
    LIBRARIES.contains(&name)
}

/// Whether a method of this name is more likely that of a text than that of an instance.
pub(super) fn is_string_method(name: &str) -> bool {
    matches!(
        name,
        "byte"
            | "find"
            | "format"
            | "gmatch"
            | "gsub"
            | "len"
            | "lower"
            | "match"
            | "rep"
            | "reverse"
            | "split"
            | "sub"
            | "upper"
    )
}

/// Whether a function puts a text together out of others, or out of numbers.
pub(super) fn makes_text(name: &str) -> bool {
    matches!(
        name,
        "string.char"
            | "string.format"
            | "string.gsub"
            | "string.lower"
            | "string.reverse"
            | "string.rep"
            | "string.sub"
            | "string.upper"
            | "table.concat"
            | "utf8.char"
            | "buffer.tostring"
            | "buffer.readstring"
    )
}

/// What a call of a global function may give.
pub(super) fn call(evaluator: &mut Evaluator<'_>, name: &str, args: &[ExprId]) -> Vec<Value> {
    let args = &args[..args.len().min(MAX_FOLDED)];
    match name {
        "select" => return select(evaluator, args),
        "pcall" | "xpcall" | "ypcall" => return vec![Value::Unknown],
        "setmetatable" | "table.freeze" | "table.clone" | "assert" | "coroutine.wrap"
        | "coroutine.create" | "buffer.fromstring" | "table.pack" => {
            let first = args.first().map(|it| evaluator.eval(*it).to_vec());
            return first.unwrap_or_default();
        }
        "rawget" => {
            let [table, key] = args else { return vec![Value::Unknown] };
            let (tables, keys) = (evaluator.eval(*table), evaluator.eval(*key));
            let mut values = Vec::new();
            for table in tables.iter() {
                match (table, &keys[0]) {
                    (Value::Table(table), key) => evaluator.fields(*table, key, &mut values),
                    (Value::Builtin(owner), Value::Text(name))
                        if matches!(&**owner, "_G" | "shared") =>
                    {
                        values.push(Value::Builtin(name.clone()));
                    }
                    (_, Value::Text(name)) => values.push(Value::Member(None, name.clone())),
                    _ => values.push(Value::Unknown),
                }
            }
            return values;
        }
        "table.unpack" | "unpack" | "table.remove" | "next" | "table.find" => {
            let items = args.first().map(|it| evaluator.items(*it)).unwrap_or_default();
            return items.into_iter().take(4).collect();
        }
        "table.concat" => return vec![join(evaluator, args)],
        _ => {}
    }
    let values: Vec<Value> = args.iter().map(|it| evaluator.eval(*it)[0].clone()).collect();
    // The first argument is what a function works on: all that it may be is folded.
    let firsts = args.first().map(|it| evaluator.eval(*it).to_vec()).unwrap_or_default();
    if firsts.len() < 2 {
        return vec![fold(name, &values)];
    }
    let with = |first: Value| {
        let mut values = values.clone();
        values[0] = first;
        fold(name, &values)
    };
    firsts.into_iter().map(with).collect()
}

fn select(evaluator: &mut Evaluator<'_>, args: &[ExprId]) -> Vec<Value> {
    let Some((nth, rest)) = args.split_first() else { return vec![Value::Unknown] };
    let Value::Number(nth) = evaluator.eval(*nth)[0] else {
        return rest.iter().flat_map(|it| evaluator.eval(*it).to_vec()).collect();
    };
    let at = if nth < 0.0 { rest.len() as f64 + nth } else { nth - 1.0 };
    let chosen = rest.get(at as usize).filter(|_| at >= 0.0);
    chosen.map_or_else(|| vec![Value::Unknown], |it| evaluator.eval(*it).to_vec())
}

fn join(evaluator: &mut Evaluator<'_>, args: &[ExprId]) -> Value {
    let Some(list) = args.first() else { return Value::Unknown };
    let between = args.get(1).map(|it| evaluator.eval(*it)[0].clone());
    let between = between.unwrap_or_else(|| Value::Text(Rc::default()));
    let list = evaluator.eval(*list)[0].clone();
    let tree = evaluator.tree;
    let items: Vec<Value> = match &list {
        Value::Table(id) => match tree.expr(*id) {
            Expr::Table(fields) => fields
                .iter()
                .filter(|field| field.key.is_none())
                .take(MAX_FOLDED)
                .map(|field| evaluator.eval(field.value)[0].clone())
                .collect(),
            _ => Vec::new(),
        },
        Value::List(items) => items.to_vec(),
        Value::Outside(source) => return Value::Outside(source),
        _ => return Value::Prefix(Rc::default()),
    };
    let mut whole = Value::Text(Rc::default());
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            whole = concat(&whole, &between);
        }
        whole = concat(&whole, item);
    }
    whole
}

fn fold(name: &str, args: &[Value]) -> Value {
    if let Some(outside) = args.iter().find(|it| matches!(it, Value::Outside(_)))
        && (name.starts_with("string.") || matches!(name, "tostring" | "utf8.char"))
    {
        return outside.clone();
    }
    match (name, args) {
        ("tostring", [value, ..]) => text(value).map_or(Value::Unknown, Value::Text),
        ("tonumber", [value]) => number(value).map_or_else(|| some_number(value), Value::Number),
        ("tonumber", [value, base]) => {
            let read = text(value).zip(number(base)).and_then(|(text, base)| {
                let is_base = (2.0..=36.0).contains(&base);
                is_base.then(|| i64::from_str_radix(text.trim(), base as u32).ok()).flatten()
            });
            read.map_or_else(|| some_number(value), |it| Value::Number(it as f64))
        }
        ("string.char" | "utf8.char", codes) => {
            let char = |code: &Value| char::from_u32(number(code)? as u32);
            let all: Option<String> = codes.iter().map(char).collect();
            all.map_or_else(|| Value::Prefix(Rc::default()), |it| bounded(&it))
        }
        ("string.split", [Value::Text(whole), between]) => {
            let between = text(between).filter(|it| !it.is_empty());
            let between = between.unwrap_or_else(|| ",".into());
            let items = whole.split(&*between).take(MAX_FOLDED);
            Value::List(items.map(|it| Value::Text(it.into())).collect())
        }
        ("string.split", [Value::Text(whole)]) => Value::List(
            whole.split(',').take(MAX_FOLDED).map(|it| Value::Text(it.into())).collect(),
        ),
        (name, [Value::Text(whole), rest @ ..]) if name.starts_with("string.") => {
            on_text(name, whole, rest)
        }
        (name, args) if name.starts_with("math.") => math(name, args),
        (name, args) if name.starts_with("bit32.") => bits(name, args),
        ("buffer.tostring" | "buffer.readstring", [value, ..]) => value.clone(),
        _ if makes_text(name) => Value::Prefix(Rc::default()),
        _ => Value::Unknown,
    }
}

fn on_text(name: &str, whole: &str, rest: &[Value]) -> Value {
    match (name, rest) {
        ("string.reverse", _) => bounded(&whole.chars().rev().collect::<String>()),
        ("string.lower", _) => bounded(&whole.to_ascii_lowercase()),
        ("string.upper", _) => bounded(&whole.to_ascii_uppercase()),
        ("string.len", _) => Value::Number(whole.len() as f64),
        ("string.byte", _) => {
            let at = rest.first().map_or(Some(1.0), number).unwrap_or(1.0).max(1.0) as usize;
            let code = whole.chars().nth(at - 1).map(|c| f64::from(c as u32));
            code.map_or(Value::Nil, Value::Number)
        }
        ("string.rep", [count, ..]) => match number(count) {
            Some(count) if count * (whole.len() as f64) < 1_000.0 => {
                bounded(&whole.repeat(count.max(0.0) as usize))
            }
            _ => Value::Prefix(whole.into()),
        },
        ("string.sub", [from, to @ ..]) => substring(whole, from, to.first()),
        ("string.format", args) => format(whole, args),
        ("string.gsub", [Value::Text(pattern), Value::Text(with), ..]) => {
            let kept = replace(whole, pattern, with);
            kept.map_or_else(|| Value::Prefix(Rc::default()), |it| bounded(&it))
        }
        ("string.find", _) => Value::SomeNumber,
        _ => Value::Prefix(Rc::default()),
    }
}

fn substring(whole: &str, from: &Value, to: Option<&Value>) -> Value {
    let chars: Vec<char> = whole.chars().collect();
    let count = chars.len() as f64;
    let place = |at: f64| if at < 0.0 { count + at + 1.0 } else { at };
    let (Some(from), Some(to)) = (number(from), to.map_or(Some(-1.0), number)) else {
        return Value::Prefix(Rc::default());
    };
    let (from, to) = (place(from).max(1.0), place(to).min(count));
    if to < from {
        return Value::Text(Rc::default());
    }
    bounded(&chars[from as usize - 1..to as usize].iter().collect::<String>())
}

/// `string.format` with `%s`, `%d` and `%%`.
fn format(whole: &str, args: &[Value]) -> Value {
    let mut made = Value::Text(Rc::default());
    let mut args = args.iter();
    let mut rest = whole;
    while let Some(at) = rest.find('%') {
        made = concat(&made, &Value::Text(rest[..at].into()));
        let behind = &rest[at + 1..];
        let length = behind.find(|c: char| c.is_ascii_alphabetic() || c == '%');
        let Some(length) = length else { return made };
        let shown = match behind.as_bytes()[length] {
            b'%' => Value::Text("%".into()),
            b'c' => match args.next().and_then(number).and_then(|it| char::from_u32(it as u32)) {
                Some(c) => Value::Text(c.to_string().into()),
                None => Value::Unknown,
            },
            _ => args.next().cloned().unwrap_or(Value::Unknown),
        };
        made = concat(&made, &shown);
        rest = &behind[length + 1..];
    }
    concat(&made, &Value::Text(rest.into()))
}

/// `string.gsub` where the pattern is a plain text, or one class of characters.
fn replace(whole: &str, pattern: &str, with: &str) -> Option<String> {
    let is_plain = |text: &str| !text.contains(|c: char| "^$()%.[]*+-?".contains(c));
    if with.contains('%') {
        return None;
    }
    if is_plain(pattern) {
        return (!pattern.is_empty()).then(|| whole.replace(pattern, with));
    }
    let class = pattern.trim_end_matches('+');
    let belongs: fn(char) -> bool = match class {
        "." => |_| true,
        "%d" => |c| c.is_ascii_digit(),
        "%a" => |c| c.is_ascii_alphabetic(),
        "%s" => |c| c.is_ascii_whitespace(),
        "%p" => |c| c.is_ascii_punctuation(),
        "%w" => |c| c.is_ascii_alphanumeric(),
        "%W" => |c| !c.is_ascii_alphanumeric(),
        "%A" => |c| !c.is_ascii_alphabetic(),
        "%D" => |c| !c.is_ascii_digit(),
        "%u" => |c| c.is_ascii_uppercase(),
        "%l" => |c| c.is_ascii_lowercase(),
        _ => {
            let sign = class.strip_prefix('%').filter(|it| it.len() == 1)?;
            return Some(whole.replace(sign, with));
        }
    };
    Some(whole.split(belongs).collect::<Vec<_>>().join(with))
}

fn math(name: &str, args: &[Value]) -> Value {
    let numbers: Option<Vec<f64>> = args.iter().map(number).collect();
    let Some(numbers) = numbers else {
        return args.first().map_or(Value::SomeNumber, some_number);
    };
    Value::Number(match (name, &numbers[..]) {
        ("math.floor", [a]) => a.floor(),
        ("math.ceil", [a]) => a.ceil(),
        ("math.round", [a]) => a.round(),
        ("math.abs", [a]) => a.abs(),
        ("math.sqrt", [a]) => a.sqrt(),
        ("math.pow", [a, b]) => a.powf(*b),
        ("math.fmod", [a, b]) => a % b,
        ("math.max", [first, rest @ ..]) => rest.iter().copied().fold(*first, f64::max),
        ("math.min", [first, rest @ ..]) => rest.iter().copied().fold(*first, f64::min),
        ("math.clamp", [a, low, high]) => a.max(*low).min(*high),
        _ => return Value::SomeNumber,
    })
}

fn bits(name: &str, args: &[Value]) -> Value {
    let numbers: Option<Vec<u32>> = args.iter().map(|it| number(it).map(|it| it as u32)).collect();
    let Some(numbers) = numbers else {
        return args.first().map_or(Value::SomeNumber, some_number);
    };
    let folded = match (name, &numbers[..]) {
        ("bit32.bxor", all) => all.iter().fold(0, |a, b| a ^ b),
        ("bit32.bor", all) => all.iter().fold(0, |a, b| a | b),
        ("bit32.band", all) => all.iter().fold(u32::MAX, |a, b| a & b),
        ("bit32.bnot", [a]) => !a,
        ("bit32.lshift", [a, by]) => a.checked_shl(*by).unwrap_or(0),
        ("bit32.rshift", [a, by]) => a.checked_shr(*by).unwrap_or(0),
        _ => return Value::SomeNumber,
    };
    Value::Number(f64::from(folded))
}
