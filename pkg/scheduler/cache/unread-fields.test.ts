import assert from "node:assert/strict";
import { inspect } from "node:util";
import { type Node, nodes, type Pod, pods } from "#kinds";
import { NodeInfo } from "../framework/node-info.ts";
import { podInfoOf } from "../framework/pod-info.ts";
import { withoutUnreadFields } from "./unread-fields.ts";

const containers = [
  {
    name: "c",
    image: "registry/app:1",
    command: ["sleep"],
    env: [{ name: "A", value: "b" }],
    livenessProbe: { exec: { command: ["true"] } },
    ports: [{ containerPort: 80, hostPort: 8080 }],
    resources: { requests: { cpu: "1" }, limits: { cpu: "2" } },
  },
  { name: "sidecar", restartPolicy: "Always", resources: { requests: { memory: "1Gi" } } },
];
const labelSelector = { matchLabels: { app: "a" } };
const terms = [{ labelSelector, topologyKey: "zone" }];
const pod: Pod = {
  metadata: {
    name: "p",
    namespace: "ns",
    uid: "u",
    resourceVersion: "1",
    labels: { app: "a" },
  },
  spec: {
    containers,
    initContainers: [{ name: "i", ports: [{ containerPort: 1, hostPort: 1 }], ...containers[1] }],
    volumes: [
      { name: "token", projected: { sources: [] } },
      { name: "data", persistentVolumeClaim: { claimName: "data" } },
      { name: "disk", gcePersistentDisk: { pdName: "disk" } },
    ],
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
    tolerations: [{ operator: "Exists" }],
    overhead: { cpu: "10m" },
    restartPolicy: "Always",
  },
  status: {
    podIP: "10.0.0.1",
    conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime: "t" }],
    containerStatuses: [
      { name: "c", image: "app", allocatedResources: { cpu: "3" }, resources: {} },
    ],
  },
};
const node: Node = {
  metadata: {
    name: "n",
    uid: "n",
    resourceVersion: "1",
    labels: { zone: "a" },
  },
  spec: { taints: [{ key: "k", effect: "NoSchedule" }] },
  status: {
    allocatable: { cpu: "4", pods: "10", "example.com/gpu": "2" },
    capacity: { cpu: "5" },
    nodeInfo: { osImage: "linux" },
    images: [{ names: ["app"], sizeBytes: 5 }],
    conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "t", reason: "r" }],
  },
};

/** Selectors have functions, which are equal only to themselves. */
const printed = (value: object) => inspect(value, { depth: 9 });

describe("withoutUnreadFields", () => {
  it("keeps all fields of a pod that its PodInfo depends on", () => {
    const { pod: kept, ...info } = podInfoOf(withoutUnreadFields(pod, pods));
    const { pod: _whole, ...expected } = podInfoOf(pod);
    assert.equal(printed(info), printed(expected));
    const { spec, status } = kept;
    const [container] = spec?.containers ?? [];
    assert.equal(Object.keys(container ?? {}).join(), "name,image,ports,resources");
    assert.deepEqual(
      spec?.volumes?.map(({ name }) => name),
      ["data", "disk"],
    );
    assert.deepEqual(status?.conditions, pod.status?.conditions);
    assert(!("podIP" in status!) && !("restartPolicy" in spec!));
  });

  it("keeps all fields of a node that its NodeInfo depends on", () => {
    const kept = withoutUnreadFields(node, nodes);
    const info = ({ ...fields }: NodeInfo) => printed({ ...fields, node: undefined });
    assert.equal(info(new NodeInfo(kept)), info(new NodeInfo(node)));
    assert.deepEqual(kept.spec, node.spec);
    assert.deepEqual(kept.status, {
      allocatable: node.status?.allocatable,
      images: node.status?.images,
      conditions: [{ type: "Ready", status: "True" }],
    });
  });
});
