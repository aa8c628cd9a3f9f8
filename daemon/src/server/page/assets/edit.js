// Changes of a proposal by hand: the text of a script in an editor, values in fields. They are kept until they are saved
// as a new version, or discarded.

import { call } from "./daemon.js";
import { words } from "./left.js";
import { act, elements, failed, toast } from "./ui.js";

const KEY = "vector-edits";
/** The maximum number of proposals whose changes are kept. */
const KEPT = 10;

/**
 * The changes of each proposal, with its patch id, because another ledger has other proposals of these numbers. A change
 * names the path of its script, or the path and the property of its value, because indices differ after replanning.
 */
const stored = () => JSON.parse(localStorage.getItem(KEY) ?? "{}");
/** The key of a proposal. Keys that are numbers would be sorted by them, and not by time. */
const keyOf = (of) => `p${of}`;

function keep(all) {
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(Object.entries(all).slice(-KEPT))));
  } catch {
    toast("This change cannot be kept in the browser.", "bad", "Save it before you reload the page.");
  }
}

/** The changes of the shown proposal, by what they change. */
let typed = { of: null, edits: {} };

/** Returns the changes of a proposal. Those of one that it replaced when it was replanned are carried over. */
function edits({ of, patchId, replaces }) {
  if (typed.of === of) return typed.edits;
  const all = stored();
  const known = (it) => (it === typed.of ? typed.edits : all[keyOf(it)]?.edits);
  const before = replaces.split(" ").find((it) => it && it !== saving && Object.keys(known(it) ?? {}).length > 0);
  if (all[keyOf(of)]?.patch === patchId) typed = { of, edits: all[keyOf(of)].edits };
  else if (before !== undefined) {
    typed = { of, edits: known(before) };
    delete all[keyOf(before)];
    all[keyOf(of)] = { patch: patchId, edits: typed.edits };
    keep(all);
    for (const editor of editors.values()) if (editor.of === before) editor.of = of;
    toast("The proposal was replanned. What you changed is kept.", "plain", "Compare it with the new proposal before you save.");
  } else typed = { of, edits: {} };
  return typed.edits;
}

/** Stores the changes of a proposal, or forgets them if there are none. */
function write(of, patch, edits) {
  const all = stored();
  delete all[keyOf(of)];
  if (Object.keys(edits).length > 0) all[keyOf(of)] = { patch, edits };
  keep(all);
}

/** Forgets the changes of a proposal. */
export function forgetEdits(of) {
  if (typed.of === of) typed = { of: null, edits: {} };
  write(of, null, {});
}

/** Returns how many changes of a proposal, or of one that it replaced, are not saved. */
export function countEdits({ seq, patch, replaces }) {
  if (typed.of === seq) return Object.keys(typed.edits).length;
  const all = stored();
  const isOwn = all[keyOf(seq)]?.patch === patch;
  const holder = isOwn ? seq : words(replaces).find((it) => all[keyOf(it)]);
  return Object.keys(all[keyOf(holder)]?.edits ?? {}).length;
}

/** The proposal whose changes are being saved. The new version may be shown before the answer arrives. */
let saving = null;

/** Saves the changes of a proposal, and forgets those that were saved. What was typed in the meantime stays. */
export async function save(of, saved, send) {
  saving = of;
  try {
    const answer = await send();
    const { patch, edits = {} } = stored()[keyOf(of)] ?? {};
    const left = Object.entries(edits).filter(([name, it]) => JSON.stringify(saved[name]) !== JSON.stringify(it));
    write(of, patch, Object.fromEntries(left));
    // It is read again from what is stored.
    if (typed.of === of || Object.keys(typed.edits).length === 0) typed = { of: null, edits: {} };
    return answer;
  } finally {
    saving = null;
  }
}

const article = () => document.querySelector("#one .proposal[data-status=waiting]:has(.decision [data-act=save-edits])");
const scripts = (shown) => [...shown.querySelectorAll("section.script[data-path]")];
const sectionOf = (shown, path) => scripts(shown).find((it) => it.dataset.path === path);
const scriptName = (path) => `s${path}`;
const valueName = ({ path, property, nth }) => `v${path}.${property}.${nth}`;

/** Returns the changes of a proposal. */
export const edited = (data) => Object.values(edits(data));

/** The editors of the shown proposal by the path of the script. They stay when the proposal is rendered again. */
const editors = new Map();

const PANEL = `<div class="editing" role="group"><div class="editor"></div><p class="dim">
  <span>Ctrl+S saves all changes as a new version, which you then decide on.</span>
  <button class="plain" type="button" data-act="drop-script">Discard</button></p></div>`;

const reads = async (path, body) => {
  try {
    return await call("POST", path, body);
  } catch {
    // Typing goes on without help.
    return null;
  }
};

async function startEditor(of, { dataset: { path, script } }) {
  const [{ openEditor }, proposed] = await Promise.all([
    import("./editor.js"),
    call("GET", `/api/proposals/${of}/script?script=${script}`),
  ]);
  const shown = article();
  if (shown?.dataset.of !== of || editors.has(path)) return;
  // The editor adds its styles to the document that its element belongs to.
  const panel = document.adoptNode(elements(PANEL).firstElementChild);
  panel.dataset.path = path;
  panel.setAttribute("aria-label", `Edit ${proposed.path}`);
  const known = edits(shown.dataset)[scriptName(path)]?.text;
  const view = openEditor(panel.querySelector(".editor"), {
    text: known ?? proposed.text,
    label: `Text of ${proposed.path}`,
    check: (text) => reads("/api/luau/check", { text }),
    complete: (at) => reads("/api/luau/complete", at),
    changed(text) {
      if (text === proposed.text) delete typed.edits[scriptName(path)];
      else typed.edits[scriptName(path)] = { part: "script", path, text };
      remember();
    },
    save: () => article()?.querySelector("[data-act=save-edits]:not([hidden])")?.click(),
    leave: () => document.querySelector("#one").focus({ preventScroll: true }),
  });
  editors.set(path, { of, panel, view });
  showEdits();
  if (known === undefined || lastFocus === path) view.focus();
}

/** Stores what was changed, and counts it. */
function remember() {
  const shown = article();
  if (!shown) return;
  write(shown.dataset.of, shown.dataset.patchId, typed.edits);
  count(shown);
}

function count(shown) {
  const number = edited(shown.dataset).length;
  const button = shown.querySelector("[data-act=save-edits]");
  button.hidden = number === 0;
  button.querySelector("span").textContent = number === 1 ? "Save 1 change" : `Save ${number} changes`;
}

/** Shows the editors and fields of the shown proposal. */
export function showEdits() {
  const shown = article();
  const changes = shown ? Object.values(edits(shown.dataset)) : [];
  for (const [path, { of, panel, view }] of editors) {
    const place = shown?.dataset.of === of ? sectionOf(shown, path) : null;
    if (!place) {
      view.destroy();
      editors.delete(path);
    } else if (panel.parentElement !== place) {
      place.append(panel);
      place.toggleAttribute("data-editing", true);
      if (lastFocus === path && document.activeElement === document.body) view.focus();
    }
  }
  if (!shown) return;
  for (const change of changes) {
    const place = change.part === "script" && !editors.has(change.path) ? sectionOf(shown, change.path) : null;
    if (place) startEditor(shown.dataset.of, place).catch(failed);
    const button = change.part === "property" ? buttonOf(shown, change) : null;
    if (button && !button.hidden) focusAgain(field(button, change.typed));
  }
  count(shown);
}

/** The path of the script whose editor had the focus before the proposal was rendered again, or the field and its selection. */
let lastFocus = null;
const FIELD = ".operations td :is(input, textarea)";
for (const name of ["focusin", "keyup", "pointerup"]) {
  addEventListener(name, ({ target }) => {
    const panel = target.closest?.(".editing");
    if (panel) lastFocus = panel.dataset.path;
    else if (target.matches?.(FIELD)) lastFocus = { name: target.name, start: target.selectionStart, end: target.selectionEnd };
    else lastFocus = null;
  });
}

/** Gives a field the focus and the selection that it had before the proposal was rendered again. */
function focusAgain(input) {
  if (lastFocus?.name !== input.name || document.activeElement !== document.body) return;
  const { start, end } = lastFocus;
  input.focus({ preventScroll: true });
  input.setSelectionRange(start, end);
}

const pathOf = (button) => button.closest("tbody").dataset.path;
const buttonsOf = (shown, { path, property }) =>
  [...shown.querySelectorAll("[data-act=edit-value]")].filter(
    (it) => pathOf(it) === path && it.dataset.property === property,
  );
/** Returns the button of a value. Several commands may set the same property. */
const buttonOf = (shown, value) => buttonsOf(shown, value)[value.nth];

/** Returns what a typed text stands for: of a text, the text itself; otherwise JSON, or a name. */
function valueOf(text, before) {
  if (typeof before === "string" && !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text.trim();
  }
}

/** Shows a field for a value. */
function field(button, text) {
  const [path, { property }, before] = [pathOf(button), button.dataset, JSON.parse(button.dataset.value)];
  const nth = buttonsOf(article(), { path, property }).indexOf(button);
  const name = valueName({ path, property, nth });
  const written = typeof before === "string" ? before : JSON.stringify(before);
  // A field of one line would lose the other lines.
  const kind = /[\r\n]/.test(written) ? "textarea" : "input";
  const input = Object.assign(document.createElement(kind), { value: text ?? written, name });
  input.setAttribute("aria-label", `${JSON.parse(property)}, changed`);
  input.addEventListener("input", () => {
    if (input.value === written) delete typed.edits[name];
    else typed.edits[name] = { part: "property", path, property, nth, value: valueOf(input.value, before), typed: input.value };
    remember();
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const isSent = event.key === "Enter" && (kind === "input" || event.ctrlKey || event.metaKey);
    if (isSent) article()?.querySelector("[data-act=save-edits]:not([hidden])")?.click();
    else if (event.key === "Escape") {
      delete typed.edits[name];
      remember();
      input.remove();
      button.hidden = false;
      button.focus();
    }
  });
  button.hidden = true;
  button.before(input);
  return input;
}

/** Edits the script or the first value of the focused part. */
export function editHere(stop) {
  const shown = article();
  const own = stop?.closest("section.script")?.querySelector("[data-act=edit-script]") ?? stop?.querySelector("[data-act=edit-value]");
  const first = () => shown?.querySelector("[data-act=edit-script]") ?? shown?.querySelector("[data-act=edit-value]");
  (own ?? first())?.click();
}

act("edit-script", async (button) => {
  const place = button.closest("section.script");
  const open = editors.get(place.dataset.path);
  if (open) open.view.focus();
  else await startEditor(article().dataset.of, place);
});
act("edit-value", (button) => (button.hidden ? button.previousElementSibling.focus() : field(button).select()));
act("drop-script", (button) => {
  const { path } = button.closest(".editing").dataset;
  const { panel, view } = editors.get(path);
  delete typed.edits[scriptName(path)];
  editors.delete(path);
  view.destroy();
  panel.closest("section.script").removeAttribute("data-editing");
  panel.remove();
  remember();
  document.querySelector("#one").focus({ preventScroll: true });
});

/** Returns a change as the daemon takes it; null if the proposal does not have its part. */
function asSent(shown, edit) {
  const place = edit.part === "script" ? sectionOf(shown, edit.path) : buttonOf(shown, edit);
  if (!place) return null;
  if (edit.part === "script") return { part: "script", script: Number(place.dataset.script), text: edit.text };
  const [command, property] = [Number(place.dataset.command), JSON.parse(edit.property)];
  return { part: "property", command, property, value: edit.value };
}

/** Returns the changes of the shown proposal that are to be saved, and the decision with them. */
export function editDecision() {
  const shown = article();
  const saved = { ...edits(shown.dataset) };
  const all = Object.values(saved).map((it) => [it, asSent(shown, it)]);
  for (const [{ path }] of all.filter(([, sent]) => sent === null)) {
    toast(`${JSON.parse(path)} is not saved.`, "bad", "The replanned proposal does not change it any more.");
  }
  const sent = all.map(([, sent]) => sent).filter((it) => it !== null);
  return { saved, decision: { say: "edit", edits: sent } };
}
