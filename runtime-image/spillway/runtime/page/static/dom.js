// Elements in one expression. Texts are set as texts: nothing of a job is ever read as markup.

import { amount } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

function dressed(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function html(tag, attributes = {}, ...children) {
  return dressed(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return dressed(document.createElementNS(SVG, tag), attributes, children);
}

export function byId(id) {
  return document.getElementById(id);
}

// Set a text; what is right already is left alone, so that selections stay.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
  }
}

// Build the content of an element anew, unless what it shows is as it was.
const shown = new WeakMap();

export function fill(element, shows, build) {
  const key = JSON.stringify(shows);
  if (shown.get(element) === key) return;
  shown.set(element, key);
  element.replaceChildren(...build());
}

// A sentence of the driver: names stand out, and large numbers are as everywhere else.
export function spoken(text) {
  return text
    .replace(/\d{5,}/g, (digits) => amount(Number(digits)))
    .split("`")
    .map((part, i) => (i % 2 ? html("em", {}, part) : part));
}

// A bar from 0 to 1, for shares; the number stands beside it.
export function bar(part, kind = "") {
  const width = Math.max(0, Math.min(1, part ?? 0)) * 48;
  const level = part > 0.95 ? "full" : part > 0.8 ? "high" : "";
  return svg(
    "svg",
    { class: `bar ${level} ${kind}`, width: 48, height: 8, viewBox: "0 0 48 8", "aria-hidden": "true" },
    svg("rect", { class: "bar-all", width: 48, height: 8, rx: 2 }),
    svg("rect", { class: "bar-part", width: width.toFixed(1), height: 8, rx: 2 }),
  );
}

// A flag of a paradigm: a solid bar record by record, a stack of sheets in batches; told apart without colours too.
export function paradigm(name) {
  const batch = name === "batch";
  const drawn = batch
    ? [
        svg("rect", { x: 3.5, y: 1, width: 9, height: 7 }),
        svg("rect", { x: 0.75, y: 4, width: 9, height: 7, class: "front" }),
      ]
    : [
        svg("circle", { cx: 2.5, cy: 6, r: 2 }),
        svg("circle", { cx: 7.5, cy: 6, r: 2 }),
        svg("circle", { cx: 12.5, cy: 6, r: 2 }),
      ];
  return svg(
    "svg",
    { class: `sign ${batch ? "batch" : "record"}`, width: 15, height: 12, "aria-hidden": "true" },
    ...drawn,
  );
}

export function runs(name) {
  return name === "batch" ? "in batches" : "record by record";
}
