import assert from "node:assert/strict";
import { noInstruments } from "#request";
import { withRetries, type RetryOptions } from "./retries.ts";
import { ConnectionError, type HttpResponse, type RoundTrip } from "./transport.ts";
import { SlowClock } from "../testing.ts";

describe("retries", () => {
  let clock: SlowClock;
  /** When requests were sent, in milliseconds since the start. */
  let sent: number[];
  beforeEach(() => {
    clock = new SlowClock();
    sent = [];
  });

  function response(status: number, headers: Readonly<Record<string, string>> = {}): HttpResponse {
    return { status, header: (name) => headers[name] ?? "", body: empty() };
  }

  async function* empty(): AsyncGenerator<Uint8Array> {}

  /** Sends one request to a server that does `outcomes` in turn; tells how it ended. */
  async function send(
    method: string,
    outcomes: readonly (HttpResponse | Error)[],
    more: Partial<RetryOptions> = {},
  ): Promise<string> {
    const start = clock.now();
    const waiting = [...outcomes];
    const server: RoundTrip = () => {
      sent.push(clock.now() - start);
      const next = waiting.shift() ?? assert.fail("too often");
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    };
    const options = { clock, host: "test", instruments: noInstruments, ...more };
    const { signal } = new AbortController();
    const request = { method, path: "/", headers: {}, signal };
    const ended = withRetries(
      server,
      options,
    )(request).then(
      ({ status }) => String(status),
      (error: Error) => error.message,
    );
    await clock.pass(3_600_000);
    return ended;
  }

  it("waits for the Retry-After of an overloaded server, for any method", async () => {
    const busy = response(429, { "retry-after": "3" });
    const starting = response(503, { "retry-after": "1" });
    assert.equal(await send("POST", [busy, starting, response(201)]), "201");
    assert.deepEqual(sent, [0, 3_000, 4_000]);
  });

  it("returns the last response after ten retries", async () => {
    const busy = response(429, { "retry-after": "1" });
    assert.equal(
      await send(
        "GET",
        Array.from({ length: 11 }, () => busy),
      ),
      "429",
    );
    assert.equal(sent.length, 11);
  });

  it("throws the connection error after three retries", async () => {
    const refused = new ConnectionError("refused", true);
    assert.equal(await send("GET", [refused, refused, refused, refused]), "refused");
    assert.deepEqual(sent, [0, 1_000, 2_000, 3_000]);
  });

  it("returns responses without Retry-After", async () => {
    assert.equal(await send("GET", [response(500)]), "500");
    assert.equal(await send("GET", [response(404, { "retry-after": "1" })]), "404");
  });

  it("retries after connection errors only requests without effect", async () => {
    const lost = new ConnectionError("lost", false);
    const refused = new ConnectionError("refused", true);
    assert.equal(await send("GET", [lost, response(200)]), "200");
    assert.equal(await send("POST", [refused, response(201)]), "201");
    assert.equal(await send("POST", [lost]), "lost");
    assert.equal(await send("GET", [new Error("bug")]), "bug");
  });

  it("limits the rate of requests", async () => {
    const rate = { perSecond: 2, burst: 3 };
    const busy = response(429, { "retry-after": "0" });
    const outcomes = [...Array.from({ length: 6 }, () => busy), response(200)];
    assert.equal(await send("GET", outcomes, { rate }), "200");
    assert.deepEqual(sent, [0, 0, 0, 500, 1_000, 1_500, 2_000]);
  });
});
