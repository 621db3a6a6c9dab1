/** What each kind of object charges, on create and on update. */
import assert from "node:assert/strict";
import { testAdmission, type TestAdmission, type TestAdmissionOptions } from "../../testing.ts";

type Amounts = Readonly<Record<string, string>>;

/** A quota of these names; usage starts at `used` or at zero. */
async function startWith(
  names: readonly string[],
  {
    spec = {},
    used = {},
    options = {},
  }: {
    readonly spec?: object;
    readonly used?: Amounts;
    readonly options?: TestAdmissionOptions;
  } = {},
): Promise<TestAdmission> {
  const test = await testAdmission("ResourceQuota", options);
  const hard = Object.fromEntries(names.map((name) => [name, "1000Gi"]));
  await test.post("v1/resourcequotas/ns", { metadata: { name: "q" }, spec: { ...spec, hard } });
  const zero = Object.fromEntries(names.map((name) => [name, "0"]));
  await test.putStatus("v1/resourcequotas/ns/q", { hard, used: { ...zero, ...used } });
  return test;
}

async function usedIn(test: TestAdmission): Promise<Amounts> {
  const { used } = (await test.get("v1/resourcequotas/ns/q")).status;
  return Object.fromEntries(Object.entries<string>(used).filter(([, amount]) => amount !== "0"));
}

const container = (requests: Amounts, limits: Amounts = {}, more: object = {}) => ({
  name: "c",
  resources: { requests, limits },
  ...more,
});
const sidecar = { restartPolicy: "Always" };
const pod = (spec: object, status: object = {}) => ({
  metadata: { name: "p" },
  spec: { containers: [], ...spec },
  status,
});

const podNames = [
  "pods",
  "count/pods",
  ...["cpu", "memory", "ephemeral-storage"].flatMap((name) => [
    name,
    `requests.${name}`,
    `limits.${name}`,
  ]),
  "hugepages-2Mi",
  "requests.hugepages-2Mi",
  "requests.example.com/gpu",
];
const one = { pods: "1", "count/pods": "1" };

describe("usage of pods", () => {
  const rows: readonly (readonly [string, object, Amounts])[] = [
    ["an empty pod", pod({}), one],
    [
      "every compute resource",
      pod({
        containers: [
          container(
            { cpu: "1", memory: "2", "ephemeral-storage": "3", "hugepages-2Mi": "2Mi" },
            { cpu: "4", memory: "5", "ephemeral-storage": "6", "hugepages-2Mi": "2Mi" },
          ),
          container(
            { cpu: "500m", memory: "0", "example.com/gpu": "7" },
            { cpu: "0", memory: "0", "example.com/gpu": "7" },
          ),
        ],
      }),
      {
        ...one,
        cpu: "1500m",
        "requests.cpu": "1500m",
        "limits.cpu": "4",
        memory: "2",
        "requests.memory": "2",
        "limits.memory": "5",
        "ephemeral-storage": "3",
        "requests.ephemeral-storage": "3",
        "limits.ephemeral-storage": "6",
        "hugepages-2Mi": "2Mi",
        "requests.hugepages-2Mi": "2Mi",
        "requests.example.com/gpu": "7",
      },
    ],
    [
      "the largest init container",
      pod({
        initContainers: [container({ cpu: "3" }), container({ cpu: "2" })],
        containers: [container({ cpu: "1" })],
      }),
      { ...one, cpu: "3", "requests.cpu": "3" },
    ],
    [
      "sidecars beside containers and later init containers",
      pod({
        initContainers: [container({ cpu: "1" }, {}, sidecar), container({ cpu: "5" })],
        containers: [container({ cpu: "2" })],
      }),
      { ...one, cpu: "6", "requests.cpu": "6" },
    ],
    [
      "overhead, for limits that are set",
      pod({
        overhead: { cpu: "1", memory: "1" },
        containers: [container({ cpu: "1", memory: "0" }, { cpu: "2" })],
      }),
      {
        ...one,
        cpu: "2",
        "requests.cpu": "2",
        "limits.cpu": "3",
        memory: "1",
        "requests.memory": "1",
      },
    ],
    [
      "resources of the pod instead of its containers'",
      pod({
        resources: { requests: { cpu: "4" }, limits: { memory: "8" } },
        containers: [container({ cpu: "1", memory: "1" }, { memory: "2" })],
      }),
      {
        ...one,
        cpu: "4",
        "requests.cpu": "4",
        memory: "1",
        "requests.memory": "1",
        "limits.memory": "8",
      },
    ],
    [
      "what a node has allocated",
      pod(
        { containers: [container({ cpu: "1" }, { cpu: "1" })] },
        {
          containerStatuses: [
            {
              name: "c",
              allocatedResources: { cpu: "3" },
              resources: { requests: { cpu: "2" }, limits: { cpu: "4" } },
            },
          ],
        },
      ),
      { ...one, cpu: "3", "requests.cpu": "3", "limits.cpu": "4" },
    ],
    [
      "what a node has allocated, if a resize is infeasible",
      pod(
        { containers: [container({ cpu: "9" }, { cpu: "9" })] },
        {
          conditions: [{ type: "PodResizePending", reason: "Infeasible" }],
          containerStatuses: [
            { name: "c", resources: { requests: { cpu: "2" }, limits: { cpu: "4" } } },
          ],
        },
      ),
      { ...one, cpu: "2", "requests.cpu": "2", "limits.cpu": "4" },
    ],
    [
      "a pod that has ended",
      pod({ containers: [container({ cpu: "1" })] }, { phase: "Failed" }),
      { "count/pods": "1" },
    ],
  ];
  for (const [name, object, expected] of rows) {
    it(name, async () => {
      // A quota of one name at a time: each requires the pod to set that resource.
      for (const each of podNames) {
        const test = await startWith([each]);
        const found = await test.admit("create v1/pods/ns", { object });
        const isMissing = found.includes(`must specify ${each} for: c`);
        assert.equal(isMissing ? "accepted" : found, "accepted");
        assert.deepEqual((await usedIn(test))[each], expected[each], each);
      }
    });
  }
});

describe("usage of other objects", () => {
  const ports = [{ port: 1, nodePort: 30001 }, { port: 2 }];
  const claim = (spec: object, more: object = {}) => ({
    metadata: { name: "c" },
    spec: { resources: { requests: { storage: "5" } }, ...spec },
    ...more,
  });
  const claims = { persistentvolumeclaims: "1", "count/persistentvolumeclaims": "1" };
  const device = (deviceClassName: string, more: object) => ({ deviceClassName, ...more });
  const exact = (count: number) => ({ allocationMode: "ExactCount", count });
  const all = { allocationMode: "All" };
  const devices = ".deviceclass.resource.k8s.io/devices";
  const gold = "gold.storageclass.storage.k8s.io/";
  const oldClass = { "volume.beta.kubernetes.io/storage-class": "gold" };
  const resourceClaims = "resource.k8s.io/v1/resourceclaims";
  const countedClaims = { "count/resourceclaims.resource.k8s.io": "1" };
  const rows: readonly (readonly [string, string, object, Amounts])[] = [
    ...["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"].map(
      (type) =>
        [
          type,
          "v1/services",
          { spec: { type, ports } },
          {
            services: "1",
            "count/services": "1",
            ...(["NodePort", "LoadBalancer"].includes(type) ? { "services.nodeports": "2" } : {}),
            ...(type === "LoadBalancer" ? { "services.loadbalancers": "1" } : {}),
          },
        ] as const,
    ),
    [
      "a load balancer without node ports but those given",
      "v1/services",
      { spec: { type: "LoadBalancer", ports, allocateLoadBalancerNodePorts: false } },
      {
        services: "1",
        "count/services": "1",
        "services.nodeports": "1",
        "services.loadbalancers": "1",
      },
    ],
    ["a claim", "v1/persistentvolumeclaims", claim({}), { ...claims, "requests.storage": "5" }],
    [
      "a claim of a class",
      "v1/persistentvolumeclaims",
      claim({ storageClassName: "gold" }),
      {
        ...claims,
        "requests.storage": "5",
        [`${gold}requests.storage`]: "5",
        [`${gold}persistentvolumeclaims`]: "1",
      },
    ],
    [
      "a claim of a class by annotation",
      "v1/persistentvolumeclaims",
      claim({ storageClassName: "x" }, { metadata: { name: "c", annotations: oldClass } }),
      {
        ...claims,
        "requests.storage": "5",
        [`${gold}requests.storage`]: "5",
        [`${gold}persistentvolumeclaims`]: "1",
      },
    ],
    [
      "a claim with more allocated than requested",
      "v1/persistentvolumeclaims",
      claim({}, { status: { allocatedResources: { storage: "7" } } }),
      { ...claims, "requests.storage": "7" },
    ],
    [
      "a claim in fractions of bytes",
      "v1/persistentvolumeclaims",
      claim({ resources: { requests: { storage: "1500m" } } }),
      { ...claims, "requests.storage": "2" },
    ],
    [
      "devices, exactly",
      resourceClaims,
      {
        spec: {
          devices: {
            requests: [
              { name: "a", exactly: device("gpu", exact(3)) },
              { name: "b", exactly: device("gpu", exact(2)) },
              { name: "c", exactly: device("nic", all) },
            ],
          },
        },
      },
      { ...countedClaims, [`gpu${devices}`]: "5", [`nic${devices}`]: "32" },
    ],
    [
      "devices, the most of the alternatives of a request",
      resourceClaims,
      {
        spec: {
          devices: {
            requests: [
              {
                name: "a",
                firstAvailable: [
                  device("gpu", exact(1)),
                  device("gpu", exact(4)),
                  device("nic", exact(2)),
                ],
              },
              { name: "b", firstAvailable: [device("gpu", all)] },
            ],
          },
        },
      },
      { ...countedClaims, [`gpu${devices}`]: "36", [`nic${devices}`]: "2" },
    ],
    ["a config map", "v1/configmaps", {}, { configmaps: "1", "count/configmaps": "1" }],
    ["a deployment", "apps/v1/deployments", {}, { "count/deployments.apps": "1" }],
    ["a lease", "coordination.k8s.io/v1/leases", {}, { "count/leases.coordination.k8s.io": "1" }],
    ["an event", "v1/events", {}, {}],
  ];
  const names = [
    ...new Set(rows.flatMap(([, , , amounts]) => Object.keys(amounts))),
    "count/events",
    "count/deployments.extensions",
  ];
  for (const [name, path, object, expected] of rows) {
    it(name, async () => {
      const test = await startWith(names);
      const named = { metadata: { name: "o" }, ...object };
      assert.equal(await test.admit(`create ${path}/ns`, { object: named }), "accepted");
      assert.deepEqual(await usedIn(test), expected);
    });
  }
});

describe("usage on update", () => {
  const service = (type: string, count: number) => ({
    metadata: { name: "s" },
    spec: { type, ports: Array.from({ length: count }, (_, port) => ({ port })) },
  });
  const names = ["services", "services.nodeports", "services.loadbalancers"];
  const before: Amounts = {
    services: "5",
    "services.nodeports": "5",
    "services.loadbalancers": "5",
  };
  for (const [name, old, object, change] of [
    ["more ports", service("NodePort", 1), service("NodePort", 3), { "services.nodeports": "7" }],
    ["fewer ports", service("NodePort", 3), service("NodePort", 1), {}],
    ["no node ports", service("NodePort", 3), service("ClusterIP", 3), {}],
    ["no load balancer", service("LoadBalancer", 1), service("NodePort", 1), {}],
    [
      "one up, one down",
      service("NodePort", 3),
      service("LoadBalancer", 1),
      { "services.loadbalancers": "6" },
    ],
  ] as const) {
    it(`${name}: raised at once, never lowered`, async () => {
      const test = await startWith(names, { used: before });
      assert.equal(await test.admit("update v1/services/ns/s", { object, old }), "accepted");
      assert.deepEqual(await usedIn(test), { ...before, ...change });
    });
  }

  const sized = (cpu: string) => pod({ containers: [container({ cpu })] });
  for (const [to, expected] of [
    ["3", "6"],
    ["1", "5"],
  ] as const) {
    it(`a resize from 2 to ${to} CPUs`, async () => {
      const test = await startWith(["requests.cpu"], { used: { "requests.cpu": "5" } });
      const write = { object: sized(to), old: sized("2") };
      assert.equal(await test.admit("update v1/pods/ns/p/resize", write), "accepted");
      assert.deepEqual(await usedIn(test), { "requests.cpu": expected });
    });
  }

  it("a pod that gets a deadline is charged to the quota that it moves to", async () => {
    const test = await startWith(["pods"], { spec: { scopes: ["Terminating"] } });
    const old = pod({ containers: [container({})] });
    const object = pod({ containers: [container({})], activeDeadlineSeconds: 5 });
    assert.equal(await test.admit("update v1/pods/ns/p", { object, old }), "accepted");
    assert.deepEqual(await usedIn(test), { pods: "1" });
    assert.equal(await test.admit("update v1/pods/ns/p", { object, old: object }), "accepted");
    assert.deepEqual(await usedIn(test), { pods: "1" });
  });

  it("a claim that moves to another attributes class is charged in full", async () => {
    const scopeSelector = {
      matchExpressions: [{ scopeName: "VolumeAttributesClass", operator: "In", values: ["fast"] }],
    };
    const test = await startWith(["requests.storage"], { spec: { scopeSelector } });
    const claim = (volumeAttributesClassName: string) => ({
      metadata: { name: "c" },
      spec: { resources: { requests: { storage: "5" } }, volumeAttributesClassName },
    });
    const write = { object: claim("fast"), old: claim("slow") };
    assert.equal(await test.admit("update v1/persistentvolumeclaims/ns/c", write), "accepted");
    assert.deepEqual(await usedIn(test), { "requests.storage": "5" });
  });
});

describe("limited resources", () => {
  const limitedResources = [
    {
      resource: "pods",
      matchContains: ["requests.example.com/"],
      matchScopes: [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }],
    },
    { resource: "persistentvolumeclaims", matchContains: [".storageclass.storage.k8s.io/"] },
  ];
  const options = {
    configuration: {
      ResourceQuota: {
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "ResourceQuotaConfiguration",
        limitedResources,
      },
    },
  };
  const device = pod({ containers: [container({ "example.com/gpu": "1" })] });
  const important = pod({ priorityClassName: "high", containers: [] });

  it("are refused without a quota", async () => {
    const test = await testAdmission("ResourceQuota", options);
    assert.equal(
      await test.admit("create v1/pods/ns", { object: device }),
      '403 pods "p" is forbidden: insufficient quota to consume: requests.example.com/gpu',
    );
    assert.equal(
      await test.admit("create v1/pods/ns", { object: important }),
      "500 insufficient quota to match these scopes: [{PriorityClass In [high]}]",
    );
    assert.equal(await test.admit("create v1/pods/ns", { object: pod({}) }), "accepted");
  });

  it("are allowed with a quota that covers them", async () => {
    const covered = await startWith(["requests.example.com/gpu"], { options });
    assert.equal(await covered.admit("create v1/pods/ns", { object: device }), "accepted");
    const spec = {
      scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "Exists" }] },
    };
    const scoped = await startWith(["pods"], { options, spec });
    assert.equal(await scoped.admit("create v1/pods/ns", { object: important }), "accepted");
  });
});
