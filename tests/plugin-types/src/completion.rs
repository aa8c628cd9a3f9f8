//! What calls say that are given the name of a class: `IsA`, `GetService`, `Instance.new` and the
//! like. Definitions cannot express it.

use std::sync::Arc;

use luau_analysis::builtins::GlobalTypesMut;
use luau_analysis::magic::{MagicFunction, MagicFunctionCallContext, MagicRefinementContext};
use luau_analysis::types::{TypeId, TypeKind};
use luau_analysis::{ConfigResolver, DefinitionEnvironment, FileResolver, Frontend};
use luau_common::BString;
use luau_syntax::ast::Expression;
use vector_roblox_api::ApiFacts;

/// Methods that return an instance of the class that they are given, and the classes that have
/// them.
const ALWAYS: [(&str, &str); 1] = [("ServiceProvider", "GetService")];
/// The same, which may find none.
const SOMETIMES: [(&str, &str); 5] = [
    ("ServiceProvider", "FindService"),
    ("Instance", "FindFirstChildOfClass"),
    ("Instance", "FindFirstChildWhichIsA"),
    ("Instance", "FindFirstAncestorOfClass"),
    ("Instance", "FindFirstAncestorWhichIsA"),
];

/// Completes the loaded definitions by what their language cannot express.
pub(crate) fn complete_definitions<R: FileResolver, C: ConfigResolver>(
    frontend: &mut Frontend<R, C>,
) {
    complete_types(frontend);
    let instance = |is_optional| Arc::new(InstanceOfClass { is_optional });
    attach(frontend, "Object", "IsA", Arc::new(IsA));
    for (class, method) in ALWAYS {
        attach(frontend, class, method, instance(false));
    }
    for (class, method) in SOMETIMES {
        attach(frontend, class, method, instance(true));
    }
    let globals = frontend.global_types_mut(DefinitionEnvironment::Globals);
    let statics = globals.binding("Instance").map(|it| it.type_id);
    let new = statics.and_then(|it| property(frontend, it, "new"));
    if let Some(new) = new {
        let mut globals = frontend.global_types_mut(DefinitionEnvironment::Globals);
        globals.graph_mut().attach_magic_function(new, instance(false));
    }
}

/// Takes the metatables from all classes, so that instances of a class and of its base can be compared, and
/// makes the enums' types known by their names, such as `Enum.KeyCode`.
fn complete_types<R: FileResolver, C: ConfigResolver>(frontend: &mut Frontend<R, C>) {
    let facts = ApiFacts::get();
    let mut globals = frontend.global_types_mut(DefinitionEnvironment::Globals);
    let scope = globals.global_scope();
    let found = |globals: &GlobalTypesMut<'_>, name: &str| {
        let types = &globals.scopes().get(scope).exported_type_bindings;
        types.get(&BString::from(name)).cloned()
    };
    for class in facts.classes.keys() {
        if let Some(of) = found(&globals, class).and_then(|it| it.ty)
            && let TypeKind::Extern(class) = &mut globals.arena_mut().get_mut(of).kind
        {
            class.metatable = None;
        }
    }
    let enums = facts.enums.keys().filter_map(|name| {
        Some((BString::from(name.as_str()), found(&globals, &format!("Enum{name}"))?))
    });
    let enums = enums.collect();
    globals.scopes_mut().get_mut(scope).imported_type_bindings.insert(BString::from("Enum"), enums);
}

fn attach<R: FileResolver, C: ConfigResolver>(
    frontend: &mut Frontend<R, C>,
    class: &str,
    method: &str,
    magic: Arc<dyn MagicFunction>,
) {
    let globals = frontend.global_types_mut(DefinitionEnvironment::Globals);
    let scope = globals.scopes().get(globals.global_scope());
    let class = scope.exported_type_bindings.get(&BString::from(class)).and_then(|it| it.ty);
    let method = class.and_then(|class| property(frontend, class, method));
    if let Some(method) = method {
        let mut globals = frontend.global_types_mut(DefinitionEnvironment::Globals);
        globals.graph_mut().attach_magic_function(method, magic);
    }
}

/// The type of a property of a class or table.
fn property<R: FileResolver, C: ConfigResolver>(
    frontend: &mut Frontend<R, C>,
    of: TypeId,
    name: &str,
) -> Option<TypeId> {
    let mut globals = frontend.global_types_mut(DefinitionEnvironment::Globals);
    let graph = globals.graph_mut();
    let name = BString::from(name);
    match graph.kind(graph.follow_type(of)) {
        TypeKind::Extern(class) => class.props.get(&name)?.read_ty,
        TypeKind::Table(table) => table.props.get(&name)?.read_ty,
        _ => None,
    }
}

/// The first argument of a call, if it is a string.
fn named_class(call: Option<Expression<'_>>) -> Option<String> {
    let class = call?.as_call()?.args.first()?.as_string()?.value;
    str::from_utf8(class.as_bytes()).ok().map(str::to_owned)
}

/// Narrows an instance to the class that `IsA` is asked for.
#[derive(Debug)]
struct IsA;

impl MagicFunction for IsA {
    fn infer(&self, _: &mut MagicFunctionCallContext<'_, '_>) -> bool {
        false
    }

    fn refine(&self, context: &mut MagicRefinementContext<'_, '_>) {
        let class = named_class(context.call_site());
        let Some(narrowed) = class.and_then(|it| context.lookup_type(it)?.ty) else { return };
        if let Some(Some(instance)) = context.discriminant_types().first() {
            context.bind_type(*instance, narrowed);
        }
    }
}

/// The result is an instance of the class that is named.
#[derive(Debug)]
struct InstanceOfClass {
    /// Whether there may be none.
    is_optional: bool,
}

impl MagicFunction for InstanceOfClass {
    fn infer(&self, context: &mut MagicFunctionCallContext<'_, '_>) -> bool {
        let class = named_class(Some(context.call_site()));
        let found = class.and_then(|it| context.scopes().lookup_type(context.scope(), it)?.ty);
        let Some(mut of) = found else { return false };
        if self.is_optional {
            let nil = context.builtin_types().nil_type;
            of = context.arena_mut().add_union_type(vec![of, nil]);
        }
        let (result, pack) = (context.result(), context.arena_mut().add_pack_head(vec![of], None));
        context.bind_pack(result, pack);
        true
    }
}
