/** Secrets of 1 MB that are encrypted at rest, and audit events with such bodies. */
import { Writable } from "node:stream";
import { type BodyClass, json, many, numbered } from "../build-body.ts";
import { post, type Scene, serving } from "./scene.ts";

const core = "/api/v1/namespaces/default";

function encryption(provider: string): string {
  const keys = `keys: [{name: key, secret: ${Buffer.alloc(32, 7).toString("base64")}}]`;
  return [
    "apiVersion: apiserver.config.k8s.io/v1",
    "kind: EncryptionConfiguration",
    `resources: [{resources: [secrets], providers: [{${provider}: {${keys}}}]}]`,
  ].join("\n");
}

const auditPolicy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]";

function create(name: string, kind: string, more: object): BodyClass {
  const metadata = { generateName: "large-" };
  return {
    name,
    path: `${core}/${kind.toLowerCase()}s`,
    type: json,
    body: Buffer.from(JSON.stringify({ apiVersion: "v1", kind, metadata, ...more })),
  };
}

const secret = { data: { text: Buffer.alloc(750_000, "secret").toString("base64") } };

const storedSecrets = 20;

const ciphers: readonly Scene[] = ["secretbox", "aesgcm", "aescbc"].map((provider) => ({
  name: `encryption by ${provider}`,
  prepare: async (start) => {
    const server = await start({
      ...serving,
      encryption: { configuration: encryption(provider) },
    });
    const metadata = { generateName: "large-" };
    for (let n = 0; n < storedSecrets; n++) {
      await post(server, `${core}/secrets`, {
        apiVersion: "v1",
        kind: "Secret",
        metadata,
        ...secret,
      });
    }
    return { server };
  },
  requests: [
    {
      name: `${provider}: list of Secrets of 1 MB, the first one decrypts them`,
      path: `${core}/secrets`,
      method: "GET",
      type: json,
      body: Buffer.alloc(0),
    },
    create(`${provider}: create a Secret of 1 MB`, "Secret", secret),
  ],
}));

const audit: Scene = {
  name: "audit",
  prepare: async (start) => {
    const to = new Writable({ write: (_chunk, _encoding, done) => done() });
    const rotation = { maxBytes: 0, maxAgeDays: 0, maxBackups: 0, compress: false };
    const batch = { bufferSize: 10_000, maxSize: 1, maxWaitMs: 0, throttle: undefined };
    const log = { to, format: "json", mode: "blocking", batch, rotation } as const;
    return { server: await start({ ...serving, audit: { policy: auditPolicy, log } }) };
  },
  requests: [
    create("audit: a text of 1 MB", "ConfigMap", { data: { text: "x".repeat(1_000_000) } }),
    create("audit: 24,000 keys", "ConfigMap", { data: numbered(24_000) }),
    create("audit: 3,800 containers", "Pod", {
      spec: { containers: many(3800, (i) => ({ name: `c${i}`, image: "i" })) },
    }),
    {
      name: "audit: list of them",
      path: `${core}/configmaps`,
      method: "GET",
      type: json,
      body: Buffer.alloc(0),
    },
  ],
};

export const protection: readonly Scene[] = [...ciphers, audit];
