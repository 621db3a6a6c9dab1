import assert from "node:assert/strict";
import { type Clock, systemClock } from "#base";
import { type Client, ConnectionError } from "#client";
import { serviceAccountToken } from "./service-account-tokens.ts";

describe("serviceAccountToken", () => {
  const life = new AbortController();
  after(() => life.abort());
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) =>
      systemClock.sleep(ms > 5_000 ? 2 ** 30 : 0, signal, { background: true }),
  };

  /** Requests a token while the first requests fail. */
  function ask(faults: Error[]) {
    const reported: unknown[] = [];
    const create = (_handle: object, _object: object, options?: object) => {
      if (options === undefined) return Promise.resolve({});
      const fault = faults.shift();
      return fault === undefined
        ? Promise.resolve({ status: { token: "secret" } })
        : Promise.reject(fault);
    };
    const client = { domain: { api: "k8s.io" }, create } as unknown as Client;
    const report = (_what: string, error: unknown) => void reported.push(error);
    const token = serviceAccountToken({ client, clock, signal: life.signal, report }, "job");
    return { token, reported };
  }
  const cut = () => new ConnectionError("cut off", false);

  it("retries after a failed connection", async () => {
    const faults = [cut(), cut()];
    const { token, reported } = ask([...faults]);
    assert.equal((await token)(), "secret");
    assert.equal(reported.length, faults.length);
  });

  it("fails after five attempts, and immediately if the request is rejected", async () => {
    const { token, reported } = ask(Array.from({ length: 5 }, cut));
    await assert.rejects(token, ConnectionError);
    assert.equal(reported.length, 4);
    const refused = ask([new Error("no")]);
    await assert.rejects(refused.token, { message: /no/ });
    assert.equal(refused.reported.length, 0);
  });
});
