// One plot over time: lines, a bound, marks of moves, lanes of paradigms, and a cursor for pointer and keyboard.

import { html, runs, say, set, svg } from "./dom.js";
import { clock } from "./format.js";

const LEFT = 58;
const RIGHT = 10;
const TOP = 12;
const AXIS = 20;
const LANE = 15;
const GAP = 3.5; // seconds without a sample: a line is not drawn over what nobody saw
const STEPS = [5, 10, 15, 30, 60, 120, 300]; // seconds between two times at the axis
const ROOM = 72; // pixels that a time at the axis needs

export class Plot {
  // `options`: title, height, log, format, series [{name, kind, value}], and `point`, called with a time or null.
  constructor(place, options) {
    this.place = place;
    this.options = options;
    this.legend = html("p", { class: "plot-legend" });
    this.values = options.series.map((series) => {
      const value = html("b");
      this.legend.append(
        html(
          "span",
          { class: `key ${series.kind}` },
          svg(
            "svg",
            { width: 16, height: 8, "aria-hidden": "true" },
            svg("path", { class: `line ${series.kind}`, d: "M 0 4 H 16" }),
          ),
          ` ${series.name} `,
          value,
        ),
      );
      return value;
    });
    this.when = html("span", { class: "when" });
    this.legend.append(this.when);
    this.drawing = svg("svg", {
      class: "plot",
      role: "slider",
      tabindex: 0,
      "aria-label": `${options.title} over time; left and right move through it`,
    });
    this.drawing.addEventListener("pointermove", (event) => options.point(this.timeAt(event.offsetX)));
    this.drawing.addEventListener("pointerleave", () => options.point(null));
    this.drawing.addEventListener("blur", () => options.point(null));
    this.drawing.addEventListener("keydown", (event) => this.key(event));
    place.replaceChildren(this.legend, this.drawing);
    new ResizeObserver(() => this.view && this.draw(this.view)).observe(place);
  }

  // `view`: samples, from, to, cursor, marks [{at, kind, text}], broken [[from, to]], lanes [{name, runs}], bound.
  draw(view) {
    this.view = view;
    this.width = Math.max(160, this.place.clientWidth);
    const lanes = view.lanes?.length ? view.lanes.length * LANE + 4 : 0;
    this.height = this.options.height + lanes;
    this.inner = this.options.height - TOP - AXIS;
    set(this.drawing, { width: this.width, height: this.height, viewBox: `0 0 ${this.width} ${this.height}` });
    const found = this.options.series.map((series) => view.samples.map((sample) => series.value(sample)));
    this.scale(found.flat());
    this.drawing.replaceChildren(
      ...this.bands(),
      ...this.grid(),
      ...this.times(),
      ...this.marks(),
      ...this.options.series.map((series, i) => svg("path", { class: `line ${series.kind}`, d: this.path(found[i]) })),
      ...this.bound(),
      ...this.lanes(),
      ...this.cursor(found),
    );
    this.read(found);
  }

  // Scales

  x(at) {
    const { from, to } = this.view;
    return LEFT + ((at - from) / (to - from)) * (this.width - LEFT - RIGHT);
  }

  timeAt(x) {
    const { from, to } = this.view;
    return from + ((x - LEFT) / (this.width - LEFT - RIGHT)) * (to - from);
  }

  scale(values) {
    const finite = values.filter((value) => value !== null && Number.isFinite(value));
    const most = Math.max(...finite, this.view.bound ?? 0);
    if (this.options.log) {
      const least = Math.min(...finite.filter((value) => value > 0), this.view.bound ?? 1);
      this.low = Math.floor(Math.log10(least / 1.2));
      this.high = Math.max(this.low + 1, Math.log10(most * 2));
      return;
    }
    this.low = 0;
    this.high = nice(most > 0 ? most * 1.05 : 1);
  }

  y(value) {
    const bounded = this.options.log ? Math.log10(Math.max(value, 1e-9)) : value;
    const part = (Math.min(bounded, this.high) - this.low) / (this.high - this.low);
    return TOP + (1 - Math.max(0, part)) * this.inner;
  }

  ticks() {
    if (!this.options.log) return [0, this.high / 2, this.high];
    const found = [];
    for (let power = this.low; power <= this.high; power += 1) found.push(10 ** power);
    return found;
  }

  // Layers, from the back to the front

  bands() {
    return (this.view.broken ?? []).map(([from, to]) => this.stretch(from, to, TOP, this.inner, "broken"));
  }

  stretch(from, to, y, height, kind) {
    const [left, right] = [Math.max(LEFT, this.x(from)), Math.min(this.width - RIGHT, this.x(to))];
    return svg("rect", { class: kind, x: left, y, width: Math.max(0.5, right - left), height });
  }

  grid() {
    return this.ticks().flatMap((value) => [
      svg("line", { class: "grid", x1: LEFT, x2: this.width - RIGHT, y1: this.y(value), y2: this.y(value) }),
      svg(
        "text",
        { class: "tick", x: LEFT - 8, y: this.y(value), "text-anchor": "end", "dominant-baseline": "central" },
        this.options.format(value),
      ),
    ]);
  }

  times() {
    const { from, to } = this.view;
    const most = Math.max(1, Math.floor((this.width - LEFT - RIGHT) / ROOM));
    const step = STEPS.find((seconds) => (to - from) / seconds <= most) ?? 600;
    const found = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const x = this.x(at);
      if (x < LEFT + 24 || x > this.width - RIGHT - 24) continue;
      found.push(svg("text", { class: "tick", x, y: TOP + this.inner + 14, "text-anchor": "middle" }, clock(at)));
      found.push(svg("line", { class: "notch", x1: x, x2: x, y1: TOP + this.inner, y2: TOP + this.inner + 4 }));
    }
    return found;
  }

  marks() {
    return this.view.marks.map(({ at, kind, text }) => {
      const x = this.x(at);
      const sign =
        kind === "switch" ? svg("path", { d: `M ${x - 5} 1 h 10 l -5 8 z` }) : svg("circle", { cx: x, cy: 5, r: 2.5 });
      return svg(
        "g",
        { class: `mark ${kind}` },
        svg("title", {}, text),
        svg("line", { x1: x, x2: x, y1: 9, y2: TOP + this.inner }),
        sign,
      );
    });
  }

  path(values) {
    const { samples } = this.view;
    let drawn = "";
    let last = null;
    samples.forEach((sample, i) => {
      const value = values[i];
      if (value === null || value === undefined) {
        last = null;
        return;
      }
      const command = last === null || sample.at - last > GAP ? "M" : "L";
      drawn += `${command}${this.x(sample.at).toFixed(1)} ${this.y(value).toFixed(1)}`;
      last = sample.at;
    });
    return drawn;
  }

  bound() {
    const { bound } = this.view;
    if (bound === undefined) return [];
    const y = this.y(bound);
    return [
      svg("line", { class: "bound", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }),
      svg(
        "text",
        { class: "bound-text", x: this.width - RIGHT - 2, y: y - 5, "text-anchor": "end" },
        `bound ${this.options.format(bound)}`,
      ),
    ];
  }

  lanes() {
    return (this.view.lanes ?? []).flatMap((lane, i) => {
      const y = this.options.height + i * LANE;
      return [
        svg(
          "text",
          { class: "tick lane-name", x: LEFT - 8, y: y + 5, "text-anchor": "end", "dominant-baseline": "central" },
          lane.name.length > 8 ? `${lane.name.slice(0, 7)}…` : lane.name,
        ),
        ...lane.runs.map((run) => {
          const drawn = this.stretch(run.from, run.to, y, 10, `lane ${run.paradigm}`);
          drawn.append(
            svg("title", {}, `${lane.name}: ${runs(run.paradigm)} from ${clock(run.from)} to ${clock(run.to)}`),
          );
          return drawn;
        }),
      ];
    });
  }

  cursor(found) {
    const i = this.nearest();
    if (i === null) return [];
    const x = this.x(this.view.samples[i].at);
    const dots = found.map((values, n) => {
      const value = values[i];
      return value === null || value === undefined
        ? null
        : svg("circle", { class: `dot ${this.options.series[n].kind}`, cx: x, cy: this.y(value), r: 3 });
    });
    return [svg("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: this.height - 2 }), ...dots.filter(Boolean)];
  }

  // The sample at the cursor; null without one.
  nearest() {
    const { samples, cursor } = this.view;
    if (cursor === null || samples.length === 0) return null;
    let best = 0;
    samples.forEach((sample, i) => {
      if (Math.abs(sample.at - cursor) < Math.abs(samples[best].at - cursor)) best = i;
    });
    return best;
  }

  // The values at the cursor, else the last ones; in words too.
  read(found) {
    const { samples, from, to } = this.view;
    const chosen = this.nearest();
    const i = chosen ?? samples.length - 1;
    found.forEach((values, n) => say(this.values[n], i < 0 ? "–" : written(values[i], this.options.format)));
    say(this.when, chosen === null ? "" : clock(samples[i].at));
    const words = this.options.series.map((series, n) => `${series.name} ${this.values[n].textContent}`).join(", ");
    set(this.drawing, {
      "aria-valuemin": Math.round(from),
      "aria-valuemax": Math.round(to),
      "aria-valuenow": i < 0 ? Math.round(to) : Math.round(samples[i].at),
      "aria-valuetext": i < 0 ? "nothing yet" : `${clock(samples[i].at)}: ${words}`,
    });
  }

  key(event) {
    const { samples, from, to, cursor } = this.view;
    const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 };
    const at = cursor ?? to;
    if (event.key in moves) this.options.point(Math.max(from, Math.min(to, at + moves[event.key])));
    else if (event.key === "Home" && samples.length) this.options.point(Math.max(from, samples[0].at));
    else if (event.key === "End") this.options.point(to);
    else if (event.key === "Escape") this.options.point(null);
    else return;
    event.preventDefault();
  }
}

function written(value, format) {
  if (value === null || value === undefined) return "–";
  return Number.isFinite(value) ? format(value) : "beyond a minute";
}

// The least of 1, 2, 5, 10, 20 … that is not below.
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.9999);
}
