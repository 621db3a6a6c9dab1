/**
 * Every certificate of a CA pool is a trust anchor, as in Go: a root, an intermediate or the peer's own
 * certificate. Tests every TLS client of this program and both of its TLS servers.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import { get, request as httpsRequest } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { generateSigningKey } from "#authn";
import { systemClock } from "#base";
import { type RunningServer, startServer, type StartOptions } from "#controlplane";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";
import { callWebhook, parseKubeconfig, webhookClient, webhookPlace } from "#request";
import { backendTls, dial } from "../../../pkg/aggregator/transport/dial.ts";
import { fetchText } from "../../../pkg/authn/issuers/fetch-json.ts";
import { http2Transport } from "../../../pkg/client/http/connections.ts";
import { serveHealthAndMetrics } from "../../../pkg/controlplane/controller-manager/serving.ts";
import { waitUntilServing } from "../../../pkg/controlplane/cluster/serving.ts";
import { issueAuthority } from "../../../pkg/pki/testing.ts";
import { ordinaryDialer } from "../../../pkg/request/testing.ts";
import { Tunnels } from "../../../pkg/server/proxy/tunnels.ts";
import { Channel } from "../../../pkg/storage/etcd/grpc/channel.ts";
import { openEtcd3Client } from "../../../pkg/storage/etcd/etcd3-client.ts";
import { sourceFiles } from "../../tidy/source.ts";

interface Pki {
  readonly root: KeyPair;
  readonly intermediate: KeyPair;
  readonly server: KeyPair;
  readonly client: KeyPair;
}

async function makePki(name: string): Promise<Pki> {
  const common = { validDays: 1, now: Date.now() };
  const top = await createAuthority(`${name}-root`, common);
  const intermediate = await issueAuthority(top, `${name}-intermediate`);
  const hosts = ["127.0.0.1", "localhost"];
  const server = { ...common, commonName: "server", hosts, usage: "server" } as const;
  const client = { ...common, commonName: "alice", usage: "client" } as const;
  return {
    root: top,
    intermediate,
    server: await issueCertificate(intermediate, server),
    client: await issueCertificate(intermediate, client),
  };
}

/** Without an RSA key, whose generation is slow. */
async function startApi(options: StartOptions): Promise<RunningServer> {
  const signingKey = await generateSigningKey("ES256");
  return startServer({ port: 0, controllers: false, serviceAccounts: { signingKey }, ...options });
}

const anchors = ["root", "intermediate", "server"] as const;

/** GETs `/`, to which the server responds `{}`; rejects if the pool does not trust the server. */
type Client = (url: string, pool: string) => Promise<unknown>;

function kubeconfigOf(url: string, pool: string) {
  const cluster = {
    server: url,
    "certificate-authority-data": Buffer.from(pool).toString("base64"),
  };
  return parseKubeconfig(JSON.stringify({ clusters: [{ name: "a", cluster }] }), assert.fail);
}

const signal = () => AbortSignal.timeout(60_000);

const reader = { service: () => assert.fail(), slices: () => assert.fail() };
const parts = { reader, dialer: ordinaryDialer };

/** Clients by the file that opens the connections. */
const clients: Readonly<Record<string, Client>> = {
  "pkg/request/webhook/call.ts": (url, authorities) =>
    callWebhook(
      webhookPlace({ url, caBundle: Buffer.from(authorities).toString("base64") }, parts),
      { body: "{}", timeoutMs: 5_000, signal: undefined },
    ),
  "pkg/request/webhook/client.ts": async (url, pool) => {
    const options = { timeoutMs: 5_000, clock: systemClock, tries: 1 };
    const client = webhookClient({ ...options, endpoint: kubeconfigOf(url, pool) });
    await client.post({}).finally(() => client.close());
  },
  "pkg/authn/issuers/fetch-json.ts": (url, ca) => fetchText(url, { ca, signal: signal() }),
  "pkg/server/proxy/tunnels.ts": async (url, ca) => {
    const { port } = new URL(url);
    const to = { scheme: "https", host: "127.0.0.1", port, path: "/", query: "" } as const;
    const destination = { ...to, peer: "kubelet", use: "log" } as const;
    const request = { method: "GET", headers: {}, signal: signal() };
    const response = await new Tunnels({ ca }, ordinaryDialer).open(destination, request);
    response.message.resume();
  },
  "pkg/client/http/connections.ts": async (url, pool) => {
    const life = new AbortController();
    const endpoint = () => kubeconfigOf(url, pool);
    const send = http2Transport({ endpoint, clock: systemClock, signal: life.signal });
    const request = { method: "GET", path: "/", headers: {}, signal: signal() };
    await send(request).finally(() => life.abort());
  },
  "pkg/aggregator/transport/dial.ts": async (url, authorities) => {
    const settings = { serverName: "localhost", authorities, isInsecure: false, client: undefined };
    const address = { host: "127.0.0.1", port: Number(new URL(url).port) };
    const options = { protocols: ["h2"], signal: signal() };
    const target = await ordinaryDialer.targetOf(address);
    (await dial(target, backendTls(settings), options)).destroy();
  },
  "pkg/storage/etcd/grpc/channel.ts": async (endpoint, ca) => {
    const tls = { ca: Buffer.from(ca) };
    const channel = new Channel({ endpoint, tls, keepAliveMs: 5_000, running: new Set() });
    // The server does not speak gRPC: only the TLS connection is tested.
    const fault: unknown = await channel
      .call("/a/b", Buffer.alloc(0), { timeoutMs: 3_000 })
      .catch((error: unknown) => error);
    if (/certificate|issuer/.test(String(fault))) throw fault;
  },
};

/** Files that use TLS and are not in the table of clients. */
const others: Readonly<Record<string, string>> = {
  "pkg/pki/tls-client.ts": "the client of the others",
  "pkg/server/proxy/upstream-proxy.ts": "trusts what webhook/kubeconfig.ts has read",
  "pkg/server/server.ts": "below: the API server",
  "pkg/controlplane/controller-manager/serving.ts": "below: the controller manager",
  "pkg/controlplane/cluster/serving.ts": "below: the local cluster, with its own root",
  "pkg/aggregator/transport/connection-pool.ts": "uses dial.ts",
  "pkg/aggregator/transport/http1-request.ts": "uses dial.ts",
  "pkg/aggregator/transport/http2-request.ts": "types",
  "pkg/client/http/http2-connection.ts": "types",
  "pkg/controlplane/start/aggregation.ts": "checks that a key belongs to a certificate",
  "pkg/metrics-server/metrics-server.ts": "takes certificates of the front proxy only",
  "pkg/client/delegation/delegated-access.ts": "types",
  "pkg/scheduler/extenders/http-extender.ts":
    "the certificate data of the scheduler's configuration alone",
  "pkg/nodes/kubelet/kubelet-server.ts": "takes certificates of its own cluster only",
  "pkg/controlplane/credentials/tls.ts": "checks that a key belongs to a certificate",
  "pkg/admission/webhooks/caller.ts": "an agent for call.ts",
  "pkg/registry/subresources/component-status.ts": "does not verify certificates",
  "pkg/server/transport/connection-tracker.ts": "types",
  "pkg/server/transport/http1-exchange.ts": "types",
  "pkg/server/transport/http2-exchange.ts": "types",
  "pkg/server/transport/incoming-request.ts": "types",
  "pkg/server/transport/plain-http.ts": "types",
  "pkg/storage/encryption/kms-client.ts": "Unix sockets",
  "pkg/storage/etcd/etcd3-client.ts": "below: etcd3's own client",
  "pkg/storage/etcd/endpoint-pool.ts": "uses etcd3-client.ts and channel.ts",
  "pkg/storage/etcd/etcd-client.ts": "types",
};

describe("trust anchors", () => {
  let pki: Pki;
  let stranger: Pki;
  let server: Http2SecureServer;
  let url: string;
  const sockets = new Set<Socket>();

  before(async () => {
    pki = await makePki("pki");
    stranger = await makePki("stranger");
    const cert = pki.server.certificate + pki.intermediate.certificate;
    const options = { cert, key: pki.server.privateKey, allowHTTP1: true };
    server = createSecureServer(options, (_request, response) => response.end("{}"));
    server.on("connection", (socket: Socket) => sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it("are tested for every file that uses TLS", () => {
    const tls =
      /from "(?:node:(?:tls|https|http2)|@grpc\/grpc-js|etcd3)"|\b(?:TlsAgent|connectTls)\b.* from "#pki"/;
    const found = sourceFiles().flatMap(({ path: file, text, isTest }) =>
      file.startsWith("pkg/") && !isTest && tls.test(text) ? [file] : [],
    );
    assert.deepEqual(found.sort(), [...Object.keys(clients), ...Object.keys(others)].sort());
  });

  for (const [file, ask] of Object.entries(clients)) {
    it(`may be root, intermediate or leaf: ${file}`, async () => {
      for (const anchor of anchors) await ask(url, pki[anchor].certificate);
      for (const anchor of anchors) await assert.rejects(ask(url, stranger[anchor].certificate));
      await ask(url, stranger.root.certificate + pki.intermediate.certificate);
    });
  }

  it("may be root, intermediate or leaf for the health check of a local cluster", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "keelson-trust-"));
    const ca = path.join(folder, "ca.crt");
    try {
      for (const anchor of anchors) {
        writeFileSync(ca, pki[anchor].certificate);
        await waitUntilServing(url, { ca }, signal());
      }
      writeFileSync(ca, stranger.root.certificate);
      await assert.rejects(waitUntilServing(url, { ca }, AbortSignal.timeout(200)));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("may be root or intermediate for etcd3's own client", async () => {
    for (const anchor of ["root", "intermediate"] as const) {
      const tls = { ca: Buffer.from(pki[anchor].certificate) };
      const connection = `trust-${anchor}`;
      const common = { connection, endpoint: url.replace(/\/$/, ""), keepAliveMs: 5_000 };
      const etcd = await openEtcd3Client({ ...common, tls });
      // The server does not speak gRPC: the error is one of the protocol, not of the connection.
      await assert.rejects(etcd.get("a").exec(), (error: Error) => {
        assert.doesNotMatch(error.message, /certificate|No connection|UNAVAILABLE: 14/);
        return true;
      });
      etcd.close();
    }
  });

  const userOf = (base: string, client: KeyPair, chain = "") =>
    new Promise<number | undefined>((resolve, reject) => {
      const own = { cert: client.certificate + chain, key: client.privateKey };
      const options = { ...own, rejectUnauthorized: false, agent: false };
      get(`${base}/apis`, options, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on("error", reject);
    });

  const frontProxy = (ca: string): NonNullable<StartOptions["frontProxy"]> => ({
    ca,
    allowedNames: [],
    headers: { username: ["x-remote-user"], uid: [], group: [], extraPrefix: [] },
  });

  for (const anchor of ["root", "intermediate", "client"] as const) {
    it(`--client-ca-file may contain only the ${anchor}`, async () => {
      const api = await startApi({ clientCa: pki[anchor].certificate });
      try {
        const chain = pki.intermediate.certificate;
        assert.equal(await userOf(api.url, pki.client, chain), 200);
        assert.equal(
          await userOf(api.url, stranger.client, stranger.intermediate.certificate),
          401,
        );
      } finally {
        await api.close();
      }
    });

    it(`--requestheader-client-ca-file may contain only the ${anchor}`, async () => {
      const api = await startApi({
        authorization: ["AlwaysAllow"],
        frontProxy: frontProxy(pki[anchor].certificate),
      });
      const asked = (client: KeyPair) =>
        new Promise<string>((resolve, reject) => {
          const { certificate: cert, privateKey: key } = client;
          const reviews = `${api.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
          const headers = { "x-remote-user": "bob", "content-type": "application/json" };
          const tls = { cert: cert + pki.intermediate.certificate, key };
          const options = { ...tls, headers, method: "POST", rejectUnauthorized: false };
          const request = httpsRequest(reviews, { ...options, agent: false }, (response) => {
            let text = "";
            response.on("data", (chunk) => (text += chunk));
            response.on("end", () => resolve(text));
          });
          request.on("error", reject);
          request.end("{}");
        });
      try {
        assert.match(await asked(pki.client), /"username":"bob"/);
        assert.match(await asked(stranger.client), /Unauthorized/);
      } finally {
        await api.close();
      }
    });
  }

  it("may be of X.509 version 1, but not of version 3 without the CA bit", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "keelson-trust-"));
    const run = (words: string) =>
      execFileSync("openssl", words.split(" "), { cwd: folder, stdio: "pipe" });
    const read = (name: string) => readFileSync(path.join(folder, name), "utf8");
    const newKey = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    try {
      run(`req ${newKey} -keyout ca.key -out ca.csr -subj /CN=authority`);
      run(`req ${newKey} -keyout alice.key -out alice.csr -subj /CN=alice`);
      run("x509 -req -in ca.csr -signkey ca.key -days 2 -out version1.crt");
      writeFileSync(path.join(folder, "none"), "basicConstraints=critical,CA:FALSE\n");
      run("x509 -req -in ca.csr -signkey ca.key -days 2 -extfile none -out version3.crt");
      for (const [name, code] of [
        ["version1", 200],
        ["version3", 401],
      ] as const) {
        run(
          `x509 -req -in alice.csr -CA ${name}.crt -CAkey ca.key -CAcreateserial -days 2 -out alice.crt`,
        );
        const api = await startApi({ clientCa: read(`${name}.crt`) });
        const client = { certificate: read("alice.crt"), privateKey: read("alice.key") };
        assert.equal(await userOf(api.url, client), code, name);
        await api.close();
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("may be an intermediate for clients of the controller manager's metrics", async () => {
    const client = { domain: undefined, create: async () => ({ status: { allowed: true } }) };
    const serving = await serveHealthAndMetrics({
      host: "127.0.0.1",
      port: 0,
      certificate: pki.server,
      clientCa: pki.intermediate.certificate,
      client: { ...client, domain: { api: "k8s.io", label: "kubernetes.io" } } as any,
      clock: systemClock,
      metrics: async () => "",
    });
    const status = (who: KeyPair) =>
      new Promise<number | undefined>((resolve, reject) => {
        const tls = { cert: who.certificate, key: who.privateKey, rejectUnauthorized: false };
        const address = `https://127.0.0.1:${serving.port}/metrics`;
        get(address, { ...tls, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).on("error", reject);
      });
    try {
      assert.equal(await status(pki.client), 200);
      assert.equal(await status(stranger.client), 401);
    } finally {
      serving.close();
    }
  });
});
