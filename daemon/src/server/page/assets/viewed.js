// The parts of a proposal that the user has viewed, and the whole script around its changes.

import { call, part } from "./daemon.js";
import { act, fill, onShown, toast } from "./ui.js";

const KEY = "vector-viewed";
/** The maximum number of parts that are remembered. */
const MOST = 500;

const viewed = () => JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
/** The key of a script in a proposal. A replanned proposal has a new key, so its scripts count as not viewed. */
const named = (box) => `${box.closest("[data-patch-id]")?.dataset.patchId} ${box.dataset.viewed}`;
const mark = (box) => box.closest(".script").toggleAttribute("data-viewed", box.checked);

onShown((root) => {
  const known = viewed();
  for (const box of root.querySelectorAll("input[data-viewed]")) {
    box.checked = known.includes(named(box));
    mark(box);
  }
});

addEventListener("change", ({ target: box }) => {
  if (box.dataset?.viewed === undefined) return;
  const others = viewed().filter((it) => it !== named(box));
  sessionStorage.setItem(KEY, JSON.stringify(box.checked ? [...others, named(box)].slice(-MOST) : others));
  mark(box);
});

act("reveal", async (button) => {
  const { path, line, target } = button.dataset;
  const session = button.closest("[data-session]")?.dataset.session;
  const body = { path, line: Number(line), target };
  const { file, url } = await call("POST", `/api/sessions/${encodeURIComponent(session)}/reveal`, body);
  if (url) location.assign(url);
  toast(target === "studio" ? `${path} is shown in Studio.` : `Opening ${file}`, "plain", target === "studio" ? "" : "`editor` in vector.toml chooses the program.");
});

act("whole-script", async (button) => {
  const box = button.closest(".script").querySelector(".whole");
  if (box.childElementCount > 0) {
    box.replaceChildren();
    button.textContent = "Show whole script";
    return;
  }
  const place = button.closest("[data-session]")?.dataset.session;
  fill(box, await part("script", { place, path: button.dataset.path }));
  button.textContent = "Hide whole script";
});
