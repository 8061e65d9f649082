// The connection to the driver: events as they come, and a new try after each end.

const NAMES = ["observation", "deciding", "sample", "decision", "beat"];
const FIRST = 1000; // milliseconds until the next try; doubled up to the longest
const LONGEST = 10000;
// Without a word for so long, the connection is dead, even if nobody has said so: a laptop that slept, say.
const SILENT = 6000;

// `hear` has a method for each event, and `opened` and `lost`.
export function connect(hear) {
  let source = null;
  let pause = FIRST;
  let last = Date.now();

  function open() {
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

  function again() {
    if (source === null) return;
    source.close();
    source = null;
    hear.lost();
    setTimeout(open, pause);
    pause = Math.min(LONGEST, pause * 2);
  }

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
