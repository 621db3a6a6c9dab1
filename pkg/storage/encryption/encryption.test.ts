import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { ConfigurationFault } from "#meta";
import { fromProtobuf, type StructType, toProtobuf } from "#schema";
import type { Backend } from "../backend.ts";
import { memoryBackend } from "../embedded/index.ts";
import { parseEncryptionConfiguration } from "./configuration.ts";
import { Encryption } from "./encryption.ts";
import {
  decryptRequest,
  decryptResponse,
  encryptRequest,
  encryptResponse,
  statusRequest,
  statusResponse,
} from "./kms-messages.ts";
import { encryptedBackend } from "./encrypted-backend.ts";

const secret = (byte: number, length = 32) => Buffer.alloc(length, byte).toString("base64");
const keys = (...bytes: readonly number[]) =>
  bytes.map((byte) => ({ name: `key${byte}`, secret: secret(byte) }));

function configuration(
  providers: readonly object[],
  resources: readonly string[] = ["secrets"],
): string {
  return JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [{ resources, providers }],
  });
}

const key = "/registry/secrets/default/a";

describe("encryption at rest", () => {
  let raw: Backend;
  let reports: string[];

  beforeEach(() => {
    raw = memoryBackend();
    reports = [];
  });

  async function over(text?: string): Promise<Backend> {
    const encryption = new Encryption({
      root: "/registry",
      resources: new Map([
        ["/secrets/", { group: "", resource: "secrets" }],
        ["/services/specs/", { group: "", resource: "services" }],
        ["/deployments/", { group: "apps", resource: "deployments" }],
      ]),
      report: (what, error) => reports.push(`${what}: ${String(error)}`),
    });
    if (text !== undefined) await encryption.configure(parseEncryptionConfiguration(text));
    return encryptedBackend(raw, encryption);
  }

  async function put(backend: Backend, at: string, text: string): Promise<void> {
    const value = Buffer.from(text);
    const { entry } = await raw.get(at);
    const compare = [{ key: at, modRevision: entry?.modRevision ?? 0 }];
    const result = await backend.txn({ compare, then: [{ put: at, value }], otherwise: [] });
    assert.ok(result.succeeded);
  }
  const stored = async (at: string) => Buffer.from((await raw.get(at)).entry!.value).toString();
  const read = async (backend: Backend, at = key) => (await backend.get(at)).entry;
  const text = async (backend: Backend, at = key) =>
    Buffer.from((await read(backend, at))!.value).toString();

  for (const [algorithm, start] of [
    ["aesgcm", "k8s:enc:aesgcm:v1:key1:"],
    ["aescbc", "k8s:enc:aescbc:v1:key1:"],
    ["secretbox", "k8s:enc:secretbox:v1:key1:"],
  ] as const) {
    it(`encrypts and decrypts values with ${algorithm}`, async () => {
      const sealed = await over(configuration([{ [algorithm]: { keys: keys(1) } }]));
      await put(sealed, key, "{hidden}");
      const value = await stored(key);
      assert.ok(value.startsWith(start), value.slice(0, 40));
      assert.ok(!value.includes("hidden"));
      assert.equal(await text(sealed), "{hidden}");
      const { entries } = await sealed.range({ from: "/registry/", to: "/registry0" });
      assert.equal(Buffer.from(entries[0]!.value).toString(), "{hidden}");
    });
  }

  it("decrypts an AES-GCM value of kube-apiserver", async () => {
    const nonce = Buffer.alloc(12, 7);
    const cipher = createCipheriv("aes-256-gcm", Buffer.alloc(32, 1), nonce);
    cipher.setAAD(Buffer.from(key));
    const prefix = Buffer.from("k8s:enc:aesgcm:v1:key1:");
    const body = [cipher.update("{there}"), cipher.final(), cipher.getAuthTag()];
    const value = Buffer.concat([prefix, nonce, ...body]);
    await raw.txn({ compare: [], then: [{ put: key, value }], otherwise: [] });
    const sealed = await over(configuration([{ aesgcm: { keys: keys(1) } }]));
    assert.equal(await text(sealed), "{there}");
  });

  it("encrypts with the first key, decrypts with all, and reports values of old keys as stale", async () => {
    await put(await over(configuration([{ aescbc: { keys: keys(1) } }])), key, "{old}");
    const both = await over(
      configuration([{ secretbox: { keys: keys(2) } }, { aescbc: { keys: keys(1) } }]),
    );
    assert.equal(await text(both), "{old}");
    assert.equal((await read(both))?.encryption?.stale, true);
    await put(both, key, "{old}");
    assert.equal((await read(both))?.encryption, undefined);
    const only = await over(configuration([{ secretbox: { keys: keys(2) } }]));
    assert.equal(await text(only), "{old}");
  });

  it("encrypts unencrypted values on their next write", async () => {
    await put(raw, key, "{plain}");
    const sealed = await over(configuration([{ aesgcm: { keys: keys(1) } }, { identity: {} }]));
    assert.equal(await text(sealed), "{plain}");
    assert.equal((await read(sealed))?.encryption?.stale, true);
  });

  it("decrypts values on their next write with identity as the first provider", async () => {
    await put(await over(configuration([{ aesgcm: { keys: keys(1) } }])), key, "{text}");
    const plain = await over(configuration([{ identity: {} }, { aesgcm: { keys: keys(1) } }]));
    assert.equal(await text(plain), "{text}");
    await put(plain, key, "{text}");
    assert.equal(await stored(key), "{text}");
  });

  it("returns other entries beside one with a lost key, which has the reason", async () => {
    await put(await over(configuration([{ aesgcm: { keys: keys(1) } }])), key, "{lost}");
    const other = "/registry/secrets/default/b";
    const sealed = await over(configuration([{ aesgcm: { keys: keys(2) } }]));
    await put(sealed, other, "{found}");
    const { entries } = await sealed.range({ from: "/registry/", to: "/registry0" });
    assert.deepEqual(
      entries.map((entry) => [Buffer.from(entry.value).toString(), entry.encryption?.fault]),
      [
        ["", "no matching prefix found"],
        ["{found}", undefined],
      ],
    );
    await read(sealed);
    assert.deepEqual(reports, [
      `Failed to decrypt an entry: unable to transform key "${key}": no matching prefix found`,
    ]);
    assert.match(
      (await read(await over()))?.encryption?.fault ?? "",
      /tried to read encrypted data/,
    );
  });

  it("yields while it decrypts many large values", async () => {
    const backend = await over(configuration([{ secretbox: { keys: keys(1) } }]));
    const large = "x".repeat(300_000);
    const count = 12;
    for (let n = 0; n < count; n++) await put(backend, `${key}${n}`, large);
    let turns = 0;
    let isOver = false;
    const others = (): void => {
      turns += 1;
      if (!isOver) setImmediate(others);
    };
    setImmediate(others);
    const { entries } = await backend.range({ from: key, to: `${key}~` });
    isOver = true;
    assert.deepEqual(
      entries.map(({ value }) => Buffer.from(value).toString() === large),
      Array.from({ length: count }, () => true),
    );
    assert.ok(turns > 2, `${turns} turns`);
  });

  it("does not decrypt values that were modified or copied to another key", async () => {
    const sealed = await over(configuration([{ aesgcm: { keys: keys(1) } }]));
    await put(sealed, key, "{text}");
    const { value } = (await raw.get(key)).entry!;
    const moved = "/registry/secrets/default/moved";
    const altered = Buffer.from(value);
    altered[altered.length - 1]! ^= 1;
    const then = [
      { put: moved, value },
      { put: key, value: altered },
    ];
    await raw.txn({ compare: [], then, otherwise: [] });
    for (const at of [key, moved]) {
      assert.match(
        (await read(sealed, at))?.encryption?.fault ?? "",
        /message authentication failed/,
      );
    }
  });

  it("encrypts only the configured resources, by the first matching rule", async () => {
    const text = JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "EncryptionConfiguration",
      resources: [
        { resources: ["secrets"], providers: [{ identity: {} }] },
        { resources: ["*."], providers: [{ aesgcm: { keys: keys(1) } }] },
        { resources: ["widgets.example.com"], providers: [{ aescbc: { keys: keys(2) } }] },
      ],
    });
    const sealed = await over(text);
    const places = {
      "/registry/secrets/default/a": "{text}",
      "/registry/services/specs/default/a": "k8s:enc:aesgcm",
      "/registry/deployments/default/a": "{text}",
      "/registry/example.com/widgets/default/a": "k8s:enc:aescbc",
      "/registry/example.com/gadgets/default/a": "{text}",
      "/registry/masterleases/10.0.0.1": "{text}",
    };
    for (const [at, start] of Object.entries(places)) {
      await put(sealed, at, "{text}");
      assert.ok((await stored(at)).startsWith(start), at);
    }
  });

  it("decrypts events, and delivers those of lost keys", async () => {
    const sealed = await over(configuration([{ secretbox: { keys: keys(1) } }]));
    const { signal } = new AbortController();
    const watch = { fromRevision: 2, signal };
    const next = sealed.watch(watch)[Symbol.asyncIterator]().next();
    await put(sealed, key, "{event}");
    const [event] = (await next).value.events;
    assert.equal(Buffer.from(event.entry.value).toString(), "{event}");
  });

  const mistakes: readonly (readonly [string, string, RegExp])[] = [
    ["another kind", "kind: Secret", /expected apiVersion/],
    ["no YAML", "a: [", /yaml/],
    [
      "a short key",
      configuration([{ aesgcm: { keys: [{ name: "a", secret: "AAAA" }] } }]),
      /resources\[0\]\.providers\[0\]\.aesgcm\.keys\[0\]\.secret: .*got 3, expected one of \[16/,
    ],
    [
      "no base64",
      configuration([{ aescbc: { keys: [{ name: "a", secret: "***" }] } }]),
      /secrets must be base64 encoded/,
    ],
    ["no provider", configuration([]), /at least one provider is required/],
    [
      "two in one",
      configuration([{ identity: {}, aesgcm: { keys: keys(1) } }]),
      /more than one provider/,
    ],
    ["an unknown field", configuration([{ aesgmc: {} }]), /unknown field/],
    ["a star", configuration([{ identity: {} }], ["*"]), /use '\*\.' to encrypt/],
    ["an overlap", configuration([{ identity: {} }], ["secrets", "*."]), /overlapping/],
    [
      "a remote service",
      configuration([{ kms: { name: "k", endpoint: "http://a" } }]),
      /unsupported scheme "http"/,
    ],
  ];
  for (const [what, mistaken, words] of mistakes) {
    it(`rejects a configuration with ${what}`, () => {
      assert.throws(
        () => parseEncryptionConfiguration(mistaken),
        (error) => error instanceof ConfigurationFault && words.test(error.message),
      );
    });
  }
});

describe("encryption with a key management service", () => {
  let folder: string;
  let service: Server;
  let keyId: string;
  let healthy: boolean;
  let calls: string[];

  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson-kms-"));
    keyId = "first";
    healthy = true;
    calls = [];
    service = new Server();
    service.addService(methods, implementation());
    await new Promise<void>((resolve, reject) => {
      const where = `unix://${folder}/kms.sock`;
      service.bindAsync(where, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      );
    });
  });
  afterEach(() => {
    service.forceShutdown();
    rmSync(folder, { recursive: true, force: true });
  });

  const method = (name: string, request: StructType<any>, response: StructType<any>) => ({
    path: `/v2.KeyManagementService/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (value: object) => Buffer.from(toProtobuf(request, value)),
    requestDeserialize: (bytes: Buffer): any => fromProtobuf(request, bytes),
    responseSerialize: (value: object) => Buffer.from(toProtobuf(response, value)),
    responseDeserialize: (bytes: Buffer): any => fromProtobuf(response, bytes),
  });
  const methods = {
    Status: method("Status", statusRequest, statusResponse),
    Encrypt: method("Encrypt", encryptRequest, encryptResponse),
    Decrypt: method("Decrypt", decryptRequest, decryptResponse),
  };

  /** "Encrypts" by turning bits over; knows every key it ever had. */
  function implementation() {
    const turned = (base64: string) =>
      Buffer.from(Buffer.from(base64, "base64").map((byte) => byte ^ 0xff)).toString("base64");
    const answered =
      (name: string, answer: (request: any) => object) => (call: any, callback: any) => {
        calls.push(name);
        if (healthy) callback(null, answer(call.request));
        else callback({ code: 13, details: "the vault is sealed" });
      };
    return {
      Status: answered("Status", () => ({ version: "v2", healthz: "ok", keyId })),
      Encrypt: answered("Encrypt", ({ plaintext }) => ({
        ciphertext: turned(plaintext),
        keyId,
        annotations: { "vault.example.com": "AAEC" },
      })),
      Decrypt: answered("Decrypt", ({ ciphertext }) => ({ plaintext: turned(ciphertext) })),
    };
  }

  async function replica(raw: Backend): Promise<Backend & { readonly encryption: Encryption }> {
    const encryption = new Encryption({
      root: "/registry",
      resources: new Map([["/secrets/", { group: "", resource: "secrets" }]]),
      report: () => undefined,
    });
    const kms = { apiVersion: "v2", name: "vault", endpoint: `unix://${folder}/kms.sock` };
    await encryption.configure(parseEncryptionConfiguration(configuration([{ kms }])));
    return Object.assign(encryptedBackend(raw, encryption), { encryption });
  }
  const put = (backend: Backend, at: string) =>
    backend.txn({ compare: [], then: [{ put: at, value: Buffer.from("{k}") }], otherwise: [] });

  it("calls the plugin once for many values, and once for those of another server", async () => {
    const raw = memoryBackend();
    const one = await replica(raw);
    for (let index = 0; index < 20; index++) await put(one, `${key}${index}`);
    const { value } = (await raw.get(`${key}7`)).entry!;
    assert.match(Buffer.from(value).toString("latin1"), /^k8s:enc:kms:v2:vault:/);
    assert.equal(calls.filter((name) => name === "Encrypt").length, 1);
    const two = await replica(raw);
    const { entries } = await two.range({ from: "/registry/", to: "/registry0" });
    assert.ok(entries.every((entry) => Buffer.from(entry.value).toString() === "{k}"));
    assert.equal(calls.filter((name) => name === "Decrypt").length, 1);
    one.encryption.close();
    two.encryption.close();
  });

  it("reports values of a previous key as stale", async () => {
    const raw = memoryBackend();
    const one = await replica(raw);
    await put(one, key);
    keyId = "second";
    const two = await replica(raw);
    await put(two, `${key}2`);
    assert.equal((await two.get(key)).entry?.encryption?.stale, true);
    assert.equal((await two.get(`${key}2`)).entry?.encryption, undefined);
    one.encryption.close();
    two.encryption.close();
  });

  it("rejects writes and is unhealthy while the plugin fails, but reads unencrypted values", async () => {
    healthy = false;
    const raw = memoryBackend();
    const one = await replica(raw);
    await assert.rejects(put(one, key), /failed to encrypt DEK.*the vault is sealed/);
    assert.equal((await raw.get(key)).entry, undefined);
    assert.throws(() => one.encryption.check(), /the vault is sealed|not been asked/);
    healthy = true;
    await put(one, key);
    assert.equal(Buffer.from((await one.get(key)).entry!.value).toString(), "{k}");
    one.encryption.close();
  });
});
