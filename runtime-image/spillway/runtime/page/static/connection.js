// The connection to the driver: events as they come, and a new try after each end.

const NAMES = ["observation", "deciding", "sample", "decision", "beat"];
const FIRST = 1000; // milliseconds until the next try; doubled up to the longest
const LONGEST = 10000;
// Without a word for so long, the connection is dead, even if nobody has said so: a laptop that slept, say.
const SILENT = 6000;
// A page that nobody looks at hangs up after so long: browsers open six connections to a driver at the most, for all of
// its tabs, and the seventh would wait for ever.
const HIDDEN = 20000;

// `hear` has a method for each event, and `opened` and `lost`.
export function connect(hear) {
  let source = null;
  let pause = FIRST;
  let last = Date.now();
  let timer = null;

  function open() {
    clearTimeout(timer);
    last = Date.now();
    source = new EventSource("v1/events");
    source.onopen = () => {
      last = Date.now();
      pause = FIRST;
      hear.opened();
    };
    source.onerror = again;
    for (const name of NAMES) {
      source.addEventListener(name, (event) => {
        last = Date.now();
        hear[name](JSON.parse(event.data));
      });
    }
  }

  function close() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  function again() {
    if (source === null) return;
    close();
    hear.lost();
    if (!document.hidden) timer = setTimeout(open, pause);
    pause = Math.min(LONGEST, pause * 2);
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(close, HIDDEN);
    else if (source === null) open();
  });

  setInterval(() => {
    if (source !== null && Date.now() - last > SILENT) again();
  }, 1000);
  open();
}

export async function ask(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}
