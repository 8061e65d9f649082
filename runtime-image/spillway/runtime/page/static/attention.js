// What somebody should see to, in words, with the way out; nothing while all is well.

import { byId, fill, html, spoken } from "./dom.js";
import { count, duration } from "./format.js";

// What holds while all is well. What passes by itself, or was asked for, is nothing bad; it is said all the same.
const WELL = { Accepted: true, Topics: true, Leading: true, Assigned: true, RollOut: true, Paused: false };
const CALM = new Set(["Waiting", "Looking", "Follows", "Starting", "Rolling", "Draining", "Paused", "NoWorkers"]);
const STALLED = 3; // seconds; the loop of a driver comes round five times a second

export function attention(seen, stalled) {
  const found = [];
  if (stalled > STALLED) {
    const way = "its log says why; workers go on meanwhile";
    found.push(["bad", "Driver", `The driver has decided nothing for ${duration(Math.round(stalled))}: ${way}`]);
  }
  for (const condition of seen.conditions) {
    if (condition.type in WELL && WELL[condition.type] !== condition.status) {
      found.push([CALM.has(condition.reason) ? "calm" : "bad", condition.reason, condition.message]);
    }
  }
  if (seen.standby?.state === "failed") found.push(["bad", "Standby", seen.standby.problem]);
  if (seen.letters) {
    found.push([
      "warn",
      count(seen.letters, "dead letter"),
      `records that could not be processed; see them with`,
      `spillway dead list ${seen.job}`,
    ]);
  }
  if (seen.late)
    found.push([
      "warn",
      count(seen.late, "late record"),
      "came after their window was dropped: a longer `retention` of the operator takes them",
    ]);
  const silent = seen.slots.filter((slot) => slot.silent).map((slot) => slot.slot);
  if (silent.length)
    found.push(["warn", "Silent", `nothing is heard of ${silent.join(", ")}; what they had is taken over`]);
  byId("attention").hidden = found.length === 0;
  fill(byId("attention-list"), found, () =>
    found.map(([level, word, text, command]) =>
      html(
        "li",
        { class: level },
        html("b", {}, word),
        html("span", {}, ...spoken(text), command ? " " : "", command ? html("code", {}, command) : ""),
      ),
    ),
  );
}
