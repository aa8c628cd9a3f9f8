//! The output of Studio: errors with script and line, and what was printed. Studio reports texts
//! only, and an error with its calls as several of them.

use std::collections::HashMap;

use scene_schemas::api::PluginAnswer;
use scene_schemas::playtest::{
    OutputLevel, OutputMessage, OutputSource, PlaytestEnd, StudioOutput,
};
use serde_json::{Value as Json, json};
use vector_place::{Node, Scene};

use super::report::{put_rows, round};

/// Maximum number of errors, and of other messages, in an answer.
const MOST: usize = 100;

/// Maximum number of calls of an error.
const MAX_STACK: usize = 20;

/// The messages around the calls that led to an error.
const STACK_BEGIN: &str = "Stack Begin";
const STACK_END: &str = "Stack End";

/// An error in the output of Studio.
#[derive(Debug, PartialEq)]
struct StudioError<'a> {
    source: OutputSource,
    /// The text, without the position at its start.
    message: &'a str,
    /// The full name of the script and the line, if the text begins with them.
    position: Option<(&'a str, u32)>,
    /// The calls that led to it, innermost first.
    stack: Vec<&'a str>,
    times: u32,
}

/// Returns the answer of a playtest in Studio.
pub(crate) fn playtest_json(
    scene: &Scene,
    end: PlaytestEnd,
    seconds: f64,
    output: &StudioOutput,
) -> Json {
    let mut json = output_json(scene, output);
    let has_errors = json.get("errors").is_some();
    // What was left out may have been errors.
    if has_errors || output.omitted == 0 {
        json["ok"] = (!has_errors).into();
    }
    json["inStudio"] = true.into();
    json["seconds"] = round(seconds).into();
    json["ended"] = match end {
        PlaytestEnd::TimeLimit => "its seconds were over",
        PlaytestEnd::Ended => "the person or the game ended it earlier",
    }
    .into();
    json
}

/// Returns the output as JSON, errors first.
pub(crate) fn output_json(scene: &Scene, output: &StudioOutput) -> Json {
    let names = ScriptNames::of(scene);
    let (errors, others) = split_errors(&names, &output.messages);
    let mut json = json!({});
    let mut put = |name, rows, count| put_rows(&mut json, name, rows, count);
    let rows = errors.iter().take(MOST).map(|it| error_json(&names, it));
    put("errors", rows.collect(), errors.len());
    // The newest of a long output are what a person sees.
    let skipped = others.len().saturating_sub(MOST);
    put("output", others.iter().skip(skipped).map(|it| message_json(it)).collect(), others.len());
    if output.omitted > 0 {
        json["omitted"] = output.omitted.into();
    }
    json
}

/// Returns the output as lines of text, in order.
pub(crate) fn output_lines(output: &StudioOutput) -> Vec<String> {
    let line = |it: &OutputMessage| {
        let times = if it.count > 1 { format!(" ({} times)", it.count) } else { String::new() };
        format!("[{}] {}: {}{times}", source_name(it.source), level_name(it.level), it.text)
    };
    let mut lines: Vec<String> = output.messages.iter().map(line).collect();
    if output.omitted > 0 {
        lines.push(format!("({} messages were left out.)", output.omitted));
    }
    lines
}

fn source_name(source: OutputSource) -> &'static str {
    match source {
        OutputSource::Edit => "edit",
        OutputSource::Server => "server",
        OutputSource::Client => "client",
    }
}

fn level_name(level: OutputLevel) -> &'static str {
    match level {
        OutputLevel::Output => "print",
        OutputLevel::Info => "info",
        OutputLevel::Warning => "warn",
        OutputLevel::Error => "error",
    }
}

fn error_json(names: &ScriptNames<'_>, error: &StudioError<'_>) -> Json {
    let mut json = json!({ "source": source_name(error.source), "message": error.message });
    if let Some((script, line)) = error.position {
        json["script"] = names.find(script).unwrap_or_else(|| script.to_owned()).into();
        json["line"] = line.into();
    }
    // The innermost call is the position itself.
    if error.stack.len() > 1 {
        json["stack"] = json!(error.stack);
    }
    if error.times > 1 {
        json["times"] = error.times.into();
    }
    json
}

fn message_json(message: &OutputMessage) -> Json {
    let mut json = json!({
        "source": source_name(message.source),
        "kind": level_name(message.level),
        "text": message.text,
    });
    if message.count > 1 {
        json["times"] = message.count.into();
    }
    json
}

/// Splits the errors, each with the calls that led to it, from the other messages. The messages of
/// one source are in order; those of several alternate.
fn split_errors<'m>(
    names: &ScriptNames<'_>,
    messages: &'m [OutputMessage],
) -> (Vec<StudioError<'m>>, Vec<&'m OutputMessage>) {
    let (mut errors, mut others) = (Vec::<StudioError<'m>>::new(), Vec::new());
    // For each source, its last error, and whether its calls are being listed.
    let mut last: HashMap<OutputSource, (usize, bool)> = HashMap::new();
    let mut known: HashMap<(OutputSource, &str), usize> = HashMap::new();
    for message in messages {
        let (source, text) = (message.source, message.text.as_str());
        if message.level == OutputLevel::Error {
            let index = *known.entry((source, text)).or_insert(errors.len());
            if let Some(error) = errors.get_mut(index) {
                error.times += message.count;
            } else {
                let (position, rest) = split_position(names, text);
                let stack = Vec::new();
                let times = message.count;
                errors.push(StudioError { source, message: rest, position, stack, times });
            }
            last.insert(source, (index, false));
            continue;
        }
        let is_info = message.level == OutputLevel::Info;
        match last.get_mut(&source).filter(|_| is_info) {
            Some((_, is_listing)) if text == STACK_BEGIN => *is_listing = true,
            Some((_, is_listing)) if *is_listing && text == STACK_END => *is_listing = false,
            Some((index, true)) => {
                // An error that happens again has the same calls.
                if let Some(error) = errors.get_mut(*index)
                    && error.stack.len() < MAX_STACK
                    && !error.stack.contains(&text)
                {
                    error.stack.push(text);
                }
            }
            _ => {
                // A list of calls whose end is missing ends here.
                if let Some((_, is_listing)) = last.get_mut(&source) {
                    *is_listing = false;
                }
                others.push(message);
            }
        }
    }
    (errors, others)
}

/// Splits `Full.Name:12: text` into the script, the line, and the text. Other texts, such as
/// `at 10:30: text`, begin with nothing that the place has.
fn split_position<'t>(names: &ScriptNames<'_>, text: &'t str) -> (Option<(&'t str, u32)>, &'t str) {
    for (at, _) in text.match_indices(':') {
        let rest = &text[at + 1..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if let Ok(line) = rest[..digits].parse()
            && let Some(message) = rest[digits..].strip_prefix(':')
            && names.may_be_script(&text[..at])
        {
            return (Some((&text[..at], line)), message.trim_start());
        }
    }
    (None, text)
}

/// The scripts of a place by their full names, as the engine writes them: without `game`, and
/// without quotes around names with dots.
struct ScriptNames<'a> {
    scene: &'a Scene,
    by_name: HashMap<String, Node>,
}

impl<'a> ScriptNames<'a> {
    fn of(scene: &'a Scene) -> Self {
        let scripts = scene.subtree(scene.root()).filter(|node| scene.is_script(*node));
        // Of several with the same name, the first.
        let mut by_name = HashMap::new();
        for node in scripts {
            by_name.entry(full_name(scene, node)).or_insert(node);
        }
        Self { scene, by_name }
    }

    /// Returns the path of the script with this full name, or of the one that it is a copy of. It is
    /// written as in the report of a game that is played on a copy.
    fn find(&self, name: &str) -> Option<String> {
        let found = self.by_name.get(name).copied().or_else(|| self.find_original(name))?;
        let path = self.scene.path(found).to_string();
        Some(path.strip_prefix("game.").unwrap_or(&path).to_owned())
    }

    /// Whether a text is the full name of a script, or begins as the names of instances do.
    fn may_be_script(&self, name: &str) -> bool {
        let first = name.split('.').next().unwrap_or_default();
        let mut services = self.scene.children(self.scene.root());
        self.by_name.contains_key(name)
            || (first.len() < name.len() && services.any(|it| self.scene.name(it) == first))
    }

    /// Finds the script of which a player has a copy.
    fn find_original(&self, name: &str) -> Option<Node> {
        const COPIES: [(&str, &str); 3] = [
            (".PlayerScripts.", "StarterPlayer.StarterPlayerScripts."),
            (".PlayerGui.", "StarterGui."),
            (".Backpack.", "StarterPack."),
        ];
        let of_player = name.strip_prefix("Players.");
        let mut copies = COPIES.iter().filter_map(|(place, origin)| {
            let (_, rest) = of_player?.split_once(place)?;
            self.by_name.get(&format!("{origin}{rest}")).copied()
        });
        copies.next().or_else(|| {
            // A character has its player's name, which is not known.
            let (_, rest) = name.strip_prefix("Workspace.")?.split_once('.')?;
            let origin = format!("StarterPlayer.StarterCharacterScripts.{rest}");
            self.by_name.get(&origin).copied()
        })
    }
}

fn full_name(scene: &Scene, node: Node) -> String {
    let mut names = vec![scene.name(node)];
    let mut at = node;
    while let Some(parent) = scene.parent(at).filter(|it| *it != scene.root()) {
        names.push(scene.name(parent));
        at = parent;
    }
    names.reverse();
    names.join(".")
}

/// Describes an answer of the plugin with output; None for other answers.
pub(crate) fn describe_output(scene: &Scene, answer: &PluginAnswer) -> Option<Json> {
    match answer {
        PluginAnswer::Output { output } => Some(output_json(scene, output)),
        PluginAnswer::Played { ended, seconds, output } => {
            Some(playtest_json(scene, *ended, *seconds, output))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use vector_place::FileFormat;

    use super::*;

    fn message(source: OutputSource, level: OutputLevel, text: &str) -> OutputMessage {
        OutputMessage { source, level, text: text.to_owned(), count: 1 }
    }

    fn place() -> Scene {
        let mut scene = Scene::empty(FileFormat::Xml);
        let root = scene.root();
        for service in ["Workspace", "Players"] {
            scene.create(root, service, service);
        }
        let server = scene.create(root, "ServerScriptService", "ServerScriptService");
        scene.create(server, "Script", "Main");
        scene.create(server, "ModuleScript", "a.b:2");
        let starter = scene.create(root, "StarterPlayer", "StarterPlayer");
        let scripts = scene.create(starter, "StarterPlayerScripts", "StarterPlayerScripts");
        scene.create(scripts, "LocalScript", "Input");
        let scripts = scene.create(starter, "StarterCharacterScripts", "StarterCharacterScripts");
        scene.create(scripts, "LocalScript", "Run");
        scene
    }

    #[test]
    fn errors_have_script_line_and_calls() {
        use OutputLevel::{Error, Info, Output};
        use OutputSource::{Client, Server};
        let messages = vec![
            message(Server, Output, "started"),
            message(Server, Error, "ServerScriptService.Main:12: attempt to index nil with 'X'"),
            message(Client, Error, "Players.Ann.PlayerScripts.Input:3: no"),
            message(Server, Info, "Stack Begin"),
            message(Client, Output, "in between"),
            message(Server, Info, "Script 'ServerScriptService.Main', Line 12 - function a"),
            message(Server, Info, "Script 'ServerScriptService.Main', Line 20"),
            message(Server, Info, "Stack End"),
            message(Server, Info, "unrelated"),
            message(Server, Error, "ServerScriptService.Main:12: attempt to index nil with 'X'"),
            message(Client, Error, "Workspace.Ann.Run:7: fell"),
            message(Server, Error, "ServerScriptService.a.b:2:9: colon: in text"),
            message(Server, Error, "Workspace.Gone:1: was removed"),
            message(Server, Error, "Players.Ann.PlayerGui.Made:1: made by a script"),
            message(Server, Error, "no position: at all"),
            message(Server, Error, "closed at 10:30: too late"),
            message(Server, Info, "Stack Begin"),
            message(Server, Output, "Stack End is missing"),
            message(Server, Info, "not a call"),
        ];
        let output = StudioOutput { messages, omitted: 4 };
        let json = playtest_json(&place(), PlaytestEnd::TimeLimit, 5.00049, &output);
        assert_eq!(
            json,
            json!({
                "ok": false,
                "inStudio": true,
                "seconds": 5.0,
                "ended": "its seconds were over",
                "omitted": 4,
                "errors": [
                    {
                        "source": "server", "message": "attempt to index nil with 'X'",
                        "script": "ServerScriptService.Main", "line": 12, "times": 2,
                        "stack": [
                            "Script 'ServerScriptService.Main', Line 12 - function a",
                            "Script 'ServerScriptService.Main', Line 20",
                        ],
                    },
                    {
                        "source": "client", "message": "no",
                        "script": "StarterPlayer.StarterPlayerScripts.Input", "line": 3,
                    },
                    {
                        "source": "client", "message": "fell",
                        "script": "StarterPlayer.StarterCharacterScripts.Run", "line": 7,
                    },
                    {
                        "source": "server", "message": "9: colon: in text",
                        "script": "ServerScriptService.a.b", "line": 2,
                    },
                    { "source": "server", "message": "was removed", "script": "Workspace.Gone", "line": 1 },
                    {
                        "source": "server", "message": "made by a script",
                        "script": "Players.Ann.PlayerGui.Made", "line": 1,
                    },
                    { "source": "server", "message": "no position: at all" },
                    { "source": "server", "message": "closed at 10:30: too late" },
                ],
                "output": [
                    { "source": "server", "kind": "print", "text": "started" },
                    { "source": "client", "kind": "print", "text": "in between" },
                    { "source": "server", "kind": "info", "text": "unrelated" },
                    { "source": "server", "kind": "print", "text": "Stack End is missing" },
                    { "source": "server", "kind": "info", "text": "not a call" },
                ],
            })
        );
    }

    #[test]
    fn silent_game_is_ok() {
        let output = StudioOutput::default();
        let json = playtest_json(&place(), PlaytestEnd::Ended, 1.0, &output);
        assert_eq!(json["ok"], true);
        assert_eq!(json.get("errors"), None);
        assert_eq!(output_json(&place(), &output), json!({}));
        // What was left out may have been errors.
        let output = StudioOutput { omitted: 1, ..output };
        assert_eq!(playtest_json(&place(), PlaytestEnd::Ended, 1.0, &output).get("ok"), None);
    }

    #[test]
    fn long_output_keeps_first_errors_and_newest_lines() {
        let line = |level, n: usize| message(OutputSource::Server, level, &format!("line {n}"));
        let messages =
            (0..300).flat_map(|n| [line(OutputLevel::Error, n), line(OutputLevel::Output, n)]);
        let output = StudioOutput { messages: messages.collect(), omitted: 0 };
        let json = output_json(&place(), &output);
        assert_eq!((&json["errorsCount"], &json["outputCount"]), (&json!(300), &json!(300)));
        assert_eq!(json["errors"][0]["message"], "line 0");
        assert_eq!(json["output"][99]["text"], "line 299");
        assert_eq!(
            (json["errors"].as_array().unwrap().len(), json["output"].as_array().unwrap().len()),
            (100, 100)
        );
    }
}
