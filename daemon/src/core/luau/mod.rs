//! What Luau's own tools say about a script.
