/** Encryption at rest, over HTTP: key rotation, and objects whose key is lost. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { type Clock, systemClock } from "#base";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

/** Interval at which configuration files are polled, in ms. */
const betweenLooksMs = 2_000;
const secrets = "/api/v1/namespaces/default/secrets";

function aesgcm(...bytes: readonly number[]): { readonly configuration: string } {
  const keys = bytes.map((byte) => ({
    name: `key${byte}`,
    secret: Buffer.alloc(32, byte).toString("base64"),
  }));
  return {
    configuration: JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "EncryptionConfiguration",
      resources: [{ resources: ["secrets"], providers: [{ aesgcm: { keys } }, { identity: {} }] }],
    }),
  };
}

describe("encryption at rest, over HTTP", () => {
  let directory: string;
  let server: RunningServer | undefined;

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "keelson-encryption-"));
  });
  afterEach(async () => {
    await server?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  async function start(...keys: readonly number[]): Promise<RunningServer> {
    await server?.close();
    server = await startServer({
      storage: { kind: "embedded", directory },
      controllers: false,
      tokens: "alicetoken,alice,alice-uid\n",
      report: () => undefined,
      ...(keys.length === 0 ? {} : { encryption: aesgcm(...keys) }),
    });
    return server;
  }

  async function call(method: string, at: string, body?: object) {
    const headers = { "content-type": "application/json" };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await server!.fetch(at, { method, headers, ...init });
    return { status: answer.status, body: (await answer.json()) as any };
  }
  const create = (name: string) =>
    call("POST", secrets, { metadata: { name }, stringData: { password: "hidden" } });
  const names = async () =>
    (await call("GET", secrets)).body.items.map((item: any) => item.metadata.name);

  it("re-encrypts an unchanged object with the new key, once", async () => {
    await start(1);
    await create("a");
    await start(2, 1);
    const { body: before } = await call("GET", `${secrets}/a`);
    const { body: after } = await call("PUT", `${secrets}/a`, before);
    assert.notEqual(after.metadata.resourceVersion, before.metadata.resourceVersion);
    const { body: again } = await call("PUT", `${secrets}/a`, after);
    assert.equal(again.metadata.resourceVersion, after.metadata.resourceVersion);
    await start(2);
    const { body: read } = await call("GET", `${secrets}/a`);
    assert.equal(Buffer.from(read.data.password, "base64").toString(), "hidden");
  });

  it("serves other objects while a key is lost, and allows deletes of unreadable ones", async () => {
    await start(1);
    await create("lost");
    await start(2);
    await create("found");
    assert.deepEqual(await names(), ["found"]);
    const { status, body } = await call("GET", `${secrets}/lost`);
    assert.deepEqual([status, body.reason], [500, "InternalError"]);
    assert.match(body.message, /unable to transform key "\/registry\/secrets\/default\/lost"/);
    assert.equal((await create("lost")).body.reason, "AlreadyExists");
    assert.equal((await call("DELETE", `${secrets}/lost`)).status, 500);

    const option = { ignoreStoreReadErrorWithClusterBreakingPotential: true };
    const both = { ...option, gracePeriodSeconds: 0 };
    assert.equal((await call("DELETE", `${secrets}/lost`, both)).status, 422);
    const gone = await call("DELETE", `${secrets}/lost`, option);
    assert.deepEqual([gone.status, gone.body.status], [200, "Success"]);
    assert.equal((await create("lost")).status, 201);
    assert.deepEqual(await names(), ["found", "lost"]);
  });

  it("reloads the configuration file, and keeps the current keys if it becomes invalid", async () => {
    const file = path.join(directory, "encryption.json");
    const told: string[] = [];
    const seen = { looks: 0 };
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal, options) => {
        if (ms !== betweenLooksMs) return systemClock.sleep(ms, signal, options);
        seen.looks++;
        return systemClock.sleep(1, signal, options);
      },
    };
    /** Resolves after the file has been polled once more. */
    const write = async (text: string) => {
      writeFileSync(file, text);
      const enough = seen.looks + 2;
      while (seen.looks < enough) await setImmediate();
    };
    writeFileSync(file, aesgcm(1).configuration);
    server = await startServer({
      storage: { kind: "embedded", directory },
      controllers: false,
      clock,
      encryption: { configuration: { file } },
      report: (what, error) => told.push(`${what}: ${String(error)}`),
    });
    await write("nonsense");
    assert.equal(told.length, 1);
    assert.match(
      told[0]!,
      /^Failed to reload .*encryption.json: ConfigurationFault: expected apiVersion/,
    );
    await create("first");
    await write(aesgcm(2, 1).configuration);
    await create("second");
    assert.deepEqual(await names(), ["first", "second"]);
    const { body: first } = await call("GET", `${secrets}/first`);
    const { body: again } = await call("PUT", `${secrets}/first`, first);
    assert.notEqual(again.metadata.resourceVersion, first.metadata.resourceVersion);
    await start(2);
    assert.deepEqual(await names(), ["first", "second"]);
  });

  it("does not decode ciphertext without an encryption configuration", async () => {
    await start(1);
    await create("a");
    await start();
    assert.deepEqual(await names(), []);
    assert.match((await call("GET", `${secrets}/a`)).body.message, /encrypted data/);
  });
});
