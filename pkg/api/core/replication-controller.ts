import {
  required,
  type Infer,
  int32,
  int64,
  list,
  map,
  named,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
  mergedBy,
} from "#schema";
import { type HookContext, kind, objectMeta, time } from "#meta";
import { goLabels } from "../go/go-shape.ts";
import { scaleV1 } from "../autoscaling/scale.ts";
import { formatLabels } from "../label-selector.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusSubresource, entry, sortedKeys, unsupported } from "../strategy.ts";
import { defaultPodTemplate } from "./pod/spec/pod-defaults.ts";
import { dropGatedPodFields } from "./pod/spec/pod-gates.ts";
import { podTemplateSpec } from "./pod/spec/pod-spec.ts";
import { validatePodTemplate } from "./pod/spec/pod-spec-rules.ts";
import { containerCells } from "./pod-template.ts";
import { keepsGeneration, nameWarnings, podWarnings } from "./pod/pod-warnings.ts";

const v1 = structs("api/core/v1");

const replicationControllerSpec = v1(
  "ReplicationControllerSpec",
  "Desired state of a ReplicationController.",
  {
    replicas: pointer(1, int32, "Desired number of pods. Defaults to 1.", {
      default: 1,
      openApi: { default: true },
    }),
    minReadySeconds: value(
      4,
      int32,
      "Seconds for which a new pod must be ready, without any container crashing, to be " +
        "considered available. Defaults to 0.",
      {
        default: 0,
        openApi: { default: true },
      },
    ),
    selector: value(
      2,
      map(string),
      "Labels of the pods that the controller manages. Must match the labels of the template. " +
        "Defaults to those labels.",
      {
        mapType: "atomic",
      },
    ),
    template: pointer(
      3,
      podTemplateSpec,
      "Template for new pods. Changes do not affect existing pods. restartPolicy must be " +
        "Always. Required.",
    ),
  },
);

const condition = v1(
  "ReplicationControllerCondition",
  "One observed condition of a ReplicationController.",
  {
    type: required(
      1,
      named("v1.ReplicationControllerConditionType"),
      "Type of the condition: ReplicaFailure (a pod could not be created or deleted).",
    ),
    status: required(
      2,
      named("v1.ConditionStatus"),
      "Status of the condition: one of True, False, Unknown.",
    ),
    lastTransitionTime: value(3, time, "Time at which `status` last changed to another value."),
    reason: value(4, string, "Machine-readable CamelCase reason for the last transition."),
    message: value(5, string, "Human-readable message with details about the last transition."),
  },
);

const replicationControllerStatus = v1(
  "ReplicationControllerStatus",
  "Observed state of a ReplicationController.",
  {
    replicas: required(1, int32, "Number of pods that the controller manages."),
    fullyLabeledReplicas: value(
      2,
      int32,
      "Number of pods whose labels match those of the template.",
    ),
    readyReplicas: value(4, int32, "Number of pods with a Ready condition."),
    availableReplicas: value(
      5,
      int32,
      "Number of pods that have been ready for at least minReadySeconds.",
    ),
    observedGeneration: value(3, int64, "Value of metadata.generation that this status describes."),
    conditions: value(
      6,
      list(condition),
      "Latest observed conditions, one entry per condition type.",
      mergedBy("type"),
    ),
  },
);

const replicationControllerV1 = v1(
  "ReplicationController",
  "ReplicationController ensures that a given number of pods is running. Superseded by " +
    "Deployment and ReplicaSet.",
  {
    metadata: value(
      1,
      objectMeta,
      "Standard object metadata. Labels default to those of the pod template.",
    ),
    spec: value(2, replicationControllerSpec, "Replica count, selector and pod template."),
    status: value(
      3,
      replicationControllerStatus,
      "Pod counts reported by the replication controller. Read-only.",
    ),
  },
);

type ReplicationController = Infer<typeof replicationControllerV1>;

const isEmpty = (labels: object | undefined) => Object.keys(labels ?? {}).length === 0;

function fillDefaults({ metadata, spec }: ReplicationController, { gate }: HookContext): void {
  const { template } = spec;
  if (template === undefined) return;
  defaultPodTemplate(template, gate);
  const { labels } = template.metadata;
  if (labels === undefined) return;
  if (isEmpty(spec.selector)) spec.selector = { ...labels };
  defaultLabels({ metadata, spec });
}

function defaultLabels({ metadata, spec }: Pick<ReplicationController, "metadata" | "spec">): void {
  const { labels } = spec.template?.metadata ?? {};
  if (labels !== undefined && isEmpty(metadata.labels)) metadata.labels = { ...labels };
}

const specPath = Path.of("spec");

function checkCount(value: number | bigint | undefined, path: Path, problems: Problems): void {
  if (value === undefined || value >= 0) return;
  problems.invalid(path, value, "must be greater than or equal to 0");
}

function validate({ spec }: ReplicationController, problems: Problems, context: HookContext): void {
  checkCount(spec.minReadySeconds, specPath.child("minReadySeconds"), problems);
  if (isEmpty(spec.selector)) problems.required(specPath.child("selector"));
  checkCount(spec.replicas, specPath.child("replicas"), problems);
  checkTemplate(spec, problems, context);
}

function checkTemplate(
  { template, selector }: ReplicationController["spec"],
  problems: Problems,
  context: HookContext,
): void {
  const path = specPath.child("template");
  if (template === undefined) return problems.required(path);
  const labels = template.metadata.labels;
  if (!sortedKeys(selector).every((key) => entry(labels, key) === entry(selector, key))) {
    const detail = "`selector` does not match template `labels`";
    problems.invalid(path.child("metadata", "labels"), goLabels(labels), detail);
  }
  validatePodTemplate(template, path, problems, context);
  const { restartPolicy, activeDeadlineSeconds } = template.spec;
  if (restartPolicy !== "Always") {
    const restartPolicyPath = path.child("spec", "restartPolicy");
    unsupported(problems, restartPolicyPath, { value: restartPolicy ?? "", supported: ["Always"] });
  }
  if (activeDeadlineSeconds === undefined) return;
  const detail = "activeDeadlineSeconds in ReplicationController is not Supported";
  problems.forbidden(path.child("spec", "activeDeadlineSeconds"), detail);
}

function checkStatus({ status }: ReplicationController, problems: Problems): void {
  const path = Path.of("status");
  const { replicas, fullyLabeledReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  const counts = { replicas, fullyLabeledReplicas, readyReplicas, availableReplicas };
  for (const [field, count] of Object.entries(counts)) {
    checkCount(count, path.child(field), problems);
  }
  checkCount(status.observedGeneration, path.child("observedGeneration"), problems);
  for (const field of ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] as const) {
    if (counts[field] <= replicas) continue;
    const detail = "cannot be greater than status.replicas";
    problems.invalid(path.child(field), counts[field], detail);
  }
  if (availableReplicas <= readyReplicas) return;
  const detail = "cannot be greater than readyReplicas";
  problems.invalid(path.child("availableReplicas"), availableReplicas, detail);
}

function warnings(
  object: ReplicationController,
  old: ReplicationController | undefined,
  context: HookContext,
): readonly string[] {
  const templatePath = specPath.child("template");
  // An update warns about the template that it replaces, as in Kubernetes.
  const { template } = (old ?? object).spec;
  if (context.subresource !== "" || keepsGeneration(object, old)) return [];
  return [
    ...(old === undefined ? nameWarnings(object) : []),
    ...(template === undefined ? [] : podWarnings(template, templatePath, context)),
  ];
}

const divided = splitByStatusSubresource(() => ({ replicas: 0 }));

export const replicationController = kind(replicationControllerV1, {
  group: "",
  kind: "ReplicationController",
  plural: "replicationcontrollers",
  shortNames: ["rc"],
  categories: ["all"],
  scope: "Namespaced",
  storagePrefix: "controllers",
  versions: [{ version: "v1", struct: replicationControllerV1, onByDefault: true, convert: "hub" }],
  subresources: [
    {
      name: "scale",
      verbs: ["get", "patch", "update"],
      represents: { group: "autoscaling", version: "v1", kind: "Scale", struct: scaleV1 },
      scale: {
        get: ({ spec, status }: ReplicationController) => ({
          replicas: spec.replicas ?? 0,
          observed: status.replicas,
          selector: sortedKeys(spec.selector)
            .map((key) => `${key}=${entry(spec.selector, key)}`)
            .join(","),
        }),
        set: ({ spec }: ReplicationController, replicas) => {
          spec.replicas = replicas;
        },
      },
    },
    { name: "status", verbs: ["get", "patch", "update"] },
  ],
  rules: {
    metadataOnUpdate: { "": ["object", "change"] },
    generation: true,
    defaultPropagation: "orphan",
  },
  hooks: {
    default: fillDefaults,
    prepareCreate: (object, context) => {
      divided.prepareCreate(object, context);
      const { template } = object.spec;
      if (template) dropGatedPodFields(template.spec, undefined, context.gate);
    },
    prepareUpdate: (object, old, context) => {
      divided.prepareUpdate(object, old, context);
      const { template } = object.spec;
      if (template) dropGatedPodFields(template.spec, old.spec.template?.spec, context.gate);
      defaultLabels(object);
    },
    validate,
    validateUpdate: (object, _old, problems, context) => {
      if (context.subresource === "status") checkStatus(object, problems);
      else {
        // Kubernetes validates the spec twice and reports each error twice.
        validate(object, problems, context);
        validate(object, problems, context);
      }
    },
    warnings,
  },
  columns: [
    nameColumn,
    column("Desired", "Desired number of pods.", { type: "integer" }),
    column("Current", "Pods that exist.", { type: "integer" }),
    column("Ready", "Pods that are ready.", { type: "integer" }),
    ageColumn,
    column("Containers", "Names of the containers.", { priority: 1 }),
    column("Images", "Images of the containers.", { priority: 1 }),
    column("Selector", "Labels of the pods that the controller owns.", { priority: 1 }),
  ],
  row: (object, context) => {
    const { spec, status } = object;
    const [names, images] = spec.template ? containerCells(spec.template) : ["", ""];
    return [
      nameOf(object),
      spec.replicas ?? 0,
      status.replicas,
      status.readyReplicas ?? 0,
      ageOf(object, context),
      names,
      images,
      formatLabels(spec.selector),
    ];
  },
  selectableFields: { "status.replicas": ({ status }) => String(status.replicas) },
});
