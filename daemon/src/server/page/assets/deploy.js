// The view of a deploy: its plan and its progress.

import { call, part } from "./daemon.js";
import { act, failed, fill, isTouched, swap } from "./ui.js";

/** The duration of a long poll, in seconds. */
const HOLD = 10;

let root = null;
let session = null;
/** The element that shows the progress of the current deploy. */
let followed = null;

export async function show(main, [of]) {
  [root, session] = [main, of];
  swap(main, await part("deploy", { session }));
  const box = main.querySelector("#deploying");
  if (box.dataset.atWork) follow(box, box.dataset.atWork).catch(failed);
}

/** Reloads the view, unless the user is typing or a deploy is shown. */
export async function again() {
  const box = document.getElementById("deploying");
  const isSaid = box !== null && (box === followed || box.querySelector("[data-over]") !== null);
  if (!isSaid && !isTouched(root)) await show(root, [session]);
}

export function hide() {
  root = null;
}

act("deploy", async (form) => {
  const [branch, message] = [form.elements.branch.value.trim(), form.elements.message.value.trim()];
  const { id } = await call("POST", "/api/deploy", { session: form.elements.session.value, branch, message });
  await follow(document.getElementById("deploying"), id);
});

/** Shows the progress of a deploy until it has finished. */
async function follow(box, id) {
  const form = box.parentElement.querySelector("form");
  const button = form?.querySelector("button");
  if (button) button.disabled = true;
  followed = box;
  try {
    let hold = 0;
    do {
      fill(box, await part("deploying", { of: id, hold }));
      hold = HOLD;
    } while (box.isConnected && !box.querySelector("[data-over]"));
    // Remove the form, so that nothing is committed twice.
    if (box.isConnected && !box.querySelector(".bad")) form?.remove();
  } finally {
    if (followed === box) followed = null;
    if (button) button.disabled = false;
  }
}
