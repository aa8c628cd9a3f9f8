//! Folds calls of Luau's library functions that build texts and numbers, or pass on their
//! arguments.

use std::rc::Rc;

use super::evaluator::Evaluator;
use super::tree::{ExprId, TreeExpr};
use super::value::{
    MAX_VALUES, ScanValue, ValueSet, combine_values, concat_values, to_number, to_text,
    truncate_text, union_values, unknown_number,
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

/// Maximum number of call arguments and list items to fold.
const MAX_FOLDED: usize = 300;

pub(super) fn is_library(name: &str) -> bool {
    LIBRARIES.contains(&name)
}

/// Whether a method of this name more likely belongs to a string than to an instance.
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

/// Whether a function returns exactly one value.
pub(super) fn is_single_valued(name: &str) -> bool {
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

/// Whether a function builds a text from other texts or from numbers.
pub(super) fn is_text_builder(name: &str) -> bool {
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

/// The possible results of a call of a global function.
pub(super) fn eval_global_call(
    evaluator: &mut Evaluator<'_>,
    name: &str,
    args: &[ExprId],
) -> Vec<ScanValue> {
    let is_whole = args.len() <= MAX_FOLDED;
    let args = &args[..args.len().min(MAX_FOLDED)];
    match name {
        "select" => return select_values(evaluator, args),
        "pcall" | "xpcall" | "ypcall" | "table.pack" => return vec![ScanValue::Unknown],
        "require" => return module_values(evaluator, args),
        "Instance.new" | "Instance.fromExisting" => return vec![ScanValue::Instance],
        "setmetatable" | "table.freeze" | "table.clone" | "assert" | "coroutine.wrap"
        | "coroutine.create" | "buffer.fromstring" => {
            let first = args.first().map(|it| evaluator.eval(*it).to_vec());
            return first.unwrap_or_default();
        }
        // Other data may have been written to the buffer.
        "buffer.tostring" | "buffer.readstring" => {
            let first = args.first().map(|it| evaluator.eval(*it).to_vec());
            return first.into_iter().flatten().chain([ScanValue::Unknown]).collect();
        }
        "rawget" => {
            let [table, key] = args else { return vec![ScanValue::Unknown] };
            let keys = evaluator.eval(*key);
            return evaluator.lookup_keys(*table, &keys);
        }
        "table.unpack" | "unpack" | "table.remove" => {
            return args.first().map(|it| evaluator.item_values(*it)).unwrap_or_default();
        }
        "next" => {
            let items = args.first().map(|it| evaluator.item_values(*it)).unwrap_or_default();
            return items.into_iter().chain([ScanValue::Unknown]).collect();
        }
        "table.find" => return vec![ScanValue::UnknownNumber, ScanValue::Nil],
        "table.concat" => return join_values(evaluator, args),
        _ => {}
    }
    let mut values = fold_combinations(evaluator, name, args);
    let is_listed = matches!(name, "string.char" | "utf8.char");
    if !is_whole || is_listed && args.last().is_some_and(|it| evaluator.can_return_several(*it)) {
        values.push(ScanValue::Unknown);
    }
    values
}

/// Folds a function over all combinations of its arguments' values, up to a limit.
fn fold_combinations(evaluator: &mut Evaluator<'_>, name: &str, args: &[ExprId]) -> Vec<ScanValue> {
    let choices: Vec<ValueSet> = args.iter().map(|it| evaluator.eval(*it)).collect();
    let mut rows: Vec<Vec<ScanValue>> = vec![Vec::with_capacity(args.len())];
    let mut is_cut = false;
    for choice in &choices {
        if let [value] = &**choice {
            for row in &mut rows {
                row.push(value.clone());
            }
            continue;
        }
        let with = |row: &Vec<ScanValue>, value: &ScanValue| {
            let mut row = row.clone();
            row.push(value.clone());
            row
        };
        is_cut |= rows.len() * choice.len() > MAX_VALUES;
        let all = rows.iter().flat_map(|row| choice.iter().map(|value| with(row, value)));
        rows = all.take(MAX_VALUES).collect();
    }
    let mut values: Vec<ScanValue> = rows.iter().map(|row| fold_call(name, row)).collect();
    if is_cut {
        values.push(ScanValue::Unknown);
    }
    values
}

/// What `require` returns: of a module of the model what it exports, as far as that is constant.
fn module_values(evaluator: &mut Evaluator<'_>, args: &[ExprId]) -> Vec<ScanValue> {
    let mut values = vec![ScanValue::Imported];
    let (Some(context), Some(module)) = (evaluator.context, args.first()) else { return values };
    for value in evaluator.eval(*module).iter() {
        if let ScanValue::ModelNode(at) = value
            && let Some(exports) = context.exports(*at)
        {
            values.push(ScanValue::Module(*at));
            values.extend(exports.values.iter().cloned());
        }
    }
    values
}

fn select_values(evaluator: &mut Evaluator<'_>, args: &[ExprId]) -> Vec<ScanValue> {
    let Some((nth, rest)) = args.split_first() else { return vec![ScanValue::Unknown] };
    let [ScanValue::Number(nth)] = *evaluator.eval(*nth) else {
        return rest.iter().flat_map(|it| evaluator.eval(*it).to_vec()).collect();
    };
    let at = if nth < 0.0 { rest.len() as f64 + nth } else { nth - 1.0 };
    let chosen = rest.get(at as usize).filter(|_| at >= 0.0);
    chosen.map_or_else(|| vec![ScanValue::Unknown], |it| evaluator.eval(*it).to_vec())
}

fn join_values(evaluator: &mut Evaluator<'_>, args: &[ExprId]) -> Vec<ScanValue> {
    let [list, between @ ..] = args else { return vec![ScanValue::Unknown] };
    let between: ValueSet = match between {
        [] => [ScanValue::Text(Rc::default())].into(),
        [between] => evaluator.eval(*between),
        // A range of items is not folded.
        _ => return vec![ScanValue::Prefix(Rc::default())],
    };
    let mut values = Vec::new();
    let is_written = !evaluator.written_values(*list, &ScanValue::Unknown).is_empty();
    for list in evaluator.eval(*list).iter() {
        let items: Vec<ValueSet> = match list {
            ScanValue::Table(_) if is_written => {
                values.push(ScanValue::Prefix(Rc::default()));
                continue;
            }
            ScanValue::Table(id) => table_items(evaluator, *id),
            ScanValue::List(items) => items.iter().map(|it| [it.clone()].into()).collect(),
            ScanValue::Untrusted(source) => {
                values.push(ScanValue::Untrusted(source));
                continue;
            }
            _ => {
                values.push(ScanValue::Prefix(Rc::default()));
                continue;
            }
        };
        let mut wholes: ValueSet = [ScanValue::Text(Rc::default())].into();
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                wholes = union_values(combine_values(&wholes, &between, concat_values));
            }
            wholes = union_values(combine_values(&wholes, item, concat_values));
        }
        values.extend(wholes.iter().cloned());
    }
    values
}

/// The items of a list constructor, with an unknown one at the end if there may be more.
fn table_items(evaluator: &mut Evaluator<'_>, table: ExprId) -> Vec<ValueSet> {
    let tree = evaluator.tree;
    let TreeExpr::Table(fields) = tree.expr(table) else { return Vec::new() };
    let listed = fields.iter().filter(|field| field.key.is_none()).take(MAX_FOLDED);
    let mut items: Vec<ValueSet> = listed.map(|field| evaluator.eval(field.value)).collect();
    let is_name = |key: Option<ExprId>| key.is_none_or(|key| tree.literal_text(key).is_some());
    let is_plain = fields.len() <= MAX_FOLDED && fields.iter().all(|field| is_name(field.key));
    let last = fields.last().filter(|last| last.key.is_none());
    let may_be_more = last.is_some_and(|last| evaluator.can_return_several(last.value));
    if !is_plain || may_be_more || !evaluator.is_private_table(table) {
        items.push([ScanValue::Unknown].into());
    }
    items
}

fn fold_call(name: &str, args: &[ScanValue]) -> ScanValue {
    if let Some(outside) = args.iter().find(|it| matches!(it, ScanValue::Untrusted(_)))
        && (name.starts_with("string.") || matches!(name, "tostring" | "utf8.char"))
    {
        return outside.clone();
    }
    match (name, args) {
        ("tostring", [value, ..]) => to_text(value).map_or(ScanValue::Unknown, ScanValue::Text),
        ("tonumber", [value]) => {
            to_number(value).map_or_else(|| unknown_number(value), ScanValue::Number)
        }
        ("tonumber", [value, base]) => {
            let read = to_text(value).zip(to_number(base)).and_then(|(text, base)| {
                let is_base = (2.0..=36.0).contains(&base);
                is_base.then(|| i64::from_str_radix(text.trim(), base as u32).ok()).flatten()
            });
            read.map_or_else(|| unknown_number(value), |it| ScanValue::Number(it as f64))
        }
        ("string.char" | "utf8.char", codes) => {
            // Higher codes give bytes that are not characters.
            let most = if name == "utf8.char" { 1_114_111.0 } else { 127.0 };
            let code = |code: &ScanValue| to_number(code).filter(|it| (0.0..=most).contains(it));
            let char = |value: &ScanValue| char::from_u32(code(value)? as u32);
            let all: Option<String> = codes.iter().map(char).collect();
            all.map_or_else(|| ScanValue::Prefix(Rc::default()), |it| truncate_text(&it))
        }
        ("string.split", [ScanValue::Text(whole), between]) => {
            let between = to_text(between).filter(|it| !it.is_empty());
            let between = between.unwrap_or_else(|| ",".into());
            text_list(whole.split(&*between))
        }
        ("string.split", [ScanValue::Text(whole)]) => text_list(whole.split(',')),
        (name, [ScanValue::Text(whole), rest @ ..]) if name.starts_with("string.") => {
            fold_string_method(name, whole, rest)
        }
        (name, args) if name.starts_with("math.") => fold_math(name, args),
        (name, args) if name.starts_with("bit32.") => fold_bit32(name, args),
        _ if is_text_builder(name) => ScanValue::Prefix(Rc::default()),
        _ => ScanValue::Unknown,
    }
}

/// A list of texts, with an unknown one at the end if there are too many.
fn text_list<'t>(items: impl Iterator<Item = &'t str>) -> ScanValue {
    let mut all: Vec<ScanValue> =
        items.take(MAX_FOLDED + 1).map(|it| ScanValue::Text(it.into())).collect();
    if let Some(last) = all.get_mut(MAX_FOLDED) {
        *last = ScanValue::Unknown;
    }
    ScanValue::List(all.into())
}

fn fold_string_method(name: &str, whole: &str, rest: &[ScanValue]) -> ScanValue {
    match (name, rest) {
        // Luau counts bytes, not characters.
        ("string.reverse" | "string.sub", _) if !whole.is_ascii() => {
            ScanValue::Prefix(Rc::default())
        }
        ("string.len" | "string.byte", _) if !whole.is_ascii() => ScanValue::UnknownNumber,
        ("string.reverse", _) => truncate_text(&whole.chars().rev().collect::<String>()),
        ("string.lower", _) => truncate_text(&whole.to_ascii_lowercase()),
        ("string.upper", _) => truncate_text(&whole.to_ascii_uppercase()),
        ("string.len", _) => ScanValue::Number(whole.len() as f64),
        ("string.byte", _) => {
            let Some(at) = rest.first().map_or(Some(1.0), to_number) else {
                return ScanValue::UnknownNumber;
            };
            let at = if at < 0.0 { at + whole.len() as f64 } else { at - 1.0 };
            let code = whole.as_bytes().get(at as usize).filter(|_| at >= 0.0);
            code.map_or(ScanValue::Nil, |code| ScanValue::Number(f64::from(*code)))
        }
        ("string.rep", [count]) => match to_number(count) {
            Some(count) if count * (whole.len() as f64) < 1_000.0 => {
                truncate_text(&whole.repeat(count.max(0.0) as usize))
            }
            _ => ScanValue::Prefix(whole.into()),
        },
        ("string.sub", [from, to @ ..]) => fold_substring(whole, from, to.first()),
        ("string.format", args) => fold_format(whole, args),
        ("string.gsub", [ScanValue::Text(pattern), ScanValue::Text(with)]) => {
            let kept = replace_plain(whole, pattern, with);
            kept.map_or_else(|| ScanValue::Prefix(Rc::default()), |it| truncate_text(&it))
        }
        ("string.find", _) => ScanValue::UnknownNumber,
        ("string.match" | "string.pack", _) => ScanValue::Prefix(Rc::default()),
        _ if is_text_builder(name) => ScanValue::Prefix(Rc::default()),
        _ => ScanValue::Unknown,
    }
}

fn fold_substring(whole: &str, from: &ScanValue, to: Option<&ScanValue>) -> ScanValue {
    let chars: Vec<char> = whole.chars().collect();
    let count = chars.len() as f64;
    let place = |at: f64| if at < 0.0 { count + at + 1.0 } else { at };
    let (Some(from), Some(to)) = (to_number(from), to.map_or(Some(-1.0), to_number)) else {
        return ScanValue::Prefix(Rc::default());
    };
    let (from, to) = (place(from).max(1.0), place(to).min(count));
    if to < from {
        return ScanValue::Text(Rc::default());
    }
    truncate_text(&chars[from as usize - 1..to as usize].iter().collect::<String>())
}

/// Folds `string.format` with `%s`, `%d`, `%c` and `%%`, without widths and precisions.
fn fold_format(whole: &str, args: &[ScanValue]) -> ScanValue {
    let mut made = ScanValue::Text(Rc::default());
    let mut args = args.iter();
    let mut rest = whole;
    while let Some(at) = rest.find('%') {
        made = concat_values(&made, &ScanValue::Text(rest[..at].into()));
        let behind = &rest[at + 1..];
        let shown = match behind.as_bytes().first() {
            Some(b'%') => ScanValue::Text("%".into()),
            Some(b'c') => {
                let code = args.next().and_then(to_number).filter(|it| (0.0..=127.0).contains(it));
                match code.and_then(|it| char::from_u32(it as u32)) {
                    Some(c) => ScanValue::Text(c.to_string().into()),
                    None => ScanValue::Unknown,
                }
            }
            Some(b's') => args.next().cloned().unwrap_or(ScanValue::Unknown),
            Some(b'd') => match args.next() {
                Some(ScanValue::Number(it)) if it.fract() == 0.0 => ScanValue::Number(*it),
                Some(ScanValue::Untrusted(source)) => ScanValue::Untrusted(source),
                _ => ScanValue::Unknown,
            },
            _ => return concat_values(&made, &ScanValue::Unknown),
        };
        made = concat_values(&made, &shown);
        rest = &behind[1..];
    }
    concat_values(&made, &ScanValue::Text(rest.into()))
}

/// Folds `string.gsub` if the pattern is plain text or a single character class.
fn replace_plain(whole: &str, pattern: &str, with: &str) -> Option<String> {
    let is_plain = |text: &str| !text.contains(|c: char| "^$()%.[]*+-?".contains(c));
    if with.contains('%') {
        return None;
    }
    if is_plain(pattern) {
        return (!pattern.is_empty()).then(|| whole.replace(pattern, with));
    }
    let class = pattern.strip_suffix('+').unwrap_or(pattern);
    // A run of characters is replaced as one, and Luau counts bytes.
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

fn fold_math(name: &str, args: &[ScanValue]) -> ScanValue {
    let numbers: Option<Vec<f64>> = args.iter().map(to_number).collect();
    let Some(numbers) = numbers else {
        return args.first().map_or(ScanValue::UnknownNumber, unknown_number);
    };
    ScanValue::Number(match (name, &numbers[..]) {
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
        _ => return ScanValue::UnknownNumber,
    })
}

fn fold_bit32(name: &str, args: &[ScanValue]) -> ScanValue {
    let whole = |it: &f64| it.fract() == 0.0 && (0.0..4_294_967_296.0).contains(it);
    let numbers: Option<Vec<u32>> =
        args.iter().map(|it| to_number(it).filter(whole).map(|it| it as u32)).collect();
    let Some(numbers) = numbers else {
        return args.first().map_or(ScanValue::UnknownNumber, unknown_number);
    };
    let folded = match (name, &numbers[..]) {
        ("bit32.bxor", all) => all.iter().fold(0, |a, b| a ^ b),
        ("bit32.bor", all) => all.iter().fold(0, |a, b| a | b),
        ("bit32.band", all) => all.iter().fold(u32::MAX, |a, b| a & b),
        ("bit32.bnot", [a]) => !a,
        ("bit32.lshift", [a, by]) => a.checked_shl(*by).unwrap_or(0),
        ("bit32.rshift", [a, by]) => a.checked_shr(*by).unwrap_or(0),
        _ => return ScanValue::UnknownNumber,
    };
    ScanValue::Number(f64::from(folded))
}
