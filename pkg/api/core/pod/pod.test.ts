import assert from "node:assert/strict";
import { created, type Outcome, type Sketch, updated, type Write } from "../../testing.ts";
import { pod } from "./pod.ts";

const c = { name: "c", image: "nginx:1.27" };

/** A pod of one container, with what is said. */
function one(spec: object = {}, container: object = {}): Sketch {
  return { spec: { containers: [{ ...c, ...container }], ...spec } };
}

type Row = readonly [Sketch, readonly string[], Write?];

function complains(rows: readonly Row[]): void {
  for (const [sketch, complaints, write] of rows) {
    it(JSON.stringify(sketch).slice(0, 110), () => {
      assert.deepEqual(created(pod, sketch, write).complaints, complaints);
    });
  }
}

function complainsOver(first: Sketch, rows: readonly Row[]): void {
  for (const [sketch, complaints, write] of rows) {
    it(`after it ${JSON.stringify(sketch).slice(0, 100)}`, () => {
      const old = created(pod, first);
      assert.deepEqual(old.complaints, []);
      assert.deepEqual(updated(pod, old, sketch, write).complaints, complaints);
    });
  }
}

describe("Pod defaults", () => {
  it("fill in the fields that kubelets need", () => {
    const { spec, status } = created(pod, one()).object;
    assert.equal(spec.dnsPolicy, "ClusterFirst");
    assert.equal(spec.terminationGracePeriodSeconds, 30);
    assert.equal(spec.enableServiceLinks, true);
    assert.deepEqual(spec.securityContext, {});
    assert.equal(spec.containers[0].imagePullPolicy, "IfNotPresent");
    assert.deepEqual(status, { phase: "Pending", qosClass: "BestEffort" });
  });

  const policies: readonly (readonly [string, string])[] = [
    ["nginx", "Always"],
    ["nginx:latest", "Always"],
    ["registry.example.com:5000/app", "Always"],
    ["registry.example.com:5000/app:v1", "IfNotPresent"],
    [`nginx@sha256:${"0".repeat(64)}`, "IfNotPresent"],
    [`nginx:latest@sha256:${"0".repeat(64)}`, "Always"],
    ["nginx@sha256:12", "IfNotPresent"],
    ["Not/Valid:x:y", "IfNotPresent"],
  ];
  for (const [image, policy] of policies) {
    it(`imagePullPolicy of ${image}: ${policy}`, () => {
      const { spec } = created(pod, one({}, { image })).object;
      assert.equal(spec.containers[0].imagePullPolicy, policy);
    });
  }

  it("copy limits to requests, and ports to host ports with hostNetwork", () => {
    const container = {
      resources: { limits: { cpu: "0.5" }, requests: { memory: "1Mi" } },
      ports: [{ containerPort: 80 }],
    };
    const { spec } = created(pod, one({ hostNetwork: true }, container)).object;
    assert.deepEqual(spec.containers[0].resources.requests, { memory: "1Mi", cpu: "500m" });
    assert.equal(spec.containers[0].ports[0].hostPort, 80);
  });

  it("sum up containers for pod-level resources", () => {
    const ask = (cpu: string) => ({ resources: { requests: { cpu } } });
    const sketch = {
      spec: {
        containers: [
          { ...c, ...ask("200m") },
          { ...c, name: "d", ...ask("300m") },
        ],
        initContainers: [{ ...c, name: "i", ...ask("900m") }],
        resources: { limits: { cpu: "1", memory: "2Gi" } },
      },
    };
    const { spec, status } = created(pod, sketch).object;
    assert.deepEqual(spec.resources.requests, { cpu: "900m", memory: "2Gi" });
    assert.equal(status.qosClass, "Burstable");
  });

  it("set emptyDir for volumes without source, and modes of files", () => {
    const volumes = [{ name: "a" }, { name: "b", configMap: { name: "x" } }];
    const { spec } = created(pod, one({ volumes })).object;
    assert.deepEqual(spec.volumes, [
      { name: "a", emptyDir: {} },
      { name: "b", configMap: { name: "x", defaultMode: 420 } },
    ]);
  });

  it("set serviceAccountName and serviceAccount", () => {
    const { spec } = created(pod, one({ serviceAccount: "old" })).object;
    assert.equal(spec.serviceAccountName, "old");
  });

  it("set a negative grace period to one second", () => {
    const { spec } = created(pod, one({ terminationGracePeriodSeconds: -30 })).object;
    assert.equal(spec.terminationGracePeriodSeconds, 1);
  });
});

describe("Pod with feature gates", () => {
  const image = { name: "v", image: { reference: "x:1" } };
  const mount = { volumeMounts: [{ name: "v", mountPath: "/v" }] };
  it("drops image volumes and their mounts if the gate is disabled", () => {
    const { object, complaints } = created(pod, one({ volumes: [image] }, mount));
    assert.deepEqual(object.spec.volumes, []);
    assert.deepEqual(object.spec.containers[0].volumeMounts, []);
    assert.deepEqual(complaints, []);
  });
  it("keeps them if the gate is enabled, or if the old pod has them", () => {
    const gates = { gates: ["ImageVolume"] };
    const policy = { ...image, image: { reference: "x:1", pullPolicy: "Always" } };
    const old = created(pod, one({ volumes: [policy] }, mount), gates);
    assert.equal(old.object.spec.volumes.length, 1);
    const again = updated(pod, old, one({ volumes: [policy] }, mount));
    assert.deepEqual(again.complaints, []);
    assert.equal(again.object.spec.volumes.length, 1);
  });
  it("drops restartPolicy of containers other than sidecars", () => {
    const initContainers = [
      { ...c, name: "a", restartPolicy: "Always" },
      { ...c, name: "b", restartPolicy: "OnFailure" },
    ];
    const { spec } = created(pod, one({ initContainers }, { restartPolicy: "Never" })).object;
    assert.equal(spec.initContainers[0].restartPolicy, "Always");
    assert.equal(spec.initContainers[1].restartPolicy, undefined);
    assert.equal(spec.containers[0].restartPolicy, undefined);
  });
});

describe("Pod rules", () => {
  const twice = 'Duplicate spec.containers[1].name = "c"';
  complains([
    [one(), []],
    [{ spec: {} }, ["Required spec.containers"]],
    [{ spec: { containers: [c, c] } }, [twice]],
    [
      one({}, { image: " x" }),
      ['Invalid spec.containers[0].image = " x": must not have leading or trailing whitespace'],
    ],
    [
      one({}, { livenessProbe: { successThreshold: 2, exec: { command: ["x"] } } }),
      ["Invalid spec.containers[0].livenessProbe.successThreshold = 2: must be 1"],
    ],
    [
      one({}, { resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } }),
      [
        'Invalid spec.containers[0].resources.requests = "2": ' +
          "must be less than or equal to cpu limit of 1",
      ],
    ],
    [
      one({}, { volumeMounts: [{ name: "v", mountPath: "/v" }] }),
      ['NotFound spec.containers[0].volumeMounts[0].name = "v"'],
    ],
    [
      one({ volumes: [{ name: "v", emptyDir: {}, hostPath: { path: "/x" } }] }),
      ["Forbidden spec.volumes[0].hostPath: may not specify more than 1 volume type"],
    ],
    [
      one({ tolerations: [{ key: "k", operator: "Gt" }] }),
      [
        'NotSupported spec.tolerations[0].operator = "Gt": ' +
          'supported values: "Equal", "Exists"',
      ],
    ],
    [
      one({ schedulingGates: [{ name: "a" }], nodeName: "n" }),
      ["Forbidden spec.nodeName: cannot be set until all schedulingGates have been cleared"],
    ],
    [
      one({}, { securityContext: { privileged: true } }),
      ["Forbidden spec.containers[0].securityContext.privileged: disallowed by cluster policy"],
    ],
    [
      one({ ephemeralContainers: [{ ...c, name: "e" }] }),
      ["Forbidden spec.ephemeralContainers: cannot be set on create"],
    ],
  ]);

  it("look up volume names without those of Object.prototype", () => {
    const volumes = [{ name: "constructor", emptyDir: {} }];
    const mounts = [
      { name: "constructor", mountPath: "/x" },
      { name: "toString", mountPath: "/y" },
    ];
    const { complaints } = created(pod, one({ volumes }, { volumeMounts: mounts }));
    assert.deepEqual(complaints, ['NotFound spec.containers[0].volumeMounts[1].name = "toString"']);
  });
});

describe("Pod updates", () => {
  const first = one({ tolerations: [{ key: "k", operator: "Exists" }], activeDeadlineSeconds: 9 });
  const same = (changes: object, container: object = {}) =>
    one({ ...(first["spec"] as object), containers: [{ ...c, ...container }], ...changes });
  complainsOver(first, [
    [same({}, { image: "nginx:2" }), []],
    [same({ activeDeadlineSeconds: 5 }), []],
    [
      same({ activeDeadlineSeconds: 10 }),
      ["Invalid spec.activeDeadlineSeconds = 10: must be less than or equal to previous value"],
    ],
    [
      same({ tolerations: [] }),
      [
        "Forbidden spec.tolerations: " +
          "existing toleration can not be modified except its tolerationSeconds",
      ],
    ],
    [
      same({ containers: [c, { ...c, name: "d" }] }),
      ["Forbidden spec.containers: pod updates may not add or remove containers"],
    ],
    [
      same({ schedulingGates: [{ name: "g" }] }),
      [
        "Forbidden spec.schedulingGates[0].name: " +
          "only deletion is allowed, but found new scheduling gate 'g'",
      ],
    ],
  ]);

  it("list the fields that may not change", () => {
    const old = created(pod, first);
    const [complaint = ""] = updated(pod, old, same({ restartPolicy: "Never" })).complaints;
    assert.match(complaint, /^Forbidden spec: pod updates may not change fields other than/);
    const [, ...diff] = complaint.split("\n");
    assert.deepEqual(diff, [
      "@@ -35,7 +35,7 @@",
      "   }",
      "  ],",
      '  "EphemeralContainers": null,',
      '- "RestartPolicy": "Always",',
      '+ "RestartPolicy": "Never",',
      '  "TerminationGracePeriodSeconds": 30,',
      '  "ActiveDeadlineSeconds": 9,',
      '  "DNSPolicy": "ClusterFirst",',
      "",
    ]);
  });

  const gated = one({ schedulingGates: [{ name: "g" }], nodeSelector: { a: "1" } });
  complainsOver(gated, [
    [one({ nodeSelector: { a: "1", b: "2" } }), []],
    [
      one({ nodeSelector: { a: "2" } }),
      [
        'Invalid spec.nodeSelector = {"a":"2"}: ' +
          "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
      ],
    ],
  ]);
});

describe("Pod subresources", () => {
  const asks = (cpu: string) => ({ resources: { requests: { cpu, memory: "1Gi" } } });
  const ephemeral = { ...c, name: "e" };
  const write = { subresource: "ephemeralcontainers" };

  it("ephemeralcontainers adds ephemeral containers only", () => {
    const old = created(pod, one());
    const next = updated(pod, old, one({ nodeName: "n", ephemeralContainers: [ephemeral] }), write);
    assert.deepEqual(next.complaints, []);
    assert.equal(next.object.spec.nodeName, undefined);
    assert.equal(next.object.spec.ephemeralContainers[0].name, "e");
    assert.deepEqual(updated(pod, next, one(), write).complaints, [
      'Forbidden spec.ephemeralContainers: existing ephemeral containers "e" may not be removed\n',
    ]);
  });

  it("refuse a lifecycle of an ephemeral container, even an empty one", () => {
    const wrong = { ...ephemeral, lifecycle: {}, ports: [] };
    const next = updated(pod, created(pod, one()), one({ ephemeralContainers: [wrong] }), write);
    assert.deepEqual(next.complaints, [
      "Forbidden spec.ephemeralContainers[0].lifecycle: cannot be set for an Ephemeral Container",
    ]);
  });

  const resize = (sketch: Sketch): Outcome =>
    updated(pod, created(pod, one({}, asks("1"))), sketch, { subresource: "resize" });

  it("resize changes cpu and memory, not the image", () => {
    const { object, complaints } = resize(one({}, { ...asks("2"), image: "other" }));
    assert.deepEqual(complaints, []);
    assert.equal(object.spec.containers[0].resources.requests.cpu, "2");
    assert.equal(object.spec.containers[0].image, c.image);
  });

  it("resize rejects changes of other resources", () => {
    const disk = { resources: { requests: { cpu: "1", memory: "1Gi", "ephemeral-storage": "1" } } };
    assert.deepEqual(resize(one({}, disk)).complaints, [
      "Forbidden spec: only cpu and memory resources are mutable",
    ]);
    assert.deepEqual(resize(one({}, { resources: { requests: { cpu: "1" } } })).complaints, [
      "Forbidden spec.containers[0].resources.requests: resource requests cannot be removed",
    ]);
  });

  it("status keeps the spec and the QoS class", () => {
    const old = created(pod, one());
    const sketch = { ...one({ nodeName: "n" }), status: { phase: "Running", podIP: "10.0.0.1" } };
    const { object, complaints } = updated(pod, old, sketch, { subresource: "status" });
    assert.deepEqual(complaints, []);
    assert.equal(object.spec.nodeName, undefined);
    assert.equal(object.status.qosClass, "BestEffort");
    assert.deepEqual(object.status.podIPs, [{ ip: "10.0.0.1" }]);
  });
});

describe("Pod rows", () => {
  const now = Date.parse("2024-01-01T00:10:00Z");
  const status = (name: string, rest: object) => ({
    name,
    image: "x",
    imageID: "",
    ready: false,
    restartCount: 0,
    ...rest,
  });
  const row = (sketch: Sketch) => {
    const old = created(pod, sketch);
    const { object } = updated(pod, old, sketch, { subresource: "status" });
    return pod.row(object, { now }).slice(1, 4);
  };
  const waiting = { state: { waiting: { reason: "CrashLoopBackOff" } } };
  const ended = { lastState: { terminated: { exitCode: 1, finishedAt: "2024-01-01T00:00:00Z" } } };
  const init = {
    initContainers: [
      { ...c, name: "i" },
      { ...c, name: "s", restartPolicy: "Always" },
    ],
  };

  it("show the waiting reason of a container, and the time of its last restart", () => {
    const containerStatuses = [status("c", { ...waiting, ...ended, restartCount: 5 })];
    const sketch = { ...one(), status: { phase: "Running", containerStatuses } };
    assert.deepEqual(row(sketch), ["0/1", "CrashLoopBackOff", "5 (10m ago)"]);
  });

  it("show the progress of init containers", () => {
    const initContainerStatuses = [
      status("i", { state: { terminated: { exitCode: 0 } } }),
      status("s", { state: { running: {} }, started: false }),
    ];
    const sketch = { ...one(init), status: { phase: "Pending", initContainerStatuses } };
    assert.deepEqual(row(sketch), ["0/2", "Init:1/2", "0"]);
  });

  it("count sidecars as ready containers", () => {
    const initContainerStatuses = [
      status("i", { state: { terminated: { exitCode: 0 } }, restartCount: 7 }),
      status("s", { state: { running: {} }, started: true, ready: true, restartCount: 2 }),
    ];
    const containerStatuses = [status("c", { state: { running: {} }, ready: true })];
    const sketch = {
      ...one(init),
      status: { phase: "Running", initContainerStatuses, containerStatuses },
    };
    assert.deepEqual(row(sketch), ["2/2", "Running", "2"]);
  });
});

describe("Pod warnings", () => {
  const warnings = (sketch: Sketch): readonly string[] => {
    const { object } = created(pod, sketch);
    const context = { domain: { api: "k8s.io", label: "kubernetes.io" } };
    return pod.hooks.warnings?.(object, undefined, context as never) ?? [];
  };
  it("name deprecated fields and overridden variables", () => {
    const env = [
      { name: "A", value: "1" },
      { name: "A", value: "2" },
      { name: "A", value: "$(A)3" },
    ];
    assert.deepEqual(
      warnings(one({ nodeSelector: { "beta.kubernetes.io/os": "linux" } }, { env })),
      [
        "spec.nodeSelector[beta.kubernetes.io/os]: " +
          'deprecated since v1.14; use "kubernetes.io/os" instead',
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when ' +
          "using apply",
      ],
    );
  });
  it("report overlapping paths of projected files", () => {
    const items = [{ key: "k", path: "p" }];
    const sources = [{ configMap: { name: "a", items } }, { secret: { name: "s", items } }, {}];
    const volumes = [{ name: "v", projected: { sources } }];
    assert.deepEqual(warnings(one({ volumes })), [
      'volume "v" (Projected) has no sources provided',
      'volume "v" (Projected): overlapping paths: "p" (Secret "s") with "p" (ConfigMap "a")',
    ]);
  });
});
