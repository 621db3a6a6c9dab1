/**
 * Maps and empty collections in messages, as Go prints them: a nil map is null, an empty one {}, and keys
 * are sorted as text. Each kind with a pod template or label selector has places of its own.
 */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

/** Keys that JavaScript or the client would list in another order. */
const odd = { b: "x", B: "y", a: "z", "10": "q", "9": "r" };
const sorted = '{"10":"q","9":"r","B":"y","a":"z","b":"x"}';

const podSpec = { containers: [{ name: "c", image: "i" }] };
const selector = { matchLabels: { s: "t" } };
const workload = (labels: object | undefined, more: object = {}) => ({
  selector,
  template: { metadata: labels === undefined ? {} : { labels }, spec: podSpec },
  ...more,
});

const mismatch = "`selector` does not match template `labels`";
const jobPod = { ...podSpec, restartPolicy: "Never" };

/** Path; the spec for template labels. */
const templates: Readonly<Record<string, (labels: object | undefined) => object>> = {
  "apps/v1/deployments": workload,
  "apps/v1/daemonsets": workload,
  "apps/v1/replicasets": workload,
  "apps/v1/statefulsets": (labels) => workload(labels, { serviceName: "s" }),
  "batch/v1/jobs": (labels) => ({
    ...workload(labels, { manualSelector: true }),
    template: { metadata: labels === undefined ? {} : { labels }, spec: jobPod },
  }),
  "v1/replicationcontrollers": (labels) => ({ ...workload(labels), selector: { s: "t" } }),
};

describe("maps in messages", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({
      controllers: false,
      admissionPlugins: { disable: ["ServiceAccount"] },
    });
  });
  after(() => server.close());

  async function send(method: string, path: string, body: unknown): Promise<any> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const headers = { "content-type": type };
    const response = await server.fetch(path, { method, headers, body: JSON.stringify(body) });
    return response.json();
  }

  /** `apps/v1/deployments`, `v1/pods`. */
  function collection(resource: string): string {
    const at = resource.lastIndexOf("/");
    const version = resource.slice(0, at);
    const base = version.includes("/") ? `/apis/${version}` : `/api/${version}`;
    return `${base}/namespaces/default${resource.slice(at)}`;
  }

  for (const [resource, specOf] of Object.entries(templates)) {
    const shown: readonly (readonly [labels: object | undefined, string])[] = [
      [undefined, "null"],
      [{}, "{}"],
      [odd, sorted],
    ];
    for (const [labels, text] of shown) {
      it(`are ${text} for template labels of ${resource}`, async () => {
        const object = { metadata: { name: "created" }, spec: specOf(labels) };
        const { message } = await send("POST", collection(resource), object);
        const at = "spec.template.metadata.labels: Invalid value";
        assert.ok(message.includes(`${at}: ${text}: ${mismatch}`), message);
      });
    }
    it(`are empty after a patch that removes the labels of ${resource}`, async () => {
      const path = collection(resource);
      const made = await send("POST", path, { metadata: { name: "u" }, spec: specOf({ s: "t" }) });
      assert.equal(made.metadata.name, "u", made.message);
      const patch = { spec: { template: { metadata: { labels: { s: null } } } } };
      const { message } = await send("PATCH", `${path}/u`, patch);
      assert.ok(message.includes(`Invalid value: {}: ${mismatch}`), message);
    });
  }

  /** Resource; object to create; patch, or undefined for an invalid create; part of the message. */
  const others: readonly (readonly [string, object, object | undefined, string])[] = [
    [
      "apps/v1/deployments",
      { spec: workload({ s: "t" }) },
      { spec: { selector: { matchLabels: odd }, template: { metadata: { labels: odd } } } },
      `spec.selector: Invalid value: {"matchLabels":${sorted.replace("}", ',"s":"t"}')}}: field is`,
    ],
    [
      "batch/v1/cronjobs",
      {
        spec: {
          schedule: "* * * * *",
          jobTemplate: {
            spec: { selector: { matchLabels: odd }, template: { spec: jobPod } },
          },
        },
      },
      undefined,
      `spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":${sorted}}: `,
    ],
    [
      "v1/pods",
      { spec: { ...podSpec, nodeSelector: { n: "m" } } },
      { spec: { nodeSelector: { n: null } } },
      `-  "n": "m"`,
    ],
    [
      "v1/pods",
      { spec: { ...podSpec, nodeSelector: { n: "m" }, schedulingGates: [{ name: "e.com/g" }] } },
      { spec: { nodeSelector: { n: null, ...odd } } },
      `spec.nodeSelector: Invalid value: ${sorted}: only additions`,
    ],
    [
      "v1/pods",
      { spec: { ...podSpec, nodeSelector: { n: "m" }, schedulingGates: [{ name: "e.com/g" }] } },
      { spec: { nodeSelector: { n: null } } },
      `spec.nodeSelector: Invalid value: {}: only additions`,
    ],
    [
      "v1/resourcequotas",
      { spec: { hard: { pods: "1" }, scopes: ["Terminating"] } },
      { spec: { scopes: [] } },
      "spec.scopes: Invalid value: []: field is immutable",
    ],
    [
      "storage.k8s.io/v1/csistoragecapacities",
      { storageClassName: "s", nodeTopology: { matchLabels: { n: "m" } } },
      { nodeTopology: { matchLabels: { n: null, ...odd } } },
      `nodeTopology: Invalid value: {"matchLabels":${sorted}}: field is immutable`,
    ],
    [
      "storage.k8s.io/v1/csistoragecapacities",
      { storageClassName: "s", nodeTopology: { matchLabels: { n: "m" } } },
      { nodeTopology: { matchLabels: { n: null } } },
      "nodeTopology: Invalid value: {}: field is immutable",
    ],
  ];
  for (const [index, [resource, object, patch, part]] of others.entries()) {
    it(`are as Go prints them: ${part}`, async () => {
      const path = collection(resource);
      const name = `other-${index}`;
      const made = await send("POST", path, { metadata: { name }, ...object });
      const { message } =
        patch === undefined ? made : await send("PATCH", `${path}/${name}`, patch);
      assert.ok(message?.includes(part), message ?? made.message);
    });
  }

  /** Empty collections that a merge patch leaves, and whether the generation counts them. */
  const generations: readonly (readonly [string, object, object, number])[] = [
    [
      "networking.k8s.io/v1/networkpolicies",
      { spec: { podSelector: { matchLabels: {} } } },
      { spec: { podSelector: { matchLabels: { x: null } } } },
      2,
    ],
    [
      "networking.k8s.io/v1/networkpolicies",
      { spec: { podSelector: {}, policyTypes: ["Ingress"] } },
      { spec: { policyTypes: null } },
      1,
    ],
    [
      "apps/v1/deployments",
      { spec: workload({ s: "t" }) },
      { spec: { template: { spec: { nodeSelector: { x: null } } } } },
      1,
    ],
    [
      "policy/v1/poddisruptionbudgets",
      { spec: { maxUnavailable: 1, selector: {} } },
      { spec: { selector: { matchLabels: { x: null } } } },
      1,
    ],
  ];
  for (const [index, [resource, object, patch, generation]] of generations.entries()) {
    it(`count for generation ${generation} of ${resource}: ${JSON.stringify(patch)}`, async () => {
      const path = collection(resource);
      const name = `moved-${index}`;
      const made = await send("POST", path, { metadata: { name }, ...object });
      assert.equal(made.metadata.generation, 1, made.message);
      const patched = await send("PATCH", `${path}/${name}`, patch);
      assert.equal(patched.metadata.generation, generation, patched.message);
    });
  }
});
