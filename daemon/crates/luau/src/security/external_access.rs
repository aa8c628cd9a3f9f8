//! Finds access to external code, assets, players' money and other places.

use std::rc::Rc;

use super::api_names::{PROMPT_METHODS, TELEPORT_METHODS, describe_name, describe_property};
use super::call_flow::{CLIENT, DataSource};
use super::logical_calls::LogicalCall;
use super::tree::{BinaryOperator, BindingId, BindingSource, ExprId, TreeExpr, UnaryOperator};
use super::value::{MemberOwner, ScanValue, format_number, is_instance, to_number, to_text};
use super::{ScanFinding, TokenKind, TokenView, TreeView, statement_hash};

/// Functions that may receive `require` as an argument without passing it on.
const INSPECTION_FUNCTIONS: [&str; 6] = ["type", "typeof", "print", "tostring", "warn", "rawequal"];

/// Functions that are reported wherever they are passed on.
const LOADERS: [&str; 2] = ["require", "loadstring"];

/// Functions that assemble text, suspicious in a computed key of `_G`.
const DECODERS: [&str; 6] = ["byte", "char", "concat", "format", "gsub", "reverse"];

/// The services through which a script reaches outside of the place.
const EXTERNAL_SERVICES: [&str; 3] = ["HttpService", "InsertService", "AssetService"];

/// Smaller numbers are amounts rather than item ids.
const MIN_ITEM_ID: f64 = 1_000.0;

/// The message for a module that may be from anywhere.
pub(super) const UNSHOWN_MODULE: &str =
    "requires what is not shown to be a module of the place, which can be code from outside";

/// A finding and the expression that it refers to.
type LocatedFinding = (ExprId, ScanFinding);

pub(super) fn find_external_access(view: &mut TreeView<'_>, found: &mut Vec<LocatedFinding>) {
    for at in view.tree.expr_ids() {
        let message = match view.tree.expr(at) {
            TreeExpr::Name(binding) => {
                let binding = view.tree.binding(*binding);
                let name = Some(binding.name.clone()).filter(|_| binding.is_global);
                let description = name.as_deref().and_then(|name| describe_name(name, false));
                description.map(ToOwned::to_owned).or_else(|| check_passed_loader(view, at))
            }
            TreeExpr::Index { base, key, is_written } => {
                check_member(view, at, *base, *key, *is_written)
                    .or_else(|| check_passed_loader(view, at))
            }
            TreeExpr::Table(_) => check_table_properties(view, at),
            _ => None,
        };
        let finding = message.map(|message| (at, view.make_finding(at, message)));
        found.extend(finding);
    }
    let teleports =
        view.tokens.tokens.iter().any(|token| {
            view.tokens.token_text(token).trim_matches(['"', '\'']) == "TeleportService"
        });
    let calls = std::mem::take(&mut view.calls);
    for call in &calls {
        let messages =
            [check_alias_call(call), check_require(view, call), check_debug_call(view, call)];
        let more = [
            check_prompt(view, call),
            check_teleport(view, call, teleports),
            check_dynamic_call(view, call),
        ];
        for message in messages.into_iter().chain(more).flatten() {
            found.push((call.at, view.make_finding(call.at, message)));
        }
    }
    view.calls = calls;
}

/// Finds flagged words in a script that could not be parsed.
pub(super) fn find_flagged_words(tokens: &TokenView<'_>, found: &mut Vec<ScanFinding>) {
    for (token, line) in tokens.tokens.iter().zip(&tokens.token_lines) {
        let text = tokens.token_text(token);
        let name =
            if token.kind == TokenKind::Name { text } else { text.trim_matches(['"', '\'', '`']) };
        if let Some(description) = describe_name(name, true) {
            found.push(ScanFinding::new(*line, description, statement_hash::hash_text(name)));
        }
    }
}

/// Checks a member by its name, which may also be computed.
fn check_member(
    view: &mut TreeView<'_>,
    at: ExprId,
    base: ExprId,
    key: ExprId,
    is_written: bool,
) -> Option<String> {
    let keys = view.evaluator.eval(key);
    if is_written {
        let named =
            keys.iter().find_map(|key| to_text(key).and_then(|key| describe_property(&key)));
        let source = keys.iter().find_map(untrusted_source);
        let owner = view.evaluator.eval(base);
        let set = source.filter(|_| owner.iter().any(is_client_value));
        let set = set.map(|source| format!("sets a property that {source} names"));
        return named.map(ToOwned::to_owned).or(set);
    }
    let is_decoder = |view: &TreeView<'_>, id: ExprId| {
        let TreeExpr::Index { key, .. } = view.tree.expr(id) else { return false };
        view.tree.literal_text(*key).is_some_and(|name| DECODERS.contains(&&**name))
    };
    let values = view.evaluator.eval(at);
    let named = values.iter().find_map(|value| match value {
        ScanValue::Member(_, name) | ScanValue::Builtin(name) => describe_name(name, true),
        _ => None,
    });
    if named.is_some() {
        return named.map(ToOwned::to_owned);
    }
    let owner = view.evaluator.eval(base);
    let is_known = keys.iter().all(|key| to_text(key).is_some());
    let is_reaching = |owner: &ScanValue| match owner {
        ScanValue::Service(name) => EXTERNAL_SERVICES.contains(&&**name),
        _ => false,
    };
    if !is_known && owner.iter().any(is_reaching) {
        let message = "reaches for a member of a service by a name that is not in this script";
        return Some(message.to_owned());
    }
    let whole = owner.iter().find_map(|value| match value {
        ScanValue::Builtin(name) if matches!(&**name, "_G" | "shared") => Some(name.clone()),
        _ => None,
    })?;
    let mut is_decoded = false;
    let mut open = vec![key];
    while let Some(id) = open.pop() {
        is_decoded |= is_decoder(view, id);
        view.tree.visit_operands(id, |operand| open.push(operand));
    }
    (!is_known && is_decoded).then(|| format!("looks into {whole} for a name that is put together"))
}

/// Checks a table of properties such as `{ LinkedSource = ... }`.
fn check_table_properties(view: &TreeView<'_>, at: ExprId) -> Option<String> {
    let TreeExpr::Table(fields) = view.tree.expr(at) else { return None };
    let key = |key: Option<ExprId>| key.and_then(|key| view.tree.literal_text(key));
    let named = fields.iter().find_map(|field| key(field.key).and_then(|it| describe_property(it)));
    named.map(ToOwned::to_owned)
}

/// Checks for `require` or `loadstring`, under any name, as a value that is not called: the
/// receiver can load code from outside.
fn check_passed_loader(view: &mut TreeView<'_>, at: ExprId) -> Option<String> {
    let is_read = match view.tree.expr(at) {
        TreeExpr::Name(_) => true,
        TreeExpr::Index { is_written, .. } => !is_written,
        _ => false,
    };
    let name = view.evaluator.eval(at).iter().find_map(|value| match value {
        ScanValue::Builtin(name) => LOADERS.iter().find(|it| **it == &**name),
        _ => None,
    });
    let name = name.filter(|_| is_read)?;
    // Flagged global functions are already reported by their name.
    let is_global = match view.tree.expr(at) {
        TreeExpr::Name(binding) => view.tree.binding(*binding).is_global,
        _ => false,
    };
    if is_global && describe_name(name, false).is_some() {
        return None;
    }
    let parents = &view.parents;
    let mut child = at;
    let mut parent = parents[at.0 as usize];
    while let Some(id) = parent {
        match view.tree.expr(id) {
            TreeExpr::Call { callee, args, .. } => {
                let values = view.evaluator.eval(*callee);
                let is_usual = *callee == child
                    || values.iter().any(|value| match value {
                        ScanValue::Builtin(name) => {
                            INSPECTION_FUNCTIONS.contains(&&**name)
                                || super::call_flow::forwarding_offsets(name)
                                    .is_some_and(|(at, _)| args.get(at) == Some(&child))
                        }
                        _ => false,
                    });
                if is_usual {
                    return None;
                }
                break;
            }
            TreeExpr::Binary { operator, .. } if operator.is_comparison() => return None,
            TreeExpr::Binary { .. } | TreeExpr::Choice { .. } => {
                child = id;
                parent = parents[id.0 as usize];
            }
            _ => break,
        }
    }
    // An alias such as `local load = require` is followed instead.
    let is_alias = parent.is_none() && !view.tree.statement_of(at).declared_names.is_empty();
    (!is_alias)
        .then(|| format!("passes on {name} itself, by which code can be loaded from outside"))
}

/// Checks for a call of a flagged function by an alias: `local run = loadstring run(text)`.
fn check_alias_call(call: &LogicalCall) -> Option<String> {
    let named = call.callee_values.iter().find_map(|value| match value {
        ScanValue::Builtin(name) | ScanValue::Member(_, name) => describe_name(name, true),
        _ => None,
    });
    named.map(ToOwned::to_owned)
}

/// Checks for a require by asset id or by untrusted data.
fn check_require(view: &mut TreeView<'_>, call: &LogicalCall) -> Option<String> {
    let is_require = call.callee_values.iter().any(|value| match value {
        ScanValue::Builtin(name) | ScanValue::Member(MemberOwner::Unknown, name) => {
            &**name == "require"
        }
        _ => false,
    });
    let required = call.args.first().filter(|_| is_require)?;
    let values = view.evaluator.eval(*required);
    let asset = values.iter().find_map(|value| match value {
        ScanValue::Number(id) => Some(format_number(*id)),
        _ => None,
    });
    if let Some(id) = asset {
        return Some(format!("requires the asset {id}, code from outside the place"));
    }
    if let Some(source) = values.iter().find_map(untrusted_source) {
        return Some(format!(
            "requires a module that comes from {source}, which can be code from outside the place"
        ));
    }
    if values.contains(&ScanValue::UnknownNumber) {
        let message = "requires an asset by a number that is worked out as it runs, code from outside \
                    the place";
        return Some(message.to_owned());
    }
    // `container:require(...)` is not Luau's `require`.
    if call.is_method {
        return None;
    }
    (!is_place_module(view, *required, &values)).then(|| UNSHOWN_MODULE.to_owned())
}

/// Whether the required value can only be a module of the place, as far as the script shows.
fn is_place_module(view: &mut TreeView<'_>, required: ExprId, values: &[ScanValue]) -> bool {
    let is_known = |value: &ScanValue| match value {
        ScanValue::Text(_)
        | ScanValue::Prefix(_)
        | ScanValue::Nil
        | ScanValue::Bool(_)
        | ScanValue::Imported
        | ScanValue::Module(_)
        | ScanValue::Member(MemberOwner::Imported, _)
        | ScanValue::Table(_)
        | ScanValue::List(_)
        | ScanValue::Function(_)
        | ScanValue::Incomplete => true,
        value => is_instance(value),
    };
    if values.iter().all(|value| *value == ScanValue::Incomplete) {
        return false;
    }
    let mut fields: Vec<Rc<str>> = Vec::new();
    for value in values {
        match value {
            ScanValue::Member(MemberOwner::Unknown, name) => fields.push(name.clone()),
            value if !is_known(value) => return is_used_as_instance(view, required),
            _ => {}
        }
    }
    let mut is_given = fields.iter().all(|name| {
        let given = view.evaluator.named_field_values(name);
        !given.is_empty() && given.iter().all(is_known)
    });
    // A table that escapes may be written to elsewhere, by a field of the same name.
    if values.contains(&ScanValue::Incomplete) {
        is_given &= match view.tree.expr(super::call_flow::resolve_alias(view.tree, required)) {
            TreeExpr::Index { key, .. } => view
                .tree
                .literal_text(*key)
                .is_none_or(|name| view.evaluator.named_field_values(name).iter().all(is_known)),
            TreeExpr::Call { .. } => false,
            _ => true,
        };
    }
    is_given || is_used_as_instance(view, required)
}

/// Whether a variable is known not to hold a number where it is required, as in
/// `if module:IsA("ModuleScript") then require(module) end`.
fn is_used_as_instance(view: &mut TreeView<'_>, required: ExprId) -> bool {
    let TreeExpr::Name(binding) = view.tree.expr(required) else { return false };
    let definitions = &view.tree.binding(*binding).definitions;
    // `module = require(module)` assigns a value that is not a number.
    let is_other = |it: &&BindingSource| match it {
        BindingSource::Value(value) => {
            !matches!(*view.evaluator.eval(*value), [ScanValue::Imported])
        }
        _ => true,
    };
    let others = definitions.iter().filter(is_other).count();
    let conditions = &view.tree.statement_of(required).conditions;
    others == 1 && conditions.iter().any(|it| is_instance_guard(view, *it, *binding, true))
}

/// Whether a condition implies that a variable holds an instance, given that it `holds` or not.
fn is_instance_guard(view: &TreeView<'_>, id: ExprId, binding: BindingId, holds: bool) -> bool {
    let is_guard = |id: ExprId, holds: bool| is_instance_guard(view, id, binding, holds);
    match view.tree.expr(id) {
        TreeExpr::Unary { operator: UnaryOperator::Not, operand } => is_guard(*operand, !holds),
        TreeExpr::Binary { operator: BinaryOperator::And, left, right } if holds => {
            is_guard(*left, true) || is_guard(*right, true)
        }
        TreeExpr::Binary { operator: BinaryOperator::Or, left, right } if !holds => {
            is_guard(*left, false) || is_guard(*right, false)
        }
        // `typeof(module) == "Instance"`
        TreeExpr::Binary { operator: BinaryOperator::Equal, left, right } if holds => {
            is_typeof_check(view, *left, *right, binding) || has_member_access(view, *left, binding)
        }
        TreeExpr::Binary { operator: BinaryOperator::NotEqual, left, right } if !holds => {
            is_typeof_check(view, *left, *right, binding) || has_member_access(view, *left, binding)
        }
        _ => has_member_access(view, id, binding),
    }
}

fn is_typeof_check(view: &TreeView<'_>, left: ExprId, right: ExprId, binding: BindingId) -> bool {
    let TreeExpr::Call { callee, args, .. } = view.tree.expr(left) else { return false };
    let name = super::call_flow::global_name(view.tree, *callee);
    name.as_deref() == Some("typeof")
        && view.tree.literal_text(right).is_some_and(|text| &**text == "Instance")
        && args.first().is_some_and(|it| is_reference_to(view, *it, binding))
}

/// Whether an expression begins with a member of a variable, which would fail if it held a number.
fn has_member_access(view: &TreeView<'_>, mut id: ExprId, binding: BindingId) -> bool {
    loop {
        id = match view.tree.expr(id) {
            TreeExpr::Binary { left, .. } => *left,
            TreeExpr::Unary { operand, .. } => *operand,
            TreeExpr::Call { callee, .. } => *callee,
            TreeExpr::Index { base, .. } if is_reference_to(view, *base, binding) => return true,
            TreeExpr::Index { base, .. } => *base,
            _ => return false,
        }
    }
}

fn is_reference_to(view: &TreeView<'_>, id: ExprId, binding: BindingId) -> bool {
    matches!(view.tree.expr(id), TreeExpr::Name(it) if *it == binding)
}

/// The source of a value if it is untrusted.
fn untrusted_source(value: &ScanValue) -> Option<DataSource> {
    match value {
        ScanValue::Untrusted(source) => Some(source),
        _ => None,
    }
}

/// Whether a value is sent by a client, which can pass any instance of the place.
fn is_client_value(value: &ScanValue) -> bool {
    *value == ScanValue::Untrusted(CLIENT)
}

/// Checks for calls of `debug` functions that give access to the code of others.
fn check_debug_call(view: &mut TreeView<'_>, call: &LogicalCall) -> Option<String> {
    let is = |name: &str| {
        call.callee_values
            .iter()
            .any(|it| matches!(it, ScanValue::Builtin(builtin) if &**builtin == name))
    };
    if is("debug.loadmodule") {
        return Some("uses debug.loadmodule, which runs a module's code again".to_owned());
    }
    if !is("debug.info") {
        return None;
    }
    let options = call.args.last()?;
    let has_function_option =
        view.evaluator.eval(*options).iter().any(|it| {
            to_text(it).is_some_and(|options| options.len() <= 6 && options.contains('f'))
        });
    has_function_option.then(|| "uses debug.info to get at functions of other code".to_owned())
}

/// The method that a call calls, if it is one of `names`.
fn match_method<'a>(call: &LogicalCall, names: &[&'a str]) -> Option<&'a str> {
    call.callee_values.iter().find_map(|value| match value {
        ScanValue::Member(_, name) => names.iter().find(|it| **it == &**name).copied(),
        _ => None,
    })
}

fn check_prompt(view: &mut TreeView<'_>, call: &LogicalCall) -> Option<String> {
    let name = match_method(call, &PROMPT_METHODS)?;
    let id =
        call.args.iter().find_map(|arg| view.evaluator.eval(*arg).iter().find_map(format_item_id));
    let item = id.map_or_else(|| "something".to_owned(), |id| format!("the item {id}"));
    Some(format!("asks players to buy {item} ({name}); see who is paid for it"))
}

fn format_item_id(value: &ScanValue) -> Option<String> {
    let id = to_number(value).filter(|_| matches!(value, ScanValue::Number(_)))?;
    (id >= MIN_ITEM_ID).then(|| format_number(id))
}

/// Checks for a teleport. `is_named` is whether the script mentions TeleportService at all.
fn check_teleport(view: &mut TreeView<'_>, call: &LogicalCall, is_named: bool) -> Option<String> {
    let name = match_method(call, &TELEPORT_METHODS)?;
    let service = call.callee_values.iter().find_map(|value| match value {
        ScanValue::Member(MemberOwner::Service(service), _) => Some(service.clone()),
        _ => None,
    });
    let is_service =
        service.map_or(is_named, |service| matches!(&*service, "TeleportService" | ""));
    let first = call.method_args().first().or(call.args.first()).filter(|_| is_service)?;
    let values = view.evaluator.eval(*first);
    let id = values.iter().find_map(|value| match value {
        ScanValue::Number(id) => Some(format_number(*id)),
        _ => None,
    });
    let id = id.map(|id| format!("sends players to the place {id} ({name})"));
    id.or_else(|| {
        let source = values.iter().find_map(untrusted_source)?;
        Some(format!("sends players to a place that comes from {source} ({name})"))
    })
}

/// Checks for a call whose function is chosen by untrusted data, or by a name that is not in the
/// script.
fn check_dynamic_call(view: &mut TreeView<'_>, call: &LogicalCall) -> Option<String> {
    let TreeExpr::Index { base, key, .. } = view.tree.expr(call.callee) else { return None };
    let (owners, keys) = (view.evaluator.eval(*base), view.evaluator.eval(*key));
    let is_game = owners.iter().any(|owner| match owner {
        ScanValue::Builtin(name) => matches!(&**name, "game" | "workspace" | "_G" | "shared"),
        ScanValue::Service(_) => true,
        _ => false,
    });
    let is_theirs = owners.iter().any(is_client_value);
    let source = keys.iter().find_map(|key| match key {
        ScanValue::Untrusted(source) => Some(source),
        _ => None,
    });
    if let Some(source) = source.filter(|_| is_game || is_theirs) {
        return Some(format!("calls a function whose name comes from {source}"));
    }
    let is_put_together = matches!(
        view.tree.expr(*key),
        TreeExpr::Call { .. } | TreeExpr::Binary { .. } | TreeExpr::Interpolated(_)
    );
    let is_known = keys.iter().all(|key| to_text(key).is_some());
    let is_instance = owners.iter().any(|owner| match owner {
        ScanValue::Builtin(name) => matches!(&**name, "game" | "workspace"),
        ScanValue::Service(_) => true,
        _ => false,
    });
    let message = "calls a function by a name that is put together as it runs";
    if is_instance && is_put_together && !is_known {
        return Some(message.to_owned());
    }
    // `object[method](object, ...)` in a script that mentions one of the external services.
    let is_own = call.args.first().is_some_and(|first| {
        matches!((view.tree.expr(*base), view.tree.expr(*first)),
            (TreeExpr::Name(owner), TreeExpr::Name(first)) if owner == first)
    });
    let is_open = owners.iter().any(|it| matches!(it, ScanValue::Unknown | ScanValue::Incomplete));
    let is_any_service = owners.contains(&ScanValue::Service(Rc::default()));
    let is_named = |view: &TreeView<'_>| {
        let tokens = &view.tokens;
        let names =
            |it| EXTERNAL_SERVICES.contains(&tokens.token_text(it).trim_matches(['"', '\'']));
        tokens.tokens.iter().any(names)
    };
    (is_own && !is_known && (is_any_service || is_open && is_named(view)))
        .then(|| "calls a function by a name that is not in this script".to_owned())
}
