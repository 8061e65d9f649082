// The graph of the job. Where its nodes stand comes from the driver; here they are drawn, and their numbers kept fresh.

import { runs, say, set, svg } from "./dom.js";
import { amount, count, duration, rate, share } from "./format.js";
import { arrow, BAR, curve, enter, halfway, INSET, leave, NODE, shape } from "./shapes.js";

// What lies between layers and rows, lying (layers go to the right) and standing (downwards).
const LYING = { layer: 220, most: 250, row: 84 };
const STANDING = { layer: 104, most: 104, row: 176 };
const MARGIN = 8;
// A graph that is a little too wide is drawn smaller; else it stands, if that fits, or on a phone; else it scrolls.
const SMALLEST = 0.76;
const PHONE = 620; // pixels

export class Graph {
  // `choose` is called with the name of a segment, or null.
  constructor(place, choose) {
    this.place = place;
    this.topology = null;
    this.nodes = new Map();
    this.edges = [];
    this.chosen = null;
    this.pick = (segment) => choose(this.chosen === segment ? null : segment);
    new ResizeObserver(() => this.draw()).observe(place);
  }

  // A plan with other frames is another plan with the same graph: whoever has the focus keeps it.
  show(topology) {
    const key = JSON.stringify([topology.nodes, topology.edges]);
    if (key === this.key) return;
    this.key = key;
    this.topology = topology;
    this.way = "";
    this.draw();
  }

  // Anew only when the graph is another one, or has another room.
  draw() {
    if (this.topology === null || !this.place.clientWidth) return;
    const { nodes, edges } = this.topology;
    const room = this.place.clientWidth;
    const layers = Math.max(1, ...nodes.map((node) => node.layer));
    const rows = Math.max(
      0,
      ...nodes.map((node) => node.row),
      ...edges.flatMap((edge) => edge.bends.map(([, row]) => row)),
    );
    const least = (across) => room / (across + NODE.width + 2 * MARGIN);
    const narrow = least(layers * LYING.layer) < SMALLEST;
    const standing = narrow && (room < PHONE || least(rows * STANDING.row) >= SMALLEST);
    const size = standing ? STANDING : LYING;
    const gap = Math.floor(Math.max(size.layer, Math.min(size.most, (room - NODE.width - 2 * MARGIN) / layers)));
    const along = layers * gap;
    const across = rows * size.row;
    const width = (standing ? across : along) + NODE.width + 2 * MARGIN;
    const height = (standing ? along : across) + NODE.height + 2 * MARGIN;
    const fits = room / width;
    const scale = fits < 1 && fits >= SMALLEST ? fits : 1;
    const way = `${standing} ${gap} ${scale}`;
    if (way === this.way) return;
    this.way = way;
    this.standing = standing;
    this.middle = (layer, row) => {
      const [x, y] = standing ? [row * size.row, layer * gap] : [layer * gap, row * size.row];
      return [x + NODE.width / 2 + MARGIN, y + NODE.height / 2 + MARGIN];
    };
    const places = new Map(nodes.map((node) => [node.id, node]));
    this.edges = edges.map((edge) => this.edge(edge, places));
    this.nodes = new Map(nodes.map((node) => [node.id, shape(node, this.middle(node.layer, node.row), this.pick)]));
    const drawn = svg(
      "svg",
      {
        width: width * scale,
        height: height * scale,
        viewBox: `0 0 ${width} ${height}`,
        role: "group",
        "aria-label": `graph of ${count(nodes.length, "node")}`,
      },
      svg("defs", {}, arrow()),
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
    const middle = ({ layer, row }) => this.middle(layer, row);
    const points = [
      leave(middle(source), source, this.standing),
      ...edge.bends.map(([layer, row]) => this.middle(layer, row)),
      enter(middle(target), target, this.standing, edge.kind === "fused" ? 0 : 5),
    ];
    const line = svg("path", {
      d: curve(points, this.standing),
      class: `edge of-${edge.kind}`,
      "marker-end": edge.kind === "fused" ? null : "url(#arrow)",
    });
    const [x, y] = halfway(points);
    const beside = this.standing ? { x: x + 8, y: y + 4 } : { x: x + 3, y: y - 8, "text-anchor": "middle" };
    const text = svg("text", { class: "frame-size", ...beside });
    const title = svg("title");
    return { edge, line, text, title, label: svg("g", {}, title, text) };
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
    const busy = partOf(segment, found, slots);
    const chosen = this.chosen !== null && this.chosen === node.segment;
    set(group, {
      class: `node operator ${batch ? "batch" : "record"} ${chosen ? "chosen" : ""}`,
      "aria-pressed": String(chosen),
    });
    // Slots count what goes through each operator; of what Spark does, only what goes into the segment is known.
    const counted = batch && !found?.rate_in ? null : found;
    const came = counted?.rate_in ?? (head ? segment.rate_in : null);
    const left = counted?.rate_out ?? null;
    say(drawn.flow, `${rate(came)} → ${rate(left)}`);
    say(
      drawn.part,
      !batch ? share(busy) : head && segment.batch ? `batch ${duration(segment.batch.seconds)}` : "Spark",
    );
    set(drawn.part, { x: batch ? INSET : INSET + BAR + 6 });
    set(drawn.all, { width: batch ? 0 : BAR });
    set(drawn.busy, {
      width: ((batch ? 0 : Math.min(1, busy ?? 0)) * BAR).toFixed(1),
      class: `bar-part ${busy > 0.95 ? "full" : busy > 0.8 ? "high" : ""}`,
    });
    say(drawn.lag, head && segment.lag !== null ? `lag ${amount(segment.lag)}` : "");
    const states = [
      `${node.name}: ${node.does}`,
      `${node.kind}, in segment ${node.segment ?? "none"}, ${runs(segment?.paradigm)}`,
      `${rate(came)} in, ${rate(left)} out`,
      batch
        ? "Spark works on it"
        : `busy for ${busy === null ? "an unknown part" : share(busy)} of the time of ${count(slots, "slot")}`,
      head && segment.lag !== null ? `${count(segment.lag, "message")} wait in front of it` : "",
      head && !batch ? phases(segment.phases) : "",
      found?.errors ? `fails on ${rate(found.errors)}: dead letters` : "",
      segment && segment.working < segment.partitions
        ? `${segment.working} of ${segment.partitions} partitions work`
        : "",
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
    say(text, shows);
    const after = plan?.deadlines[edge.source];
    const deadline = after === undefined ? "" : `, or ${duration(after)} after its first record, whichever is first`;
    say(title, shows ? `a frame leaves with ${count(plan.frame, "record")}${deadline}` : "");
  }
}

// Where the time of a record goes in a segment: queue, cpu, wait, network; what takes no time is left out.
function phases(found) {
  const parts = Object.entries(found ?? {}).filter(([, ms]) => ms >= 0.05);
  return parts.length ? `a record takes ${parts.map(([name, ms]) => `${duration(ms / 1000)} ${name}`).join(", ")}` : "";
}

// The part of the time of all slots in which an operator has work.
function partOf(segment, operator, slots) {
  if (operator?.micros !== null && operator?.micros !== undefined && operator.rate_in !== null) {
    return (operator.rate_in * operator.micros) / 1e6 / slots;
  }
  return segment?.name === operator?.name && segment?.busy !== null && segment?.busy !== undefined
    ? segment.busy / slots
    : null;
}
