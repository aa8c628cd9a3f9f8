//! 300 results of the Creator Store with their thumbnails, which the daemon has in memory: from the
//! press that shows the next 50 to the frame in which all their pictures stand. Beside it, the same
//! pictures decoded and painted from blobs that the page has already.

use fake_cloud::{FakeCloud, StoreAsset};
use serde_json::{Value as Json, json};
use vector_tests::binary::{Home, vector};
use vector_tests::browser::{Browser, Stage};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

use super::{enter, percentile};

const ASSETS: u64 = 300;
const PAGE: u64 = 50;
const RUNS: usize = 9;

/// Searches for the text in the field and shows all results, whatever state their pictures are in.
const LIST: &str = "
    const [most, step, done] = arguments;
    const frame = () => new Promise(requestAnimationFrame);
    (async () => {
      for (let count = step; count <= most; count += step) {
        document.querySelector(count === step ? '.store form button.main' : '[data-act=more-assets]').click();
        while (document.querySelectorAll('.asset').length !== count) await frame();
      }
      done();
    })();";

/// Searches for the text in the field and shows page after page. Ends with the milliseconds of each:
/// a page ends with the frame after the last of its pictures is decoded.
const SEARCH: &str = "
    const [most, step, done] = arguments;
    const frame = () => new Promise(requestAnimationFrame);
    const times = [];
    (async () => {
    for (let count = step; count <= most; count += step) {
      const from = performance.now();
      const button = count === step ? '.store form button.main' : '[data-act=more-assets]';
      document.querySelector(button).click();
      let shown;
      do {
        await frame();
        shown = [...document.querySelectorAll('.asset [data-state=there] img')];
      } while (shown.length !== count);
      await Promise.all(shown.map((it) => it.decode()));
      await frame();
      times.push(performance.now() - from);
    }
    done(times);
    })();";

/// Paints the pictures of the page once more, from blobs. Ends with the milliseconds.
const BARE: &str = "
    const done = arguments[arguments.length - 1];
    const { thumbnails } = window;
    const from = performance.now();
    const images = thumbnails.map((blob) => Object.assign(new Image(), { src: URL.createObjectURL(blob) }));
    document.body.replaceChildren(...images);
    Promise.all(images.map((it) => it.decode()))
      .then(() => requestAnimationFrame(() => done(performance.now() - from)));";

/// Keeps the pictures as blobs.
const KEEP: &str = "
    const done = arguments[arguments.length - 1];
    const token = localStorage.getItem('vector-token');
    const headers = { Authorization: `Bearer ${token}` };
    const ids = [...document.querySelectorAll('.asset img')].map((it) => it.dataset.thumbnail);
    Promise.all(ids.map(async (id) => (await fetch(`/api/assets/${id}/thumbnail`, { headers })).blob()))
      .then((blobs) => { window.thumbnails = blobs; done(blobs.length); });";

/// A picture of 150 x 150 pixels with a gradient and some noise, of roughly the 20 KB of Roblox's.
fn picture(asset: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(asset);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 150, 150);
    encoder.set_color(png::ColorType::Rgba);
    let mut writer = encoder.write_header().expect("a picture can be written");
    let pixel = |at: u32, noise: u8| [(at % 150) as u8, (at / 150) as u8, noise, 255];
    let pixels: Vec<u8> = (0..150 * 150).flat_map(|at| pixel(at, random.u8(0..32))).collect();
    writer.write_image_data(&pixels).expect("a picture can be written");
    drop(writer);
    bytes
}

pub(crate) fn run(stage: &Stage) {
    let cloud = FakeCloud::start(
        (1..=ASSETS).map(|id| StoreAsset::model(id, &format!("Oak {id}"))).collect(),
    );
    let pictures: Vec<Vec<u8>> = (1..=ASSETS).map(picture).collect();
    let bytes: usize = pictures.iter().map(Vec::len).sum();
    (1..).zip(pictures).for_each(|(id, picture)| cloud.show(id, picture));
    println!(
        "\n{ASSETS} thumbnails of {:.0} KB from the daemon's memory (goal: 300 ms)",
        bytes as f64 / 3e5
    );
    let home = Home::new();
    let file = home.path().join("place.rbxlx");
    std::fs::write(&file, places::sample(Format::Rbxlx)).expect("a temporary file can be written");
    let mut command = std::process::Command::new(vector());
    command.args(["serve", "--port", "0", "--place"]).arg(&file);
    command.env("VECTOR_ROBLOX_CLOUD_URL", cloud.url());
    let ledger = home.path().join("vector");
    let daemon = Daemon::run(command, &ledger);
    let human = Human::of(&daemon, &ledger);
    let browser = stage.browser();
    enter(&browser, &daemon, &human);
    browser.click(".tabs [data-page=store]");
    browser.until("document.querySelector('.store [name=text]')");
    browser.run("document.querySelector('.store [name=text]').value = 'oak'", &[]);
    // The first search has the daemon load the thumbnails, and the blobs wait for all of them.
    let sizes = [json!(ASSETS), json!(PAGE)];
    browser.run_async(LIST, &sizes);
    browser.run_async(KEEP, &[]);
    let mut totals: Vec<f64> = Vec::new();
    let mut pages: Vec<f64> = Vec::new();
    for _ in 0..RUNS {
        let times = show_all(&browser);
        totals.push(times.iter().sum());
        pages.extend(times);
    }
    let mut bare: Vec<f64> =
        (0..RUNS).filter_map(|_| browser.run_async(BARE, &[]).as_f64()).collect();
    let (own, bare) = (percentile(&mut totals, 0.5), percentile(&mut bare, 0.5));
    println!(
        "  six pages of {PAGE}, searched and painted: p50 {own:.0} ms, slowest {:.0} ms",
        percentile(&mut totals, 1.0)
    );
    println!("  a page: p50 {:.0} ms", percentile(&mut pages, 0.5));
    println!("  bare, from blobs: p50 {bare:.0} ms; ratio {:.2}", own / bare);
}

fn show_all(browser: &Browser<'_>) -> Vec<f64> {
    let times = browser.run_async(SEARCH, &[json!(ASSETS), json!(PAGE)]);
    let times = times.as_array().expect("it ends with a list");
    times.iter().filter_map(Json::as_f64).collect()
}
