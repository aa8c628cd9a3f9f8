//! Presets for common requests, worded so that models handle them well.

#[derive(Debug, Clone, Copy)]
pub struct RequestPreset {
    /// The command name, without the slash.
    pub name: &'static str,
    /// The description shown to the user.
    pub about: &'static str,
    /// The text sent to the model.
    pub text: &'static str,
    /// Whether the user has to name an object.
    pub needs_object: bool,
}

impl RequestPreset {
    /// Returns the complete request about `what`.
    pub fn to_request(&self, what: &str) -> String {
        format!("{} {what}", self.text).trim_end().to_owned()
    }
}

pub const FIX: RequestPreset = RequestPreset {
    name: "fix",
    about: "Find the problem and fix it",
    text: "Find the problem here and fix it with the smallest change that works. Explain the cause.",
    needs_object: false,
};

/// Explains a script or a part of the place.
pub const EXPLAIN: RequestPreset = RequestPreset {
    name: "explain",
    about: "Explain a script, or a part of the place",
    text: "Explain this: what it does, how its parts work together, and what to watch out for.",
    needs_object: true,
};

/// Carries out the plan.
pub const BUILD: RequestPreset = RequestPreset {
    name: "build",
    about: "Carry out the plan",
    text: "Carry out the plan, step by step.",
    needs_object: false,
};

/// The request to carry out the remaining steps of a plan.
pub const REST: &str = "Carry out the rest of the plan, step by step.";

/// Whether a request only asks to carry out the plan.
pub fn is_build_request(request: &str) -> bool {
    [BUILD.text, REST].contains(&request.trim())
}

/// Asks for a plan.
pub(super) const PLAN: RequestPreset = RequestPreset {
    name: "plan",
    about: "Make a plan without changing anything yet",
    text: "Make a plan for this, in steps that can each be reviewed separately, and change nothing \
    until I approve it:",
    needs_object: true,
};

pub const PRESETS: [RequestPreset; 4] = [FIX, EXPLAIN, PLAN, BUILD];
