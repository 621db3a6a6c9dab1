import assert from "node:assert/strict";
import type { RunningServer } from "../../../cmd/keelson/index.ts";
import {
  configMap,
  configMaps,
  eventually,
  patchOf,
  send,
  startForTests,
  TestWebhook,
} from "./testing.ts";

const group = "/apis/admissionregistration.k8s.io/v1";
const everyConfigMap = [
  { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] },
];

describe("admission webhooks", () => {
  const webhook = new TestWebhook();
  let server: RunningServer;
  before(async () => {
    await webhook.start();
    server = await startForTests();
  });
  after(async () => {
    await server.close();
    webhook.close();
  });
  const configured: string[] = [];
  afterEach(async () => {
    for (const path of configured.splice(0)) await send(server, "DELETE", path);
    webhook.answers(() => ({ allowed: true }));
    const gone = () => {
      webhook.seen.length = 0;
      return send(server, "POST", `${configMaps}?dryRun=All`, configMap("probe"));
    };
    await eventually(gone, ({ body }) => body.kind === "ConfigMap" && webhook.seen.length === 0);
  });

  /** Configures webhooks, and waits until one is called. */
  async function configure(sort: "Mutating" | "Validating", name: string, hooks: object[]) {
    const plural = `${sort.toLowerCase()}webhookconfigurations`;
    const webhooks = hooks.map((hook, index) => ({
      name: `h${index}.${name}.example.com`,
      clientConfig: webhook.at("/"),
      rules: everyConfigMap,
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      ...hook,
    }));
    const kind = `${sort}WebhookConfiguration`;
    const object = { apiVersion: "admissionregistration.k8s.io/v1", kind, metadata: { name } };
    const { status, body } = await send(server, "POST", `${group}/${plural}`, {
      ...object,
      webhooks,
    });
    assert.equal(status, 201, JSON.stringify(body));
    configured.push(`${group}/${plural}/${name}`);
    const probe = () => send(server, "POST", `${configMaps}?dryRun=All`, configMap("probe"));
    await eventually(probe, ({ body: seen }) => webhook.seen.length > 0 || seen.code >= 400);
    webhook.seen.length = 0;
  }

  it("sends an AdmissionReview, and names the webhook in its denial", async () => {
    webhook.answers(() => ({
      allowed: false,
      status: { message: "not today", code: 418, reason: "Teapot" },
      warnings: ["mind the gap"],
      auditAnnotations: { seen: "yes" },
    }));
    await configure("Validating", "deny", [{}]);
    const object = configMap("a", { data: { k: "<v>" } });
    const url = `${configMaps}?fieldManager=me&fieldValidation=Strict`;
    const { status, body, warnings } = await send(server, "POST", url, object);
    assert.equal(status, 418);
    const name = "h0.deny.example.com";
    assert.equal(body.message, `admission webhook "${name}" denied the request: not today`);
    assert.equal(body.reason, "Teapot");
    assert.match(warnings, /299 - "mind the gap"/);
    const { request, ...review } = webhook.seen[0];
    assert.deepEqual(review, { kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1" });
    const { uid, object: sent, userInfo, ...rest } = request;
    assert.match(uid, /^[0-9a-f-]{36}$/);
    assert.equal(sent.apiVersion, "v1");
    assert.equal(sent.data.k, "<v>");
    assert.match(sent.metadata.uid, /^[0-9a-f-]{36}$/);
    assert.equal(userInfo.username, "admin");
    assert.deepEqual(rest, {
      kind: { group: "", version: "v1", kind: "ConfigMap" },
      resource: { group: "", version: "v1", resource: "configmaps" },
      requestKind: { group: "", version: "v1", kind: "ConfigMap" },
      requestResource: { group: "", version: "v1", resource: "configmaps" },
      name: "a",
      namespace: "default",
      operation: "CREATE",
      oldObject: null,
      dryRun: false,
      options: {
        kind: "CreateOptions",
        apiVersion: "meta.k8s.io/v1",
        fieldManager: "me",
        fieldValidation: "Strict",
      },
    });
  });

  it("calls mutating webhooks in order, and reinvokes those with reinvocationPolicy IfNeeded", async () => {
    webhook.answers(({ request }, path) => {
      const { data = {} } = request.object ?? {};
      const order = `${data.order ?? ""}${path.slice(1)}`;
      if (path === "/a" && order.length > 1 && data.order.endsWith("a")) return { allowed: true };
      return patchOf({ op: "add", path: "/data", value: { ...data, order } });
    });
    await configure("Mutating", "b-second", [{ clientConfig: webhook.at("/b") }]);
    await configure("Mutating", "a-first", [
      { clientConfig: webhook.at("/a"), reinvocationPolicy: "IfNeeded" },
    ]);
    const { body } = await send(server, "POST", configMaps, configMap("changed"));
    assert.deepEqual(body.data, { order: "aba" });
    const other = await send(server, "DELETE", `${configMaps}/changed?dryRun=All`);
    assert.equal(other.status, 500);
    assert.match(other.body.message, /attempted to modify the object, which is not supported/);
  });

  it("defaults objects after mutation, and reports invalid patches", async () => {
    const rules = [
      { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] },
      ...everyConfigMap,
    ];
    webhook.answers(({ request }) =>
      request.kind.kind === "Pod"
        ? patchOf({ op: "add", path: "/spec/containers/-", value: { name: "b", image: "b" } })
        : patchOf({ op: "remove", path: "/no/such/thing" }),
    );
    await send(server, "POST", configMaps, configMap("kept"));
    await configure("Mutating", "defaults", [{ rules }]);
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
    await send(server, "POST", "/api/v1/namespaces/default/serviceaccounts", account);
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } };
    const { body } = await send(server, "POST", "/api/v1/namespaces/default/pods", {
      ...pod,
      spec: { containers: [{ name: "a", image: "a" }] },
    });
    assert.equal(body.spec?.containers[1].imagePullPolicy, "Always", JSON.stringify(body));
    webhook.answers(() => patchOf({ op: "add", path: "/metadata/namespace", value: "elsewhere" }));
    assert.equal((await send(server, "POST", configMaps, configMap("moved"))).status, 400);
    webhook.answers(() => patchOf({ op: "replace", path: "/metadata/name", value: "renamed" }));
    const renamed = await send(server, "PUT", `${configMaps}/kept`, configMap("kept"));
    assert.equal(
      renamed.body.message,
      'ConfigMap "renamed" is invalid: metadata.name: Invalid value: "renamed": field is immutable',
    );
    webhook.answers(() => patchOf({ op: "replace", path: "/metadata", value: "text" }));
    assert.equal((await send(server, "POST", configMaps, configMap("text"))).status, 500);
    webhook.answers(() => patchOf({ op: "remove", path: "/no/such/thing" }));
    const broken = await send(server, "POST", configMaps, configMap("broken"));
    assert.equal(broken.status, 500);
    assert.match(broken.body.message, /^Internal error occurred: /);
  });

  it("sends a Scale without labels, and a deletecollection without a name", async () => {
    webhook.answers(({ request: { kind, operation, name } }) => ({
      allowed: kind.kind !== "Scale" && (operation !== "DELETE" || name === undefined),
      status: { message: `${kind.kind} ${name}` },
    }));
    const labels = { tier: "web" };
    const rule = { operations: ["UPDATE", "DELETE"], apiVersions: ["v1"] };
    await configure("Validating", "unnamed", [
      {},
      {
        objectSelector: { matchLabels: labels },
        rules: [
          { ...rule, apiGroups: ["apps"], resources: ["deployments/scale"] },
          { ...rule, apiGroups: [""], resources: ["configmaps"] },
        ],
      },
    ]);
    const deployments = "/apis/apps/v1/namespaces/default/deployments";
    const template = { metadata: { labels }, spec: { containers: [{ name: "a", image: "a" }] } };
    await send(server, "POST", deployments, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d", labels },
      spec: { selector: { matchLabels: labels }, template },
    });
    const scaled = await send(server, "PUT", `${deployments}/d/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "d", namespace: "default" },
      spec: { replicas: 2 },
    });
    assert.equal(scaled.status, 200, JSON.stringify(scaled.body));
    const mine = configMap("mine");
    await send(server, "POST", configMaps, { ...mine, metadata: { ...mine.metadata, labels } });
    const one = await send(server, "DELETE", `${configMaps}/mine?dryRun=All`);
    assert.match(one.body.message, /denied the request: ConfigMap mine$/);
    const all = await send(server, "DELETE", `${configMaps}?labelSelector=tier=web`);
    assert.equal(all.status, 200, JSON.stringify(all.body));
  });

  const failing = (fault: string) =>
    `Internal error occurred: failed calling webhook "h0.bad.example.com": ${fault}`;

  it("fails closed or open by failurePolicy when a webhook responds incorrectly", async () => {
    webhook.answers(() => "garbage");
    await configure("Validating", "bad", [{}]);
    const ask = async () => (await send(server, "POST", configMaps, configMap("x"))).body.message;
    assert.equal(
      await ask(),
      failing(
        "failed to call webhook: couldn't get version/kind; json parse error: " +
          "json: cannot unmarshal string into Go value of type struct { " +
          'APIVersion string "json:\\"apiVersion,omitempty\\""; ' +
          'Kind string "json:\\"kind,omitempty\\"" }',
      ),
    );
    webhook.answers(() => ({ uid: "other", allowed: true }));
    assert.match(
      await ask(),
      /received invalid webhook response: expected response.uid=".*", got "o/,
    );
    webhook.answers(() => ({ patch: "W10=", allowed: true }));
    assert.equal(
      await ask(),
      failing(
        "received invalid webhook response: validating webhook may not return response.patch",
      ),
    );
    webhook.answers(() => JSON.stringify({ kind: "AdmissionReview", response: null }));
    assert.equal(
      await ask(),
      failing("received invalid webhook response: webhook response was absent"),
    );
    webhook.answers(() => "x".repeat(17 * 2 ** 20));
    assert.match(await ask(), /the response is larger than/);
  });

  it("fails the call of a webhook that does not respond after its timeout", async () => {
    webhook.answers(() => ({ allowed: true }));
    await configure("Validating", "bad", [{ timeoutSeconds: 1 }]);
    webhook.answers(() => undefined);
    const url = `https://127.0.0.1:${webhook.port}/?timeout=1s`;
    const { body } = await send(server, "POST", configMaps, configMap("x"));
    assert.equal(
      body.message,
      failing(`failed to call webhook: Post "${url}": context deadline exceeded`),
    );
  });

  it("ignores failures of webhooks with failurePolicy Ignore", async () => {
    webhook.answers(() => "garbage");
    await configure("Validating", "open", [{ failurePolicy: "Ignore" }]);
    const { status } = await send(server, "POST", configMaps, configMap("ignored"));
    assert.equal(status, 201);
    assert.equal(webhook.seen.length, 1);
  });

  it("calls services at their endpoints, and selects by labels and matchConditions", async () => {
    const namespace = "/api/v1/namespaces/default";
    const { body: made } = await send(server, "POST", `${namespace}/services`, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "hook" },
      spec: { type: "ExternalName", externalName: "localhost" },
    });
    assert.equal(made.kind, "Service", made.message);
    webhook.answers(({ request }) => ({ allowed: request.name === "probe" }));
    const service = { namespace: "default", name: "hook", path: "/s", port: webhook.port };
    await configure("Validating", "service", [
      {
        clientConfig: { service, caBundle: webhook.caBundle },
        objectSelector: { matchExpressions: [{ key: "skip", operator: "DoesNotExist" }] },
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "default" } },
        matchConditions: [
          { name: "not-exempt", expression: "!object.metadata.name.startsWith('exempt')" },
          { name: "not-mine", expression: "request.userInfo.username == 'admin'" },
        ],
      },
    ]);
    const statusOf = async (path: string, name: string, labels: object = {}) => {
      const object = configMap(name, { metadata: { name, labels } });
      const { status, body } = await send(server, "POST", path, object);
      if (status === 500) assert.fail(body.message);
      return status;
    };
    assert.equal(await statusOf(configMaps, "plain"), 400);
    assert.equal(await statusOf(configMaps, "exempt-1"), 201);
    assert.equal(await statusOf(configMaps, "labelled", { skip: "1" }), 201);
    const elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    assert.equal(await statusOf(elsewhere, "elsewhere"), 201);
  });

  it("converts to the version of its rules, unless matchPolicy is Exact", async () => {
    const rules = [
      {
        operations: ["CREATE"],
        apiGroups: ["autoscaling"],
        apiVersions: ["v1"],
        resources: ["horizontalpodautoscalers"],
      },
      ...everyConfigMap,
    ];
    webhook.answers(() => ({ allowed: true }));
    await configure("Validating", "versions", [{ rules }, { rules, matchPolicy: "Exact" }]);
    const path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    const { status } = await send(server, "POST", path, {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "h" },
      spec: {
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
        metrics: [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } },
          },
        ],
      },
    });
    assert.equal(status, 201);
    assert.equal(webhook.seen.length, 1);
    const [{ request }] = webhook.seen;
    assert.equal(request.object.apiVersion, "autoscaling/v1");
    assert.equal(request.object.spec.targetCPUUtilizationPercentage, 50);
    assert.equal(request.requestKind.version, "v2");
  });

  it("does not intercept webhook configurations", async () => {
    webhook.answers(() => ({ allowed: false }));
    const rules = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
    await configure("Validating", "all", [{ rules }]);
    const path = `${group}/validatingwebhookconfigurations/all`;
    const { status } = await send(server, "PATCH", path, { metadata: { labels: { a: "b" } } });
    assert.equal(status, 200);
    const denied = await send(server, "POST", configMaps, configMap("denied"));
    assert.match(denied.body.message, /denied the request without explanation$/);
    assert.equal(denied.status, 400);
  });

  it("intercepts deletes, evictions, scales and connects", async () => {
    webhook.answers(({ request }) => ({
      allowed: request.operation === "CREATE" && request.subResource === undefined,
    }));
    const rules = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
    await configure("Validating", "judge", [{ rules }]);
    const pods = "/api/v1/namespaces/default/pods";
    const metadata = { name: "web" };
    const spec = { containers: [{ name: "a", image: "a" }] };
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
    await send(server, "POST", "/api/v1/namespaces/default/serviceaccounts", account);
    await send(server, "POST", pods, { apiVersion: "v1", kind: "Pod", metadata, spec });
    webhook.seen.length = 0;
    await send(server, "DELETE", `${pods}/web`);
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata };
    await send(server, "POST", `${pods}/web/eviction`, eviction);
    const target = { kind: "Node", name: "n" };
    const binding = { apiVersion: "v1", kind: "Binding", metadata, target };
    await send(server, "POST", `${pods}/web/binding`, binding);
    const attach = await server.fetch(`${pods}/web/attach?stdin=true&container=a`);
    assert.equal(attach.status, 400, await attach.text());
    const [deleted, evicted, bound, attached] = webhook.seen.map(({ request }) => request);
    assert.equal(deleted.operation, "DELETE");
    assert.equal(deleted.object, null);
    assert.equal(deleted.oldObject.metadata.name, "web");
    assert.equal(evicted.kind.kind, "Eviction");
    assert.equal(evicted.object.kind, "Eviction");
    assert.deepEqual(bound.kind, { group: "", version: "v1", kind: "Binding" });
    assert.equal(bound.object.kind, "Binding");
    assert.equal(attached.operation, "CONNECT");
    const { object } = attached;
    const v1 = { kind: "PodAttachOptions", apiVersion: "v1" };
    assert.deepEqual(object, { ...v1, stdin: true, container: "a" });
  });
});
