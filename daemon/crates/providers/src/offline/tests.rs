//! Tests of the planner: a table of requests, and the loop with a fake executor.

mod refusals;
mod requests;

use serde_json::{Value as Json, json};
use vector_core::prompt::ToolCall;

use super::*;

fn prompt(goal: &str, turns: &[PromptTurn]) -> ModelPrompt {
    ModelPrompt { goal: goal.to_owned(), turns: turns.to_vec(), ..ModelPrompt::default() }
}

/// Runs the loop until a message has no calls. Returns all calls and the last text. Every reply
/// must be reproducible.
fn drive(goal: &str, execute: impl Fn(usize, &ToolCall) -> CallOutcome) -> (Vec<ToolCall>, String) {
    let mut turns = Vec::new();
    let mut calls: Vec<ToolCall> = Vec::new();
    loop {
        let message = next_message(&prompt(goal, &turns));
        assert_eq!(message, next_message(&prompt(goal, &turns)));
        assert!(message.calls.len() <= 1);
        if let Some(text) = &message.text {
            turns.push(PromptTurn::Said(text.clone()));
        }
        let Some(call) = message.calls.into_iter().next() else {
            return (calls, message.text.unwrap());
        };
        let outcome = execute(calls.len(), &call);
        let (tool, args) = (call.tool.clone(), call.args.clone());
        calls.push(call);
        turns.push(PromptTurn::Called { id: None, tool, args, outcome, replay: None });
        assert!(calls.len() < 2_000, "it never ends");
    }
}

fn done(_: usize, call: &ToolCall) -> CallOutcome {
    let found = json!({ "total": 1, "instances": [{ "path": "game.Workspace.Found" }] });
    CallOutcome::Done(if call.tool == FIND_TOOL { found } else { json!({}) })
}

/// Returns the calls of a request, without the plan and `complete`.
fn steps(goal: &str) -> Vec<ToolCall> {
    let (calls, _) = drive(goal, done);
    let (last, calls) = calls.split_last().expect("it calls something");
    assert_eq!(last.tool, "complete");
    match calls.split_first() {
        Some((plan, steps)) if plan.tool == "start_plan" => {
            let proposing = steps.iter().filter(|call| call.tool != FIND_TOOL).count();
            assert_eq!(plan.args["steps"].as_array().unwrap().len(), proposing);
            steps.to_vec()
        }
        _ => {
            assert_eq!(calls.iter().filter(|call| call.tool != FIND_TOOL).count(), 1);
            calls.to_vec()
        }
    }
}

#[track_caller]
fn check(goal: &str, expected: Json) {
    let got: Vec<Json> =
        steps(goal).into_iter().map(|call| json!([call.tool, call.args])).collect();
    assert_eq!(Json::Array(got), expected, "{goal}");
}

#[test]
fn rename_and_set_requests_are_parsed() {
    check(
        "rename game.Workspace.Part to Wall",
        json!([["rename_instance", {"path": "game.Workspace.Part", "newName": "Wall"}]]),
    );
    check(
        "Please RENAME game.Workspace[\"My Part\"][2] TO \"A; then B\"",
        json!([["rename_instance",
            {"path": "game.Workspace[\"My Part\"][2]", "newName": "A; then B"}]]),
    );
    check(
        "set Anchored = true, Size = 1,2,3 on all the parts",
        json!([["set_properties",
            {"selector": "Part", "props": {"Anchored": true, "Size": [1, 2, 3]}}]]),
    );
    check(
        "set @Speed = 1.5 on game.Workspace.Car",
        json!([["set_properties", {"path": "game.Workspace.Car", "props": {"@Speed": 1.5}}]]),
    );
    for verb in ["recolour", "recolor", "Color", "paint"] {
        check(
            &format!("{verb} #Wall to bright blue"),
            json!([["set_properties", {"selector": "#Wall", "props": {"Color": "#0d69ac"}}]]),
        );
    }
}

#[test]
fn script_requests_are_parsed() {
    let main = "game.ServerScriptService.Main";
    let edits = |text: &str| {
        let start = json!({"line": 0, "character": 0});
        json!([["apply_edit",
            {"path": main, "edits": [{"start": start, "end": start, "text": text}]}]])
    };
    check(&format!("comment {main}: Checked: yes"), edits("-- Checked: yes\n"));
    check(&format!("comment {main}: \"a; b\\n\\nc\""), edits("-- a; b\n--\n-- c\n"));
    check(&format!("insert comment \"a\" in {main}"), edits("-- a\n"));
    check(&format!("add a comment \"a\" in {main}"), edits("-- a\n"));
    check(
        "replace \"FindFirstChild(\" with \"WaitForChild(\" in all scripts",
        json!([["replace_text", {"selector": "LuaSourceContainer", "search": "FindFirstChild(",
            "replace": "WaitForChild(", "all": true}]]),
    );
    check(
        &format!("replace \"a\\\"\" with \"\" in {main}"),
        json!([["replace_text", {"path": main, "search": "a\"", "replace": ""}]]),
    );
    check(
        "replace \"a\" with \"b\" in ModuleScript > Script",
        json!([["replace_text", {"selector": "ModuleScript > Script", "search": "a",
            "replace": "b", "all": true}]]),
    );
}

#[test]
fn delete_move_and_clone_requests_are_parsed() {
    check(
        "delete Part[Name = \"a to b\"], .Old:not(Model)",
        json!([["delete_instance", {"selector": "Part[Name = \"a to b\"], .Old:not(Model)"}]]),
    );
    check("remove game.Workspace.A", json!([["delete_instance", {"path": "game.Workspace.A"}]]));
    check(
        "move .Tree to game.Workspace.Forest",
        json!([["move_instance", {"selector": ".Tree", "parentPath": "game.Workspace.Forest"}]]),
    );
    check(
        "clone game.Workspace.Car to game.ServerStorage as Spare",
        json!([["clone_instance", {"path": "game.Workspace.Car",
            "parentPath": "game.ServerStorage", "name": "Spare"}]]),
    );
    check("copy game.Workspace.Car", json!([["clone_instance", {"path": "game.Workspace.Car"}]]));
}

#[test]
fn requests_can_be_chained() {
    check(
        "delete .A; delete .B\ndelete .C, then delete .D",
        json!([
            ["delete_instance", {"selector": ".A"}],
            ["delete_instance", {"selector": ".B"}],
            ["delete_instance", {"selector": ".C"}],
            ["delete_instance", {"selector": ".D"}],
        ]),
    );
    let (calls, _) = drive("delete .A; rename game.Workspace.B to C", done);
    assert_eq!(calls[0].args, json!({"steps": ["Delete .A", "Rename game.Workspace.B to C"]}));
    assert_eq!(calls[3].args, json!({"summary": "Deleted .A. Renamed game.Workspace.B to C."}));
}

#[test]
fn small_grid_is_one_model_with_part_per_cell() {
    let calls = steps("grid 3x3 of red neon parts named Lights spacing 6 at 0,5,0");
    assert_eq!(calls.len(), 10);
    assert!(calls.iter().all(|call| call.tool == "create_instance"));
    assert_eq!(
        calls[0].args,
        json!({"className": "Model", "parentPath": "game.Workspace", "props": {"Name": "Lights"}})
    );
    assert_eq!(
        calls[1].args,
        json!({
            "className": "Part",
            "parentPath": "game.Workspace.Lights",
            "props": {
                "Name": "Cell_1_1",
                "Anchored": true,
                "Size": [4, 1, 4],
                "CFrame": {
                    "__t": "CFrame",
                    "position": [-6, 5, -6],
                    "orientation": [1, 0, 0, 0, 1, 0, 0, 0, 1],
                },
                "Material": "Neon",
                "Color": "#ff0000",
            },
        })
    );
    assert_eq!(calls[9].args["props"]["Name"], "Cell_3_3");
    for same in [
        "make a 3x3 grid of red neon parts called Lights spacing 6 at (0, 5, 0)",
        "Please build a grid 3 by 3 of the neon red blocks named \"Lights\" at 0, 5, 0 \
         size 4,1,4 spacing 6 in game.Workspace",
        "3 x 3 grid red neon part at 0,5,0 spacing 6 size 4 x 1 x 4 named Lights",
    ] {
        assert_eq!(steps(same), calls, "{same}");
    }
}

#[test]
fn large_grid_is_created_row_by_row() {
    let calls = steps("grid 5x20 of parts size 1.5x1x1.5 in game.Workspace[\"a b\"]");
    assert_eq!(calls.len(), 6);
    assert_eq!(calls[1].args["parentPath"], "game.Workspace[\"a b\"].Grid");
    assert_eq!(calls[5].args["props"]["Name"], "Row_5");
    let cells = calls[5].args["children"].as_array().unwrap();
    assert_eq!(cells.len(), 20);
    assert_eq!(cells[19]["props"]["Name"], "Cell_5_20");
    assert_eq!(cells[19]["props"]["CFrame"]["position"], json!([33.25, 0.5, 7]));
    assert_eq!(steps("grid 50x50 of parts").len(), 51);
    assert_eq!(steps("grid 8x8 of parts").len(), 65);
}

#[test]
fn farm_has_soil_fence_and_scripts() {
    let calls = steps("farm 10x10");
    assert_eq!(calls.len(), 20);
    let tools: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
    assert_eq!(
        tools[16..],
        ["open_or_create_script", "write_script", "open_or_create_script", "write_script"]
    );
    assert_eq!(calls[1].args["children"].as_array().unwrap().len(), 10);
    assert_eq!(
        calls[16].args,
        json!({"parentPath": "game.Workspace.Farm", "name": "Crop", "className": "ModuleScript"})
    );
    assert_eq!(calls[17].args["path"], "game.Workspace.Farm.Crop");
    assert_eq!(calls[19].args["path"], "game.Workspace.Farm.FarmServer");
    assert_eq!(steps("farm 40x40").len(), 50);
    assert_eq!(steps("farm 1x1").len(), 11);
}

#[test]
fn farm_scripts_compile() {
    for source in [farm::CROP, farm::FARM_SERVER] {
        assert!(source.starts_with("--!strict\n"));
        mlua::chunk::Compiler::new().compile(source).unwrap();
    }
    assert!(mlua::chunk::Compiler::new().compile("local = 1").is_err());
}

#[test]
fn later_steps_use_the_path_of_the_created_instance() {
    let (calls, _) = drive("farm 2x2", |_, call| match call.tool.as_str() {
        "create_instance" if call.args["props"]["Name"] == "Farm" => {
            CallOutcome::Done(json!({"path": "game.Workspace.Farm[2]"}))
        }
        _ => CallOutcome::Done(json!({"text": ""})),
    });
    assert_eq!(calls[2].args["parentPath"], "game.Workspace.Farm[2]");
    let written = calls.iter().find(|call| call.tool == "write_script").unwrap();
    assert_eq!(written.args["path"], "game.Workspace.Farm[2].Crop");
}

#[test]
fn refusal_stops_the_plan_without_completing() {
    let refuse = |stop: usize| {
        let (calls, text) = drive("delete .A; delete .B; delete .C", |at, call| {
            if at == stop {
                CallOutcome::Refused("You said no.".to_owned())
            } else {
                done(at, call)
            }
        });
        assert_eq!(calls.len(), stop + 1);
        assert_eq!(calls.iter().any(|call| call.tool == "complete"), stop == 4);
        text
    };
    assert!(
        refuse(0).starts_with("I stopped before the first step, because the plan was refused. You")
    );
    let said = refuse(1);
    assert!(
        said.starts_with("I stopped at step 1 of 3, \"Delete .A\", which was not done. You said")
    );
    assert!(said.contains("no. Nothing was changed."), "{said}");
    assert!(refuse(2).contains("The step before it is done and remains, and no later step"));
    assert!(refuse(3).contains("The 2 steps before it are done and remain. Request"));
    assert!(
        refuse(4)
            .starts_with("All 3 steps are done, but completing the task was refused. You said no.")
    );
}

#[test]
fn comments_on_a_proposal_are_not_quoted_as_a_refusal() {
    let (_, text) = drive("delete .A; delete .B", |at, call| match at {
        1 => CallOutcome::Refused(format!("{CHANGES_ASKED}\n#1 On the whole proposal: not this")),
        _ => done(at, call),
    });
    assert!(text.contains("which was not done. You asked for changes. Without a model"), "{text}");
    assert!(!text.contains("not this"), "{text}");
}

#[test]
fn ask_mode_only_describes_the_steps() {
    for (goal, says) in [
        ("delete .A", "as one step:\n- Delete .A\nNothing was changed"),
        ("grid 50x50", "- and 31 more\nNothing was changed"),
    ] {
        let message =
            next_message(&ModelPrompt { interaction: InteractionMode::Ask, ..prompt(goal, &[]) });
        assert!(message.calls.is_empty() && !message.is_declined);
        let text = message.text.unwrap();
        assert!(text.contains(says), "{text}");
    }
    let message =
        next_message(&ModelPrompt { interaction: InteractionMode::Ask, ..prompt("dance", &[]) });
    assert!(message.is_declined && message.text.unwrap().contains("I do not understand"));
}

#[test]
fn plan_is_made_first_and_built_on_request() {
    for (goal, steps) in [("delete .A", 1), ("delete .A; delete .B", 2)] {
        let planning = ModelPrompt { interaction: InteractionMode::Plan, ..prompt(goal, &[]) };
        let message = next_message(&planning);
        let plan = message.calls.into_iter().next().unwrap();
        assert_eq!(
            (plan.tool.as_str(), plan.args["steps"].as_array().unwrap().len()),
            (PLAN_TOOL, steps)
        );
        let turns = vec![PromptTurn::Called {
            id: None,
            tool: plan.tool,
            args: plan.args,
            outcome: CallOutcome::Done(json!({ "steps": steps })),
            replay: None,
        }];
        let message = next_message(&ModelPrompt { turns: turns.clone(), ..planning });
        assert!(message.calls.is_empty() && !message.is_declined);
        assert_eq!(message.text.as_deref(), Some(PLAN_ONLY_TEXT));
        // The task that follows continues where this one ended.
        let said = [
            PromptTurn::Said(PLAN_ONLY_TEXT.to_owned()),
            PromptTurn::Asked("Carry it out.".to_owned()),
        ];
        let turns = [turns, said.to_vec()].concat();
        let message = next_message(&prompt(goal, &turns));
        assert_eq!(message.calls[0].tool, "delete_instance");
        assert_eq!(message.calls[0].args, json!({ "selector": ".A" }));
    }
}

#[test]
fn foreign_calls_stop_the_planner() {
    let turns = [PromptTurn::Called {
        id: None,
        tool: "read_script".to_owned(),
        args: json!({}),
        outcome: CallOutcome::Done(json!({})),
        replay: None,
    }];
    let message = next_message(&prompt("delete .A", &turns));
    assert!(message.calls.is_empty());
    assert!(message.text.unwrap().contains("read_script, is not one of my calls"));
}

#[test]
fn first_message_denies_being_a_model() {
    for goal in ["delete .A", "farm 3x3"] {
        assert!(next_message(&prompt(goal, &[])).text.unwrap().contains("not a model"));
    }
}

#[test]
fn every_help_example_is_understood() {
    let help = language_help();
    for form in FORMS {
        let syntax = wrap_text(form.syntax, "  ");
        assert!(help.contains(&syntax) && help.contains(form.example));
        assert!(!steps(form.example).is_empty(), "{}", form.example);
    }
}
