// The graph of the job. Where its nodes stand comes from the driver; here they are drawn, and their numbers kept fresh.

import { fill, html, paradigm, runs, say, set, svg } from "./dom.js";
import { amount, count, duration, rate, share } from "./format.js";

// Of a node, and what lies between layers and rows, lying (layers go to the right) and standing (downwards).
const NODE = { width: 164, height: 62 };
const TOPIC = { width: 118, height: 40 };
const LYING = { layer: 220, most: 250, row: 84, margin: 8 };
const STANDING = { layer: 104, most: 104, row: 176, margin: 8 };
const INSET = 15; // of what is written, beside the mark of the paradigm
const BAR = 30;
const SMALLEST = 0.76; // a graph that is a little too wide is drawn smaller; beyond, it scrolls
const PHONE = 620; // pixels; below, the graph stands
const OPERATORS = new Set(["filter", "select", "explode", "python", "aggregate", "join"]);

export class Graph {
  // `choose` is called with the name of a segment, or null.
  constructor(place, choose) {
    this.place = place;
    this.choose = choose;
    this.topology = null;
    this.nodes = new Map();
    this.edges = [];
    this.chosen = null;
    new ResizeObserver(() => this.draw()).observe(place);
  }

  show(topology) {
    this.topology = topology;
    this.standing = undefined;
    this.draw();
  }

  // Anew only when the graph is another one, or turns.
  draw() {
    if (this.topology === null || !this.place.clientWidth) return;
    const standing = this.place.clientWidth < PHONE;
    const { nodes, edges } = this.topology;
    const layers = Math.max(0, ...nodes.map((node) => node.layer));
    const rows = Math.max(0, ...nodes.map((node) => node.row), ...edges.flatMap((edge) => edge.bends.map(([, row]) => row)));
    const size = standing ? STANDING : LYING;
    const room = (this.place.clientWidth - NODE.width - 2 * size.margin) / Math.max(1, layers);
    const gap = Math.floor(Math.max(size.layer, Math.min(size.most, room)));
    if (standing === this.standing && gap === this.gap) return;
    this.standing = standing;
    this.gap = gap;
    const along = layers * gap;
    const across = rows * size.row;
    const width = (standing ? across : along) + NODE.width + 2 * size.margin;
    const height = (standing ? along : across) + NODE.height + 2 * size.margin;
    const fits = this.place.clientWidth / width;
    const scale = fits < 1 && fits >= SMALLEST ? fits : 1;
    this.middle = (layer, row) => {
      const [x, y] = standing ? [row * size.row, layer * gap] : [layer * gap, row * size.row];
      return [x + NODE.width / 2 + size.margin, y + NODE.height / 2 + size.margin];
    };
    const places = new Map(nodes.map((node) => [node.id, node]));
    this.edges = edges.map((edge) => this.edge(edge, places));
    this.nodes = new Map(nodes.map((node) => [node.id, this.node(node)]));
    const drawn = svg(
      "svg",
      { width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `graph of ${count(nodes.length, "node")}` },
      patterns(),
      svg("g", { class: "edges" }, ...this.edges.map((edge) => edge.line)),
      svg("g", {}, ...[...this.nodes.values()].map((node) => node.group)),
      svg("g", {}, ...this.edges.map((edge) => edge.label)),
    );
    this.place.replaceChildren(drawn);
    if (this.seen) this.update(this.seen, this.chosen);
  }

  // Edges

  edge(edge, places) {
    const [source, target] = [places.get(edge.source), places.get(edge.target)];
    const points = [leave(this, source), ...edge.bends.map(([layer, row]) => this.middle(layer, row)), enter(this, target, edge.kind === "fused" ? 0 : 5)];
    const line = svg("path", { d: curve(points, this.standing), class: `edge of-${edge.kind}`, "marker-end": edge.kind === "fused" ? null : "url(#arrow)" });
    const [x, y] = halfway(points);
    const beside = this.standing ? { x: x + 8, y: y + 4 } : { x: x + 3, y: y - 8, "text-anchor": "middle" };
    const text = svg("text", { class: "frame-size", ...beside });
    const title = svg("title");
    return { edge, line, text, title, label: svg("g", {}, title, text) };
  }

  // Nodes

  node(node) {
    const operator = OPERATORS.has(node.kind);
    const { width, height } = operator ? NODE : TOPIC;
    const [x, y] = this.middle(node.layer, node.row);
    const at = `translate(${x - width / 2} ${y - height / 2})`;
    const title = svg("title", {}, `${node.name}: ${node.does}`);
    const name = svg("text", { class: "name", x: INSET, y: 18 }, cut(node.name, operator ? 14 : 13));
    if (!operator) {
      const shape = svg("rect", { class: "box", width, height, rx: node.kind === "table" ? 3 : height / 2 });
      const lines = node.kind === "table" ? [svg("line", { class: "rule", x1: 0, x2: width, y1: 4.5, y2: 4.5 })] : [];
      const kind = svg("text", { class: "kind", x: width / 2, y: 32, "text-anchor": "middle" }, node.kind);
      set(name, { x: width / 2, "text-anchor": "middle" });
      const group = svg("g", { class: `node topic ${node.kind}`, transform: at, role: "img", "aria-label": `${node.kind} ${node.name}, ${node.does}` }, title, shape, ...lines, name, kind);
      return { node, group, kind };
    }
    const ring = svg("rect", { class: "ring", x: -3, y: -3, width: width + 6, height: height + 6, rx: 10 });
    const sheet = svg("path", { class: "sheet", d: `M 5 0 v -4 h ${width} v ${height} h -5` });
    const box = svg("rect", { class: "box", width, height, rx: 7 });
    const side = svg("rect", { class: "side", width: 5, height: height - 10, x: 0, y: 5 });
    const kind = svg("text", { class: "kind", x: width - 9, y: 18, "text-anchor": "end" }, node.kind);
    const flow = svg("text", { class: "flow", x: INSET, y: 36 });
    const busy = svg("rect", { class: "bar-part", x: INSET, y: 47, height: 6, rx: 2, width: 0 });
    const all = svg("rect", { class: "bar-all", x: INSET, y: 47, height: 6, rx: 2, width: BAR });
    const part = svg("text", { class: "small", y: 53 });
    const lag = svg("text", { class: "small lag", x: width - 9, y: 53, "text-anchor": "end" });
    const pick = () => this.choose(this.chosen === node.segment ? null : node.segment);
    const group = svg(
      "g",
      { class: "node operator", transform: at, role: "button", tabindex: 0, onclick: pick, onkeydown: (event) => pressed(event, pick) },
      title, ring, sheet, box, side, name, kind, flow, all, busy, part, lag,
    );
    return { node, group, flow, all, busy, part, lag, title };
  }

  // Numbers

  update(seen, chosen) {
    this.seen = seen;
    this.chosen = chosen;
    if (!this.nodes.size) return;
    const segments = new Map(seen.segments.map((segment) => [segment.name, segment]));
    const planned = new Map((seen.plan?.segments ?? []).map((segment) => [segment.name, segment]));
    const slots = Math.max(1, seen.slots.filter((slot) => !slot.silent).length);
    for (const drawn of this.nodes.values()) {
      if (drawn.flow) this.operator(drawn, segments.get(drawn.node.segment), slots);
      else if (drawn.node.kind === "output") say(drawn.kind, rate(seen.latency.outputs[drawn.node.name]?.rate));
    }
    for (const drawn of this.edges) this.frames(drawn, segments, planned);
  }

  operator(drawn, segment, slots) {
    const { node, group } = drawn;
    const found = segment?.operators.find((operator) => operator.name === node.name);
    const head = segment?.name === node.name;
    const batch = segment?.paradigm === "batch";
    const busy = share_of(segment, found, slots);
    set(group, {
      class: `node operator ${batch ? "batch" : "record"}${this.chosen !== null && this.chosen === node.segment ? " chosen" : ""}`,
      "aria-pressed": String(this.chosen !== null && this.chosen === node.segment),
    });
    const [came, left] = [found?.rate_in ?? (head ? segment.rate_in : null), found?.rate_out ?? (segment?.operators.length === 1 ? segment.rate_out : null)];
    say(drawn.flow, `${rate(came)} → ${rate(left)}`);
    say(drawn.part, !batch ? share(busy) : head && segment.batch ? `batch ${duration(segment.batch.seconds)}` : "Spark");
    set(drawn.part, { x: batch ? INSET : INSET + BAR + 6 });
    set(drawn.all, { width: batch ? 0 : BAR });
    set(drawn.busy, { width: ((batch ? 0 : Math.min(1, busy ?? 0)) * BAR).toFixed(1), class: `bar-part ${busy > 0.95 ? "full" : busy > 0.8 ? "high" : ""}` });
    say(drawn.lag, head && segment.lag !== null ? `lag ${amount(segment.lag)}` : "");
    const states = [
      `${node.name}: ${node.does}`,
      `${node.kind}, in segment ${node.segment ?? "none"}, ${runs(segment?.paradigm)}`,
      `${rate(came)} in, ${rate(left)} out`,
      batch ? "Spark works on it" : `busy for ${busy === null ? "an unknown part" : share(busy)} of the time of ${count(slots, "slot")}`,
      head && segment.lag !== null ? `${count(segment.lag, "message")} wait in front of it` : "",
      found?.errors ? `fails on ${rate(found.errors)}: dead letters` : "",
      segment && segment.working < segment.partitions ? `${segment.working} of ${segment.partitions} partitions work` : "",
    ].filter(Boolean);
    say(drawn.title, states.join("\n"));
    set(group, { "aria-label": states.join("; ") });
  }

  frames({ edge, line, text, title }, segments, planned) {
    const segment = this.nodes.get(edge.source).node.segment;
    const plan = planned.get(segment);
    const running = segments.get(segment);
    const flows = (running?.rate_out ?? 0) > 0;
    set(line, { class: `edge of-${edge.kind}${edge.kind === "edge" && flows ? " flows" : ""}` });
    const shows = edge.kind === "edge" && plan ? `${amount(plan.frame)}/frame` : "";
    if (shows === text.textContent) return;
    say(text, shows);
    const after = plan?.deadlines[edge.source];
    const deadline = after === undefined ? "" : `, or ${duration(after)} after its first record, whichever is first`;
    say(title, shows ? `a frame leaves with ${count(plan.frame, "record")}${deadline}` : "");
  }
}

// The part of the time of all slots in which an operator has work.
function share_of(segment, operator, slots) {
  if (operator?.micros !== null && operator?.micros !== undefined && operator.rate_in !== null) {
    return (operator.rate_in * operator.micros) / 1e6 / slots;
  }
  return segment?.name === operator?.name && segment?.busy !== null && segment?.busy !== undefined ? segment.busy / slots : null;
}

function pressed(event, pick) {
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  pick();
}

function size(node) {
  return OPERATORS.has(node.kind) ? NODE : TOPIC;
}

function leave(graph, node) {
  const [x, y] = graph.middle(node.layer, node.row);
  return graph.standing ? [x, y + size(node).height / 2] : [x + size(node).width / 2, y];
}

// An arrow needs some room in front of the node.
function enter(graph, node, room) {
  const [x, y] = graph.middle(node.layer, node.row);
  return graph.standing ? [x, y - size(node).height / 2 - room] : [x - size(node).width / 2 - room, y];
}

// A smooth line through points, which leaves and enters along the flow.
function curve(points, standing) {
  const parts = [`M ${points[0].join(" ")}`];
  for (let i = 1; i < points.length; i += 1) {
    const [[a, b], [c, d]] = [points[i - 1], points[i]];
    const half = standing ? (b + d) / 2 : (a + c) / 2;
    parts.push(standing ? `C ${a} ${half} ${c} ${half} ${c} ${d}` : `C ${half} ${b} ${half} ${d} ${c} ${d}`);
  }
  return parts.join(" ");
}

function halfway(points) {
  const at = Math.floor((points.length - 1) / 2);
  const [[a, b], [c, d]] = [points[at], points[at + 1]];
  return [(a + c) / 2, (b + d) / 2];
}

function cut(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

function patterns() {
  const arrow = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 3, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, svg("path", { class: "arrow", d: "M 0 0.5 L 7 4 L 0 7.5 z" }));
  return svg("defs", {}, arrow);
}

export function legend(place) {
  fill(place, "legend", () => [
    html("li", {}, paradigm("record"), " record by record"),
    html("li", {}, paradigm("batch"), " in batches"),
    html("li", {}, svg("svg", { width: 26, height: 8, "aria-hidden": "true" }, svg("path", { class: "edge of-edge flows", d: "M 0 4 H 26" })), " frames of records"),
    html("li", {}, svg("svg", { width: 26, height: 8, "aria-hidden": "true" }, svg("path", { class: "edge of-fused", d: "M 0 4 H 26" })), " a function call"),
  ]);
}
