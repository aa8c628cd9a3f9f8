// Files of the user that go with a request: chosen, pasted or dropped. They are kept until the request
// is sent, but not over a reload.

import { Failure } from "./daemon.js";
import { act, failed, onShown } from "./ui.js";

/** The most bytes of all files of a request: base64 takes a third more, and a request holds 900 KB. */
const MOST = 600_000;
/** The most bytes of a file as it is chosen. */
const LARGEST = 50_000_000;
/** The most bytes of a text: the limit of a script in Studio. */
const MOST_TEXT = 200_000;
/** The most pixels of a side of an image that is sent as it is. */
const MOST_SIDE = 8000;
const MOST_FILES = 8;
/** The sides, in pixels, to which an image is scaled until it fits. Models scale larger ones down themselves. */
const SIDES = [2000, 1568, 1024, 640];

/** The attached files: their names, contents, and addresses of their pictures. */
let files = [];
/** The files that went with the last request. */
let sent = [];
/** Files that are being read, and how many could not be attached so far. */
let reading = Promise.resolve();
let failures = 0;

const isImage = (file) => /^image\/(png|jpeg|gif|webp)$/.test(file.type);
const sizeOf = (all) => all.reduce((sum, it) => sum + it.content.size, 0);

/** Returns the attached files as attachments of a request. */
export async function attachments() {
  const before = failures;
  await reading;
  if (failures > before) {
    throw new Failure("invalid", "A file could not be attached, so nothing was sent.", "Your text is still there: send it without the file.");
  }
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
      await addOne(file).catch((error) => {
        failures += 1;
        failed(error);
      });
      draw();
    }
  });
}

async function addOne(file) {
  const room = MOST - sizeOf(files);
  if (files.length >= MOST_FILES) {
    throw new Failure("invalid", `${MOST_FILES} files are attached already.`, "Remove one, or send them with the next request.");
  }
  if (file.size > LARGEST) throw tooLarge(file.name);
  // The content is read now: the file may change or go.
  const bytes = await file.arrayBuffer().catch(() => new ArrayBuffer(0));
  if (bytes.byteLength === 0) {
    throw new Failure("invalid", `${file.name} is empty, or a folder.`, "Mention a folder of the project with @folder:");
  }
  let [name, content] = [file.name, new Blob([bytes], { type: file.type })];
  if (isImage(file)) [name, content] = await fitting(name, content, room);
  else if (bytes.byteLength > MOST_TEXT) throw tooLarge(name);
  else if (!isText(bytes)) {
    throw new Failure("invalid", `${name} is neither a text nor an image.`, "Attach PNG, JPEG, GIF or WebP images, or texts.");
  }
  if (content.size > room) throw tooLarge(name);
  files = [...files, { name, content, picture: isImage(content) ? URL.createObjectURL(content) : null }];
}

const tooLarge = (name) =>
  new Failure(
    "invalid",
    `${name} is too large to be attached.`,
    "Files of a request may have 600 KB together, and a text 200 KB. Mention a file of the project with @file: instead.",
  );

function isText(bytes) {
  try {
    return !new TextDecoder("utf-8", { fatal: true }).decode(bytes).includes("\0");
  } catch {
    return false;
  }
}

/** Returns an image as it is, or as a JPEG that fits, whose transparent parts become white. */
async function fitting(name, content, room) {
  const image = await createImageBitmap(content).catch(() => null);
  if (!image) throw new Failure("invalid", `${name} cannot be read as an image.`, "Save it as PNG or JPEG, and attach it again.");
  if (content.size <= room && Math.max(image.width, image.height) <= MOST_SIDE) return [name, content];
  for (const side of SIDES) {
    const scale = Math.min(1, side / Math.max(image.width, image.height));
    const canvas = new OffscreenCanvas(Math.max(1, Math.round(image.width * scale)), Math.max(1, Math.round(image.height * scale)));
    const context = canvas.getContext("2d");
    context.fillStyle = "white";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    const scaled = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.85 });
    if (scaled.size <= room) return [`${name.replace(/\.\w+$/, "")}.jpg`, scaled];
  }
  throw tooLarge(name);
}

function draw() {
  const box = document.getElementById("attached");
  if (!box) return;
  box.hidden = files.length === 0;
  const focused = box.contains(document.activeElement) ? document.activeElement.dataset.at : null;
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
  if (focused !== null) box.querySelector(`[data-at="${focused}"]`)?.focus();
}

onShown((root) => root.querySelector?.("#attached") && draw());

act("detach", async ({ dataset }) => {
  remove(files.slice(Number(dataset.at)).slice(0, 1));
  document.getElementById("ask-text").focus();
});
/** The field that opens the file chooser. It is not part of the form, which may be recreated meanwhile. */
const chooser = document.createElement("input");
[chooser.type, chooser.multiple] = ["file", true];
chooser.addEventListener("change", () => {
  add([...chooser.files]);
  chooser.value = "";
});
act("choose-files", async () => chooser.click());
addEventListener("paste", (event) => {
  const pasted = [...(event.clipboardData?.files ?? [])];
  // Cells and formatted text come with a picture of them.
  const types = event.clipboardData?.types ?? [];
  const isFormatted = types.includes("text/plain") && types.includes("text/html");
  if (event.target.id !== "ask-text" || pasted.length === 0 || isFormatted) return;
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
