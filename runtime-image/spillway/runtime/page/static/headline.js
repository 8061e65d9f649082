// The promise, in one line, and the few numbers under it.

import { byId, fill, html, say, set } from "./dom.js";
import { amount, bytes, count, duration, latency, ofAll, quantile, rate, share } from "./format.js";

export function promised(promise) {
  return `${quantile(promise.quantile)} within ${duration(promise.bound_ms / 1000)}`;
}

// "kept", "broken", or "idle" without results.
export function verdict(promise) {
  if (promise.within === null) return "idle";
  return promise.within >= promise.quantile ? "kept" : "broken";
}

const WORDS = { kept: "kept", broken: "not kept", idle: "no results" };
const SIGNS = { kept: "✓", broken: "✗", idle: "·" };

export function headline(seen) {
  const promise = seen.latency;
  const found = verdict(promise);
  const job = seen.job.replace(/^default\//, "");
  say(byId("job"), job);
  document.title = `${SIGNS[found]} ${job}: ${WORDS[found]}`;
  set(byId("promise"), { class: found });
  fill(byId("promise"), [promised(promise), found], () => [
    `${promised(promise)}: `,
    html(
      "strong",
      {},
      html("span", { "aria-hidden": "true" }, found === "idle" ? "" : `${SIGNS[found]} `),
      WORDS[found],
    ),
    found === "idle" ? "" : ", ",
    html("span", { id: "within" }),
  ]);
  say(byId("within"), found === "idle" ? " in the last 10 s" : `${ofAll(promise.within)} in the last 10 s`);
  say(
    byId("kept"),
    found === "idle" ? idle(seen) : `half within ${latency(promise.p50_ms)}, 99 % within ${latency(promise.p99_ms)}`,
  );
  figures(seen);
  outputs(promise);
}

function idle(seen) {
  if (seen.rate_in) return `${rate(seen.rate_in)} come in, and nothing has left yet`;
  return "nothing comes in";
}

function figures(seen) {
  const living = seen.slots.filter((slot) => !slot.silent);
  const busy = living.map((slot) => slot.busy).filter((part) => part !== null);
  const lags = seen.segments.map((segment) => segment.lag).filter((lag) => lag !== null);
  const granted = seen.granted === null ? "" : `${count(seen.granted, "worker")} granted`;
  const part = busy.length ? `${share(busy.reduce((one, other) => one + other, 0) / busy.length)} busy` : "";
  const shown = [
    ["in", rate(seen.rate_in), "records of all sources"],
    ["out", rate(seen.latency.rate), "records of all outputs"],
    [
      "waiting",
      lags.length ? amount(lags.reduce((one, other) => one + other, 0)) : "–",
      "messages in front of all segments",
    ],
    ["slots", String(living.length), [part, granted].filter(Boolean).join(", ")],
    ["standby", seen.standby?.state ?? "off", standby(seen.standby)],
  ];
  fill(byId("figures"), shown, () =>
    shown.map(([name, value, more]) =>
      html("div", {}, html("dt", {}, name), html("dd", {}, value), html("dd", { class: "more" }, more)),
    ),
  );
}

function standby(spark) {
  if (!spark || spark.state === "off") return "no Spark for bursts";
  if (spark.state === "failed") return "no Spark: see below";
  const started = spark.seconds === null ? "" : `started in ${duration(spark.seconds)}`;
  const uses = spark.memory === null ? "" : `Spark has ${bytes(spark.memory)}, ${share(spark.cpu)} of a core`;
  return [uses, started].filter(Boolean).join("; ") || "Spark for bursts";
}

// Each output, where there are several; one is what the headline says.
function outputs(promise) {
  const several = Object.entries(promise.outputs);
  const shown =
    several.length < 2
      ? []
      : several.map(([name, one]) => [
          name,
          rate(one.rate),
          one.within === null
            ? "no results"
            : `${ofAll(one.within)} within the bound, 99 % within ${latency(one.p99_ms)}`,
        ]);
  byId("outputs").hidden = shown.length === 0;
  fill(byId("outputs"), shown, () =>
    shown.map(([name, flow, kept]) => html("li", {}, html("b", {}, name), ` ${flow}, ${kept}`)),
  );
}
