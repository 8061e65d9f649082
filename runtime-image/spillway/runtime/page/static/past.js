// The last minutes: latency against the bound, what flows, what waits, and in which paradigm.

import { byId } from "./dom.js";
import { amount, count, duration, rate } from "./format.js";
import { grouped } from "./moves.js";
import { Plot } from "./plot.js";

const SHORTEST = 60; // seconds; a page that was just opened has less, and is not stretched for it
const LANES = 8; // of those segments that have ever left the record paradigm, then of the others

export class Past {
  // `point` is called with the time under the cursor, or null.
  constructor(point) {
    const latency = (name, kind, key) => ({
      name,
      kind,
      value: (sample) => (sample.within === null ? null : (sample[key] ?? Infinity)),
    });
    this.latency = new Plot(byId("plot-latency"), {
      title: "latency",
      height: 232,
      log: true,
      format: (value) => duration(value / 1000),
      series: [latency("99 % within", "p99", "p99_ms"), latency("half within", "p50", "p50_ms")],
      point,
    });
    this.flow = new Plot(byId("plot-flow"), {
      title: "rates",
      height: 104,
      log: false,
      format: rate,
      series: [
        { name: "in", kind: "in", value: (sample) => sample.rate_in },
        { name: "out", kind: "out", value: (sample) => sample.rate_out },
      ],
      point,
    });
    this.waiting = new Plot(byId("plot-waiting"), {
      title: "waiting messages",
      height: 104,
      log: false,
      format: amount,
      series: [{ name: "waiting", kind: "lag", value: waiting }],
      point,
    });
  }

  draw(samples, seen, span, cursor) {
    const to = samples.length ? samples[samples.length - 1].at : seen.at;
    const first = samples.length ? samples[0].at : to;
    const from = Math.max(to - span, Math.min(first, to - SHORTEST));
    const shown = samples.filter((sample) => sample.at >= from - 1);
    const groups = grouped(seen.moves).filter((group) => group.at >= from && group.kind !== "start");
    const marks = groups.map((group) => ({
      at: group.at,
      kind: group.kind,
      text: `${group.kind}: ${count(group.moves.length, "partition")} of ${group.segments.join(", ")}`,
    }));
    const view = { samples: shown, from, to, cursor, marks };
    this.latency.draw({
      ...view,
      bound: seen.latency.bound_ms,
      broken: broken(shown, seen.latency.quantile),
      lanes: lanes(shown),
    });
    this.flow.draw(view);
    this.waiting.draw(view);
  }
}

function waiting(sample) {
  const lags = sample.segments.map((segment) => segment.lag).filter((lag) => lag !== null);
  return lags.length ? lags.reduce((one, other) => one + other, 0) : null;
}

// Stretches in which the promise was not kept.
function broken(samples, quantile) {
  return stretches(samples, (sample) => (sample.within !== null && sample.within < quantile ? "broken" : null)).map(
    ({ from, to }) => [from, to],
  );
}

function lanes(samples) {
  const names = [...new Set(samples.flatMap((sample) => sample.segments.map((segment) => segment.name)))];
  const found = names.map((name) => ({
    name,
    runs: stretches(
      samples,
      (sample) => sample.segments.find((segment) => segment.name === name)?.paradigm ?? null,
    ).map((run) => ({ ...run, paradigm: run.what })),
  }));
  const batched = (lane) => lane.runs.some((run) => run.paradigm === "batch");
  return found.length <= LANES
    ? found
    : [...found.filter(batched), ...found.filter((lane) => !batched(lane))].slice(0, LANES);
}

// Samples in a row of which `what` says the same; a sample stands for the second after it.
function stretches(samples, what) {
  const found = [];
  for (const sample of samples) {
    const said = what(sample);
    const last = found[found.length - 1];
    if (last && last.what === said && sample.at - last.to < 3) last.to = sample.at + 1;
    else found.push({ what: said, from: sample.at, to: sample.at + 1 });
  }
  return found.filter((run) => run.what !== null);
}
