// The view of a deploy: what an upload to Roblox would change, a saved version, and its publication.

import { call, part } from "./daemon.js";
import { act, isTouched, question, swap, toast } from "./ui.js";

let root = null;
/** The place, and the upload whose contents are used again. */
let shown = [];
/** The place of Roblox that the user named. */
let target = {};

export async function show(main, rest) {
  if (rest[0] !== shown[0]) target = {};
  [root, shown] = [main, rest];
  await load();
}

async function load() {
  const [session, earlier] = shown;
  const wanted = earlier === undefined ? { session, ...target } : { session, earlier, ...target };
  const html = await part("deploy", wanted);
  if (root !== null && shown[0] === session && shown[1] === earlier) swap(root, html);
}

/** Reloads the view, unless the user is typing. */
export async function again() {
  if (!isTouched(root)) await load();
}

export function hide() {
  root = null;
}

act("deploy-target", async (form) => {
  const { universe, place } = form.elements;
  target = { universe: universe.value.trim(), place: place.value.trim() };
  await load();
});

act("save-version", async (button) => {
  const { version } = await upload(button, "saved");
  toast(`Saved as version ${version}`, "good", "Players do not see it until it is published.");
  await load();
});

/** Asks for the id of the place, so that publishing takes a second yes that names it. */
act("publish-version", async (button) => {
  const { place, name } = button.closest("#deploy").dataset;
  const typed = await question({
    title: "Publish to players?",
    about: `${name} to place ${place}`,
    text: "New servers of the game run this version. Servers that run now keep theirs until they end or you restart them.",
    field: `Type the place ID, ${place}, to confirm`,
    yes: "Publish",
    danger: true,
  });
  if (typed === null) return;
  if (typed.trim() !== place) {
    toast("Nothing was published", "bad", `The place ID is ${place}.`);
    return;
  }
  const { version } = await upload(button, "published");
  toast(`Published version ${version}`, "good");
  await load();
});

/** Uploads what is shown. */
function upload(button, kind) {
  const { session, universe, place, contents, earlier, compared } = button.closest("#deploy").dataset;
  const wanted = { session, universe: Number(universe), place: Number(place), kind, contents };
  if (earlier !== undefined) wanted.earlier = Number(earlier);
  if (compared !== undefined) wanted.compared = Number(compared);
  return call("POST", "/api/deploy", wanted);
}
