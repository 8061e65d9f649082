// Moves of partitions, told together: a switch of sixteen partitions is one piece of news. Each with its phases.

import { byId, fill, html, spoken, svg } from "./dom.js";
import { clock, count, duration, listed } from "./format.js";

const TOGETHER = 2; // seconds; moves of one change come a few hundred milliseconds apart
const SHOWN = 30;
const WIDE = 132; // pixels of a bar of phases

const SIGNS = { start: "▸", resize: "⇄", switch: "◆", program: "✎", takeover: "!", rest: "◼" };

// Groups of moves of one kind, for one reason, of one segment; the newest first.
export function grouped(moves) {
  const found = [];
  for (const move of moves) {
    const segment = move.partition.replace(/\/\d+$/, "");
    const last = found.findLast(
      (group) => group.kind === move.kind && group.reason === move.reason && group.segments[0] === segment,
    );
    if (last && move.at - last.at <= TOGETHER) {
      last.at = move.at;
      last.moves.push(move);
    } else {
      found.push({
        kind: move.kind,
        reason: move.reason,
        segments: [segment],
        begun: move.at,
        at: move.at,
        moves: [move],
      });
    }
  }
  return found.reverse();
}

export function moves(told) {
  const groups = grouped(told).slice(0, SHOWN);
  const longest = Math.max(1, ...groups.map((group) => most(group, "prepare_ms") + most(group, "pause_ms")));
  fill(byId("moves"), groups, () =>
    groups.length
      ? groups.map((group) => row(group, longest))
      : [html("li", { class: "empty" }, "no partition has changed hands yet")],
  );
}

function row(group, longest) {
  const { kind, moves: all, segments } = group;
  const what = all.length === 1 ? all[0].partition : `${count(all.length, "partition")} of ${segments[0]}`;
  const sources = [...new Set(all.map((move) => move.source).filter(Boolean))].sort();
  const targets = [...new Set(all.map((move) => move.target).filter(Boolean))].sort();
  const way = [sources.length ? `from ${named(sources)}` : "", targets.length ? `to ${named(targets)}` : ""]
    .filter(Boolean)
    .join(" ");
  return html(
    "li",
    { class: `move ${kind}` },
    html("time", {}, clock(group.at)),
    html(
      "b",
      { class: "kind" },
      html("span", { class: "move-sign", "aria-hidden": "true" }, SIGNS[kind] ?? "·"),
      ` ${kind}`,
    ),
    html("span", { class: "what" }, `${what} `, html("span", { class: "quiet" }, way)),
    html("span", { class: "phases" }, phases(group, longest), html("span", {}, pauses(group))),
    html("span", { class: "why" }, ...spoken(group.reason)),
  );
}

function named(owners) {
  return owners.length === 1 && owners[0] === "batch"
    ? "Spark"
    : listed(owners.map((owner) => (owner === "batch" ? "Spark" : owner)));
}

function most(group, key) {
  return Math.max(0, ...group.moves.map((move) => move[key] ?? 0));
}

// Preparing (the owner still works) and the pause, to one scale for all moves; the longest of the group.
function phases(group, longest) {
  const prepare = (most(group, "prepare_ms") / longest) * WIDE;
  const pause = most(group, "pause_ms") ? Math.max(2, (most(group, "pause_ms") / longest) * WIDE) : 0;
  return svg(
    "svg",
    { class: "phase-bar", width: WIDE + 2, height: 10, "aria-hidden": "true" },
    svg("rect", { class: "phase-all", y: 4.5, width: WIDE, height: 1 }),
    svg("rect", { class: "phase-prepare", y: 2, width: prepare, height: 6 }),
    svg("rect", { class: "phase-pause", x: prepare, y: 0, width: pause, height: 10 }),
  );
}

function pauses(group) {
  const known = group.moves.map((move) => move.pause_ms).filter((pause) => pause !== null);
  const prepared = most(group, "prepare_ms");
  const prepare = prepared ? `prepared in ${duration(prepared / 1000)}, ` : "";
  if (!known.length) return group.kind === "start" ? "nobody had it" : `${prepare}no pause`;
  const [least, longest] = [Math.min(...known), Math.max(...known)].map((pause) => duration(pause / 1000));
  return `${prepare}paused ${known.length > 1 && least !== longest ? `${least} to ${longest}` : longest}`;
}
