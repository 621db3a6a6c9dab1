/**
 * Addresses that simulated nodes invented are not dialled: on the real network they belong to others.
 * Every client of addresses that the API names is tried; all connections of the process are observed.
 */
import assert from "node:assert/strict";
import { request as httpsRequest } from "node:https";
import { startServer } from "../../../cmd/keelson/index.ts";
import {
  pods,
  services,
  definitions,
  Dials,
  type Place,
  type Client,
  noProgram,
  uniqueName,
  answerOf,
  serviceOf,
  nodeAt,
  callWebhook,
  inService,
  callAggregated,
  podSpec,
} from "./address-clients.ts";
import { Cluster, type Json } from "./cluster.ts";

async function convert(place: Place): Promise<string> {
  const { cluster, addresses } = place;
  const plural = uniqueName("cats");
  const schema = { openAPIV3Schema: { type: "object" } };
  const version = { served: true, schema };
  await cluster.create(definitions, {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural, kind: plural },
      versions: [
        { ...version, name: "v1", storage: true },
        { ...version, name: "v2", storage: false },
      ],
      conversion: {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1"],
          clientConfig: inService(await serviceOf(place, { addresses: [addresses[0]] })),
        },
      },
    },
  });
  await cluster.until(`${definitions}/${plural}.example.com`, ({ status }) =>
    status?.conditions?.some((each: Json) => each.type === "Established" && each.status === "True"),
  );
  const path = `/apis/example.com/v1/${plural}`;
  await cluster.create(path, {
    metadata: { name: "a" },
    apiVersion: "example.com/v1",
    kind: plural,
  });
  return answerOf(cluster.server, `/apis/example.com/v2/${plural}/a`);
}

/** The response to a request to upgrade. */
async function upgrade({ cluster }: Place, path: string): Promise<string> {
  const { url, certificateAuthority: ca, token } = cluster.server as Json;
  return new Promise((resolve, reject) => {
    const headers = { connection: "Upgrade", upgrade: "x", authorization: `Bearer ${token}` };
    const request = httpsRequest(new URL(path, url), { headers, ca, rejectUnauthorized: false });
    request.once("error", reject);
    request.once("response", (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => resolve(`${response.statusCode} ${text}`));
    });
    request.end();
  });
}

const clients: Readonly<Record<string, Client>> = {
  "pods/proxy": ({ cluster, name }) => answerOf(cluster.server, `${pods}/${name}/proxy/`),
  "pods/proxy to a port over TLS": ({ cluster, name }) =>
    answerOf(cluster.server, `${pods}/https:${name}:8443/proxy/x`, { method: "POST", body: "x" }),
  "an upgrade of pods/proxy": (place) => upgrade(place, `${pods}/${place.name}/proxy/`),
  "services/proxy": async (place) => {
    const { cluster, name, addresses } = place;
    const service = uniqueName("s");
    await cluster.create(services, {
      metadata: { name: service },
      spec: { ports: [{ port: 80 }] },
    });
    await cluster.create("/api/v1/namespaces/default/endpoints", {
      metadata: { name: service },
      subsets: [
        {
          addresses: [{ ip: addresses[0], targetRef: { kind: "Pod", name, namespace: "default" } }],
          ports: [{ port: 80 }],
        },
      ],
    });
    return answerOf(cluster.server, `${services}/${service}/proxy/`);
  },
  "nodes/proxy of a node that reports such an address": async (place) =>
    answerOf(place.cluster.server, `/api/v1/nodes/${await nodeAt(place)}:80/proxy/`),
  "nodes/proxy of the kubelet of such a node": async (place) =>
    answerOf(place.cluster.server, `/api/v1/nodes/${await nodeAt(place)}/proxy/pods`),
  "pods/log of a pod of such a node": async (place) => {
    const { cluster } = place;
    const name = uniqueName("l");
    await createPod(cluster, name, { node: await nodeAt(place), ips: ["192.0.2.7"] });
    return answerOf(cluster.server, `${pods}/${name}/log`);
  },
  "pods/exec in a pod of such a node": async (place) => {
    const { cluster } = place;
    const name = uniqueName("e");
    await createPod(cluster, name, { node: await nodeAt(place), ips: ["192.0.2.7"] });
    return upgrade(place, `${pods}/${name}/exec?command=id&stdout=1`);
  },
  "a webhook by an endpoint of the pod": async (place) => {
    const { name, addresses } = place;
    const targetRef = { kind: "Pod", namespace: "default", name };
    return callWebhook(
      place,
      inService(await serviceOf(place, { addresses: [addresses[0]], targetRef })),
    );
  },
  "a webhook by an endpoint without a pod": async (place) =>
    callWebhook(place, inService(await serviceOf(place, { addresses: [place.addresses[0]] }))),
  "a webhook by an endpoint of another pod": async (place) => {
    const targetRef = { kind: "Pod", namespace: "default", name: "none" };
    const endpoint = { addresses: [place.addresses[0]], targetRef, nodeName: "none" };
    return callWebhook(place, inService(await serviceOf(place, endpoint)));
  },
  "a webhook by URL": (place) =>
    callWebhook(place, { url: `https://${place.addresses[0]}:8443/hook` }),
  "a webhook by the pod's IPv6 address": (place) =>
    callWebhook(place, { url: `https://[${place.addresses[1]}]:8443/hook` }),
  "a webhook by an IPv6 endpoint": async (place) =>
    callWebhook(
      place,
      inService(await serviceOf(place, { addresses: [place.addresses[1]] }, "IPv6")),
    ),
  "a conversion webhook": convert,
  "the availability check of an APIService": async (place) =>
    callAggregated(place, await serviceOf(place, { addresses: [place.addresses[0]] })),
  "an APIService with an ExternalName": async (place) => {
    const name = uniqueName("s");
    const spec = { type: "ExternalName", externalName: place.addresses[0] };
    await place.cluster.create(services, { metadata: { name }, spec });
    return callAggregated(place, name);
  },
};

/** Where the pod runs, by what the API server knows of its node. */
const kinds: Readonly<Record<string, () => Promise<Place>>> = {
  "a node of the process": async () => {
    const nodes = { count: 1, secondaryAddress: "::1" };
    const cluster = new Cluster(await startServer({ port: 0, nodes }));
    await cluster.create(pods, { metadata: { name: "web" }, spec: podSpec("hollow-0") });
    return placeOf(cluster, "web");
  },
  "a node of another process": async () => {
    const cluster = new Cluster(await startServer({ port: 0, controllers: false }));
    const ranges = { "simulated.keelson.dev/pod-cidrs": "10.200.3.0/24,fd00:1::/64" };
    const labels = { "simulated.keelson.dev/node": "true" };
    await cluster.create("/api/v1/nodes", {
      metadata: { name: "far", labels, annotations: ranges },
    });
    await createPod(cluster, "web", { node: "far", ips: ["10.200.3.7", "fd00:1::7"] });
    return placeOf(cluster, "web");
  },
};

/** A pod whose kubelet is this test. */
async function createPod(
  cluster: Cluster,
  name: string,
  { node, ips }: { readonly node: string; readonly ips: readonly string[] },
): Promise<void> {
  const token = { automountServiceAccountToken: false };
  await cluster.request("POST", "/api/v1/namespaces/default/serviceaccounts", {
    metadata: { name: "default" },
  });
  await cluster.create(pods, { metadata: { name }, spec: { ...podSpec(node), ...token } });
  const podIPs = ips.map((ip) => ({ ip }));
  const status = { phase: "Running", podIP: ips[0], podIPs };
  await cluster.patch(`${pods}/${name}/status`, { status });
}

async function placeOf(cluster: Cluster, name: string): Promise<Place> {
  const { status } = await cluster.until(
    `${pods}/${name}`,
    (pod) => pod.status?.podIPs?.length === 2,
  );
  return { cluster, name, addresses: status.podIPs.map(({ ip }: Json) => ip) };
}

describe("addresses of simulated pods", () => {
  let dials: Dials;
  before(() => void (dials = new Dials()));
  after(() => dials[Symbol.dispose]());
  beforeEach(() => void dials.hosts.splice(0));

  for (const [kind, start] of Object.entries(kinds)) {
    describe(`on ${kind}`, () => {
      let place: Place;
      before(async () => void (place = await start()));
      after(() => place?.cluster.server.close());

      for (const [name, run] of Object.entries(clients)) {
        it(`are not dialled by ${name}`, async () => {
          const answer = await run(place);
          assert.match(answer, noProgram);
          assert.match(answer, /^50[023] /);
          assert.deepEqual(dials.hosts, []);
        });
      }

      it("name the pod", async () => {
        const answer = await clients["pods/proxy"]!(place);
        assert.match(
          answer,
          /^503 .*endpoint is simulated pod default\/web: no program runs there/,
        );
      });

      it("are not dialled after the pod has been deleted", async () => {
        await place.cluster.delete(`${pods}/web`);
        await place.cluster.gone(`${pods}/web`);
        for (const name of ["a webhook by an endpoint of the pod", "a webhook by URL"]) {
          assert.match(await clients[name]!(place), noProgram);
        }
        assert.deepEqual(dials.hosts, []);
      });
    });
  }

  it("include the default port of a simulated node without a kubelet server", async () => {
    const place = await kinds["a node of another process"]!();
    const { cluster } = place;
    try {
      const address = { type: "InternalIP", address: "192.0.2.8" };
      await cluster.patch("/api/v1/nodes/far/status", { status: { addresses: [address] } });
      const answer = await answerOf(cluster.server, `${pods}/web/log`);
      assert.match(answer, /^503 .*the kubelet of simulated node far does not listen/);
      assert.deepEqual(dials.hosts, []);
    } finally {
      await cluster.server.close();
    }
  });

  it("are known although a client removes the marks of their node, which are restored", async () => {
    const place = await kinds["a node of the process"]!();
    const { cluster } = place;
    const node = "/api/v1/nodes/hollow-0";
    try {
      const { metadata } = await cluster.get(node);
      const range = "simulated.keelson.dev/pod-cidrs";
      assert.match(metadata.annotations[range], /^10\.128\.0\.0\/24,fd00:/);
      const labels = { "simulated.keelson.dev/node": null };
      await cluster.patch(node, { metadata: { labels, annotations: { [range]: null } } });
      for (const name of ["pods/proxy", "a webhook by URL"]) {
        assert.match(await clients[name]!(place), noProgram);
      }
      await cluster.until(
        node,
        (found) =>
          found.metadata.labels["simulated.keelson.dev/node"] === "true" &&
          found.metadata.annotations[range] === metadata.annotations[range],
      );
      assert.deepEqual(dials.hosts, []);
    } finally {
      await cluster.server.close();
    }
  });

  it("are not forwarded by a server without allowed targets", async () => {
    const place = await kinds["a node of another process"]!();
    const { cluster } = place;
    try {
      const annotations = { "simulated.keelson.dev/port-forward": "127.0.0.1:1" };
      await cluster.patch(`${pods}/web`, { metadata: { annotations } });
      assert.match(
        await clients["pods/proxy"]!(place),
        /^503 .*no program runs there, and the server/,
      );
      assert.deepEqual(dials.hosts, []);
    } finally {
      await cluster.server.close();
    }
  });

  it("are dialled if a pod of an ordinary node has them", async () => {
    const place = await kinds["a node of another process"]!();
    const { cluster } = place;
    try {
      await cluster.create("/api/v1/nodes", { metadata: { name: "real" } });
      await createPod(cluster, "real", { node: "real", ips: ["10.200.3.9"] });
      const real = { ...place, name: "real", addresses: ["10.200.3.9"] };
      for (const name of ["pods/proxy", "services/proxy", "a webhook by URL"]) {
        const answer = await clients[name]!(real);
        assert.deepEqual(dials.hosts.splice(0), ["10.200.3.9"], `${name}: ${answer}`);
      }
    } finally {
      await cluster.server.close();
    }
  });
});

describe("a Service without ready endpoints", () => {
  it("is reported at once, and its cluster IP is not dialled", async () => {
    using dials = new Dials();
    const cluster = new Cluster(await startServer({ controllers: false }));
    try {
      const place = { cluster, name: "", addresses: [] };
      const name = await serviceOf(place, {
        addresses: ["192.0.2.1"],
        conditions: { ready: false },
      });
      const missing = new RegExp(`no endpoints available for service .{0,2}${name}`);
      assert.match(await callWebhook(place, inService(name)), missing);
      await cluster.create("/api/v1/namespaces/default/endpoints", { metadata: { name } });
      const proxied = await answerOf(cluster.server, `${services}/${name}:443/proxy/`);
      assert.match(proxied, /^503/);
      assert.match(proxied, missing);
      assert.match(await callAggregated(place, name), /MissingEndpoints/);
      assert.deepEqual(dials.hosts, []);
    } finally {
      await cluster.server.close();
    }
  });
});
