// Runs of specs in Roblox's engine: the dialog that shows what is sent, and the sections of proposals.

import { call, part } from "./daemon.js";
import { act, elements, failed, released, soon, swap, tell } from "./ui.js";

/** How long the yes is disabled, in ms: longer than the second press of a double click takes. */
const SETTLE = 600;

const dialog = () => document.getElementById("dialog");

/** Shows what a run would send, so that the yes applies to it. */
async function ask(wanted) {
  const html = await part("verify-plan", wanted);
  const box = dialog();
  box.replaceChildren(elements(html));
  box.returnValue = "";
  if (!box.open) box.showModal();
  tell(box);
  const yes = box.querySelector("[data-act=start-verify] [type=submit]");
  if (yes) setTimeout(() => (yes.disabled = false), SETTLE);
  box.querySelector("[data-act=close-dialog]").focus();
}

act("verify", (button) => ask({ proposal: button.dataset.proposalOf }));

act("verify-scratch", (form) => {
  const { universe, place } = form.elements;
  return ask({ proposal: form.dataset.proposalOf, universe: universe.value.trim(), place: place.value.trim() });
});

act("close-dialog", () => dialog().close(""));

act("start-verify", async (form) => {
  const { proposalOf, universe, place, contents } = form.dataset;
  const isAllowed = form.elements.effects?.checked ?? false;
  const proposal = Number(proposalOf);
  await call("POST", "/api/verify", {
    proposal,
    universe: Number(universe),
    place: Number(place),
    contents,
    allow_side_effects: isAllowed,
  });
  dialog().close("");
  refresh();
});

act("cancel-verify", async (button) => {
  await call("POST", `/api/verify/${button.dataset.proposalOf}/cancel`);
  refresh();
});

async function renew(section) {
  const { verify: of, detail } = section.dataset;
  const html = await part("verify", { of, detail });
  await released(section);
  if (section.isConnected) swap(section, html);
}

/** Shows how far the runs of the visible proposals are. */
export const refresh = soon(() => {
  for (const section of document.querySelectorAll("[data-verify]")) renew(section).catch(failed);
});
