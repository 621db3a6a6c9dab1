import assert from "node:assert/strict";
import { createAdmission, enabledPlugins } from "#admission";
import { Catalog, domainOf } from "#meta";
import { builtinKinds, featureGates } from "#api";
import type { Registry } from "#registry";
import type { Authorizer } from "#request";
import {
  refusal,
  type TestRegistry,
  TestClock,
  testRegistry,
} from "../../../pkg/registry/testing.ts";

const allowAll: Authorizer = { authorize: async () => ({ verdict: "allow", reason: "" }) };

async function admitting(authorizer = allowAll): Promise<TestRegistry> {
  const late: { registry?: Registry } = {};
  const { mutating, validating } = createAdmission({
    catalog: new Catalog(builtinKinds, domainOf(), () => true),
    registry: () => late.registry!,
    gates: featureGates(new Map()),
    plugins: enabledPlugins({}),
    clock: new TestClock(),
    authorizer,
  });
  const test = await testRegistry({
    mutating: [mutating],
    validating: [validating],
    namespaces: [],
  });
  late.registry = test.registry;
  await test.post("v1/namespaces", { metadata: { name: "ns" } });
  await test.post("v1/serviceaccounts/ns", { metadata: { name: "default" } });
  return test;
}

const container = { name: "c", image: "a:1" };

describe("admission", () => {
  let test: TestRegistry;
  beforeEach(async () => {
    test = await admitting();
  });
  const pod = (name: string, spec: object = {}, metadata: object = {}) =>
    test.post("v1/pods/ns", {
      metadata: { name, ...metadata },
      spec: { containers: [container], automountServiceAccountToken: false, ...spec },
    });
  const made = async (name: string, spec: object = {}): Promise<any> =>
    (await pod(name, spec)).item.object;

  it("gives pods a ServiceAccount, its token and its image pull secrets", async () => {
    await test.post("v1/serviceaccounts/ns", {
      metadata: { name: "puller" },
      imagePullSecrets: [{ name: "reg" }],
    });
    const { spec } = await made("a", {
      serviceAccountName: "puller",
      automountServiceAccountToken: true,
    });
    assert.deepEqual(spec.imagePullSecrets, [{ name: "reg" }]);
    const [volume] = spec.volumes;
    assert.match(volume.name, /^kube-api-access-[a-z0-9]{5}$/);
    assert.equal(spec.containers[0].volumeMounts[0].name, volume.name);
    assert.equal(volume.projected.sources[0].serviceAccountToken.expirationSeconds, 3607);
    assert.equal((await made("b")).spec.serviceAccountName, "default");
    assert.match(
      await refusal(pod("c", { serviceAccountName: "nope" })),
      /^403 .*error looking up service account ns\/nope: serviceaccount "nope" not found$/,
    );
  });

  it("resolves priority classes to priorities", async () => {
    const classes = "scheduling.k8s.io/v1/priorityclasses";
    const high = { metadata: { name: "high" }, value: 1000, preemptionPolicy: "Never" };
    await test.post(classes, high);
    const { spec } = await made("a", { priorityClassName: "high" });
    assert.deepEqual([spec.priority, spec.preemptionPolicy], [1000, "Never"]);
    assert.equal((await made("b")).spec.priority, 0);
    assert.match(await refusal(pod("c", { priorityClassName: "high", priority: 1 })), /^403/);
    assert.match(await refusal(pod("c", { priorityClassName: "no" })), /no was found$/);
    await test.post(classes, { metadata: { name: "usual" }, value: 7, globalDefault: true });
    const { spec: usual } = await made("d");
    assert.deepEqual([usual.priority, usual.priorityClassName], [7, "usual"]);
    const second = test.post(classes, { metadata: { name: "x" }, value: 1, globalDefault: true });
    assert.match(await refusal(second), /usual is already marked as default/);
  });

  it("adds default tolerations, and the not-ready taint of new nodes", async () => {
    const keys = (spec: any) => spec.tolerations.map(({ key }: any) => key);
    assert.equal((await made("a")).spec.tolerations.length, 2);
    const every = [{ operator: "Exists" }];
    assert.deepEqual(keys((await made("b", { tolerations: every })).spec), [undefined]);
    const { item } = await test.post("v1/nodes", { metadata: { name: "n" } });
    assert.deepEqual(item.object.spec.taints, [
      { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
    ]);
  });

  it("sets default classes, the newest of several, and storage protection finalizers", async () => {
    const mark = { "storageclass.kubernetes.io/is-default-class": "true" };
    for (const name of ["old", "new"]) {
      await test.post("storage.k8s.io/v1/storageclasses", {
        metadata: { name, annotations: mark },
        provisioner: "example.com/p",
      });
      test.clock.advance(1000);
    }
    const claim = (name: string, spec: object = {}) =>
      test.post("v1/persistentvolumeclaims/ns", {
        metadata: { name },
        spec: {
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: "1Gi" } },
          ...spec,
        },
      });
    const { metadata, spec } = (await claim("a")).item.object;
    assert.deepEqual(metadata.finalizers, ["kubernetes.io/pvc-protection"]);
    assert.equal(spec.storageClassName, "new");
    const none = (await claim("b", { storageClassName: "" })).item.object;
    assert.equal(none.spec.storageClassName, "");
  });

  it("applies the defaults and limits of LimitRanges", async () => {
    const limits = [
      { type: "Container", default: { cpu: "2" }, defaultRequest: { cpu: "1" }, max: { cpu: "3" } },
      { type: "Pod", max: { cpu: "5" } },
    ];
    await test.post("v1/limitranges/ns", { metadata: { name: "l" }, spec: { limits } });
    const { metadata, spec } = await made("a");
    const { requests, limits: ceilings } = spec.containers[0].resources;
    assert.deepEqual([{ ...requests }, { ...ceilings }], [{ cpu: "1" }, { cpu: "2" }]);
    assert.equal(
      metadata.annotations["kubernetes.io/limit-ranger"],
      "LimitRanger plugin set: cpu request for container c; cpu limit for container c",
    );
    const big = { ...container, resources: { limits: { cpu: "4" }, requests: { cpu: "1" } } };
    assert.equal(
      await refusal(pod("b", { containers: [big] })),
      '403 Forbidden pods "b" is forbidden: ' +
        "maximum cpu usage per Container is 3, but limit is 4",
    );
    const three = ["x", "y", "z"].map((name) => ({ ...container, name }));
    assert.match(
      await refusal(pod("c", { containers: three })),
      /maximum cpu usage per Pod is 5, but limit is 6$/,
    );
  });

  const quota = async (hard: object, used: object, spec: object = {}) => {
    const path = "v1/resourcequotas/ns";
    await test.post(path, { metadata: { name: "q" }, spec: { hard, ...spec } });
    await test.patch(`${path}/q/status`, { status: { hard, used } });
  };
  const usage = async () => (await test.get("v1/resourcequotas/ns/q")).object.status.used;

  it("charges quotas and rejects requests that exceed them", async () => {
    await quota({ pods: "2", "requests.cpu": "1" }, { pods: "0", "requests.cpu": "0" });
    const asking = (cpu: string) => ({
      containers: [{ ...container, resources: { requests: { cpu } } }],
    });
    await pod("a", asking("400m"));
    assert.deepEqual(await usage(), { pods: "1", "requests.cpu": "400m" });
    assert.equal(
      await refusal(pod("b", asking("700m"))),
      '403 Forbidden pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=700m, ' +
        "used: requests.cpu=400m, limited: requests.cpu=1",
    );
    assert.match(await refusal(pod("b")), /failed quota: q: must specify requests.cpu for: c$/);
    const dry = { metadata: { name: "z" }, spec: asking("1m") };
    await test.post("v1/pods/ns", dry, { dryRun: true });
    assert.deepEqual(await usage(), { pods: "1", "requests.cpu": "400m" });
  });

  it("never admits more than the quota under concurrent writes", async () => {
    await quota({ configmaps: "5" }, { configmaps: "0" });
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        refusal(test.post("v1/configmaps/ns", { metadata: { name: `c${n}` } })),
      ),
    );
    assert.equal(outcomes.filter((outcome) => outcome === "accepted").length, 5);
    assert.equal((await test.names("v1/configmaps/ns")).length, 5);
    assert.deepEqual(await usage(), { configmaps: "5" });
  });

  it("counts only pods within a quota's scopes, and services by type", async () => {
    await quota({ pods: "0" }, { pods: "0" }, { scopes: ["BestEffort"] });
    const resources = { requests: { cpu: "1" } };
    await pod("a", { containers: [{ ...container, resources }] });
    assert.match(await refusal(pod("b")), /exceeded quota: q, requested: pods=1, used: pods=0/);
    await test.remove("v1/resourcequotas/ns/q");
    await quota({ "services.nodeports": "1" }, { "services.nodeports": "0" });
    const ports = [
      { name: "a", port: 1 },
      { name: "b", port: 2 },
    ];
    const service = (name: string, type: string) =>
      test.post("v1/services/ns", { metadata: { name }, spec: { type, ports } });
    await service("x", "ClusterIP");
    assert.match(
      await refusal(service("y", "NodePort")),
      /requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1$/,
    );
  });

  it("requires permission to approve CertificateSigningRequests of a signer", async () => {
    const denying: Authorizer = {
      authorize: async ({ request }) => ({
        verdict: request.verb === "approve" ? "no-opinion" : "allow",
        reason: "",
      }),
    };
    const strict = createAdmission({
      catalog: test.catalog,
      registry: () => test.registry,
      gates: featureGates(new Map()),
      plugins: enabledPlugins({}),
      clock: test.clock,
      authorizer: denying,
    });
    const path = "certificates.k8s.io/v1/certificatesigningrequests//r/approval";
    const old = { metadata: { name: "r" }, spec: { signerName: "example.com/s" }, status: {} };
    const attributes = {
      request: test.request(path),
      operation: "update",
      dryRun: false,
      object: old,
      old,
    } as const;
    const all = async () => strict.validating(attributes);
    assert.match(
      await refusal(all()),
      /^403 .*user not permitted to approve requests with signerName "example.com\/s"$/,
    );
  });
});
