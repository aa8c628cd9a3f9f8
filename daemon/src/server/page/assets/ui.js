// Shared parts of all pages: inserting HTML from the daemon, actions of buttons, and short notices.

import { Failure } from "./daemon.js";

const trusted = globalThis.trustedTypes?.createPolicy("vector", { createHTML: (html) => html }) ?? {
  createHTML: (html) => html,
};

const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });

/** Formats the times in an element in the reader's locale and time zone. */
function tellTimes(root) {
  const today = new Date().toDateString();
  for (const time of root.querySelectorAll("time[data-at]:empty")) {
    const at = new Date(Number(time.dataset.at));
    time.dateTime = at.toISOString();
    time.textContent = (at.toDateString() === today ? clock : times).format(at);
    time.title = at.toLocaleString();
  }
}

const shown = [];

/** Registers a callback for each piece of HTML that is inserted into the page. */
export const onShown = (callback) => shown.push(callback);

/** Parses HTML from the daemon. */
export function elements(html) {
  const template = document.createElement("template");
  template.innerHTML = trusted.createHTML(html);
  tellTimes(template.content);
  return template.content;
}

/** Runs the callbacks for elements that are now in the page. */
export function tell(root) {
  for (const callback of shown) callback(root);
}

/** Replaces the content of an element with HTML. */
export function fill(element, html) {
  element.replaceChildren(elements(html));
  tell(element);
}

/** Replaces the content of an element, and keeps the focus, the selection in a field and open details. */
export function swap(element, html) {
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  const way = focused && wayTo(focused, element);
  const { selectionStart: start = null, selectionEnd: end, selectionDirection: direction } = focused ?? {};
  const named = (details) => details.dataset.key ?? details.querySelector("summary")?.textContent;
  const open = [...element.querySelectorAll("details")].map((it) => [named(it), it.open]);
  element.replaceChildren(elements(html));
  for (const details of element.querySelectorAll("details")) {
    const known = open.find(([name]) => name === named(details));
    if (known) details.open = known[1];
  }
  const found = way && element.querySelector(way);
  found?.focus({ preventScroll: true });
  if (found && start !== null) found.setSelectionRange(start, end, direction);
  tell(element);
}

/** The element on which a pointer is pressed, and a promise of its release and click. */
let press = null;
addEventListener("pointerdown", ({ target }) => {
  const over = new Promise((done) => {
    // The click comes after the pointer is up.
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(done), { once: true });
  });
  press = { target, over: over.then(() => (press = null)) };
});

/** Waits while a pointer is pressed in an element: if its content were replaced, there would be no click. */
export async function released(element) {
  while (press && element.contains(press.target)) await press.over;
}

/** Replaces an element with another, or appends it. */
export function put(parent, old, html) {
  const fresh = elements(html).firstElementChild;
  if (old) old.replaceWith(fresh);
  else parent.append(fresh);
  tell(fresh);
  return fresh;
}

/** Returns a selector that finds an element again after its surroundings were recreated. */
function wayTo(element, root) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const keyed = element.closest("[data-key]");
  const start = keyed && root.contains(keyed) ? `[data-key="${CSS.escape(keyed.dataset.key)}"] ` : "";
  // The value distinguishes buttons or choices of the same name. The value of a text field changes,
  // so it cannot identify the field.
  const known = ["data-act", "data-verb", "data-say", "name", "href"];
  if (!("selectionStart" in element) || element.selectionStart === null) known.push("value");
  const named = known.filter((name) => element.hasAttribute(name));
  if (named.length === 0) return null;
  const attributes = named.map((name) => `[${name}="${CSS.escape(element.getAttribute(name))}"]`);
  return start + element.localName + attributes.join("");
}

const acts = new Map();

/** Registers the action for a `data-act` name, run by a button, a link, or the submission of a form. */
export const act = (name, run) => acts.set(name, run);

async function run(element, event) {
  const todo = acts.get(element.dataset.act);
  if (!todo) return;
  event.preventDefault();
  // The second click of a double click may hit another element by then.
  if (element.getAttribute("aria-busy") === "true" || (event.type === "click" && event.detail > 1)) return;
  element.setAttribute("aria-busy", "true");
  clearErrors();
  try {
    await todo(element, event);
  } catch (error) {
    failed(error, element);
  } finally {
    element.removeAttribute("aria-busy");
  }
}

addEventListener("click", (event) => {
  const element = event.target.closest?.("[data-act]");
  if (element && element.localName !== "form") run(element, event);
});
addEventListener("submit", (event) => run(event.target, event));
addEventListener("keydown", (event) => {
  const form = event.target.closest?.("form[data-act]");
  const isSent = event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat && !event.isComposing;
  if (!isSent || event.defaultPrevented || !form || event.target.localName === "button") return;
  event.preventDefault();
  form.requestSubmit();
});

// A held key presses a button only once, because the action may move the focus to another button.
addEventListener(
  "keydown",
  (event) => {
    if (event.repeat && event.key === "Enter" && event.target.closest?.("button")) event.preventDefault();
  },
  true,
);

const TOASTS = 4;

/** Whether the user has unsent changes in this element. */
export const isTouched = (root) => [...root.querySelectorAll("input, textarea, select")].some(isChanged);

function isChanged(field) {
  if (/^(checkbox|radio)$/.test(field.type)) return field.checked !== field.defaultChecked;
  if (field.localName !== "select") return field.value !== field.defaultValue;
  const first = [...field.options].findIndex((it) => it.defaultSelected);
  return field.selectedIndex !== Math.max(first, 0);
}

/** Shows a short notice. */
export function toast(text, tone = "plain", hint = "") {
  const box = document.createElement("div");
  box.className = "toast";
  box.dataset.tone = tone;
  const message = document.createElement("b");
  message.textContent = text;
  box.append(message);
  if (hint) {
    const more = document.createElement("p");
    more.textContent = hint;
    box.append(more);
  }
  const close = document.createElement("button");
  close.type = "button";
  close.className = "plain";
  close.setAttribute("aria-label", "Close");
  close.textContent = "×";
  close.addEventListener("click", () => box.remove());
  box.append(close);
  const toasts = document.getElementById("toasts");
  // Do not repeat a notice that is already shown.
  for (const known of [...toasts.children]) if (known.textContent === box.textContent) known.remove();
  toasts.append(box);
  while (toasts.children.length > TOASTS) toasts.firstElementChild.remove();
  if (tone !== "bad") setTimeout(() => box.remove(), 6000);
  return box;
}

/** Removes the error notices of the previous action. */
export function clearErrors() {
  for (const it of document.querySelectorAll("#toasts [data-tone=bad]:not([data-kind=away])")) it.remove();
  for (const it of document.querySelectorAll("form [role=alert]")) it.textContent = "";
}

/** Whether the next change of the address comes from an action, and not from the user. */
let isReplaced = false;

/** Changes the address as part of an action, so that its notices stay visible. */
export function replaceAddress(hash) {
  isReplaced = true;
  location.replace(hash);
}

/** Returns whether the address was just replaced by an action, and resets that. */
export function takeReplaced() {
  const was = isReplaced;
  isReplaced = false;
  return was;
}

/** Shows an error, inside its form if the form has a place for it. */
export function failed(error, about = null) {
  const place = about?.isConnected ? about.closest("form")?.querySelector("[role=alert]") : null;
  if (place && error instanceof Failure && error.kind !== "away") {
    place.textContent = `${error.message} ${error.hint ?? ""}`;
  } else if (error instanceof Failure) toast(error.message, "bad", error.hint).dataset.kind = error.kind;
  else if (error.name !== "AbortError") {
    toast("An error occurred on this page.", "bad", String(error));
    console.error(error);
  }
}

/** How long a dangerous answer is disabled, in ms: longer than the second press of a double click takes. */
const SETTLE = 600;

/**
 * Asks the user for a confirmation, or for a text, with `about` as a label. Returns null if they cancel. In a
 * dangerous question, the focus is on Cancel.
 */
export function question({ title, about = "", text = "", field = null, yes = "OK", danger = false }) {
  const dialog = document.getElementById("dialog");
  dialog.replaceChildren(
    elements(`<form method="dialog"><h2 id="dialog-title"></h2><b></b><p></p><label><span></span><textarea rows="3"></textarea></label>
      <div class="buttons"><button value="">Cancel</button><button class="main" value="yes"></button></div></form>`),
  );
  dialog.querySelector("h2").textContent = title;
  dialog.querySelector("b").textContent = about;
  dialog.querySelector("b").hidden = about === "";
  dialog.querySelector("p").textContent = text;
  const area = dialog.querySelector("textarea");
  dialog.querySelector("label").hidden = field === null;
  dialog.querySelector("label span").textContent = field ?? "";
  const [no, confirm] = dialog.querySelectorAll("button");
  confirm.textContent = yes;
  confirm.classList.toggle("danger", danger);
  dialog.returnValue = "";
  dialog.showModal();
  if (danger) {
    confirm.disabled = true;
    setTimeout(() => (confirm.disabled = false), SETTLE);
    confirm.addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
  }
  if (field !== null) area.focus();
  else (danger ? no : confirm).focus();
  no.type = "submit";
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) dialog.close("yes");
  });
  return new Promise((done) => {
    dialog.addEventListener("close", () => done(dialog.returnValue === "yes" ? area.value : null), { once: true });
  });
}

/** Runs `work` after a short delay, once for all calls made in the meantime. */
export function soon(work, delay = 120) {
  let planned = null;
  return () => {
    planned ??= setTimeout(() => {
      planned = null;
      Promise.resolve(work()).catch(failed);
    }, delay);
  };
}
