// What waits for the user: the badge, the page's title, and a notification of the system while the page is hidden.

import * as daemon from "./daemon.js";
import { onShown, soon, toast } from "./ui.js";

const KEY = "vector-notify";
/** How often a hidden page looks for what waits, in ms. It has no stream then. */
const LOOK = 5000;

/** The title of the page without the number. */
let title = "Vector";
/** The number of pending proposals. */
let waiting = 0;
/** The newest of them that replaces none; null if it is not known yet. */
let newest = null;

const isOn = () => localStorage.getItem(KEY) === "on" && globalThis.Notification?.permission === "granted";

const show = () => (document.title = waiting > 0 ? `(${waiting}) ${title}` : title);

export function setTitle(text) {
  title = text;
  show();
}

/** Counts what waits, and tells the user if there is something new. */
export const count = soon(async () => {
  const [number, last] = (await daemon.part("waiting")).split(" ").map(Number);
  const badge = document.getElementById("waiting");
  badge.textContent = number;
  badge.hidden = number === 0;
  badge.title = `${number} to review`;
  const isMore = newest !== null && last > newest;
  waiting = number;
  newest = Math.max(newest ?? 0, last);
  show();
  if (isMore && document.hidden && isOn()) notify(number);
});

function notify(number) {
  const text = number === 1 ? "1 proposal waits for your decision" : `${number} proposals wait for your decision`;
  // One notice replaces the other.
  const notice = new Notification("Vector", { body: text, tag: "vector-waiting", icon: "/assets/icon.svg" });
  notice.addEventListener("click", () => {
    window.focus();
    location.hash = "#/proposals";
    notice.close();
  });
}

setInterval(() => document.hidden && isOn() && daemon.isIn() && count(), LOOK);

onShown((root) => {
  const box = root.querySelector?.("#notify");
  if (box) box.checked = box.defaultChecked = isOn();
});

addEventListener("change", async ({ target }) => {
  if (target.id !== "notify") return;
  const wanted = target.checked;
  localStorage.setItem(KEY, wanted ? "on" : "off");
  if (wanted) await globalThis.Notification?.requestPermission();
  target.checked = target.defaultChecked = isOn();
  if (wanted && !isOn()) {
    toast("The browser does not allow notifications.", "bad", "Allow them for this page in the browser, then try again.");
  }
});
