// What a graph is drawn of: operators, topics, lines and arrows.

import { fill, html, paradigm, set, svg } from "./dom.js";

export const NODE = { width: 164, height: 62 };
export const INSET = 15; // of what is written, beside the mark of the paradigm
export const BAR = 30;
const TOPIC = { width: 118, height: 40 };
const OPERATORS = new Set(["filter", "select", "explode", "python", "aggregate", "join"]);

// A node around its middle, and those parts of it that change; `pick` is called with its segment.
export function shape(node, [x, y], pick) {
  const { width, height } = size(node);
  const parts = OPERATORS.has(node.kind) ? operator(node, pick) : topic(node);
  set(parts.group, { transform: `translate(${x - width / 2} ${y - height / 2})` });
  return { node, ...parts };
}

function topic(node) {
  const { width, height } = TOPIC;
  const table = node.kind === "table";
  const kind = svg("text", { class: "kind", x: width / 2, y: 32, "text-anchor": "middle" }, node.kind);
  const group = svg(
    "g",
    { class: `node topic ${node.kind}`, role: "img", "aria-label": `${node.kind} ${node.name}, ${node.does}` },
    svg("title", {}, `${node.name}: ${node.does}`),
    svg("rect", { class: "box", width, height, rx: table ? 3 : height / 2 }),
    table ? svg("line", { class: "rule", x1: 0, x2: width, y1: 4.5, y2: 4.5 }) : null,
    svg("text", { class: "name", x: width / 2, y: 18, "text-anchor": "middle" }, cut(node.name, 13)),
    kind,
  );
  return { group, kind };
}

function operator(node, pick) {
  const { width, height } = NODE;
  const title = svg("title");
  const flow = svg("text", { class: "flow", x: INSET, y: 36 });
  const all = svg("rect", { class: "bar-all", x: INSET, y: 47, height: 6, rx: 2, width: BAR });
  const busy = svg("rect", { class: "bar-part", x: INSET, y: 47, height: 6, rx: 2, width: 0 });
  const part = svg("text", { class: "small", y: 53 });
  const lag = svg("text", { class: "small lag", x: width - 9, y: 53, "text-anchor": "end" });
  const picked = () => pick(node.segment);
  const group = svg(
    "g",
    {
      class: "node operator",
      role: "button",
      tabindex: 0,
      onclick: picked,
      onkeydown: (event) => pressed(event, picked),
    },
    title,
    svg("rect", { class: "ring", x: -3, y: -3, width: width + 6, height: height + 6, rx: 10 }),
    svg("path", { class: "sheet", d: `M 5 0 v -4 h ${width} v ${height} h -5` }),
    svg("rect", { class: "box", width, height, rx: 7 }),
    svg("rect", { class: "side", width: 5, height: height - 10, x: 0, y: 5 }),
    svg("text", { class: "name", x: INSET, y: 18 }, cut(node.name, 14)),
    svg("text", { class: "kind", x: width - 9, y: 18, "text-anchor": "end" }, node.kind),
    flow,
    all,
    busy,
    part,
    lag,
  );
  return { group, flow, all, busy, part, lag, title };
}

function pressed(event, pick) {
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  pick();
}

function size(node) {
  return OPERATORS.has(node.kind) ? NODE : TOPIC;
}

// Where a line leaves a node that has its middle there.
export function leave([x, y], node, standing) {
  return standing ? [x, y + size(node).height / 2] : [x + size(node).width / 2, y];
}

// Where it enters one; an arrow needs some room in front of it.
export function enter([x, y], node, standing, room) {
  return standing ? [x, y - size(node).height / 2 - room] : [x - size(node).width / 2 - room, y];
}

// A smooth line through points, which leaves and enters along the flow.
export function curve(points, standing) {
  const parts = [`M ${points[0].join(" ")}`];
  for (let i = 1; i < points.length; i += 1) {
    const [[a, b], [c, d]] = [points[i - 1], points[i]];
    const half = standing ? (b + d) / 2 : (a + c) / 2;
    parts.push(standing ? `C ${a} ${half} ${c} ${half} ${c} ${d}` : `C ${half} ${b} ${half} ${d} ${c} ${d}`);
  }
  return parts.join(" ");
}

// The middle of the middle part.
export function halfway(points) {
  const at = Math.floor((points.length - 1) / 2);
  const [[a, b], [c, d]] = [points[at], points[at + 1]];
  return [(a + c) / 2, (b + d) / 2];
}

function cut(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

export function arrow() {
  const tip = svg("path", { class: "arrow", d: "M 0 0.5 L 7 4 L 0 7.5 z" });
  const size = { viewBox: "0 0 8 8", refX: 3, refY: 4, markerWidth: 7, markerHeight: 7 };
  return svg("marker", { id: "arrow", ...size, orient: "auto-start-reverse" }, tip);
}

export function legend(place) {
  const line = (kind) =>
    svg(
      "svg",
      { width: 26, height: 8, "aria-hidden": "true" },
      svg("path", { class: `edge ${kind}`, d: "M 0 4 H 26" }),
    );
  fill(place, "legend", () => [
    html("li", {}, paradigm("record"), " record by record"),
    html("li", {}, paradigm("batch"), " in batches"),
    html("li", {}, line("of-edge flows"), " frames of records"),
    html("li", {}, line("of-fused"), " a function call"),
  ]);
}
