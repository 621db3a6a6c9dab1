import { dropGated, Path, type Problems } from "#schema";
import { type HookContext, kind } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusSubresource } from "../strategy.ts";
import { apiVersionFault, checkAutoscaler } from "./autoscaler-rules.ts";
import {
  type Autoscaler,
  horizontalPodAutoscalerV2,
  type ScalingRules,
} from "./autoscaler-structs.ts";
import { horizontalPodAutoscalerV1 } from "./autoscaler-v1-structs.ts";
import { defaultMetrics, dropRoundTripAnnotations, toV1, toV2 } from "./autoscaler-versions.ts";
import { targetsCell } from "./autoscaler-targets.ts";

const usualUp = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ],
};

const usualDown = {
  selectPolicy: "Max",
  policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
};

function withUsual(rules: ScalingRules | undefined, usual: ScalingRules): ScalingRules {
  const policies = usual.policies?.map((policy) => ({ ...policy }));
  return { ...usual, ...(policies === undefined ? {} : { policies }), ...rules };
}

function fillDefaults(object: Autoscaler): void {
  dropRoundTripAnnotations(object as { metadata: { annotations?: Record<string, string> } });
  const { spec } = object;
  if ((spec.metrics ?? []).length === 0) spec.metrics = defaultMetrics();
  const { behavior } = spec;
  if (behavior === undefined) return;
  behavior.scaleUp = withUsual(behavior.scaleUp, usualUp);
  behavior.scaleDown = withUsual(behavior.scaleDown, usualDown);
}

function checkStatus({ status }: Autoscaler, problems: Problems): void {
  const { currentReplicas = 0, desiredReplicas } = status;
  for (const [field, count] of Object.entries({ currentReplicas, desiredReplicas })) {
    if (count >= 0) continue;
    problems.invalid(Path.of("status").child(field), count, "must be greater than or equal to 0");
  }
}

function check(
  object: Autoscaler,
  old: Autoscaler | undefined,
  { problems, context }: { readonly problems: Problems; readonly context: HookContext },
): void {
  checkAutoscaler(object, problems, {
    isApiVersionFree: old !== undefined && apiVersionFault(old.spec.scaleTargetRef) !== undefined,
    old,
    canBeZero: context.gate("HPAScaleToZero") || old?.spec.minReplicas === 0,
  });
}

const divided = splitByStatusSubresource(() => ({ desiredReplicas: 0, currentMetrics: null }));

export const horizontalPodAutoscaler = kind(horizontalPodAutoscalerV2, {
  group: "autoscaling",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  shortNames: ["hpa"],
  categories: ["all"],
  scope: "Namespaced",
  versions: [
    { version: "v2", struct: horizontalPodAutoscalerV2, onByDefault: true, convert: "hub" },
    {
      version: "v1",
      struct: horizontalPodAutoscalerV1,
      onByDefault: true,
      convert: { up: toV2, down: toV1 },
    },
  ],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  hooks: {
    default: fillDefaults,
    prepareCreate: (object, context) => {
      divided.prepareCreate(object, context);
      dropGated(horizontalPodAutoscalerV2, object, { isOn: context.gate });
    },
    prepareUpdate: (object, old, context) => {
      divided.prepareUpdate(object, old, context);
      dropGated(horizontalPodAutoscalerV2, object, { old, isOn: context.gate });
    },
    validate: (object, problems, context) => check(object, undefined, { problems, context }),
    validateUpdate: (object, old, problems, context) => {
      if (context.subresource === "status") checkStatus(object, problems);
      else check(object, old, { problems, context });
    },
  },
  columns: [
    nameColumn,
    column("Reference", "Object that is scaled."),
    column("Targets", "Current and target values of the metrics."),
    column("MinPods", "Lower bound of the replica count."),
    column("MaxPods", "Upper bound of the replica count."),
    column("Replicas", "Current number of replicas."),
    ageColumn,
  ],
  row: (object, context) => {
    const { scaleTargetRef: target, minReplicas, maxReplicas } = object.spec;
    return [
      nameOf(object),
      `${target.kind}/${target.name}`,
      targetsCell(object),
      String(minReplicas ?? "<unset>"),
      maxReplicas,
      object.status.currentReplicas ?? 0,
      ageOf(object, context),
    ];
  },
});
