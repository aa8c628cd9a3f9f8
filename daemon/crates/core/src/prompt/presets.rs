//! What a person asks for often, in words that a model does well with.

/// Something that is asked for often.
#[derive(Debug, Clone, Copy)]
pub struct RequestPreset {
    /// What it is called, without the slash.
    pub name: &'static str,
    /// What it does, for a person.
    pub about: &'static str,
    /// What a model is asked.
    pub text: &'static str,
    /// Whether what it is about has to be said.
    pub needs_object: bool,
}

impl RequestPreset {
    /// The whole request, about something.
    pub fn to_request(&self, what: &str) -> String {
        format!("{} {what}", self.text).trim_end().to_owned()
    }
}

pub const FIX: RequestPreset = RequestPreset {
    name: "fix",
    about: "Find out what is wrong and fix it",
    text: "Find out what is wrong here and fix it with the smallest change that works. Explain \
           the cause.",
    needs_object: false,
};

/// Something is to be understood.
pub const EXPLAIN: RequestPreset = RequestPreset {
    name: "explain",
    about: "Explain a script, or a part of the place",
    text: "Explain this: what it does, how its parts work together, and what to look out for.",
    needs_object: true,
};

/// A plan is to be carried out.
pub const BUILD: RequestPreset = RequestPreset {
    name: "build",
    about: "Carry out the plan",
    text: "Carry out the plan, step by step.",
    needs_object: false,
};

/// What is left of a plan is to be carried out.
pub const REST: &str = "Carry out the rest of the plan, step by step.";

/// Whether a request says nothing but that the plan is to be carried out.
pub fn is_build_request(request: &str) -> bool {
    [BUILD.text, REST].contains(&request.trim())
}

/// A plan is to be made.
pub(super) const PLAN: RequestPreset = RequestPreset {
    name: "plan",
    about: "Make a plan, and change nothing yet",
    text: "Make a plan for this, in steps that can each be judged by themselves, and change nothing before \
           it is agreed upon:",
    needs_object: true,
};

pub const PRESETS: [RequestPreset; 4] = [FIX, EXPLAIN, PLAN, BUILD];
