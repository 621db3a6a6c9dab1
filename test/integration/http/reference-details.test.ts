/** Details of responses on which clients of kube-apiserver depend. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

describe("responses of kube-apiserver", () => {
  let server: RunningServer;
  before(async () => void (server = await startServer({ controllers: false })));
  after(() => server.close());

  it("indents /version", async () => {
    const text = await (await server.fetch("/version")).text();
    assert.equal(text, JSON.stringify(JSON.parse(text), null, 2));
    assert.ok(text.split("\n").length > 5);
  });

  describe("to a DaemonSet whose template generation is no int64", () => {
    const path = "/apis/apps/v1/namespaces/default/daemonsets";
    const annotation = "deprecated.daemonset.template.generation";
    const template = {
      metadata: { labels: { a: "b" } },
      spec: { containers: [{ name: "c", image: "i" }] },
    };
    const object = (name: string, generation: string): object => ({
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name, annotations: { [annotation]: generation } },
      spec: { selector: { matchLabels: { a: "b" } }, template },
    });
    const heads: readonly (readonly [method: string, type: string, head: RegExp])[] = [
      ["POST", "json", /^DaemonSet in version "v1" cannot be handled as a DaemonSet: $/],
      ["PUT", "json", /^DaemonSet in version "v1" cannot be handled as a DaemonSet: $/],
      ["PATCH", "merge-patch+json", /^ "" is invalid: patch: Invalid value: ".*": $/],
      ["PATCH", "strategic-merge-patch+json", /^$/],
      [
        "PATCH",
        "apply-patch+yaml",
        /^failed to convert to unversioned \(\/x; apps\/v1, Kind=DaemonSet\): $/,
      ],
    ];

    async function send(method: string, at: string, type: string, body: object): Promise<any> {
      const headers = { "content-type": `application/${type}` };
      const response = await server.fetch(at, { method, headers, body: JSON.stringify(body) });
      return response.json();
    }

    for (const [generation, fault] of [
      ["", "invalid syntax"],
      ["1.5", "invalid syntax"],
      ["9223372036854775808", "value out of range"],
    ] as const) {
      it(`says why ${JSON.stringify(generation)} cannot be converted`, async () => {
        await send("POST", path, "json", object("x", "1"));
        const tail = `strconv.ParseInt: parsing "${generation}": ${fault}`;
        for (const [method, type, head] of heads) {
          const query = type.startsWith("apply") ? "?fieldManager=m&force=true" : "";
          const at = method === "POST" ? path : `${path}/x${query}`;
          const body = object(method === "POST" ? "y" : "x", generation);
          const { message } = await send(method, at, type, body);
          assert.ok(message.endsWith(tail), message);
          assert.match(message.slice(0, -tail.length), head);
        }
      });
    }
  });

  describe("to a create of an object with a resourceVersion", () => {
    const event = {
      metadata: { name: "a", namespace: "default", resourceVersion: "5" },
      eventTime: "2030-01-01T00:00:00.000000Z",
      action: "Act",
      reason: "Reason",
      type: "Normal",
      reportingController: "example.com/c",
      reportingInstance: "i",
      regarding: { namespace: "default", name: "a" },
    };
    const metadata = { name: "a", resourceVersion: "5" };
    const scaler = {
      metadata,
      spec: { maxReplicas: 2, scaleTargetRef: { kind: "ReplicationController", name: "a" } },
    };
    /** Objects in the storage version and in others. */
    const objects = [
      ["/api/v1/namespaces/default/configmaps", "v1", "ConfigMap", { metadata }],
      ["/api/v1/namespaces", "v1", "Namespace", { metadata: { ...metadata, name: "other" } }],
      ["/apis/events.k8s.io/v1/namespaces/default/events", "events.k8s.io/v1", "Event", event],
      [
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        scaler,
      ],
    ] as const;

    const post = (path: string, object: object): Promise<Response> =>
      server.fetch(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(object),
      });

    for (const [path, apiVersion, kind, rest] of objects) {
      it(`${path}: accepted and returned in a dry run, rejected otherwise`, async () => {
        const object = { apiVersion, kind, ...rest };
        const dry = await post(`${path}?dryRun=All`, object);
        const made = (await dry.json()) as any;
        assert.equal(dry.status, 201, JSON.stringify(made));
        assert.equal(made.metadata.resourceVersion, "5");
        const stored = await server.fetch(`${path}/${made.metadata.name}`);
        assert.equal(stored.status, 404);
        const refused = await post(path, object);
        assert.equal(refused.status, 500);
        const { message } = (await refused.json()) as { message: string };
        assert.equal(message, "resourceVersion should not be set on objects to be created");
      });
    }
  });

  const configMaps = "/api/v1/namespaces/default/configmaps";

  /** Title; method, path, body; code, and the message of a Status or the text. */
  const exchanges: readonly [string, [string, string, object?], number, RegExp][] = [
    [
      "to options of the list before those of the deletion in a delete of a collection",
      ["DELETE", `${configMaps}?resourceVersionMatch=Exact`, { propagationPolicy: "Other" }],
      422,
      /^ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: /,
    ],
    ["to a field selector of nothing", ["GET", `${configMaps}?fieldSelector=%3D`], 200, /^$/],
    ["to an unknown method of health", ["FOO", "/healthz"], 200, /^ok$/],
    ["to an unknown method of a version", ["FOO", "/api/v1"], 405, /does not allow this method/],
    ["to an unknown method of groups", ["FOO", "/apis"], 200, /^$/],
    ["to an unknown method of /version", ["FOO", "/version"], 405, /does not allow this method/],
    ["to an unknown method of a resource", ["FOO", configMaps], 405, /does not allow this method/],
  ];
  for (const [title, [method, path, body], code, message] of exchanges) {
    it(title, async () => {
      const headers = { "content-type": "application/json" };
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await server.fetch(path, { method, headers, ...sent });
      const text = await response.text();
      assert.equal(response.status, code, text);
      assert.match(text.startsWith("{") ? (JSON.parse(text).message ?? "") : text, message);
    });
  }

  it("marks the end of initial events of a watch with bookmarks from any resourceVersion", async () => {
    for (const start of ["", "&resourceVersion=0"]) {
      const path = `${configMaps}?watch=true&allowWatchBookmarks=true&timeoutSeconds=1${start}`;
      const events = (await (await server.fetch(path)).text()).trim().split("\n");
      assert.match(events.at(-1)!, /^{"type":"BOOKMARK".*"k8s.io\/initial-events-end":"true"/);
    }
  });

  it("names the decoder's fault about the kind and apiVersion of a merge patch", async () => {
    const body = JSON.stringify({ metadata: { name: "patched" } });
    const json = { "content-type": "application/json" };
    await server.fetch(configMaps, { method: "POST", headers: json, body });
    const scheme = 'in scheme "pkg/api/legacyscheme/scheme.go:30"';
    const patches: readonly (readonly [object, string])[] = [
      [{ kind: "Foo" }, `no kind "Foo" is registered for version "v1" ${scheme}`],
      [
        { apiVersion: "apps/v1" },
        `no kind "ConfigMap" is registered for version "apps/v1" ${scheme}`,
      ],
      [{ kind: "Pod" }, "converting (v1.Pod) to (core.ConfigMap): unknown conversion"],
    ];
    const headers = { "content-type": "application/merge-patch+json" };
    for (const [patch, fault] of patches) {
      const init = { method: "PATCH", headers, body: JSON.stringify(patch) };
      const response = await server.fetch(`${configMaps}/patched`, init);
      const { message } = (await response.json()) as { message: string };
      assert.equal(response.status, 422, message);
      assert.ok(message.endsWith(`: ${fault}`), message);
    }
    const init = { method: "PATCH", headers, body: JSON.stringify({ kind: "" }) };
    assert.equal((await server.fetch(`${configMaps}/patched`, init)).status, 200);
  });
});
