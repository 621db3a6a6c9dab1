/**
 * Holds watches in a separate process, so that reading them does not slow down what is measured:
 * `hold-watches.ts URL TOKEN PATH STREAMS`. Prints `ready` when the server has accepted all. Counts
 * events, and prints the number for each line on stdin. Exits at the end of stdin.
 */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Connection } from "../load/client.ts";

/** Below the limit of streams per connection of every server. */
const streamsPerConnection = 100;
const newline = 10;
const [url = "", token = "", watched = "", streams = "0"] = process.argv.slice(2);
const connections: Connection[] = [];
let events = 0;

for (let n = 0; n < Number(streams); n += streamsPerConnection) {
  const connection = new Connection({ url, token });
  connections.push(connection);
  const more = Math.min(streamsPerConnection, Number(streams) - n);
  const opened = Array.from({ length: more }, () => {
    const stream = connection.open("GET", watched);
    stream.on("data", (chunk: Buffer) => {
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) events++;
    });
    return once(stream, "response");
  });
  await Promise.all(opened);
}
console.log("ready");
for await (const _line of createInterface(process.stdin)) console.log(events);
for (const connection of connections) connection.close();
