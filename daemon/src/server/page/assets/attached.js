// Files of the user that go with a request: chosen, pasted or dropped. They are kept until the request
// is sent, but not over a reload.

import { Failure } from "./daemon.js";
import { act, failed, onShown } from "./ui.js";

/** The most bytes of all files of a request: base64 takes a third more, and a request holds 900 KB. */
const MOST = 600_000;
/** The most bytes of a file as it is chosen. A larger image is not decoded. */
const LARGEST = 50_000_000;
const MOST_FILES = 8;
/** The sides, in pixels, to which an image is scaled until it fits. Models scale larger ones down themselves. */
const SIDES = [2000, 1568, 1024, 640];

/** The attached files: their names, contents, and addresses of their pictures. */
let files = [];
/** The files that went with the last request. */
let sent = [];
/** Files that are being read. */
let reading = Promise.resolve();

const isImage = (file) => /^image\/(png|jpeg|gif|webp)$/.test(file.type);
const sizeOf = (all) => all.reduce((sum, it) => sum + it.content.size, 0);

/** Returns the attached files as attachments of a request. */
export async function attachments() {
  await reading;
  sent = files;
  return Promise.all(sent.map(async ({ name, content }) => ({ kind: "file", name, data: await base64(content) })));
}

/** Removes the files that went with the last request. */
export function clear() {
  remove(sent);
}

function remove(gone) {
  for (const { picture } of gone) if (picture) URL.revokeObjectURL(picture);
  files = files.filter((it) => !gone.includes(it));
  draw();
}

async function base64(content) {
  const bytes = new Uint8Array(await content.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** Adds files, one after the other. */
function add(chosen) {
  reading = reading.then(async () => {
    for (const file of chosen) {
      await addOne(file).catch(failed);
      draw();
    }
  });
}

async function addOne(file) {
  const room = MOST - sizeOf(files);
  if (files.length >= MOST_FILES) {
    throw new Failure("invalid", `${MOST_FILES} files are attached already.`, "Remove one, or send them with the next request.");
  }
  if (file.size === 0) throw new Failure("invalid", `${file.name} is empty, or a folder.`, "Mention a folder with @folder:");
  let [name, content] = [file.name, file];
  if (isImage(file) && file.size > room) [name, content] = await smaller(file, room);
  if (content.size > room) {
    const hint = "Files of a request may have 600 KB together. Mention a file of the project with @file: instead.";
    throw new Failure("invalid", `${file.name} is too large to be attached.`, hint);
  }
  files = [...files, { name, content, picture: isImage(content) ? URL.createObjectURL(content) : null }];
}

/** Returns an image as a JPEG that fits. Its transparent parts become white. */
async function smaller(file, room) {
  if (file.size > LARGEST) return [file.name, file];
  const image = await createImageBitmap(file).catch(() => null);
  if (!image) throw new Failure("invalid", `${file.name} cannot be read as an image.`, "Save it as PNG or JPEG, and attach it again.");
  for (const side of SIDES) {
    const scale = Math.min(1, side / Math.max(image.width, image.height));
    const canvas = new OffscreenCanvas(Math.max(1, Math.round(image.width * scale)), Math.max(1, Math.round(image.height * scale)));
    const context = canvas.getContext("2d");
    context.fillStyle = "white";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    const content = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.85 });
    if (content.size <= room) return [file.name.replace(/\.\w+$/, "") + ".jpg", content];
  }
  return [file.name, file];
}

function draw() {
  const box = document.getElementById("attached");
  if (!box) return;
  box.hidden = files.length === 0;
  box.replaceChildren(
    ...files.map(({ name, content, picture }, at) => {
      const item = document.createElement("li");
      if (picture) {
        const image = document.createElement("img");
        [image.src, image.alt] = [picture, ""];
        item.append(image);
      }
      const label = document.createElement("span");
      label.textContent = `${name}, ${Math.ceil(content.size / 1000)} KB`;
      const button = document.createElement("button");
      [button.type, button.className, button.textContent] = ["button", "plain", "×"];
      [button.dataset.act, button.dataset.at] = ["detach", at];
      button.setAttribute("aria-label", `Remove ${name}`);
      item.append(label, button);
      return item;
    }),
  );
}

onShown(draw);

act("detach", async ({ dataset }) => {
  remove(files.slice(Number(dataset.at)).slice(0, 1));
  document.getElementById("ask-text").focus();
});
act("choose-files", async () => document.getElementById("ask-files").click());
addEventListener("change", ({ target }) => {
  if (target.id !== "ask-files") return;
  add([...target.files]);
  target.value = "";
});
addEventListener("paste", (event) => {
  const pasted = [...(event.clipboardData?.files ?? [])];
  if (event.target.id !== "ask-text" || pasted.length === 0) return;
  event.preventDefault();
  add(pasted);
});

const dropArea = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files") && document.querySelector("form.composer");
addEventListener("dragover", (event) => {
  const form = dropArea(event);
  if (!form) return;
  event.preventDefault();
  form.classList.add("dropping");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.querySelector("form.composer")?.classList.remove("dropping");
});
addEventListener("drop", (event) => {
  const form = dropArea(event);
  if (!form) return;
  event.preventDefault();
  form.classList.remove("dropping");
  add([...event.dataTransfer.files]);
});
