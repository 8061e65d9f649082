"""The page of a job, as its driver serves it: what runs where, how the promise is kept, and why.

- `layout`: where the nodes of a graph stand (pure);
- `topology`: the graph of a job (pure);
- `history`: the last minutes, in samples of a second (pure);
- `events`: server-sent events, and which decisions are new (pure);
- `files`: what a browser may fetch;
- `listeners`: browsers that stay connected;
- `serving`: all of that as paths of the driver's HTTP server.

`static` has what the browser runs: plain HTML, CSS and JavaScript, without a build step, and nothing from elsewhere.
"""
