// The decision now: what is done and why, the numbers behind it, and what the other way would cost.

import { byId, fill, html, say, spoken, svg } from "./dom.js";
import { amount, rate } from "./format.js";

const ACTIONS = {
  ToBatch: "to batches",
  ToRecord: "back to record by record",
  Hold: "hold",
  Refuse: "no batches",
  Advise: "would switch",
};
const WIDE = 300; // of the drawings, in their own measure

// `now` is the event `deciding`; `chosen` the segment that was chosen in the graph, or null.
export function decision(now, seen, chosen) {
  const switching = now?.switching ?? null;
  const verdict = of(switching, seen, chosen);
  const shown = verdict ?? switching;
  say(byId("decision-of"), chosen === null ? "of the job" : `of segment ${chosen}`);
  byId("decision-all").hidden = chosen === null;
  if (shown === null) {
    fill(byId("decision"), "nothing", () => [html("p", { class: "quiet" }, "Nothing was decided yet.")]);
  } else {
    const running = seen.segments.find((segment) => segment.name === shown.point)?.paradigm;
    fill(byId("decision"), [shown, running], () => parts(shown, running === "batch"));
  }
  sizes(now, seen);
}

// What a segment is in favour of; that of the job where nothing is said of it.
function of(switching, seen, chosen) {
  if (switching === null) return null;
  const points = [...switching.verdicts];
  const named = (name) => points.find((verdict) => verdict.point === name);
  if (chosen !== null) {
    const operators = seen.segments.find((segment) => segment.name === chosen)?.operators ?? [];
    return (
      named(chosen) ??
      operators.map((operator) => named(operator.name)).find(Boolean) ?? {
        sentence: `nothing is decided about ${chosen} now`,
        reason: "",
        action: "Hold",
        inputs: {},
        alternatives: [],
      }
    );
  }
  return named(switching.point) ?? null;
}

function parts(shown, inBatches) {
  const inputs = Object.fromEntries(Object.entries(shown.inputs).map(([name, text]) => [name, number(text)]));
  return [
    html(
      "p",
      { class: "sentence" },
      html("b", { class: `action ${shown.action}` }, ACTIONS[shown.action] ?? shown.action),
      " ",
      ...plain(shown.sentence),
    ),
    ...(inputs.L_up === undefined ? [] : [queue(inputs, inBatches), capacities(inputs)]),
    ...(shown.alternatives.length ? [html("h3", {}, "the other way")] : []),
    ...shown.alternatives.map(({ what, whyNot }) =>
      html("p", { class: "lost" }, html("b", {}, `not ${what}: `), ...spoken(whyNot)),
    ),
    ...(inputs.T === undefined
      ? []
      : [html("p", { class: "quiet small" }, `batch interval T ${shown.inputs.T}; reason ${shown.reason}`)]),
  ];
}

// A number and its unit: "64611", "1200/s"; null for "unknown".
function number(text) {
  const found = Number.parseFloat(text);
  return Number.isNaN(found) ? null : found;
}

// Without the word that the action has said.
function plain(sentence) {
  return spoken(sentence.replace(/^(hold|refused|to batches): /, ""));
}

// The queue between its thresholds: beyond L_up to batches, below L_down back; between them things stay as they are.
function queue({ L, L_switch, L_up, L_down }, inBatches) {
  const most = Math.max(L, L_up) * 1.15 || 1;
  const x = (value) => Math.max(0, Math.min(1, value / most)) * WIDE;
  const y = 20;
  return html(
    "figure",
    {},
    html(
      "figcaption",
      {},
      "queue ",
      html("b", {}, amount(L)),
      html(
        "span",
        { class: "quiet" },
        inBatches
          ? `; below ${amount(L_down)} record by record is faster`
          : `; beyond ${amount(L_up)} batches are faster`,
      ),
    ),
    svg(
      "svg",
      {
        class: "gauge",
        viewBox: `-4 0 ${WIDE + 8} 48`,
        role: "img",
        "aria-label": `L is ${L}; L_down ${L_down}, L_switch ${L_switch}, L_up ${L_up}`,
      },
      svg("rect", { class: "gauge-record", x: 0, y, width: x(L_down), height: 10 }),
      svg("rect", { class: "gauge-band", x: x(L_down), y, width: x(L_up) - x(L_down), height: 10 }),
      svg("rect", { class: "gauge-batch", x: x(L_up), y, width: WIDE - x(L_up), height: 10 }),
      svg("line", { class: "gauge-switch", x1: x(L_switch), x2: x(L_switch), y1: y - 2, y2: y + 12 }),
      svg("path", { class: "gauge-now", d: `M ${x(L) - 5} ${y - 10} h 10 l -5 9 z` }),
      label(x(L_down), y + 24, `back ${amount(L_down)}`, "end"),
      label(x(L_up), y + 24, `over ${amount(L_up)}`, "start"),
    ),
  );
}

function label(x, y, text, anchor) {
  return svg(
    "text",
    {
      class: "gauge-text",
      x: anchor === "end" ? Math.max(58, x) - 3 : Math.min(WIDE - 60, x) + 3,
      y,
      "text-anchor": anchor,
    },
    text,
  );
}

// What arrives, and what either paradigm does.
function capacities({ V, P_D, P_O }) {
  const most = Math.max(V ?? 0, P_D ?? 0, P_O ?? 0) || 1;
  const bars = [
    ["V", "arrives", V, "arrives"],
    ["P_D", "record by record", P_D, "record"],
    ["P_O", "in batches", P_O, "batch"],
  ];
  return html(
    "dl",
    { class: "capacities" },
    ...bars.map(([symbol, words, value, kind]) =>
      html(
        "div",
        {},
        html("dt", {}, words, " ", html("span", { class: "quiet" }, symbol)),
        html(
          "dd",
          {},
          svg(
            "svg",
            { class: "capacity", viewBox: "0 0 120 10", preserveAspectRatio: "none", "aria-hidden": "true" },
            svg("rect", { class: `capacity-${kind}`, width: ((value ?? 0) / most) * 120, height: 10 }),
          ),
        ),
        html("dd", { class: "number" }, value === null ? "not measured" : rate(value)),
      ),
    ),
  );
}

// How many workers the load needs, and why.
function sizes(now, seen) {
  const { slots, sentence, reason } = seen.recommended;
  const lost = now?.provisioning?.alternatives ?? [];
  fill(byId("sizes"), [slots, sentence, reason, lost], () => [
    html(
      "p",
      { class: "sentence" },
      html("b", { class: "action" }, slots === null ? "unknown" : `${slots} ${slots === 1 ? "slot" : "slots"}`),
      " ",
      ...plain(sentence),
    ),
    ...lost
      .slice(0, 3)
      .map(({ what, whyNot }) => html("p", { class: "lost" }, html("b", {}, `not ${what}: `), ...spoken(whyNot))),
  ]);
}
