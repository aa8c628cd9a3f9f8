//! The functions of Luau's library that the scan folds: those that put texts and numbers together,
//! and those that hand on what they are given.

use std::rc::Rc;

use super::evaluator::Evaluator;
use super::tree::{Expr, ExprId};
use super::value::{
    MAX_VALUES, Value, Values, bounded, combinations, concat, number, some_number, text, union,
};

const LIBRARIES: [&str; 12] = [
    "Instance",
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

/// Whether a function gives one value and no more.
pub(super) fn gives_one(name: &str) -> bool {
    let is_plain =
        matches!(name, "tonumber" | "tostring" | "type" | "typeof" | "rawget" | "require");
    is_plain
        || matches!(
            name,
            "string.char" | "string.format" | "string.lower" | "string.upper" | "string.reverse"
        )
        || matches!(name, "string.rep" | "string.sub" | "string.len" | "utf8.char" | "string.split")
        || matches!(name, "table.concat" | "Instance.new" | "table.clone" | "setmetatable")
        || name.starts_with("bit32.")
        || name.starts_with("math.") && !matches!(name, "math.modf" | "math.frexp")
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
    let is_whole = args.len() <= MAX_FOLDED;
    let args = &args[..args.len().min(MAX_FOLDED)];
    match name {
        "select" => return select(evaluator, args),
        "pcall" | "xpcall" | "ypcall" | "table.pack" => return vec![Value::Unknown],
        "require" => return vec![Value::Imported],
        "Instance.new" | "Instance.fromExisting" => return vec![Value::Instance],
        "setmetatable" | "table.freeze" | "table.clone" | "assert" | "coroutine.wrap"
        | "coroutine.create" | "buffer.fromstring" => {
            let first = args.first().map(|it| evaluator.eval(*it).to_vec());
            return first.unwrap_or_default();
        }
        // Others may have been written into it.
        "buffer.tostring" | "buffer.readstring" => {
            let first = args.first().map(|it| evaluator.eval(*it).to_vec());
            return first.into_iter().flatten().chain([Value::Unknown]).collect();
        }
        "rawget" => {
            let [table, key] = args else { return vec![Value::Unknown] };
            let keys = evaluator.eval(*key);
            return evaluator.read(*table, &keys);
        }
        "table.unpack" | "unpack" | "table.remove" => {
            return args.first().map(|it| evaluator.items(*it)).unwrap_or_default();
        }
        "next" => {
            let items = args.first().map(|it| evaluator.items(*it)).unwrap_or_default();
            return items.into_iter().chain([Value::Unknown]).collect();
        }
        "table.find" => return vec![Value::SomeNumber, Value::Nil],
        "table.concat" => return join(evaluator, args),
        _ => {}
    }
    let mut values = each_fold(evaluator, name, args);
    let is_listed = matches!(name, "string.char" | "utf8.char");
    if !is_whole || is_listed && args.last().is_some_and(|it| evaluator.may_give_more(*it)) {
        values.push(Value::Unknown);
    }
    values
}

/// What a function makes of all that its arguments may be, as far as that is bounded.
fn each_fold(evaluator: &mut Evaluator<'_>, name: &str, args: &[ExprId]) -> Vec<Value> {
    let choices: Vec<Values> = args.iter().map(|it| evaluator.eval(*it)).collect();
    let mut rows: Vec<Vec<Value>> = vec![Vec::with_capacity(args.len())];
    let mut is_cut = false;
    for choice in &choices {
        if let [value] = &**choice {
            for row in &mut rows {
                row.push(value.clone());
            }
            continue;
        }
        let with = |row: &Vec<Value>, value: &Value| {
            let mut row = row.clone();
            row.push(value.clone());
            row
        };
        is_cut |= rows.len() * choice.len() > MAX_VALUES;
        let all = rows.iter().flat_map(|row| choice.iter().map(|value| with(row, value)));
        rows = all.take(MAX_VALUES).collect();
    }
    let mut values: Vec<Value> = rows.iter().map(|row| fold(name, row)).collect();
    if is_cut {
        values.push(Value::Unknown);
    }
    values
}

fn select(evaluator: &mut Evaluator<'_>, args: &[ExprId]) -> Vec<Value> {
    let Some((nth, rest)) = args.split_first() else { return vec![Value::Unknown] };
    let [Value::Number(nth)] = *evaluator.eval(*nth) else {
        return rest.iter().flat_map(|it| evaluator.eval(*it).to_vec()).collect();
    };
    let at = if nth < 0.0 { rest.len() as f64 + nth } else { nth - 1.0 };
    let chosen = rest.get(at as usize).filter(|_| at >= 0.0);
    chosen.map_or_else(|| vec![Value::Unknown], |it| evaluator.eval(*it).to_vec())
}

fn join(evaluator: &mut Evaluator<'_>, args: &[ExprId]) -> Vec<Value> {
    let [list, between @ ..] = args else { return vec![Value::Unknown] };
    let between: Values = match between {
        [] => [Value::Text(Rc::default())].into(),
        [between] => evaluator.eval(*between),
        // From one item to another.
        _ => return vec![Value::Prefix(Rc::default())],
    };
    let mut values = Vec::new();
    let is_written = !evaluator.written(*list, &Value::Unknown).is_empty();
    for list in evaluator.eval(*list).iter() {
        let items: Vec<Values> = match list {
            Value::Table(_) if is_written => {
                values.push(Value::Prefix(Rc::default()));
                continue;
            }
            Value::Table(id) => table_items(evaluator, *id),
            Value::List(items) => items.iter().map(|it| [it.clone()].into()).collect(),
            Value::Outside(source) => {
                values.push(Value::Outside(source));
                continue;
            }
            _ => {
                values.push(Value::Prefix(Rc::default()));
                continue;
            }
        };
        let mut wholes: Values = [Value::Text(Rc::default())].into();
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                wholes = union(combinations(&wholes, &between, concat));
            }
            wholes = union(combinations(&wholes, item, concat));
        }
        values.extend(wholes.iter().cloned());
    }
    values
}

/// The items of a list as it is written, with an unknown one behind them where there may be more.
fn table_items(evaluator: &mut Evaluator<'_>, table: ExprId) -> Vec<Values> {
    let tree = evaluator.tree;
    let Expr::Table(fields) = tree.expr(table) else { return Vec::new() };
    let listed = fields.iter().filter(|field| field.key.is_none()).take(MAX_FOLDED);
    let mut items: Vec<Values> = listed.map(|field| evaluator.eval(field.value)).collect();
    let is_name = |key: Option<ExprId>| key.is_none_or(|key| tree.text(key).is_some());
    let is_plain = fields.len() <= MAX_FOLDED && fields.iter().all(|field| is_name(field.key));
    let last = fields.last().filter(|last| last.key.is_none());
    let may_be_more = last.is_some_and(|last| evaluator.may_give_more(last.value));
    if !is_plain || may_be_more || !evaluator.is_closed(table) {
        items.push([Value::Unknown].into());
    }
    items
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
            // Above them `string.char` gives bytes, which are no characters.
            let most = if name == "utf8.char" { 1_114_111.0 } else { 127.0 };
            let code = |code: &Value| number(code).filter(|it| (0.0..=most).contains(it));
            let char = |value: &Value| char::from_u32(code(value)? as u32);
            let all: Option<String> = codes.iter().map(char).collect();
            all.map_or_else(|| Value::Prefix(Rc::default()), |it| bounded(&it))
        }
        ("string.split", [Value::Text(whole), between]) => {
            let between = text(between).filter(|it| !it.is_empty());
            let between = between.unwrap_or_else(|| ",".into());
            list(whole.split(&*between))
        }
        ("string.split", [Value::Text(whole)]) => list(whole.split(',')),
        (name, [Value::Text(whole), rest @ ..]) if name.starts_with("string.") => {
            on_text(name, whole, rest)
        }
        (name, args) if name.starts_with("math.") => math(name, args),
        (name, args) if name.starts_with("bit32.") => bits(name, args),
        _ if makes_text(name) => Value::Prefix(Rc::default()),
        _ => Value::Unknown,
    }
}

/// A list of texts, with an unknown one behind them where there are more than are followed.
fn list<'t>(items: impl Iterator<Item = &'t str>) -> Value {
    let mut all: Vec<Value> = items.take(MAX_FOLDED + 1).map(|it| Value::Text(it.into())).collect();
    if let Some(last) = all.get_mut(MAX_FOLDED) {
        *last = Value::Unknown;
    }
    Value::List(all.into())
}

fn on_text(name: &str, whole: &str, rest: &[Value]) -> Value {
    match (name, rest) {
        // Luau counts bytes.
        ("string.reverse" | "string.sub", _) if !whole.is_ascii() => Value::Prefix(Rc::default()),
        ("string.len" | "string.byte", _) if !whole.is_ascii() => Value::SomeNumber,
        ("string.reverse", _) => bounded(&whole.chars().rev().collect::<String>()),
        ("string.lower", _) => bounded(&whole.to_ascii_lowercase()),
        ("string.upper", _) => bounded(&whole.to_ascii_uppercase()),
        ("string.len", _) => Value::Number(whole.len() as f64),
        ("string.byte", _) => {
            let Some(at) = rest.first().map_or(Some(1.0), number) else { return Value::SomeNumber };
            let at = if at < 0.0 { at + whole.len() as f64 } else { at - 1.0 };
            let code = whole.as_bytes().get(at as usize).filter(|_| at >= 0.0);
            code.map_or(Value::Nil, |code| Value::Number(f64::from(*code)))
        }
        ("string.rep", [count]) => match number(count) {
            Some(count) if count * (whole.len() as f64) < 1_000.0 => {
                bounded(&whole.repeat(count.max(0.0) as usize))
            }
            _ => Value::Prefix(whole.into()),
        },
        ("string.sub", [from, to @ ..]) => substring(whole, from, to.first()),
        ("string.format", args) => format(whole, args),
        ("string.gsub", [Value::Text(pattern), Value::Text(with)]) => {
            let kept = replace(whole, pattern, with);
            kept.map_or_else(|| Value::Prefix(Rc::default()), |it| bounded(&it))
        }
        ("string.find", _) => Value::SomeNumber,
        ("string.match" | "string.pack", _) => Value::Prefix(Rc::default()),
        _ if makes_text(name) => Value::Prefix(Rc::default()),
        _ => Value::Unknown,
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

/// `string.format` with `%s`, `%d`, `%c` and `%%`, without widths and precisions.
fn format(whole: &str, args: &[Value]) -> Value {
    let mut made = Value::Text(Rc::default());
    let mut args = args.iter();
    let mut rest = whole;
    while let Some(at) = rest.find('%') {
        made = concat(&made, &Value::Text(rest[..at].into()));
        let behind = &rest[at + 1..];
        let shown = match behind.as_bytes().first() {
            Some(b'%') => Value::Text("%".into()),
            Some(b'c') => {
                let code = args.next().and_then(number).filter(|it| (0.0..=127.0).contains(it));
                match code.and_then(|it| char::from_u32(it as u32)) {
                    Some(c) => Value::Text(c.to_string().into()),
                    None => Value::Unknown,
                }
            }
            Some(b's') => args.next().cloned().unwrap_or(Value::Unknown),
            Some(b'd') => match args.next() {
                Some(Value::Number(it)) if it.fract() == 0.0 => Value::Number(*it),
                Some(Value::Outside(source)) => Value::Outside(source),
                _ => Value::Unknown,
            },
            _ => return concat(&made, &Value::Unknown),
        };
        made = concat(&made, &shown);
        rest = &behind[1..];
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
    let class = pattern.strip_suffix('+').unwrap_or(pattern);
    // A run of them is replaced once; and Luau counts bytes.
    if class != pattern && !with.is_empty() || !whole.is_ascii() {
        return None;
    }
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
            let is_sign = sign.bytes().all(|byte| byte.is_ascii_punctuation());
            if !is_sign {
                return None;
            }
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
    let whole = |it: &f64| it.fract() == 0.0 && (0.0..4_294_967_296.0).contains(it);
    let numbers: Option<Vec<u32>> =
        args.iter().map(|it| number(it).filter(whole).map(|it| it as u32)).collect();
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
