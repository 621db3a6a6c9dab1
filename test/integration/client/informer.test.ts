/** Guarantees of informers, against a whole server. */
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { type Random, seededRandom, systemClock } from "#base";
import { noInstruments, parseKubeconfig } from "#request";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { domainOf } from "#meta";
import {
  type ApiObject,
  type InformerEvent,
  type Client,
  ConnectionError,
  http2Transport,
  type Handle,
  HttpClient,
  type HttpResponse,
  Informer,
  type HttpRequest,
  type Transform,
  withoutManagedFields,
  withRetries,
  type RoundTrip,
} from "#client";

interface ConfigMap extends ApiObject {
  readonly data?: { readonly count?: string };
}

const core = { group: "", version: "v1", namespaced: true };
const configMaps: Handle<ConfigMap> = { ...core, plural: "configmaps", kind: "ConfigMap" };
const namespace = "default";
const seed = 11;

describe("informer", () => {
  let server: RunningServer;
  let life: AbortController;
  const running: Promise<void>[] = [];

  const start = async (port?: number) => {
    const listening = port === undefined ? {} : { port };
    server = await startServer({ controllers: false, ...listening });
    life = new AbortController();
    setMaxListeners(0, life.signal);
  };
  afterEach(async () => {
    life.abort();
    await Promise.all(running.splice(0));
    await server.close();
  });

  /** A transport to the server in this process. */
  const inside: RoundTrip = async ({ method, path, headers, body, signal }) => {
    const answer = await server.fetch(path, {
      method,
      headers,
      signal,
      ...(body === undefined ? {} : { body: new Uint8Array(body) }),
    });
    const chunks = (answer.body ?? []) as AsyncIterable<Uint8Array>;
    return {
      status: answer.status,
      header: (name) => answer.headers.get(name) ?? "",
      body: chunks,
    };
  };

  function clientOver(send: RoundTrip): Client {
    const clock = systemClock;
    return new HttpClient({ send, domain: domainOf(), clock, userAgent: "t", signal: life.signal });
  }

  function informerOn(
    client: Client,
    transform?: Transform,
  ): { informer: Informer<ConfigMap>; changes: string[] } {
    // Reconnects follow each other quickly.
    const hasty = {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(Math.min(ms, 5), signal),
    };
    const informer = new Informer<ConfigMap>({
      client,
      resource: configMaps,
      ...(transform === undefined ? {} : { transform }),
      selection: { namespace, labelSelector: "test=yes" },
      indexes: { count: ({ data }) => [data?.count ?? ""] },
      clock: hasty,
      random: seededRandom(seed),
      signal: life.signal,
      report: () => undefined,
    });
    const changes: string[] = [];
    informer.subscribe((change) => changes.push(shown(change)));
    running.push(informer.run());
    return { informer, changes };
  }

  const shown = ({ type, object }: InformerEvent<ConfigMap>) =>
    `${type} ${object.metadata.name} ${object.data?.count ?? ""}`;

  async function write(name: string, count: number): Promise<void> {
    const client = clientOver(inside);
    const data = { count: String(count) };
    const metadata = { namespace, name, labels: { test: "yes" } };
    if (count === 0) await client.create(configMaps, { metadata, data });
    else await client.patch(configMaps, { namespace, name }, { type: "merge", body: { data } });
  }

  async function until(what: () => boolean): Promise<void> {
    for (let tries = 0; !what(); tries++) {
      assert.ok(tries < 6000, "timed out");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  it("delivers every event once and in order while connections break", async () => {
    await start();
    const random = seededRandom(seed);
    const { informer, changes } = informerOn(clientOver(breaking(inside, random)));
    const expected: string[] = [];
    await informer.untilSynced();
    for (let count = 0; count < 60; count++) {
      const type = count === 0 ? "added" : "updated";
      await write("a", count);
      expected.push(`${type} a ${count}`);
      if (count % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await clientOver(inside).delete(configMaps, { namespace, name: "a" });
    await until(() => changes.at(-1)?.startsWith("deleted") === true);
    assert.deepEqual(changes, [...expected, "deleted a 59"]);
    assert.deepEqual([...informer.all()], []);
  });

  it("stores objects without managedFields if so configured", async () => {
    await start();
    const client = clientOver(inside);
    await write("before", 0);
    const whole = informerOn(client).informer;
    const trimmed = informerOn(client, withoutManagedFields).informer;
    await Promise.all([whole.untilSynced(), trimmed.untilSynced()]);
    await write("after", 0);
    for (const name of ["before", "after"]) {
      const get = (informer: Informer<ConfigMap>) => informer.get(`${namespace}/${name}`);
      await until(() => get(whole) !== undefined && get(trimmed) !== undefined);
      const { managedFields, ...metadata } = get(whole)!.metadata as ApiObject["metadata"] & {
        readonly managedFields?: unknown;
      };
      assert.ok(managedFields);
      assert.deepEqual(get(trimmed)!.metadata, metadata);
    }
  });

  it("relists after 410 without going back in time, and converges", async () => {
    await start();
    const random = seededRandom(seed);
    const { informer, changes } = informerOn(clientOver(forgetting(inside, random)));
    const counts = new Map<string, number>();
    for (let step = 0; step < 80; step++) {
      const name = `n${random.below(4)}`;
      const count = (counts.get(name) ?? -1) + 1;
      await write(name, count);
      counts.set(name, count);
    }
    const wanted = [...counts].map(([name, count]) => `${name} ${count}`).sort();
    const held = () =>
      [...informer.all()].map(({ metadata, data }) => `${metadata.name} ${data?.count}`).sort();
    await until(() => String(held()) === String(wanted));
    for (const name of counts.keys()) {
      const own = changes.filter((change) => change.split(" ")[1] === name);
      const numbers = own.map((change) => Number(change.split(" ")[2]));
      assert.deepEqual(
        numbers,
        [...new Set(numbers)].sort((a, b) => a - b),
        name,
      );
    }
    const alike = [...counts].filter(([, count]) => count === counts.get("n0"));
    const indexed = informer.indexed("count", String(counts.get("n0")));
    assert.deepEqual(
      indexed.map(({ metadata }) => metadata.name).sort(),
      alike.map(([name]) => name).sort(),
    );
  });

  it("lists in pages if the server does not support sendInitialEvents", async () => {
    await start();
    for (let count = 0; count < 5; count++) await write(`n${count}`, 0);
    const asked: string[] = [];
    const old: RoundTrip = (request) => {
      asked.push(request.path);
      if (!request.path.includes("sendInitialEvents")) return inside(request);
      const text = JSON.stringify({ kind: "Status", code: 422, message: "sendInitialEvents?" });
      return Promise.resolve(answerOf(422, text));
    };
    const { informer } = informerOn(clientOver(old));
    await informer.untilSynced();
    assert.equal([...informer.all()].length, 5);
    await write("n0", 1);
    await until(() => informer.get("default/n0")?.data?.count === "1");
    assert.match(asked[1] ?? "", /[?&]resourceVersion=0&limit=500$/);
  });

  it("works over HTTP/2, and resumes after a lost connection", async () => {
    await start(0);
    const endpoint = () => parseKubeconfig(server.kubeconfig, () => "");
    const first = new AbortController();
    let signal = first.signal;
    const overNetwork = (ends: AbortSignal) =>
      http2Transport({ endpoint, clock: systemClock, signal: ends });
    let send = overNetwork(signal);
    const options = { clock: systemClock, host: "test", instruments: noInstruments };
    const { informer, changes } = informerOn(
      clientOver(withRetries((request) => send(request), options)),
    );
    await informer.untilSynced();
    await write("a", 0);
    await until(() => changes.length === 1);
    signal = life.signal;
    send = overNetwork(signal);
    first.abort();
    for (let count = 1; count < 5; count++) await write("a", count);
    await until(() => changes.length >= 5);
    assert.deepEqual(changes, ["added a 0", ...[1, 2, 3, 4].map((n) => `updated a ${n}`)]);
  });
});

function answerOf(status: number, text: string): HttpResponse {
  async function* body() {
    yield Buffer.from(text);
  }
  return { status, header: () => "", body: body() };
}

/** Truncates response bodies at random, also within a line. */
function breaking(send: RoundTrip, random: Random): RoundTrip {
  return async (request: HttpRequest) => {
    const answer = await send(request);
    if (request.longRunning !== true) return answer;
    let left = 200 + random.below(2_000);
    async function* body() {
      for await (const chunk of answer.body) {
        yield chunk.subarray(0, left);
        left -= chunk.byteLength;
        if (left <= 0) throw new ConnectionError("cut", false);
      }
    }
    return { ...answer, body: body() };
  };
}

/** Occasionally responds with 410 Expired. */
function forgetting(send: RoundTrip, random: Random): RoundTrip {
  return async (request) => {
    const resumes = /[?&]resourceVersion=/.test(request.path);
    if (resumes && random.below(2) === 0) {
      const object = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
      return answerOf(200, `${JSON.stringify({ type: "ERROR", object })}\n`);
    }
    return breaking(send, random)(request);
  };
}
