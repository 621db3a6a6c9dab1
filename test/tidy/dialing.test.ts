/**
 * The modules that open connections. Addresses that objects of the API name are dialled only through a
 * Dialer, whose targets no other module can create: a simulation may have invented them.
 */
import assert from "node:assert/strict";
import { type SourceFile, sourceFiles } from "./source.ts";

/** Where each module's addresses come from. */
const modules: Readonly<Record<string, string>> = {
  "pkg/aggregator/transport/connection-pool.ts": "target: HTTP/2 on a connection of dial.ts",
  "pkg/aggregator/transport/dial.ts": "target",
  "pkg/aggregator/transport/http1-request.ts": "target",
  "pkg/server/proxy/tunnels.ts": "target",
  "pkg/request/webhook/call.ts": "target",
  "pkg/pki/tls-client.ts": "those of its callers, which are listed here",
  "pkg/nodes/kubelet/port-forward.ts": "annotations, limited by --port-forward-targets",
  "pkg/admission/webhooks/caller.ts": "only the pool of call.ts",
  "pkg/server/proxy/upstream-proxy.ts": "kubeconfig of the operator",
  "pkg/request/webhook/client.ts": "kubeconfig of the operator",
  "pkg/client/http/connections.ts": "kubeconfig of the operator",
  "pkg/authn/issuers/fetch-json.ts": "configuration of the operator",
  "pkg/scheduler/extenders/http-extender.ts": "configuration of the operator",
  "pkg/storage/etcd/grpc/channel.ts": "flags of the operator",
  "pkg/controlplane/cluster/serving.ts": "processes that this one started",
  "pkg/registry/subresources/component-status.ts": "fixed, on loopback",
  "cmd/envtest/store.ts": "on loopback, from the environment",
};

/** Values with which Node opens connections, by module. */
const dialling: readonly RegExp[] = [
  /import \{([^}]*)\} from "node:net"/g,
  /import \{([^}]*)\} from "node:tls"/g,
  /import \{([^}]*)\} from "node:https?"/g,
  /import \{([^}]*)\} from "node:http2"/g,
  /import \{([^}]*)\} from "#pki"/g,
];
const names =
  /^(?:connect|connectTls|createConnection|Socket|TLSSocket|request|get|Agent|TlsAgent|fetch)(?: as \w+)?$/;

function opensConnections({ text }: SourceFile): boolean {
  const imported = dialling
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .flatMap(([, list = ""]) => list.split(",").map((name) => name.trim()));
  return (
    imported.some((name) => names.test(name)) ||
    /\bglobalThis\.fetch\(|\bfetch\((?:new URL|["'`])/.test(text)
  );
}

describe("connections", () => {
  const products = sourceFiles().filter(({ isTest, path }) => !isTest && !/testing/.test(path));
  const found = products.filter(opensConnections);

  it("are opened by the listed modules only", () => {
    const paths = found.map(({ path }) => path);
    assert.deepEqual(paths.toSorted(), Object.keys(modules).toSorted());
  });

  it("to addresses of the API take a target of the Dialer", () => {
    const untyped = found
      .filter(({ path }) => modules[path]?.startsWith("target"))
      .filter(({ text }) => !/\bDialTarget\b/.test(text));
    assert.deepEqual(
      untyped.map(({ path }) => path),
      [],
    );
  });

  it("use no library with connections of its own", () => {
    const libraries = /from "(?:undici|axios|got|node-fetch)"/;
    assert.deepEqual(
      products.filter(({ text }) => libraries.test(text)).map(({ path }) => path),
      [],
    );
  });
});
