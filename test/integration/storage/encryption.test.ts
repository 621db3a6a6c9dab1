/** Encryption at rest, over HTTP: key rotation, and objects whose key is lost. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import { type Clock, systemClock } from "#base";
import { type RunningServer, type StartOptions, startServer } from "../../../cmd/keelson/index.ts";

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

const why = "identity transformer tried to read encrypted data";

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

  async function start(
    ...given: readonly (number | Pick<StartOptions, "controllers" | "featureGates">)[]
  ): Promise<RunningServer> {
    const keys = given.filter((each) => typeof each === "number");
    const options = given.filter((each) => typeof each === "object");
    await server?.close();
    server = await startServer({
      storage: { kind: "embedded", directory },
      controllers: false,
      tokens: "alicetoken,alice,alice-uid\n",
      report: () => undefined,
      ...options[0],
      ...(keys.length === 0 ? {} : { encryption: aesgcm(...keys) }),
    });
    return server;
  }

  async function call(
    method: string,
    at: string,
    body?: object,
    others: Record<string, string> = {},
  ) {
    const headers = { "content-type": "application/json", ...others };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await server!.fetch(at, { method, headers, ...init });
    return { status: answer.status, body: (await answer.json()) as any };
  }
  /** All events of a watch that the server ends. */
  const events = async (list: string): Promise<any[]> => {
    const query = `${list.includes("?") ? "&" : "?"}watch=1&timeoutSeconds=60`;
    const text = await (await server!.fetch(list + query)).text();
    return text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  };
  /** Repeats a read until it returns a value. */
  const until = async <T>(read: () => Promise<T | undefined>): Promise<T> => {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const value = await read();
      if (value !== undefined) return value;
      assert.ok(Date.now() < deadline, "the condition was not reached");
      await setTimeout(20);
    }
  };
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

  it("fails whatever includes an object whose key is lost", async () => {
    await start(1);
    await create("lost");
    await start(2);
    await call("POST", "/api/v1/namespaces", { metadata: { name: "other" } });
    const elsewhere = "/api/v1/namespaces/other/secrets";
    await call("POST", elsewhere, { metadata: { name: "found" } });

    const reason = `unable to transform key "/registry/secrets/default/lost": ${why}`;
    const fault = { code: 500, reason: "InternalError" };
    const lists = [
      secrets,
      "/api/v1/secrets",
      `${secrets}?limit=1`,
      `${secrets}?resourceVersion=0`,
      `${secrets}?labelSelector=a%3Db`,
      `${secrets}?fieldSelector=type%3DOpaque`,
      `${secrets}?fieldSelector=metadata.name%3Dlost`,
    ];
    const metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    const table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    for (const list of lists) {
      for (const accept of ["application/json", metadata, table]) {
        const { status, body } = await call("GET", list, undefined, { accept });
        assert.deepEqual([status, body.reason], [500, fault.reason], list);
        assert.equal(body.message, `Internal error occurred: ${reason}`, list);
      }
      const [event, ...more] = await events(list);
      assert.equal(event.type, "ERROR", list);
      assert.equal(event.object.message, `Internal error occurred: ${reason}`);
      assert.deepEqual(more, []);
    }
    const { status, body } = await call("GET", `${secrets}/lost`);
    assert.deepEqual([status, body.code, body.reason], [500, 500, "InternalError"]);
    assert.equal(body.message, `Internal error occurred: ${why}`);
    for (const [method, at] of [
      ["DELETE", `${secrets}/lost`],
      ["DELETE", secrets],
    ] as const) {
      assert.equal((await call(method, at)).status, 500, `${method} ${at}`);
    }
    assert.equal((await create("lost")).body.reason, "AlreadyExists");
    assert.equal((await call("GET", elsewhere)).body.items.length, 1);
    const ready = await server!.fetch("/readyz?verbose");
    assert.equal(ready.status, 500);
    assert.match(await ready.text(), /\[-\]decryption failed/);
  });

  it("does not take an object whose key is lost for a deleted one", async () => {
    await start({ controllers: true }, 1);
    for (const name of ["counted", "kept"]) {
      await call("POST", "/api/v1/namespaces", { metadata: { name } });
    }
    const metadata = { name: "lost", finalizers: ["example.org/keep"] };
    await call("POST", "/api/v1/namespaces/kept/secrets", { metadata });
    await call("POST", "/api/v1/namespaces/counted/secrets", { metadata });
    const quotas = "/api/v1/namespaces/counted/resourcequotas";
    const quota = { metadata: { name: "q" }, spec: { hard: { "count/secrets": "5" } } };
    await call("POST", quotas, quota);
    const usageOf = (hard: string) =>
      until(async () => {
        const { status } = (await call("GET", `${quotas}/q`)).body;
        return status.hard?.["count/secrets"] === hard ? status.used["count/secrets"] : undefined;
      });
    assert.equal(await usageOf("5"), "1");

    await start({ controllers: true }, 2);
    await call("PUT", `${quotas}/q`, { ...quota, spec: { hard: { "count/secrets": "6" } } });
    assert.equal(await usageOf("6"), "1");
    await call("DELETE", "/api/v1/namespaces/kept");
    const conditions = await until(async () => {
      const { body } = await call("GET", "/api/v1/namespaces/kept");
      return body.status.conditions?.length > 0 ? body.status.conditions : undefined;
    });
    const text = JSON.stringify(conditions);
    assert.ok(text.includes("unable to transform key"), text);
    assert.equal((await call("GET", "/api/v1/namespaces/kept")).body.status.phase, "Terminating");
  });

  it("deletes an object whose key is lost only with the option, its gate and nothing else", async () => {
    await start(1);
    await create("lost");
    await create("second");
    await start(2);
    const name = "ignoreStoreReadErrorWithClusterBreakingPotential";
    const option = { [name]: true };
    // Without the gate the option is ignored.
    const ignored = await call("DELETE", `${secrets}/lost?dryRun=All`, option);
    assert.equal(ignored.body.message, `Internal error occurred: ${why}`);

    await start({ featureGates: new Map([["AllowUnsafeMalformedObjectDeletion", "true"]]) }, 2);
    const others = {
      dryRun: ["All"],
      propagationPolicy: "Background",
      orphanDependents: false,
      gracePeriodSeconds: 0,
      preconditions: { uid: "u" },
    };
    for (const [other, value] of Object.entries(others)) {
      const { status, body } = await call("DELETE", `${secrets}/lost`, {
        ...option,
        [other]: value,
      });
      assert.equal(status, 422, other);
      const causes = body.details.causes.map((cause: any) => `${cause.field}: ${cause.message}`);
      assert.deepEqual(causes, [
        `${name}: Invalid value: true: cannot be set together with .${other}`,
      ]);
    }
    const collection = await call("DELETE", secrets, option);
    assert.equal(collection.status, 422);
    assert.match(collection.body.message, /is not allowed with DELETECOLLECTION/);
    await create("readable");
    const readable = await call("DELETE", `${secrets}/readable`, option);
    assert.equal(readable.status, 422);
    assert.match(readable.body.message, /is exclusively used to delete corrupt object\(s\)/);

    const gone = await call("DELETE", `${secrets}/lost`, option);
    assert.deepEqual([gone.status, gone.body.status], [200, "Success"]);
    assert.equal((await call("DELETE", `${secrets}/second?${name}=true`)).status, 200);
    assert.equal((await create("lost")).status, 201);
    assert.deepEqual(await names(), ["lost", "readable"]);
    assert.equal((await server!.fetch("/readyz")).status, 200);
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
    for (const at of [secrets, `${secrets}/a`]) {
      assert.match((await call("GET", at)).body.message, /tried to read encrypted data/);
    }
  });
});
