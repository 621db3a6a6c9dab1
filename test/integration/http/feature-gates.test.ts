/** Each feature gate of the API server switches what it switches in Kubernetes. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { featureGates } from "../../../pkg/api/features/feature-gates.ts";

interface Call {
  readonly method?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

async function call(server: RunningServer, path: string, { method, body, headers }: Call = {}) {
  const response = await server.fetch(path, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
}

const namespace = "/api/v1/namespaces/default";
const dryRun = `${namespace}/pods?dryRun=All`;
const container = { name: "c", image: "i" };

async function podWith(server: RunningServer, spec: object, metadata: object = {}): Promise<any> {
  const body = {
    metadata: { name: "p", ...metadata },
    spec: { containers: [container], ...spec },
  };
  const { status, json, text, headers } = await call(server, dryRun, { body });
  return status === 201 ? { ...json(), warning: headers.get("warning") } : { status, text };
}

const spread = {
  maxSkew: 1,
  topologyKey: "zone",
  whenUnsatisfiable: "DoNotSchedule",
  labelSelector: { matchLabels: { app: "a" } },
  matchLabelKeys: ["app"],
};

async function schemaOf(server: RunningServer, name: string): Promise<any> {
  return (await call(server, "/openapi/v2")).json().definitions[`io.k8s.api.core.v1.${name}`];
}

async function rulesOf(server: RunningServer, role: string): Promise<string> {
  const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${role}`;
  return JSON.stringify((await call(server, path)).json().rules);
}

async function boundPod(server: RunningServer): Promise<any> {
  const path = `${namespace}/pods`;
  const body = { metadata: { name: "bound" }, spec: { containers: [container] } };
  assert.equal((await call(server, path, { body })).status, 201);
  const status = { nominatedNodeName: "n1", observedGeneration: 1 };
  const headers = { "content-type": "application/merge-patch+json" };
  const patch = { method: "PATCH", body: { status }, headers };
  const patched = await call(server, `${path}/bound/status`, patch);
  assert.equal(patched.status, 200, patched.text);
  const binding = { metadata: { name: "bound" }, target: { kind: "Node", name: "n1" } };
  assert.equal((await call(server, `${path}/bound/binding`, { body: binding })).status, 201);
  return (await call(server, `${path}/bound`)).json();
}

async function watchStatus(server: RunningServer): Promise<number> {
  const abort = new AbortController();
  const path = `${namespace}/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
  const { status } = await server.fetch(path, { signal: abort.signal });
  abort.abort();
  return status;
}

async function compression(server: RunningServer): Promise<string | null> {
  const body = { metadata: { name: "large" }, data: { a: "x".repeat(300_000) } };
  await call(server, `${namespace}/configmaps`, { body });
  const headers = { "accept-encoding": "gzip" };
  const response = await call(server, `${namespace}/configmaps/large`, { headers });
  return response.headers.get("content-encoding");
}

const ingress = {
  metadata: { name: "a" },
  spec: { defaultBackend: { service: { name: "1a", port: { number: 80 } } } },
};

/** What shows that the gate is on. */
const probes: Readonly<Record<string, (server: RunningServer) => Promise<unknown>>> = {
  APIResponseCompression: async (server) => (await compression(server)) === "gzip",
  ClearingNominatedNodeNameAfterBinding: async (server) =>
    (await boundPod(server)).status.nominatedNodeName === undefined,
  DynamicResourceAllocation: async (server) =>
    (await podWith(server, { resourceClaims: [{ name: "a", resourceClaimName: "b" }] })).spec
      .resourceClaims,
  GitRepoVolumeDriver: async (server) => {
    const volumes = [{ name: "v", gitRepo: { repository: "r" } }];
    const { warning } = await podWith(server, { volumes });
    assert.match(warning, /gitRepo: deprecated in v1\.11/);
    return !warning.includes("disabled by default");
  },
  KubeletFineGrainedAuthz: async (server) =>
    (await rulesOf(server, "system:kubelet-api-admin")).includes("nodes/configz"),
  KubeletServiceAccountTokenForCredentialProviders: async (server) =>
    (await rulesOf(server, "system:node")).includes('"serviceaccounts"'),
  MatchLabelKeysInPodTopologySpread: async (server) =>
    (await podWith(server, { topologySpreadConstraints: [spread] })).spec
      .topologySpreadConstraints[0].matchLabelKeys,
  MatchLabelKeysInPodTopologySpreadSelectorMerge: async (server) => {
    const labels = { app: "a" };
    const pod = await podWith(server, { topologySpreadConstraints: [spread] }, { labels });
    return pod.spec.topologySpreadConstraints[0].labelSelector.matchExpressions;
  },
  OpenAPIEnums: async (server) =>
    (await schemaOf(server, "Container")).properties.imagePullPolicy.enum,
  PodDeletionCost: async (server) => {
    const annotations = { "controller.kubernetes.io/pod-deletion-cost": "x" };
    return (await podWith(server, {}, { annotations })).status === 422;
  },
  PodLevelResources: async (server) =>
    (await podWith(server, { resources: { requests: { cpu: "1" } } })).spec.resources,
  PodObservedGenerationTracking: async (server) => {
    const path = `${namespace}/pods/bound/status`;
    const headers = { "content-type": "application/merge-patch+json" };
    const body = { status: { observedGeneration: 2 } };
    const { json } = await call(server, path, { method: "PATCH", body, headers });
    return json().status.observedGeneration;
  },
  ProcMountType: async (server) => {
    const containers = [{ ...container, securityContext: { procMount: "Default" } }];
    return (await podWith(server, { containers })).spec.containers[0].securityContext.procMount;
  },
  RelaxedServiceNameValidation: async (server) => {
    const body = { metadata: { name: "1a" }, spec: { ports: [{ port: 80 }] } };
    const service = await call(server, `${namespace}/services?dryRun=All`, { body });
    const path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses?dryRun=All";
    const backend = await call(server, path, { body: ingress });
    assert.equal(service.status, backend.status, service.text);
    return service.status === 201;
  },
  SELinuxChangePolicy: async (server) => {
    const securityContext = { seLinuxChangePolicy: "Recursive" };
    return (await podWith(server, { securityContext })).spec.securityContext.seLinuxChangePolicy;
  },
  StorageVersionHash: async (server) => {
    const { resources } = (await call(server, "/api/v1")).json();
    return resources.find(({ name }: any) => name === "configmaps").storageVersionHash;
  },
  TokenRequestServiceAccountUIDValidation: async (server) => {
    const accounts = `${namespace}/serviceaccounts`;
    await call(server, accounts, { body: { metadata: { name: "app" } } });
    const body = { metadata: { uid: "another" }, spec: {} };
    return (await call(server, `${accounts}/app/token`, { body })).status === 409;
  },
  WatchList: async (server) => (await watchStatus(server)) === 200,
};

describe("feature gates of the API server", () => {
  const byDefault = featureGates(new Map());
  const opposite = new Map(Object.keys(probes).map((name) => [name, String(!byDefault(name))]));
  let usual: RunningServer;
  let changed: RunningServer;
  before(async () => {
    usual = await startServer({ controllers: false });
    changed = await startServer({ controllers: false, featureGates: opposite });
    for (const server of [usual, changed]) {
      const body = { metadata: { name: "default" } };
      await call(server, `${namespace}/serviceaccounts`, { body });
    }
  });
  after(async () => {
    await usual.close();
    await changed.close();
  });

  for (const [name, probe] of Object.entries(probes)) {
    it(`${name} acts`, async () => {
      assert.equal(Boolean(await probe(usual)), byDefault(name), "default");
      assert.equal(Boolean(await probe(changed)), !byDefault(name), "changed");
    });
  }

  it("RemoteRequestHeaderUID is required by --requestheader-uid-headers", async () => {
    const headers = { username: ["U"], uid: ["X"], group: ["G"], extraPrefix: [] };
    const frontProxy = { ca: "", allowedNames: [], headers };
    const start = startServer({
      frontProxy,
      featureGates: new Map([["RemoteRequestHeaderUID", "false"]]),
    });
    await assert.rejects(start, /requires the "RemoteRequestHeaderUID" feature to be enabled$/);
  });
});
