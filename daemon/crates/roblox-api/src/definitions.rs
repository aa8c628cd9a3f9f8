//! Definitions for Luau's type checker, of what a plugin may use.

use std::fmt::Write as _;

use crate::{ApiFacts, Member, MemberKind, Parameter, TypeFacts};

/// Words that cannot be the name of a parameter.
const KEYWORDS: [&str; 6] = ["function", "end", "repeat", "until", "local", "return"];

/// Types and globals that the facts do not describe, or describe without their type parameters.
const PREAMBLE: &str = "\
declare extern type RBXScriptConnection with
    read Connected: boolean
    function Disconnect(self): ()
end

export type RBXScriptSignal<T... = ...any> = {
    Connect: (self: RBXScriptSignal<T...>, callback: (T...) -> ()) -> RBXScriptConnection,
    ConnectParallel: (self: RBXScriptSignal<T...>, callback: (T...) -> ()) -> RBXScriptConnection,
    Once: (self: RBXScriptSignal<T...>, callback: (T...) -> ()) -> RBXScriptConnection,
    Wait: (self: RBXScriptSignal<T...>) -> T...,
}

declare extern type EnumItem with
    read Name: string
    read Value: number
    read EnumType: Enum
    function IsA(self, enumName: string): boolean
end

declare extern type Enum with
    function GetEnumItems(self): { EnumItem }
    function FromName(self, name: string): EnumItem?
    function FromValue(self, value: number): EnumItem?
end
";

/// Globals with types that the facts do not tell.
const GLOBALS: &str = "\
declare game: DataModel
declare workspace: Workspace
declare Instance: { new: (className: string) -> Instance }
declare script: LuaSourceContainer
declare plugin: Plugin
declare function settings(): GlobalSettings
declare function warn(...: any): ()
declare function tick(): number
declare function time(): number
declare function version(): string
declare task: {
    spawn: <A..., R...>(thread | ((A...) -> R...), A...) -> thread,
    defer: <A..., R...>(thread | ((A...) -> R...), A...) -> thread,
    delay: <A..., R...>(number?, thread | ((A...) -> R...), A...) -> thread,
    wait: (number?) -> number,
    cancel: (thread) -> (),
    synchronize: () -> (),
    desynchronize: () -> (),
}
";

/// Prints definitions for Luau's type checker, in its strict mode.
///
/// Members that a plugin may not use and deprecated members are left out, except those for which
/// `keeps` holds. That the result of `GetService`, `Instance.new` and the like depends on an argument
/// is left to the type checker: the time that it takes for overloads grows exponentially with their
/// number.
pub fn print_definitions(facts: &ApiFacts, keeps: impl Fn(&TypeFacts, &Member) -> bool) -> String {
    let mut printer = Printer { facts, text: PREAMBLE.to_owned() };
    printer.print_enums();
    for datatype in facts.datatypes.values() {
        printer.print_datatype(datatype);
    }
    let mut printed = Vec::new();
    for class in facts.classes.values() {
        printer.print_class(class, &keeps, &mut printed);
    }
    printer.text.push_str(GLOBALS);
    printer.text
}

struct Printer<'a> {
    facts: &'a ApiFacts,
    text: String,
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
        && !name.starts_with(|it: char| it.is_ascii_digit())
}

/// The types that [`PREAMBLE`] has.
fn is_predefined(datatype: &str) -> bool {
    matches!(
        datatype,
        "RBXScriptConnection" | "RBXScriptSignal" | "Enum" | "EnumItem" | "Enums" | "Instance"
    )
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn print_enums(&mut self) {
        let mut all = String::new();
        for (name, facts) in &self.facts.enums {
            let _ = writeln!(self.text, "declare extern type Enum{name} extends EnumItem with end");
            let _ = writeln!(self.text, "declare extern type EnumOf{name} extends Enum with");
            for item in facts.items.iter().filter(|it| is_name(&it.name)) {
                let _ = writeln!(self.text, "    read {}: Enum{name}", item.name);
            }
            self.line("end");
            let _ = writeln!(all, "    {name}: EnumOf{name},");
        }
        let _ = write!(self.text, "declare Enum: {{\n{all}}}\n");
    }

    /// The type that the reference writes as `name`.
    fn type_of(&self, name: &str) -> String {
        if let Some(name) = name.strip_suffix('?') {
            let some = self.type_of(name);
            return if some == "any" { some } else { format!("({some})?") };
        }
        if let Some(item) = name.strip_prefix("List<").and_then(|it| it.strip_suffix('>')) {
            return format!("{{ {} }}", self.type_of(item));
        }
        if let Some(name) = name.strip_prefix("Datatype.") {
            return name.to_owned();
        }
        let name = name.strip_prefix("Enum.").unwrap_or(name);
        match name {
            "bool" | "boolean" => "boolean".to_owned(),
            "float" | "double" | "int" | "int64" | "number" => "number".to_owned(),
            "string" | "ContentId" | "BinaryString" | "ProtectedString" => "string".to_owned(),
            "buffer" | "thread" => name.to_owned(),
            "Instances" => "{ Instance }".to_owned(),
            "Array" => "{ any }".to_owned(),
            "Function" | "function" => "(...any) -> ...any".to_owned(),
            _ if self.facts.classes.contains_key(name) => name.to_owned(),
            _ if self.facts.enums.contains_key(name) => format!("Enum{name}"),
            _ if self.facts.datatypes.contains_key(name) => name.to_owned(),
            _ => "any".to_owned(),
        }
    }

    /// The parameters of a declaration, or of a function type.
    fn params(&self, params: &[Parameter], in_type: bool) -> String {
        self.params_with(params, in_type, Parameter::is_optional)
    }

    fn params_with(
        &self,
        params: &[Parameter],
        in_type: bool,
        is_optional: impl Fn(&Parameter) -> bool,
    ) -> String {
        let mut printed = String::new();
        for param in params {
            if !printed.is_empty() {
                printed.push_str(", ");
            }
            let name = param.value_type.as_deref().unwrap_or("Variant");
            if name == "Tuple" {
                printed.push_str(if in_type { "...any" } else { "...: any" });
                break;
            }
            let is_keyword = KEYWORDS.contains(&param.name.as_str());
            let called = if is_keyword || !is_name(&param.name) { "it" } else { &param.name };
            let mut of = self.type_of(name);
            if is_optional(param) && of != "any" && !of.ends_with('?') {
                of = format!("({of})?");
            }
            let _ = write!(printed, "{called}: {of}");
        }
        printed
    }

    fn returns(&self, returns: &[String]) -> String {
        match returns {
            [] => "()".to_owned(),
            [one] if one == "()" || one == "null" => "()".to_owned(),
            [one] if one == "Tuple" => "...any".to_owned(),
            [one] => {
                let of = self.type_of(one);
                if of.contains("->") { format!("({of})") } else { of }
            }
            several => {
                let all: Vec<String> = several.iter().map(|it| self.type_of(it)).collect();
                format!("({})", all.join(", "))
            }
        }
    }

    fn function_type(&self, member: &Member) -> String {
        format!("({}) -> {}", self.params(&member.params, true), self.returns(&member.returns))
    }

    fn print_datatype(&mut self, facts: &TypeFacts) {
        if is_predefined(&facts.name) {
            return;
        }
        let name = &facts.name;
        let is_static = |member: &Member| {
            facts.members.iter().any(|it| it.kind == MemberKind::Constant && it.name == member.name)
                || member.value_type.as_deref() == Some(name)
                    && matches!(member.name.as_str(), "identity" | "zero" | "one" | "none")
        };
        let mut own = String::new();
        let mut statics: Vec<(String, Vec<String>)> = Vec::new();
        for member in facts.members.iter().filter(|it| is_name(&it.name)) {
            let of = member.value_type.as_deref().unwrap_or("Variant");
            match member.kind {
                MemberKind::Constant => statics.push((member.name.clone(), vec![self.type_of(of)])),
                MemberKind::Property if is_static(member) => {
                    statics.push((member.name.clone(), vec![self.type_of(of)]));
                }
                MemberKind::Property => {
                    let _ = writeln!(own, "    {}: {}", member.name, self.type_of(of));
                }
                MemberKind::Constructor | MemberKind::Function => {
                    let returns = match member.kind {
                        MemberKind::Constructor => name.clone(),
                        _ => self.returns(&member.returns),
                    };
                    // Another one makes the same of nothing.
                    let is_covered = |it: &Member| {
                        it.name == member.name && it.params.iter().all(Parameter::is_optional)
                    };
                    if member.params.is_empty()
                        && facts.members.iter().any(|it| !it.params.is_empty() && is_covered(it))
                    {
                        continue;
                    }
                    let one = format!("({}) -> {returns}", self.params(&member.params, true));
                    match statics.iter_mut().find(|(called, _)| *called == member.name) {
                        Some((_, all)) => all.push(one),
                        None => statics.push((member.name.clone(), vec![one])),
                    }
                }
                MemberKind::Method => {
                    let params = self.params(&member.params, false);
                    let comma = if params.is_empty() { "" } else { ", " };
                    let returns = self.returns(&member.returns);
                    let _ = writeln!(
                        own,
                        "    function {}(self{comma}{params}): {returns}",
                        member.name
                    );
                }
                MemberKind::Event | MemberKind::Callback => {}
            }
        }
        for (symbol, method) in
            [("+", "__add"), ("-", "__sub"), ("*", "__mul"), ("/", "__div"), ("//", "__idiv")]
        {
            let ways = facts.operations.iter().filter(|it| it.operation == symbol);
            let ways: Vec<String> = ways
                .filter(|it| it.type_a == *name)
                .map(|it| {
                    let (other, result) = (self.type_of(&it.type_b), self.type_of(&it.return_type));
                    format!("((self: {name}, other: {other}) -> {result})")
                })
                .collect();
            if !ways.is_empty() {
                let _ = writeln!(own, "    {method}: {}", ways.join(" & "));
            }
        }
        let _ = write!(self.text, "declare extern type {name} with\n{own}end\n");
        if !statics.is_empty() {
            let _ = writeln!(self.text, "declare {name}: {{");
            statics.dedup_by(|one, other| one.0 == other.0);
            for (called, all) in statics {
                let all: Vec<String> = match &all[..] {
                    [one] => vec![one.clone()],
                    several => several.iter().map(|it| format!("({it})")).collect(),
                };
                let _ = writeln!(self.text, "    {called}: {},", all.join(" & "));
            }
            self.line("}");
        }
    }

    /// Prints a class after the one that it inherits from.
    fn print_class<'f>(
        &mut self,
        facts: &'f TypeFacts,
        keeps: &impl Fn(&TypeFacts, &Member) -> bool,
        printed: &mut Vec<&'f str>,
    ) where
        Self: 'f,
    {
        if printed.contains(&facts.name.as_str()) {
            return;
        }
        let all = ApiFacts::get();
        if let Some(base) = facts.inherits.first().and_then(|base| all.classes.get(base)) {
            self.print_class(base, keeps, printed);
        }
        printed.push(&facts.name);
        let mut head = format!("declare extern type {}", facts.name);
        if let Some(base) = facts.inherits.first() {
            let _ = write!(head, " extends {base}");
        }
        head.push_str(" with");
        self.line(&head);
        for member in facts.members.iter().filter(|it| is_name(&it.name) && it.is_readable()) {
            if !member.is_deprecated() || keeps(facts, member) {
                let line = self.class_member(facts, member);
                self.line(&line);
            }
        }
        self.line("end");
    }

    fn class_member(&self, class: &TypeFacts, member: &Member) -> String {
        let name = &member.name;
        match member.kind {
            MemberKind::Method => {
                let is_optional = |it: &Parameter| class.is_optional(member, it);
                let params = self.params_with(&member.params, false, is_optional);
                let comma = if params.is_empty() { "" } else { ", " };
                let returns = self.returns(&member.returns);
                format!("    function {name}(self{comma}{params}): {returns}")
            }
            MemberKind::Event => {
                let types: Vec<String> = (member.params.iter())
                    .map(|it| self.type_of(it.value_type.as_deref().unwrap_or("Variant")))
                    .collect();
                format!("    read {name}: RBXScriptSignal<{}>", types.join(", "))
            }
            MemberKind::Callback => format!("    {name}: {}", self.function_type(member)),
            MemberKind::Property
            | MemberKind::Constructor
            | MemberKind::Constant
            | MemberKind::Function => {
                let written = member.value_type.as_deref().unwrap_or("Variant");
                let mut of = self.type_of(written);
                // A reference can be nil, unless it is to a service or a part of one.
                let is_service = |class: &str| {
                    self.facts.classes.get(class).is_some_and(|it| it.has_tag("Service"))
                };
                if self.facts.classes.contains_key(&of)
                    && !is_service(&of)
                    && !is_service(&class.name)
                {
                    of = format!("{of}?");
                }
                let read = if member.is_writable() { "" } else { "read " };
                format!("    {read}{name}: {of}")
            }
        }
    }
}
