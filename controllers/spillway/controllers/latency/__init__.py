"""The latency model: how long a record, or the result of a window, takes through a plan, and where the time goes.

It is section 3 of the paper on latency constraints (`LAT`) for segments that work record by record, and Equations 1
to 3 of the paper on two paradigms (`DO`) for segments that work in micro-batches, over the flows of `costmodel`:

- `moments`: mean and variance, and quantiles from them;
- `phases`: where the time goes;
- `filling`: how long a record waits in its frame;
- `queueing`: how long a frame waits for a slot;
- `service`: how long a slot and the network take;
- `batches`: micro-batches;
- `windows`: results of windows;
- `stations`: what all of these need of the cost model, whatever the settings;
- `segments`: all of that for each segment of a plan;
- `paths`: from the sources to the outputs, and which way is the worst;
- `prediction`: the front door, `predict`.

Everything is in seconds, records per second and bytes. What can't work out takes for ever: `math.inf`, never NaN.
"""
