// Pictures of places: loaded with the token when they become visible.

import { blob } from "./daemon.js";
import { act, onShown } from "./ui.js";

const urls = new Map();
/** The pictures that are loading. */
const asked = new Map();

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    load(target);
  }
});

onShown((root) => {
  for (const [image, url] of urls) {
    if (image.isConnected) continue;
    URL.revokeObjectURL(url);
    urls.delete(image);
  }
  for (const [image, own] of asked) if (!image.isConnected) own.abort();
  for (const image of root.querySelectorAll("img[data-picture]")) seen.observe(image);
});

async function load(image) {
  const box = image.closest("figure");
  box.dataset.state = "loading";
  asked.get(image)?.abort();
  const own = new AbortController();
  asked.set(image, own);
  try {
    const url = URL.createObjectURL(await blob(image.dataset.picture, own.signal));
    const old = urls.get(image);
    if (old) URL.revokeObjectURL(old);
    urls.set(image, url);
    image.src = url;
    await image.decode();
    box.dataset.state = "there";
  } catch (error) {
    if (error.name === "AbortError") return;
    box.dataset.state = "missing";
    box.querySelector(".why").textContent = error.message;
  } finally {
    if (asked.get(image) === own) asked.delete(image);
  }
}

act("view", (button) => {
  const group = button.closest(".pictures");
  for (const other of group.querySelectorAll("[data-act=view]")) other.setAttribute("aria-pressed", String(other === button));
  for (const image of group.querySelectorAll("img[data-picture]")) {
    image.dataset.picture = image.dataset.picture.replace(/view=\w+/, `view=${button.dataset.view}`);
    load(image);
  }
});
