// The page: what the driver tells goes in at one end, and is drawn at the other, at most once a frame.

import { attention } from "./attention.js";
import { ask, connect } from "./connection.js";
import { decision } from "./decision.js";
import { byId, say } from "./dom.js";
import { Events } from "./events.js";
import { clock, duration } from "./format.js";
import { Graph } from "./graph.js";
import { headline } from "./headline.js";
import { moves } from "./moves.js";
import { Past } from "./past.js";
import { legend } from "./shapes.js";
import { segments, slots } from "./slots.js";

const KEPT = 600; // seconds of the past, as the driver keeps them

const state = {
  seen: null,
  heard: 0,
  stalled: 0,
  deciding: null,
  samples: [],
  plan: undefined,
  chosen: null,
  cursor: null,
  lost: null,
};
const events = new Events();
const graph = new Graph(byId("graph"), choose);
const past = new Past(point);
let due = false;

function changed() {
  if (due) return;
  due = true;
  requestAnimationFrame(draw);
}

function draw() {
  due = false;
  connection();
  const { seen } = state;
  if (seen === null) return;
  document.body.classList.remove("empty");
  headline(seen);
  attention(seen, state.stalled);
  graph.update(seen, state.chosen);
  decision(state.deciding, seen, state.chosen);
  past.draw(state.samples, seen, span(), state.cursor);
  moves(seen.moves);
  events.draw(byId("everything").checked);
  segments(seen);
  slots(seen);
}

// What is said of the connection while there is none; the page stays as it was, in grey.
function connection() {
  const { lost, seen } = state;
  document.body.classList.toggle("lost", lost !== null);
  byId("connection").hidden = lost === null;
  if (lost === null) return;
  const since = duration(Math.max(1, Math.round((performance.now() - lost) / 1000)));
  const shown = seen === null ? "" : ` What you see is from ${clock(seen.at)}.`;
  say(byId("connection"), `No connection to the driver for ${since}.${shown} Trying again; workers go on without it.`);
}

function span() {
  return Number(document.querySelector("input[name=span]:checked").value);
}

function choose(segment) {
  state.chosen = segment;
  changed();
}

function point(at) {
  state.cursor = at;
  changed();
}

// What an event alone does not tell: the past, the decisions of before, and the graph.
async function catchUp() {
  const [past, decided] = await Promise.all([ask("v1/history"), ask("v1/decisions")]);
  // Another driver has only what it has seen itself; what was seen here before it goes on counting.
  const all = new Map([...state.samples, ...past.samples].map((sample) => [Math.floor(sample.at), sample]));
  state.samples = [...all.values()].sort((one, other) => one.at - other.at);
  events.decided(decided.decisions);
  changed();
}

function observed(seen) {
  state.seen = seen;
  state.heard = performance.now();
  state.stalled = 0;
  events.observed(seen);
  if ((seen.plan?.number ?? null) !== state.plan) redraw(seen.plan?.number ?? null).catch(failed);
  changed();
}

async function redraw(number) {
  state.plan = number;
  const found = await ask("v1/topology");
  byId("graph-empty").hidden = found.nodes.length > 0;
  graph.show(found);
  changed();
}

function failed(error) {
  console.warn(error); // the connection says it when it is gone; the next one catches up
}

connect({
  opened() {
    if (state.lost !== null && state.seen !== null) events.told(Date.now() / 1000, "connected again");
    state.lost = null;
    state.plan = undefined;
    catchUp().catch(failed);
    changed();
  },
  lost() {
    state.lost ??= performance.now();
    changed();
  },
  observation: observed,
  deciding(now) {
    state.deciding = now;
    changed();
  },
  sample(found) {
    const last = state.samples[state.samples.length - 1];
    if (last !== undefined && found.at <= last.at) return;
    state.samples.push(found);
    while (state.samples.length && state.samples[0].at < found.at - KEPT) state.samples.shift();
    changed();
  },
  decision(one) {
    events.decided([one]);
    changed();
  },
  beat() {
    state.stalled = (performance.now() - state.heard) / 1000;
    changed();
  },
});

legend(byId("legend"));
for (const input of document.querySelectorAll("input")) input.addEventListener("change", changed);
byId("decision-all").addEventListener("click", () => choose(null));
setInterval(changed, 1000);
