/** Flags of kube-apiserver that change responses, tested through a server that runs with them. */
import assert from "node:assert/strict";
import tls from "node:tls";
import { parseFlags } from "../flags/parse.ts";
import { startServer } from "#controlplane";
import { startFlags, startOptions } from "./options.ts";

const inMemory = ["--storage-backend=memory", "--secure-port=0"];

function optionsOf(...words: readonly string[]) {
  const values = { workers: 1, ...parseFlags(startFlags, [...inMemory, ...words]) };
  return { ...startOptions(values as Parameters<typeof startOptions>[0]), controllers: false };
}

/**
 * Resolves with the protocol that a server selects by ALPN, or the error code if it selects none.
 */
function negotiated(url: string, protocols: readonly string[]): Promise<unknown> {
  const { hostname: host, port } = new URL(url);
  return new Promise((resolve) => {
    const options = { host, port: Number(port), rejectUnauthorized: false };
    const socket = tls.connect({ ...options, ALPNProtocols: [...protocols] }, () => {
      resolve(socket.alpnProtocol);
      socket.destroy();
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
  });
}

describe("flags of kube-apiserver", () => {
  it("--disable-http2-serving leaves only HTTP/1.1", async () => {
    const refused = "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL";
    for (const [word, both, http2] of [
      ["false", "h2", "h2"],
      ["true", "http/1.1", refused],
    ] as const) {
      const server = await startServer(optionsOf(`--disable-http2-serving=${word}`));
      try {
        assert.equal(await negotiated(server.url, ["h2", "http/1.1"]), both);
        assert.equal(await negotiated(server.url, ["h2"]), http2);
        assert.equal(await negotiated(server.url, ["http/1.1"]), "http/1.1");
      } finally {
        await server.close();
      }
    }
  });

  it("--etcd-servers-overrides is rejected in one sentence", () => {
    assert.throws(
      () => optionsOf("--etcd-servers-overrides=/events#http://127.0.0.1:2379"),
      /^UsageError: --etcd-servers-overrides is not supported: /,
    );
  });

  it("--admission-control enables only the listed plugins", async () => {
    const pods = "/api/v1/namespaces/default/pods?dryRun=All";
    const body = JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "a" },
      spec: { containers: [{ name: "a", image: "a" }], automountServiceAccountToken: false },
    });
    const init = { method: "POST", headers: { "content-type": "application/json" }, body };
    const tolerations = async (...words: readonly string[]) => {
      const server = await startServer(optionsOf(...words));
      try {
        const response = await server.fetch(pods, init);
        const pod = (await response.json()) as any;
        assert.equal(response.status, 201, pod.message);
        return pod.spec.tolerations?.length ?? 0;
      } finally {
        await server.close();
      }
    };
    const few = "--admission-control=NamespaceLifecycle";
    assert.equal(await tolerations(few), 0);
    assert.equal(await tolerations(`${few},DefaultTolerationSeconds`), 2);
  });

  for (const [words, message] of [
    [["NamespaceLifecycle", "--enable-admission-plugins=PodNodeSelector"], /mutually exclusive/],
    [["NamespaceLifecycle,Nonesuch"], /admission-control plugin "Nonesuch" is unknown/],
    [["LimitRanger"], /lacks plugin "NamespaceLifecycle"/],
  ] as const) {
    it(`rejects --admission-control=${words.join(" ")}`, async () => {
      const [first, ...rest] = words;
      const starting = startServer(optionsOf(`--admission-control=${first}`, ...rest));
      await assert.rejects(starting, message);
    });
  }
});
