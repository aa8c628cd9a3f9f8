// The view of a commit: its plan and its progress.

import { call, part } from "./daemon.js";
import { act, failed, fill, isTouched, swap } from "./ui.js";

/** The duration of a long poll, in seconds. */
const HOLD = 10;

/** The choice of a remote that stands for none. */
const NOWHERE = "-";

let root = null;
let session = null;
/** The element that shows the progress of the current commit. */
let followed = null;

export async function show(main, [of]) {
  [root, session] = [main, of];
  swap(main, await part("commit", { session }));
  const box = main.querySelector("#committing");
  if (box.dataset.atWork) follow(box, box.dataset.atWork).catch(failed);
}

/** Reloads the view, unless the user is typing or a commit is shown. */
export async function again() {
  const box = document.getElementById("committing");
  const isSaid = box !== null && (box === followed || box.querySelector("[data-over]") !== null);
  if (!isSaid && !isTouched(root)) await show(root, [session]);
}

export function hide() {
  root = null;
}

act("commit", async (form) => {
  const [branch, message] = [form.elements.branch.value.trim(), form.elements.message.value.trim()];
  const wanted = { session: form.elements.session.value, branch, message };
  const remote = form.elements.push?.value ?? NOWHERE;
  if (remote !== NOWHERE) wanted.push = remote;
  const { id } = await call("POST", "/api/commit", wanted);
  await follow(document.getElementById("committing"), id);
});

/** Shows the progress of a commit until it has finished. */
async function follow(box, id) {
  const form = box.parentElement.querySelector("form");
  const button = form?.querySelector("button");
  if (button) button.disabled = true;
  followed = box;
  try {
    let hold = 0;
    do {
      fill(box, await part("committing", { of: id, hold }));
      hold = HOLD;
    } while (box.isConnected && !box.querySelector("[data-over]"));
    // Remove the form, so that nothing is committed twice.
    if (box.isConnected && !box.querySelector(".bad")) form?.remove();
  } finally {
    if (followed === box) followed = null;
    if (button) button.disabled = false;
  }
}
