// Who works: slots, how busy they are, and what they have.

import { bar, byId, fill, html, paradigm, runs } from "./dom.js";
import { amount, bytes, duration, rate, share } from "./format.js";

const SHOWN = 64;

export function slots(seen) {
  const rows = seen.slots.slice(0, SHOWN);
  fill(byId("slots"), rows, () =>
    rows.length
      ? rows.map((slot) =>
          html(
            "tr",
            { class: slot.silent ? "silent" : "" },
            html(
              "th",
              { scope: "row" },
              slot.slot,
              html("span", { class: "quiet" }, slot.silent ? " silent" : slot.leaving ? " leaving" : ""),
            ),
            html("td", {}, bar(slot.busy), ` ${share(slot.busy)}`),
            html("td", { class: "number" }, share(slot.cpu)),
            html("td", { class: "number" }, bytes(slot.memory)),
            html("td", { class: "number" }, String(slot.partitions)),
          ),
        )
      : [html("tr", {}, html("td", { colspan: 5, class: "quiet" }, "no slot has joined; start workers"))],
  );
}

export function segments(seen) {
  const planned = new Map((seen.plan?.segments ?? []).map((segment) => [segment.name, segment]));
  fill(byId("segments"), [seen.segments, seen.plan], () =>
    seen.segments.map((segment) => {
      const working =
        segment.working === segment.partitions
          ? String(segment.partitions)
          : `${segment.working} of ${segment.partitions}${segment.moving ? `, ${segment.moving} moving` : ""}`;
      return html(
        "tr",
        {},
        html("th", { scope: "row" }, segment.name),
        html("td", {}, paradigm(segment.paradigm), ` ${runs(segment.paradigm)}`),
        html("td", { class: "number" }, working),
        html("td", { class: "number" }, rate(segment.rate_in)),
        html("td", { class: "number" }, rate(segment.rate_out)),
        html("td", { class: "number" }, segment.lag === null ? "–" : amount(segment.lag)),
        html("td", { class: "number" }, String(planned.get(segment.name)?.frame ?? "–")),
        html("td", { class: "last" }, batch(segment.batch)),
      );
    }),
  );
}

function batch(last) {
  if (!last) return "none yet";
  const most = last.capacity === null ? "" : `, ${rate(last.capacity)} at most`;
  return `${amount(last.records)} records in ${duration(last.seconds)}${most}`;
}
