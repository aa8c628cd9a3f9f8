// The page of usage, and of figures of models and tools.

import { part } from "./daemon.js";
import { swap } from "./ui.js";

let root = null;
let days = "30";

export async function show(main, [span = "30"]) {
  [root, days] = [main, span];
  const html = await part("usage", { days });
  if (days === span) swap(main, html);
}

export const again = () => show(root, [days]);
