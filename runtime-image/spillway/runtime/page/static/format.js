// Numbers as people read them: three digits that count, and a unit. The same words as in `spillway up`.

const RATES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
const TIMES = [
  [3600, "h"],
  [60, "min"],
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
];
const SIZES = [
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];
export const NONE = "–";

function digits(value) {
  if (value >= 99.95) return value.toFixed(0);
  if (value >= 9.995) return value.toFixed(1).replace(/\.0$/, "");
  return value.toFixed(2).replace(/\.?0+$/, "");
}

// A count, or a part of a rate: `12.5 k`.
export function amount(value) {
  if (value === null || value === undefined) return NONE;
  for (const [size, unit] of RATES) {
    if (value >= 0.9995 * size) return `${digits(value / size)} ${unit}`;
  }
  return digits(value);
}

// Records per second: `12.5 k/s`.
export function rate(value) {
  return value === null || value === undefined ? NONE : `${amount(value)}/s`;
}

// A time: `42.5 ms`.
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  for (const [size, unit] of TIMES) {
    if (seconds >= 0.9995 * size) return `${digits(seconds / size)} ${unit}`;
  }
  return seconds < 0.5e-9 ? "0 ms" : `${digits(seconds * 1e9)} ns`;
}

// A quantile of latency in milliseconds; what is beyond the last bucket has none.
export function latency(milliseconds) {
  return milliseconds === null ? "more than a minute" : duration(milliseconds / 1000);
}

// A part of a whole: `34 %`; `<1 %` for what is there but next to nothing.
export function share(part) {
  if (part === null || part === undefined) return NONE;
  return part > 0 && part < 0.01 ? "<1 %" : `${(part * 100).toFixed(0)} %`;
}

// A share of records that were counted: `99.62 %`, and never 100 % when one was not.
export function ofAll(part) {
  return `${Math.floor(part * 10000) / 100} %`;
}

// A quantile with all of its digits: `99.9 %`.
export function quantile(of) {
  return `${Number((of * 100).toPrecision(10))} %`;
}

export function bytes(value) {
  if (value === null || value === undefined) return NONE;
  for (const [size, unit] of SIZES) {
    if (value >= 0.9995 * size) return `${digits(value / size)} ${unit}`;
  }
  return `${value} B`;
}

// `1 slot`, `2 slots`, `12 345 messages`.
export function count(many, one, more = `${one}s`) {
  return `${grouped(many)} ${many === 1 ? one : more}`;
}

export function grouped(many) {
  return String(Math.round(many)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

// The time of day here: `14:03:07`.
export function clock(at) {
  const when = new Date(at * 1000);
  return [when.getHours(), when.getMinutes(), when.getSeconds()].map((n) => String(n).padStart(2, "0")).join(":");
}

// `a, b and 3 more`.
export function listed(names) {
  return names.length <= 3 ? names.join(", ") : `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;
}
