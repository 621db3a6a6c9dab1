/**
 * Elections that the API server decides. Time passes only when all work is done, so that a busy machine
 * does not make candidates look silent.
 */
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { seededRandom } from "#base";
import {
  HttpClient,
  runLeaseCandidate,
  runElection,
  type RoundTrip,
  defaultElectionTimes,
} from "#client";
import { domainOf } from "#meta";
import { runCoordinatedElection } from "#controllers";
import { type RunningServer, startServer } from "#controlplane";
import { SlowClock } from "../../client/testing.ts";
import { contextOn } from "../testing.ts";
import { testRegistry } from "../../registry/testing.ts";

const group = "/apis/coordination.k8s.io";

describe("coordinated leader election", () => {
  let server: RunningServer;
  const lives: AbortController[] = [];
  const running: Promise<unknown>[] = [];
  let leading: string[];
  const clock = new SlowClock();
  const ended = new AbortController();
  let passing: Promise<void>;

  async function passTime(): Promise<void> {
    while (!ended.signal.aborted) await clock.pass(50);
  }

  before(async () => {
    leading = [];
    passing = passTime();
    server = await startServer({
      clock,
      featureGates: new Map([["CoordinatedLeaderElection", "true"]]),
      runtimeConfig: new Map([["coordination.k8s.io/v1beta1", "true"]]),
      report: () => undefined,
    });
  });
  after(async () => {
    for (const life of lives) life.abort();
    await Promise.all(running);
    await server.close();
    ended.abort();
    await passing;
  });

  const inside: RoundTrip = async ({ method, path, headers, body, signal }) => {
    const content = body === undefined ? {} : { body: new Uint8Array(body) };
    const answer = await server.fetch(path, { method, headers, signal, ...content });
    return {
      status: answer.status,
      header: (name) => answer.headers.get(name) ?? "",
      body: (answer.body ?? []) as AsyncIterable<Uint8Array>,
    };
  };

  /** A program that would like to lead, and the versions of it. */
  function candidate(identity: string, emulationVersion: string): AbortController {
    const life = new AbortController();
    setMaxListeners(0, life.signal);
    lives.push(life);
    const { signal } = life;
    const domain = domainOf();
    const forever = new AbortController().signal;
    const client = new HttpClient({
      send: inside,
      domain,
      clock,
      userAgent: "t",
      signal: forever,
    });
    const report = () => undefined;
    const common = { client, clock, random: seededRandom(identity), signal, report };
    const place = { namespace: "default", identity };
    const versions = { binaryVersion: "1.34.0", emulationVersion };
    running.push(runLeaseCandidate({ ...common, ...place, ...versions, leaseName: "lock" }));
    running.push(elections());
    return life;

    async function elections(): Promise<void> {
      while (!signal.aborted) {
        const lead = async (term: AbortSignal) => {
          leading.push(identity);
          assert.equal(leading.length, 1, leading.join(" and "));
          await new Promise((resolve) => term.addEventListener("abort", resolve, { once: true }));
          leading = leading.filter((each) => each !== identity);
        };
        await runElection({
          ...common,
          ...defaultElectionTimes,
          ...place,
          name: "lock",
          coordinated: true,
          lead,
        });
      }
    }
  }

  /** Fails after two minutes of virtual time. */
  async function until(what: () => boolean | Promise<boolean>, told: string): Promise<void> {
    const last = clock.now() + 120_000;
    while (!(await what())) {
      assert.ok(clock.now() < last, told);
      await clock.sleep(100);
    }
  }

  async function read(path: string): Promise<any> {
    return (await server.fetch(`${group}/${path}`)).json();
  }

  it("elects the oldest emulated version, and hands over when an older one appears", async () => {
    candidate("newer", "1.34.0");
    await until(() => leading[0] === "newer", "no candidate leads");
    const lease = await read("v1/namespaces/default/leases/lock");
    assert.equal(lease.spec.strategy, "OldestEmulationVersion");
    const older = candidate("older", "1.33.0");
    await until(() => leading[0] === "older", "the older one does not lead");
    older.abort();
    await until(
      () => leading[0] === "newer" || leading.length === 0,
      "the leader did not step down",
    );
  });

  it("pings candidates, and elects no unresponsive one", async () => {
    const path = `${group}/v1beta1/namespaces/default/leasecandidates`;
    const spec = {
      leaseName: "lock",
      binaryVersion: "1.34.0",
      emulationVersion: "1.30.0",
      strategy: "OldestEmulationVersion",
    };
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ metadata: { name: "silent" }, spec });
    await server.fetch(path, { method: "POST", headers, body });
    const asked = async () => {
      const { spec } = await read("v1beta1/namespaces/default/leasecandidates/silent");
      return spec?.pingTime !== undefined;
    };
    await until(asked, "no candidate was pinged");
    await until(() => leading[0] === "newer", "the one that is there does not lead");
    await clock.sleep(20_000);
    assert.deepEqual(leading, ["newer"]);
  });
});

describe("LeaseCandidates", () => {
  it("are deleted after being unresponsive for hours", async () => {
    const test = await testRegistry();
    const life = new AbortController();
    setMaxListeners(0, life.signal);
    const { signal } = life;
    const clock = new SlowClock();
    const context = contextOn({ ...test, clock, signal, report: () => undefined });
    const spec = {
      leaseName: "lock",
      binaryVersion: "1.34.0",
      strategy: "example.com/of-somebody-else",
      renewTime: new Date(clock.now()).toISOString().replace("Z", "000Z"),
    };
    const place = "coordination.k8s.io/v1beta1/leasecandidates/ns";
    for (const name of ["alive", "gone"]) await test.post(place, { metadata: { name }, spec });
    const coordinating = runCoordinatedElection(context);
    for (let hour = 0; hour < 4; hour++) {
      assert.deepEqual(await test.names(place), hour < 3 ? ["alive", "gone"] : ["alive"]);
      const renewTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
      await test.patch(`${place}/alive`, { spec: { renewTime } });
      await clock.pass(3_600_000);
    }
    life.abort();
    await clock.pass(1);
    await coordinating;
  });
});
