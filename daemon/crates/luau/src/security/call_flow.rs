//! Where the values of parameters come from: calls of the script's own functions, and the data that
//! players, stores and other programs pass to its handlers.
//!
//! It resolves names only and must not evaluate expressions.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::tree::{BindingId, BindingSource, ExprId, FunctionId, ScanTree, TreeExpr};

/// The source of data from outside the script, worded to follow "from".
pub(super) type DataSource = &'static str;

pub(super) const CLIENT: DataSource = "what a player's client sends";
const SERVER: DataSource = "what the server sends";
const CHAT: DataSource = "a chat message";
const STORE: DataSource = "a data store";
const INTERNET: DataSource = "the internet";
const MESSAGE: DataSource = "a message of another server";

/// Events and callbacks whose parameters are untrusted, from the given parameter on.
const HANDLER_SOURCES: [(&str, usize, DataSource); 12] = [
    ("OnServerEvent", 1, CLIENT),
    ("OnServerInvoke", 1, CLIENT),
    ("OnClientEvent", 0, SERVER),
    ("OnClientInvoke", 0, SERVER),
    ("Chatted", 0, CHAT),
    ("MessageReceived", 0, CHAT),
    ("SendingMessage", 0, CHAT),
    ("OnIncomingMessage", 0, CHAT),
    ("OnChatWindowAdded", 0, CHAT),
    ("ShouldDeliverCallback", 0, CHAT),
    ("Triggered", 1, CHAT),
    ("PlayerChatted", 1, CHAT),
];

/// Methods that return untrusted data.
const RESULT_SOURCES: [(&str, DataSource); 31] = [
    ("GetAsync", STORE),
    ("GetVersionAsync", STORE),
    ("GetVersionAtTimeAsync", STORE),
    ("GetCurrentPage", STORE),
    ("GetRangeAsync", STORE),
    ("ReadAsync", STORE),
    ("RemoveAsync", STORE),
    ("UpdateAsync", STORE),
    ("IncrementAsync", STORE),
    ("GetSharedTable", STORE),
    ("GetConfigAsync", STORE),
    ("RequestAsync", INTERNET),
    ("PostAsync", INTERNET),
    ("HttpGet", INTERNET),
    ("HttpGetAsync", INTERNET),
    ("GetProductInfo", "the description of an item"),
    ("GetProductInfoAsync", "the description of an item"),
    ("GetGroupInfoAsync", "the description of a group"),
    ("GetNameFromUserIdAsync", "a user's name"),
    ("GetUserIdFromNameAsync", "a user's number"),
    ("GetUserInfosByUserIdsAsync", "a user's name"),
    ("GetFriendsAsync", "a user's friends"),
    ("GetAttribute", "an attribute"),
    ("GetAttributes", "an attribute"),
    ("GetTags", "a tag"),
    ("GetJoinData", "the data of a teleport"),
    ("GetTeleportData", "the data of a teleport"),
    ("GetLocalPlayerTeleportData", "the data of a teleport"),
    ("GetTeleportSetting", "the data of a teleport"),
    ("InvokeClient", CLIENT),
    ("InvokeServer", SERVER),
];

/// Properties that may hold text of any author.
const PROPERTY_SOURCES: [(&str, DataSource); 6] = [
    ("Value", "a value object"),
    ("Text", "a text on the screen"),
    ("Name", "a name"),
    ("DisplayName", "a user's name"),
    ("Description", "a description"),
    ("ToolTip", "a property"),
];

/// The source of the untrusted data that a method returns; None for other methods.
pub(super) fn result_source(name: &str) -> Option<DataSource> {
    RESULT_SOURCES.iter().find(|(method, _)| *method == name).map(|(_, source)| *source)
}

/// The source of the untrusted data that a property may hold; None for other properties.
pub(super) fn property_source(name: &str) -> Option<DataSource> {
    PROPERTY_SOURCES.iter().find(|(property, _)| *property == name).map(|(_, source)| *source)
}

/// A call of one of the script's functions.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallSite {
    pub(super) call: ExprId,
    /// Number of arguments before those of the function, as in `pcall(f, ...)`.
    argument_offset: usize,
}

impl CallSite {
    pub(super) fn arguments(self, tree: &ScanTree) -> &[ExprId] {
        match tree.expr(self.call) {
            TreeExpr::Call { args, .. } => args.get(self.argument_offset..).unwrap_or_default(),
            _ => &[],
        }
    }
}

/// The call sites of the script's functions, and the sources of their parameters.
#[derive(Debug, Default)]
pub(super) struct CallFlow {
    pub(super) sites: HashMap<FunctionId, Vec<CallSite>>,
    /// The functions that can only be called from the known sites.
    pub(super) fully_known: HashSet<FunctionId>,
    /// Where a function is referred to other than by a direct call, such as by an alias or as an
    /// argument.
    pub(super) references: HashMap<FunctionId, Vec<ExprId>>,
    /// The parameters that receive data from outside.
    pub(super) parameter_sources: HashMap<BindingId, DataSource>,
    /// Number of calls that name a function directly.
    direct_calls: HashMap<FunctionId, usize>,
}

/// Maximum number of functions that a name may refer to; with more, none is assumed.
const MAX_NAMESAKES: usize = 8;
/// Maximum number of call sites per function.
const MAX_SITES: usize = 2_000;

/// For functions that call one of their arguments: the index of that argument, and of the first
/// argument that is passed on to it.
pub(super) fn forwarding_offsets(name: &str) -> Option<(usize, usize)> {
    Some(match name {
        "pcall" | "ypcall" | "spawn" | "task.spawn" | "task.defer" | "coroutine.wrap"
        | "coroutine.create" | "coroutine.resume" => (0, 1),
        "xpcall" => (0, 2),
        "delay" | "task.delay" | "select" => (1, 2),
        _ => return None,
    })
}

impl CallFlow {
    pub(super) fn from_tree(tree: &ScanTree) -> Self {
        let mut flow = Self::default();
        let mut called = HashSet::new();
        for id in tree.expr_ids() {
            if let TreeExpr::Call { callee, args, is_method } = tree.expr(id) {
                called.insert(*callee);
                flow.record_call(tree, id, *callee, args, *is_method);
            }
        }
        for id in tree.expr_ids().filter(|id| !called.contains(id)) {
            let is_read = match tree.expr(id) {
                TreeExpr::Name(_) => true,
                TreeExpr::Index { is_written, .. } => !is_written,
                _ => false,
            };
            for function in resolve_functions(tree, id).into_iter().filter(|_| is_read) {
                flow.references.entry(function).or_default().push(id);
            }
        }
        for (name, skip, source) in HANDLER_SOURCES {
            for write in tree.field_writes.get(name).into_iter().flatten() {
                flow.record_handler(tree, write.value, skip, source);
            }
        }
        for binding in tree.bindings.iter().filter(|binding| !binding.is_global) {
            if let [BindingSource::Value(value)] = binding.definitions[..]
                && let Some(function) = function_literal(tree, value)
                && flow
                    .direct_calls
                    .get(&function)
                    .is_some_and(|it| *it == binding.read_count as usize)
            {
                flow.fully_known.insert(function);
            }
        }
        flow
    }

    fn record_call(
        &mut self,
        tree: &ScanTree,
        call: ExprId,
        callee: ExprId,
        args: &[ExprId],
        is_method: bool,
    ) {
        for function in resolve_functions(tree, callee) {
            self.add_call_site(function, CallSite { call, argument_offset: 0 });
        }
        self.record_direct_call(tree, callee);
        // The functions that these return are called elsewhere, with other arguments.
        let is_made = |name: &str| matches!(name, "coroutine.wrap" | "coroutine.create");
        let name = global_name(tree, callee).filter(|name| !is_made(name));
        if let Some((at, skip)) = name.and_then(|name| forwarding_offsets(&name))
            && let Some(function) = args.get(at)
        {
            self.record_direct_call(tree, *function);
            for function in resolve_functions(tree, *function) {
                self.add_call_site(function, CallSite { call, argument_offset: skip });
            }
        }
        let TreeExpr::Index { base, key, .. } = tree.expr(callee) else { return };
        let Some(method) = tree.literal_text(*key).filter(|_| is_method) else { return };
        match &**method {
            "Connect" | "Once" | "ConnectParallel" | "connect" => {
                let TreeExpr::Index { key: event, .. } = tree.expr(*base) else { return };
                let event = tree.literal_text(*event).and_then(|name| handler_source(name));
                if let (Some((skip, source)), Some(function)) = (event, args.first()) {
                    self.record_handler(tree, *function, skip, source);
                }
            }
            "SubscribeAsync" => {
                for arg in args {
                    self.record_handler(tree, *arg, 0, MESSAGE);
                }
            }
            "UpdateAsync" => {
                for arg in args {
                    self.record_handler(tree, *arg, 0, STORE);
                }
            }
            _ => {}
        }
    }

    /// Records a call of a function by the name of its declaration, or of a coroutine made of it.
    fn record_direct_call(&mut self, tree: &ScanTree, callee: ExprId) {
        let named = wrapped_function(tree, callee).unwrap_or(callee);
        if let TreeExpr::Name(binding) = tree.expr(named)
            && let [BindingSource::Value(value)] = tree.binding(*binding).definitions[..]
            && let Some(function) = function_literal(tree, value)
        {
            *self.direct_calls.entry(function).or_default() += 1;
        }
    }

    fn add_call_site(&mut self, function: FunctionId, site: CallSite) {
        let sites = self.sites.entry(function).or_default();
        if sites.len() < MAX_SITES {
            sites.push(site);
        }
    }

    fn record_handler(&mut self, tree: &ScanTree, value: ExprId, skip: usize, source: DataSource) {
        for function in resolve_functions(tree, value) {
            for parameter in tree.function(function).parameters.iter().skip(skip) {
                self.parameter_sources.insert(*parameter, source);
            }
        }
    }
}

fn handler_source(name: &str) -> Option<(usize, DataSource)> {
    HANDLER_SOURCES
        .iter()
        .find(|(event, ..)| *event == name)
        .map(|(_, skip, source)| (*skip, *source))
}

fn function_literal(tree: &ScanTree, id: ExprId) -> Option<FunctionId> {
    match tree.expr(id) {
        TreeExpr::Function(function) => Some(*function),
        _ => None,
    }
}

/// The argument of a `coroutine.wrap(function)` call.
fn wrapped_function(tree: &ScanTree, id: ExprId) -> Option<ExprId> {
    let TreeExpr::Call { callee, args, .. } = tree.expr(id) else { return None };
    let name = global_name(tree, *callee)?;
    args.first().copied().filter(|_| &*name == "coroutine.wrap")
}

/// The functions of the script that an expression may refer to, also through aliases.
pub(super) fn resolve_functions(tree: &ScanTree, id: ExprId) -> Vec<FunctionId> {
    let mut found = Vec::new();
    let mut left = MAX_VISITED;
    collect_functions(tree, id, MAX_ALIASES, &mut left, &mut found);
    if found.len() > MAX_NAMESAKES { Vec::new() } else { found }
}

/// Maximum length of a chain of aliases, and maximum number of values visited for one call.
const MAX_ALIASES: usize = 4;
const MAX_VISITED: usize = 40;

fn collect_functions(
    tree: &ScanTree,
    id: ExprId,
    aliases: usize,
    left: &mut usize,
    found: &mut Vec<FunctionId>,
) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    let mut follow = |value: ExprId, left: &mut usize| match function_literal(tree, value) {
        Some(function) if found.contains(&function) => {}
        Some(function) => found.push(function),
        None if aliases > 0 => collect_functions(tree, value, aliases - 1, left, found),
        None => {}
    };
    match tree.expr(id) {
        TreeExpr::Function(_) => follow(id, left),
        TreeExpr::Name(binding) => {
            for definition in tree.binding(*binding).definitions.iter().take(MAX_NAMESAKES + 1) {
                if let BindingSource::Value(value) = definition {
                    follow(*value, left);
                }
            }
        }
        TreeExpr::Index { base, key, .. } => {
            let Some(name) = tree.literal_text(*key) else { return };
            // Fields of globals such as `CFrame.new` do not belong to the script.
            let is_foreign = |binding: BindingId| {
                let global = tree.binding(binding);
                let is_written = tree.binding_writes.contains_key(&(binding, name.clone()));
                global.is_global && global.definitions.is_empty() && !is_written
            };
            if let TreeExpr::Name(binding) = tree.expr(*base)
                && is_foreign(*binding)
            {
                return;
            }
            let writes = tree.field_writes.get(name).into_iter().flatten().map(|it| it.value);
            let constructed = tree.constructor_fields.get(name).into_iter().flatten().copied();
            for value in writes.chain(constructed).take(MAX_NAMESAKES + 1) {
                follow(value, left);
            }
        }
        _ => {
            if let Some(function) = wrapped_function(tree, id) {
                follow(function, left);
            }
        }
    }
}

/// The name of a global or library function, also if it is called through a local alias.
pub(super) fn global_name(tree: &ScanTree, id: ExprId) -> Option<Rc<str>> {
    let id = resolve_alias(tree, id);
    match tree.expr(id) {
        TreeExpr::Name(binding) => {
            let binding = tree.binding(*binding);
            (binding.is_global && binding.definitions.is_empty()).then(|| binding.name.clone())
        }
        TreeExpr::Index { base, key, .. } => {
            let base = resolve_alias(tree, *base);
            let owner = match tree.expr(base) {
                TreeExpr::Name(_) => global_name(tree, base)?,
                _ => return None,
            };
            Some(format!("{owner}.{}", tree.literal_text(*key)?).into())
        }
        _ => None,
    }
}

/// Follows a variable that is assigned only once to the expression that it stands for.
pub(super) fn resolve_alias(tree: &ScanTree, mut id: ExprId) -> ExprId {
    for _ in 0..MAX_ALIASES {
        let TreeExpr::Name(binding) = tree.expr(id) else { break };
        let binding = tree.binding(*binding);
        let [BindingSource::Value(value)] = binding.definitions[..] else { break };
        if binding.is_global
            || !matches!(tree.expr(value), TreeExpr::Name(_) | TreeExpr::Index { .. })
        {
            break;
        }
        id = value;
    }
    id
}
