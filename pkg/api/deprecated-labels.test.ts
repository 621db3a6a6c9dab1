import assert from "node:assert/strict";
import type { Kind } from "#meta";
import { kubernetes } from "#meta";
import { daemonSet } from "./apps/daemon-set.ts";
import { deployment } from "./apps/deployment.ts";
import { replicaSet } from "./apps/replica-set.ts";
import { statefulSet } from "./apps/stateful-set.ts";
import { cronJob } from "./batch/cron-job.ts";
import { job } from "./batch/job.ts";
import { persistentVolume } from "./core/persistent-volume/persistent-volume.ts";
import { podTemplate } from "./core/pod-template.ts";
import { pod } from "./core/pod/pod.ts";
import { replicationController } from "./core/replication-controller.ts";
import { runtimeClass } from "./node/runtime-class.ts";
import { csiStorageCapacity } from "./storage/csi-storage-capacity.ts";
import { storageClass } from "./storage/storage-class.ts";
import { created, type Sketch } from "./testing.ts";

/** Label -> what each warning about it says (source: pkg/api/node of Kubernetes). */
const labels: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region":
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone":
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type":
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  "app.kubernetes.io/created-by": "deprecated since v1.9",
  "scheduler.alpha.kubernetes.io/preferAvoidPods":
    "deprecated since v1.22; use Taints and Tolerations instead",
  "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
};

/** An object that selects nodes by a label, and how its warning starts. */
interface Place {
  readonly kind: Kind;
  readonly object: (label: string) => Sketch;
  readonly start: (label: string) => string;
}

const term = (key: string) => ({ matchExpressions: [{ key, operator: "Exists" }] });
const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
const containers = [{ name: "c", image: "i" }];

/** Every place in a pod spec at `path`; `around` puts the spec into an object. */
function podPlaces(kind: Kind, path: string, around: (spec: Sketch) => Sketch): readonly Place[] {
  const place = (spec: (label: string) => Sketch, start: Place["start"]) => ({
    kind,
    object: (label: string) => around({ containers, restartPolicy: "Always", ...spec(label) }),
    start: (label: string) => `${path}.${start(label)}`,
  });
  const node = (nodeAffinity: Sketch) => ({ affinity: { nodeAffinity } });
  return [
    place(
      (label) => ({ nodeSelector: { [label]: "v" } }),
      (label) => `nodeSelector[${label}]: `,
    ),
    place(
      (label) => node({ [required]: { nodeSelectorTerms: [term(label)] } }),
      (label) =>
        `affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[0].key: ${label} is `,
    ),
    place(
      (label) => node({ [preferred]: [{ weight: 1, preference: term(label) }] }),
      (label) =>
        `affinity.nodeAffinity.${preferred}[0].preference.matchExpressions[0].key: ${label} is `,
    ),
    place(
      (topologyKey) => ({
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey, whenUnsatisfiable: "DoNotSchedule", labelSelector: {} },
        ],
      }),
      (label) => `topologySpreadConstraints[0].topologyKey: ${label} is `,
    ),
  ];
}

const templated = (spec: Sketch) => ({ template: { metadata: { labels: { a: "b" } }, spec } });
const selected = (spec: Sketch) => ({
  spec: { selector: { matchLabels: { a: "b" } }, ...templated(spec) },
});

const places: readonly Place[] = [
  ...podPlaces(pod, "spec", (spec) => ({ spec })),
  ...podPlaces(podTemplate, "template.spec", templated),
  ...[daemonSet, deployment, replicaSet, statefulSet].flatMap((kind) =>
    podPlaces(kind, "spec.template.spec", selected),
  ),
  ...podPlaces(job, "spec.template.spec", (spec) => ({ spec: templated(spec) })),
  ...podPlaces(replicationController, "spec.template.spec", (spec) => ({
    spec: templated(spec),
  })),
  ...podPlaces(cronJob, "spec.jobTemplate.spec.template.spec", (spec) => ({
    spec: { schedule: "* * * * *", jobTemplate: { spec: templated(spec) } },
  })),
  {
    kind: persistentVolume,
    object: (label) => ({
      spec: { nodeAffinity: { required: { nodeSelectorTerms: [term(label)] } } },
    }),
    start: (label) =>
      `spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: ${label} is `,
  },
  {
    kind: storageClass,
    object: (key) => ({
      provisioner: "p",
      allowedTopologies: [{ matchLabelExpressions: [{ key, values: ["v"] }] }],
    }),
    start: () => "allowedTopologies[0].matchLabelExpressions[0].key: ",
  },
  {
    kind: csiStorageCapacity,
    object: (label) => ({ storageClassName: "c", nodeTopology: { matchLabels: { [label]: "v" } } }),
    start: (label) => `nodeTopology.matchLabels.${label}: `,
  },
  {
    kind: csiStorageCapacity,
    object: (label) => ({ storageClassName: "c", nodeTopology: term(label) }),
    start: (label) => `nodeTopology.matchExpressions[0].key: ${label} is `,
  },
  {
    kind: runtimeClass,
    object: (label) => ({ handler: "h", scheduling: { nodeSelector: { [label]: "v" } } }),
    start: () => "scheduling.nodeSelector: ",
  },
];

describe("warnings about deprecated node labels", () => {
  const context = { domain: kubernetes, subresource: "", gate: () => false };
  const warningsOf = ({ kind, object }: Place, label: string) =>
    kind.hooks.warnings?.(created(kind, object(label)).object, undefined, context as never) ?? [];

  for (const place of places) {
    it(`${place.kind.kind} ${place.start("<label>").replace(/: .*/, "")}`, () => {
      for (const [label, message] of Object.entries(labels)) {
        assert.deepEqual(warningsOf(place, label), [`${place.start(label)}${message}`]);
      }
      assert.deepEqual(warningsOf(place, "kubernetes.io/os"), []);
    });
  }
});
