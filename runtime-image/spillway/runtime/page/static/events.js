// What happened: decisions that were news, and conditions as they turn while the page is open. The newest first.

import { byId, fill, html, spoken } from "./dom.js";
import { clock } from "./format.js";

const SHOWN = 60;
const NOTHING = /^(hold|no moves)\b/; // a decision to do nothing

export class Events {
  constructor() {
    this.all = [];
    this.known = new Set();
    this.conditions = new Map();
  }

  // Decisions that were news; those that are known already do not count.
  decided(decisions) {
    for (const one of decisions) {
      const key = `${one.at} ${one.part}`;
      if (this.known.has(key)) continue;
      this.known.add(key);
      this.add({ at: one.at, part: one.part, word: one.reason, text: one.sentence, quiet: NOTHING.test(one.sentence) });
    }
  }

  // Conditions, told when they turn.
  observed(seen) {
    for (const { type, status, reason, message } of seen.conditions) {
      const before = this.conditions.get(type);
      this.conditions.set(type, `${status} ${reason}`);
      if (before !== undefined && before !== `${status} ${reason}`) {
        this.add({
          at: seen.at,
          part: "condition",
          word: `${type} ${status ? "yes" : "no"}`,
          text: message,
          quiet: false,
        });
      }
    }
  }

  told(at, text) {
    this.add({ at, part: "page", word: "", text, quiet: true });
  }

  add(event) {
    this.all.push(event);
    this.all.sort((one, other) => other.at - one.at);
    this.all.length = Math.min(this.all.length, 200);
  }

  draw(everything) {
    const shown = this.all.filter((event) => everything || !event.quiet).slice(0, SHOWN);
    fill(byId("events"), shown, () =>
      shown.length
        ? shown.map(({ at, part, word, text, quiet }) =>
            html(
              "li",
              { class: quiet ? "quiet-event" : "" },
              html("time", {}, clock(at)),
              html("b", {}, part),
              html("span", {}, ...spoken(text), " ", html("span", { class: "quiet" }, word)),
            ),
          )
        : [html("li", { class: "empty" }, "nothing yet")],
    );
  }
}
