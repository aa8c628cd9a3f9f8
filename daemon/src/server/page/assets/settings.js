// The page of settings and granted access.

import { call, name, part } from "./daemon.js";
import { act, isTouched, question, soon, swap, toast } from "./ui.js";

let root = null;
/** The pairing code for a plugin: its text, its expiry, and the previous access list. */
let pairing = null;

export async function show(main) {
  root = main;
  put(await part("settings"));
}

const names = () => [...root.querySelectorAll("[data-grant]")].map((it) => it.dataset.grant);

function put(html) {
  swap(root, html);
  // A code works once, and not forever.
  if (pairing && (Date.now() > pairing.until || names().some((it) => !pairing.known.includes(it)))) pairing = null;
  root.querySelector("#pairing").textContent = pairing?.text ?? "";
  const own = root.querySelector(`[data-grant="${CSS.escape(name() ?? "")}"] .dim`);
  own?.append(" · this page");
}

/** Reloads the page, unless the user is typing. */
export async function again() {
  if (isTouched(root)) return;
  const html = await part("settings");
  if (!isTouched(root)) put(html);
}

const againSoon = soon(() => root?.isConnected && again());

export function changed(what) {
  if (what === "settings") againSoon();
}

act("choose", async (form) => {
  const { mode, dry_run: dry, play_check: play, model } = form.elements;
  if (mode.value === "dangerous" && [...mode].some((it) => it.checked !== it.defaultChecked)) {
    const text = "Then every change by a model is applied immediately, without asking you.";
    if ((await question({ title: "Apply everything without asking?", text, yes: "Apply everything", danger: true })) === null) return;
  }
  // Settings that the user did not touch may have been changed elsewhere.
  const body = await call("GET", "/api/settings");
  if ([...mode].some((it) => it.checked !== it.defaultChecked)) body.mode = mode.value;
  if (dry.checked !== dry.defaultChecked) body.dry_run = dry.checked;
  if (play.checked !== play.defaultChecked) body.play_check = play.checked;
  if (model.value !== model.defaultValue) body.model = model.value.trim();
  for (const limit of ["day", "project", "task", "request"]) {
    const field = form.elements[`limit_${limit}`];
    if (field.value === field.defaultValue) continue;
    if (field.value === "") delete body.limits[limit];
    else body.limits[limit] = Number(field.value);
  }
  await call("PUT", "/api/settings", body);
  toast("Saved. The settings apply to new tasks.", "good");
  await show(root);
});
act("pairing", async () => {
  const { code, seconds } = await call("POST", "/api/pairing");
  const text = `Type ${code.slice(0, 3)} ${code.slice(3)} in the plugin's widget; the code is valid for ${seconds / 60} minutes.`;
  pairing = { text, until: Date.now() + seconds * 1000, known: names() };
  document.getElementById("pairing").textContent = text;
  setTimeout(againSoon, seconds * 1000 + 1000);
});
act("revoke", async ({ dataset: { name: whom } }) => {
  const text = `${whom} loses access immediately. A plugin then has to be paired again, and a page reopened.`;
  if ((await question({ title: "Revoke access?", text, yes: "Revoke", danger: true })) === null) return;
  await call("POST", "/api/access/revoke", { what: "named", name: whom });
  await show(root);
});
act("stop", async () => {
  const text = "Pending proposals are kept until Vector runs again.";
  if ((await question({ title: "Stop Vector?", text, yes: "Stop", danger: true })) === null) return;
  await call("POST", "/api/stop");
});
