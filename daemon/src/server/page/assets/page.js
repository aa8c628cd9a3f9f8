// The page as a whole: obtains a token, shows the page that the address names, and distributes
// events.

import * as daemon from "./daemon.js";
import { count, setTitle } from "./inbox.js";
import { act, clearErrors, elements, failed, takeReplaced, toast } from "./ui.js";
import * as commit from "./commit.js";
import * as deploy from "./deploy.js";
import * as history from "./history.js";
import * as merges from "./merges.js";
import * as now from "./now.js";
import * as review from "./review.js";
import "./pictures.js";
import "./viewed.js";
import * as settings from "./settings.js";
import * as store from "./store.js";
import * as usage from "./usage.js";
import * as verify from "./verify.js";

/** The pages by the first word of the address. Each has `show(main, rest)`, and may have `told(told)`, `changed(what)`, `again()` and `hide()`. */
const PAGES = { now, proposals: review, store, history, usage, settings, commit, deploy, merges };
/** The titles of pages without a tab. */
const TITLES = { commit: "Commit", deploy: "Deploy", merges: "Merge conflicts" };

const main = document.getElementById("main");
const link = document.getElementById("link");
const LOADING = `<div class="loading" role="status"><span class="spinner" aria-hidden="true"></span>Loading</div>`;

let current = null;
/** The element that contains the current page. */
let sheet = null;

function address() {
  const [, name = "now", ...rest] = location.hash.split("/");
  return Object.hasOwn(PAGES, name) ? [name, rest.map(decoded)] : ["now", []];
}

/** Decodes a part of an address, or returns it unchanged if it is not encoded. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function show() {
  if (!daemon.isIn()) return door();
  const [name, rest] = address();
  const page = PAGES[name];
  if (current !== page) {
    current?.hide?.();
    // Late content for the previous page goes into the old element, which is no longer visible.
    sheet = document.createElement("div");
    sheet.className = "sheet";
    sheet.append(elements(LOADING));
    main.replaceChildren(sheet);
  }
  current = page;
  // A new page starts at its top.
  main.scrollTop = 0;
  for (const tab of document.querySelectorAll(".tabs a")) {
    if (tab.dataset.page === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  const tab = document.querySelector(`.tabs [data-page="${name}"]`);
  setTitle(`${tab?.firstChild.textContent.trim() ?? TITLES[name]} · Vector`);
  try {
    await page.show(sheet, rest);
  } catch (error) {
    if (error.kind === "unauthorized") return out(error);
    missing(error);
  }
}

/** Shows an error in place of a page. */
function missing(error) {
  sheet.replaceChildren(
    elements(`<div class="empty"><h1></h1><p></p><button type="button" class="main" data-act="again">Try again</button></div>`),
  );
  sheet.querySelector("h1").textContent = error.message;
  sheet.querySelector("p").textContent = error.hint ?? "";
}

act("again", show);
act("skip", () => main.focus());

/** Asks the user for the code that grants access. */
function door(error = null) {
  current?.hide?.();
  current = null;
  document.body.dataset.door = "closed";
  said("closed", "Not connected");
  main.replaceChildren(
    elements(`<section class="door"><h1>This page is yours alone</h1>
      <p>Open it with <code>vector open</code>, or type the six digits that Vector printed in its terminal;
      <code>vector pair</code> shows new ones.</p>
      <form data-act="enter"><label for="code">Code</label>
      <input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 \\-]{6,17}" required
      title="Six digits, or twelve"><button class="main" type="submit">Open</button></form><p class="bad" role="alert"></p></section>`),
  );
  main.querySelector(".bad").textContent = error ? `${error.message} ${error.hint}` : "";
  main.querySelector("input").focus();
}

function out(error) {
  daemon.leave();
  door(error);
}

act("enter", async (form) => {
  try {
    await daemon.enter(form.elements.code.value);
  } catch (error) {
    if (error.kind === "away") throw error;
    return door(error);
  }
  begin();
});

function said(state, text) {
  link.dataset.state = state;
  link.textContent = text;
}

/** Whether a proposal is visible to the user. */
const isSeen = (seq) => main.querySelector(`[data-proposal="${seq}"], [data-of="${seq}"]`) !== null;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const LONGEST = 5000;
/** How long a hidden page keeps its stream, in ms. */
const HIDDEN = 5000;
/** How long notices are suppressed after a reconnect, because events may be old, in ms. */
const QUIET = 1500;

let isFollowing = false;

/** Follows the stream while the page is open, and reconnects if the daemon restarts. */
async function follow() {
  isFollowing = true;
  await listen();
  isFollowing = false;
}

/** The stream of this page. A hidden page has none, because a browser allows six connections for all its tabs. */
let listening = null;
let hiding = null;
addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => listening?.abort(), HIDDEN);
});

/** Waits until the page is visible. */
const visible = () =>
  document.hidden && new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));

async function listen() {
  let cursor = null;
  let wait = 250;
  let wasAway = true;
  let quiet = 0;
  while (daemon.isIn()) {
    await visible();
    listening = new AbortController();
    try {
      const opened = () => {
        said("here", "Connected");
        for (const old of document.querySelectorAll("#toasts [data-kind=away]")) old.remove();
        wait = 250;
        quiet = performance.now() + QUIET;
        count();
        if (wasAway) {
          wasAway = false;
          // Load the page after the stream has started, so that no event is missed in between.
          (current?.again ?? show)().catch(failed);
        }
      };
      for await (const all of daemon.stream(cursor, opened, listening.signal)) {
        for (const [at, told] of all) {
          if (at === null) {
            if (told === "verifies") verify.refresh();
            else current?.changed?.(told);
            // Opening a place settles proposals that were left in it, and no event reports that.
            if (told === "places") count();
            continue;
          }
          cursor = at;
          current?.told?.(told, Number(at));
          if (told.proposal !== undefined) count();
          if (told.passing && performance.now() > quiet && !isSeen(told.proposal)) toast(told.passing.text, told.passing.tone);
        }
      }
    } catch (error) {
      if (error.kind === "unauthorized") return out(error);
      if (error.kind !== "away") failed(error);
    }
    wasAway = true;
    if (listening.signal.aborted) continue;
    said("away", "Disconnected, reconnecting");
    await pause(wait);
    wait = Math.min(wait * 2, LONGEST);
  }
}

function begin() {
  delete document.body.dataset.door;
  if (isFollowing) show();
  else follow();
}

async function arrive() {
  const [, code, place] = location.hash.match(/^#in=([0-9a-f]+)(?:\/([^/]+))?$/) ?? [];
  if (code) {
    // The code cannot be used again, and must not be in the browser's history.
    window.history.replaceState(null, "", place ? `#/now/at/${place}` : "#/now");
    try {
      await daemon.enter(code);
    } catch (error) {
      if (!daemon.isIn()) return door(error);
      if (error.kind === "away") toast(error.message, "bad", error.hint);
    }
  }
  if (daemon.isIn()) begin();
  else door();
}

addEventListener("hashchange", () => {
  // A dialog refers to what was shown when it opened.
  const dialog = document.getElementById("dialog");
  if (dialog.open) dialog.close("");
  if (!takeReplaced()) clearErrors();
  if (/^#in=/.test(location.hash)) arrive();
  else show();
});
arrive();
