//! `vector sourcemap`: maps the instances of a Rojo project to their files and owners.
//!
//! By default it prints the same as `rojo sourcemap`, for tools that read that format. Faults of
//! single files are reported on stderr, and the rest is mapped.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use scene_schemas::InstancePath;
use serde_json::json;
use vector_rojo_project::{InstanceOrigin, ProjectTree, SourcemapOptions};

use super::style::terminal_line;
use super::terminal::{Terminal, print_status, print_stdout};
use super::{ExitStatus, resolve_path};

/// Map the instances of a Rojo project to its files, as `rojo sourcemap` does.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(after_help = "\
Examples:
  vector sourcemap --output sourcemap.json
  vector sourcemap game.project.json --include-non-scripts
  vector sourcemap --owners
  vector sourcemap --file src/server/Main.server.luau
  vector sourcemap --path game.ServerScriptService.Main

Exit codes: 0 mapped, except for the faulty files listed on stderr; 1 failed.")]
pub(super) struct SourcemapArgs {
    /// The project file, or a folder that contains one
    #[arg(default_value = ".")]
    project: PathBuf,
    /// Write to this file instead of stdout
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Include instances that are not scripts
    #[arg(long)]
    include_non_scripts: bool,
    /// Print absolute paths, not paths relative to the project's folder
    #[arg(long)]
    absolute: bool,
    /// List each instance with its files and its owner, instead of Rojo's JSON
    #[arg(long, conflicts_with_all = ["include_non_scripts", "file", "path"])]
    owners: bool,
    /// List the instances that come from a file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["include_non_scripts", "path"])]
    file: Option<PathBuf>,
    /// List the files that an instance comes from
    #[arg(long, value_name = "PATH", conflicts_with = "include_non_scripts")]
    path: Option<InstancePath>,
    /// With --owners or --file: print one JSON object per instance, one per line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &SourcemapArgs) -> anyhow::Result<ExitStatus> {
    let terminal = Terminal::for_command(args.json);
    let tree = terminal.with_spinner("Reading the project", || ProjectTree::read(&args.project))?;
    for diagnostic in &tree.diagnostics {
        let file = tree.format_path(&diagnostic.file, args.absolute);
        let fatal = if diagnostic.is_fatal_to_rojo { " (Rojo stops here)" } else { "" };
        print_status(&format!(
            "{}: {}{fatal}",
            terminal_line(&file),
            terminal_line(&diagnostic.message)
        ));
    }
    let text = match (&args.file, &args.path) {
        (Some(file), _) => file_owners(&tree, file, args)?,
        (_, Some(path)) => path_owners(&tree, path, args)?,
        _ if args.owners => owner_rows(&tree, 0..tree.instances.len() as u32, args),
        _ => {
            let shown = SourcemapOptions {
                has_non_scripts: args.include_non_scripts,
                is_absolute: args.absolute,
            };
            format!("{}\n", tree.to_sourcemap(shown))
        }
    };
    match &args.output {
        Some(output) => {
            vector_files::write_file(output, text.as_bytes())
                .with_context(|| format!("{} cannot be written", output.display()))?;
            print_status(&format!("wrote {}", output.display()));
        }
        None => print_stdout(&text)?,
    }
    Ok(ExitStatus::Done)
}

fn file_owners(tree: &ProjectTree, file: &Path, args: &SourcemapArgs) -> anyhow::Result<String> {
    let found = tree.find_by_file(file);
    if found.is_empty() {
        bail!(
            "no instance comes from {}; `vector sourcemap --owners` lists all files",
            file.display()
        );
    }
    Ok(owner_rows(tree, found, args))
}

fn path_owners(
    tree: &ProjectTree,
    path: &InstancePath,
    args: &SourcemapArgs,
) -> anyhow::Result<String> {
    let (scene, nodes) = tree.to_scene();
    let node = resolve_path(&scene, path)?;
    let number = nodes.iter().position(|it| *it == node).context("the instance has no number")?;
    let files = tree.instance_files(number as u32);
    if files.is_empty() {
        let at = instance_origin(tree, number as u32, args.absolute);
        bail!("{path} has no file of its own: it is part of {at}");
    }
    let lines = files.iter().map(|file| tree.format_path(file, args.absolute) + "\n");
    Ok(lines.collect())
}

/// The file or folder that an instance comes from.
fn instance_origin(tree: &ProjectTree, number: u32, absolute: bool) -> String {
    let by = match &tree.instances[number as usize].origin {
        InstanceOrigin::Node { project, .. } => project,
        InstanceOrigin::File { file, .. } | InstanceOrigin::Model { file, .. } => file,
        InstanceOrigin::Folder { folder, init, .. } => init.as_ref().unwrap_or(folder),
    };
    tree.format_path(by, absolute)
}

/// Lists instances with their files and owners, one per line.
fn owner_rows(
    tree: &ProjectTree,
    numbers: impl IntoIterator<Item = u32>,
    args: &SourcemapArgs,
) -> String {
    let (scene, nodes) = tree.to_scene();
    let row = |number: u32| {
        let instance = &tree.instances[number as usize];
        let path = scene.path(nodes[number as usize]).to_string();
        let origin = instance_origin(tree, number, args.absolute);
        if args.json {
            let files = tree.instance_files(number).iter();
            let files: Vec<_> = files.map(|file| tree.format_path(file, args.absolute)).collect();
            let row = json!({
                "path": path,
                "className": instance.class,
                "origin": origin,
                "filePaths": files,
                "owner": "rojo",
                "ignoresUnknown": instance.ignores_unknown,
            });
            return format!("{row}\n");
        }
        let owner =
            if instance.ignores_unknown { "Rojo; unknown children are kept" } else { "Rojo" };
        format!(
            "{}\t{}\t{}\t{owner}\n",
            terminal_line(&path),
            terminal_line(&instance.class),
            terminal_line(&origin)
        )
    };
    numbers.into_iter().map(row).collect()
}
