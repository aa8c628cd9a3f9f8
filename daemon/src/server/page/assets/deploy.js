// A deploy: what would be committed of a project, and how far that is.

import { call, part } from "./daemon.js";
import { act, fill, isTouched, swap } from "./ui.js";

/** How long an answer is waited for where nothing changes, in seconds. */
const HOLD = 10;

let root = null;
let session = null;

export async function show(main, [of]) {
  [root, session] = [main, of];
  swap(main, await part("deploy", { session }));
}

/** What is being typed is not taken away, nor what is said of a deploy. */
export const again = async () =>
  isTouched(root) || document.getElementById("deploying")?.childElementCount > 0 || show(root, [session]);

export function hide() {
  root = null;
}

act("deploy", async (form) => {
  const [branch, message] = [form.elements.branch.value.trim(), form.elements.message.value.trim()];
  const { id } = await call("POST", "/api/deploy", { session: form.elements.session.value, branch, message });
  const box = document.getElementById("deploying");
  let hold = 0;
  do {
    fill(box, await part("deploying", { of: id, hold }));
    hold = HOLD;
  } while (box.isConnected && !box.querySelector("[data-over]"));
  // What was committed is not to be committed again.
  if (box.isConnected && !box.querySelector(".bad")) form.remove();
});
