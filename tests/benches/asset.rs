//! The cost of inserting an asset: a model of some 20 MB into a place of 100,000 instances through the
//! binary `vector`, with the download from a server on this machine, against the same by the rbx crates.
//!
//! `cargo bench -p vector-tests --bench asset [-- [--instances N] [--parts N] [--runs N]]`.
//! Both sides are separate processes, built alike (release, mimalloc), and take turns.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a measurement that fails has nothing to return"
)]

mod measure;

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use fake_cloud::{API_KEY, FakeCloud};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_types::{CFrame, Matrix3, SharedString, Vector3};
use vector_tests::binary::Home;
use vector_tests::generated::generated;
use vector_tests::places::{Format, decode, encode};

use self::measure::{Median, machine, measure, option};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The first argument of the child that inserts with the rbx crates.
const BARE: &str = "bare-insert";
/// The size of each mesh, in bytes.
const MESH_BYTES: usize = 20_000;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [first, place, model, output] = &args[..]
        && first == BARE
    {
        insert_bare(Path::new(place), Path::new(model), Path::new(output));
        // Exit as `vector` does, without freeing the large tree.
        std::process::exit(0);
    }
    let number = |name| option(&args, name).map(|it| it.parse().expect("a number"));
    let instances = number("--instances").unwrap_or(100_000);
    let runs = number("--runs").unwrap_or(7);
    println!("{}", machine());
    println!("into {instances} instances, median of {runs} runs each, in turns\n");
    let place = encode(&generated(instances), Format::Rbxl);
    let mut complete = true;
    let parts = number("--parts");
    for (parts, meshes) in
        parts.map_or(vec![(1, 0), (20_000, 900), (190_000, 0)], |it| vec![(it, 0)])
    {
        complete &= compare(&place, parts, meshes, runs);
    }
    if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A model of parts at random places, and of meshes that do not compress.
fn model(parts: usize, meshes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u32
    };
    let mut coordinate = |most: f32| random() as f32 / 2_147_483_648.0 * most;
    let parts: Vec<InstanceBuilder> = (0..parts)
        .map(|_| {
            let at = Vector3::new(coordinate(2_000.0), coordinate(500.0), coordinate(2_000.0));
            let size = Vector3::new(coordinate(20.0), coordinate(20.0), coordinate(20.0));
            InstanceBuilder::new("Part")
                .with_property("CFrame", CFrame::new(at, Matrix3::identity()))
                .with_property("Size", size)
        })
        .collect();
    let meshes: Vec<InstanceBuilder> = (0..meshes)
        .map(|_| {
            let bytes: Vec<u8> = (0..MESH_BYTES).map(|_| coordinate(256.0) as u8).collect();
            let data = SharedString::new(bytes);
            InstanceBuilder::new("UnionOperation").with_property("MeshData2", data)
        })
        .collect();
    let model = InstanceBuilder::new("Model").with_name("Town");
    let model = model.with_children(parts).with_children(meshes);
    let workspace = InstanceBuilder::new("Workspace").with_child(model);
    encode(&WeakDom::new(InstanceBuilder::new("DataModel").with_child(workspace)), Format::Rbxm)
}

/// Measures one model and prints its lines. Returns false if either side failed.
fn compare(place: &[u8], parts: usize, meshes: usize, runs: usize) -> bool {
    let model = model(parts, meshes);
    let home = Home::new();
    let file = |name: &str| home.path().join(name);
    let (place_file, model_file) = (file("place.rbxl"), file("model.rbxm"));
    let (bare_out, own_out) = (file("bare.rbxl"), file("own.rbxl"));
    fs::write(&place_file, place).expect("a temporary file can be written");
    fs::write(&model_file, &model).expect("a temporary file can be written");
    println!("model of {} instances, {:.1} MB", parts + meshes + 1, model.len() as f64 / 1e6);
    let cloud = FakeCloud::start(Vec::new());
    cloud.deliver(1, model);
    let (mut bare, mut own) = (Vec::new(), Vec::new());
    for turn in 0..runs {
        let mut command = Command::new(env::current_exe().expect("a process knows its file"));
        command.arg(BARE).args([&place_file, &model_file, &bare_out]);
        bare.extend(measure(command, &bare_out));
        // If one run failed, do not repeat it: further runs would fail too.
        if own.len() == turn {
            own.extend(measure(insert_command(&home, &place_file, &own_out, &cloud), &own_out));
        }
    }
    let (bare, own) = (Median::of(&bare), Median::of(&own));
    print("rbx crates", bare);
    print("vector assets insert", own);
    let (Some(bare), Some(own)) = (bare, own) else {
        println!("  no ratio, for one of the two failed\n");
        return false;
    };
    println!("  ratio: time {:.2}\n", own.times(&bare).0);
    true
}

fn print(name: &str, run: Option<Median>) {
    match run {
        Some(run) => println!("  {name}: {run}"),
        None => println!("  {name}: failed"),
    }
}

fn insert_command(home: &Home, place: &Path, out: &Path, cloud: &FakeCloud) -> Command {
    let paths = [place, out].map(|path| path.to_string_lossy().into_owned());
    let [place, out] = paths.each_ref().map(String::as_str);
    let args = ["assets", "insert", place, "1", "--yes", "--no-play", "--out", out];
    let mut command = home.command(&args);
    command.env("VECTOR_ROBLOX_CLOUD_URL", cloud.url()).env("ROBLOX_ASSETS_API_KEY", API_KEY);
    command
}

fn insert_bare(place: &Path, model: &Path, output: &Path) {
    let mut place = decode(&fs::read(place).expect("the place can be read"));
    let model = decode(&fs::read(model).expect("the model can be read"));
    let services = place.root().children().to_vec();
    let is_workspace =
        |it: &&rbx_types::Ref| place.get_by_ref(**it).is_some_and(|it| it.class == "Workspace");
    let workspace = *services.iter().find(is_workspace).expect("there is a Workspace");
    for root in model.root().children() {
        let copy = model.clone_into_external(*root, &mut place);
        place.transfer_within(copy, workspace);
    }
    fs::write(output, encode(&place, Format::Rbxl)).expect("the place can be written");
}
