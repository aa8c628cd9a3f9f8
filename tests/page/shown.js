// What is shown, and how: each element that is seen with its own words and the styles that do not depend on
// the fonts of a machine. `all` is for a hash, `texts` for a person.
const STYLES = [
  "display", "position", "color", "background-color", "opacity", "font-size", "font-weight", "font-style",
  "line-height", "text-align", "text-decoration-line", "white-space", "text-overflow", "overflow-x", "overflow-y",
  "border-top-width", "border-top-color", "border-right-width", "border-right-color", "border-bottom-width",
  "border-bottom-color", "border-left-width", "border-left-color", "border-top-left-radius", "padding-top",
  "padding-right", "padding-bottom", "padding-left", "row-gap", "column-gap", "justify-content", "align-items",
  "order", "box-shadow", "z-index",
];
const all = [];
const texts = [];

const styled = (element, pseudo) => {
  const style = getComputedStyle(element, pseudo);
  return STYLES.map((name) => style.getPropertyValue(name)).join("|");
};

const own = (element) => {
  const words = [...element.childNodes].filter((it) => it.nodeType === Node.TEXT_NODE).map((it) => it.data);
  return words.join("").replaceAll(/\s+/g, " ").trim();
};

for (const element of document.body.querySelectorAll("*")) {
  if (!element.checkVisibility({ visibilityProperty: true }) || element.closest(".hush")) continue;
  const chosen = element.selectedOptions?.[0]?.text ?? "";
  const value = element.matches("input:not([type=hidden]), textarea") ? element.value || element.placeholder || "" : chosen;
  const said = own(element) || value;
  const made = ["::before", "::after"].map((pseudo) => {
    const { content } = getComputedStyle(element, pseudo);
    return content === "none" ? "" : content + styled(element, pseudo);
  });
  const state = [element.disabled, element.checked, element.open].map((it) => it === true);
  all.push([element.localName, said, styled(element), ...made, ...state]);
  if (said && element.localName !== "option") texts.push(said);
}
return { all, texts };
