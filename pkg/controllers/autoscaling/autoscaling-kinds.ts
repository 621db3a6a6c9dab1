/** Fields of HorizontalPodAutoscalers and Scales that the controller uses. */
import type { ApiObject, Handle } from "#client";
import type { LabelSelector } from "#meta";

export interface ObjectReference {
  /** Absent or "" = core v1. */
  readonly apiVersion?: string;
  readonly kind: string;
  readonly name: string;
}

export interface MetricIdentifier {
  readonly name: string;
  readonly selector?: LabelSelector;
}

/** Desired value of a metric; amounts are quantities. */
export interface MetricTarget {
  readonly type: string;
  readonly value?: string;
  readonly averageValue?: string;
  /** Percentage of the requests of the pods. */
  readonly averageUtilization?: number;
}

interface MetricSource {
  readonly metric: MetricIdentifier;
  readonly target: MetricTarget;
}

export interface MetricSpec {
  readonly type: string;
  readonly object?: MetricSource & { readonly describedObject: ObjectReference };
  readonly pods?: MetricSource;
  readonly external?: MetricSource;
  readonly resource?: { readonly name: string; readonly target: MetricTarget };
  readonly containerResource?: {
    readonly name: string;
    readonly container: string;
    readonly target: MetricTarget;
  };
}

/** Current value of a metric; amounts are quantities. */
export interface MetricValue {
  readonly value?: string;
  readonly averageValue?: string;
  readonly averageUtilization?: number;
}

/** The status of a metric; its type is "" if it could not be computed. */
export interface MetricStatus {
  readonly type: string;
  readonly [source: string]: unknown;
}

export interface ScalingPolicy {
  readonly type: "Pods" | "Percent";
  readonly value: number;
  readonly periodSeconds: number;
}

export interface ScalingRules {
  readonly stabilizationWindowSeconds?: number;
  readonly selectPolicy?: "Max" | "Min" | "Disabled";
  readonly policies?: readonly ScalingPolicy[];
  /** A quantity; absent = the tolerance of the controller. */
  readonly tolerance?: string;
}

export interface ScalingBehavior {
  readonly scaleUp?: ScalingRules;
  readonly scaleDown?: ScalingRules;
}

export interface AutoscalerCondition {
  readonly type: "AbleToScale" | "ScalingActive" | "ScalingLimited";
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime?: string;
}

export interface AutoscalerStatus {
  readonly observedGeneration?: number | bigint;
  readonly lastScaleTime?: string;
  readonly currentReplicas?: number;
  readonly desiredReplicas?: number;
  readonly currentMetrics?: readonly MetricStatus[] | null;
  readonly conditions?: readonly AutoscalerCondition[] | null;
}

export interface Autoscaler extends ApiObject {
  readonly spec: {
    readonly scaleTargetRef: ObjectReference;
    readonly minReplicas?: number;
    readonly maxReplicas: number;
    readonly metrics?: readonly MetricSpec[];
    readonly behavior?: ScalingBehavior;
  };
  readonly status?: AutoscalerStatus;
}

export const autoscalers: Handle<Autoscaler> = {
  group: "autoscaling",
  version: "v2",
  plural: "horizontalpodautoscalers",
  kind: "HorizontalPodAutoscaler",
  namespaced: true,
};

/** The scale subresource of any kind. */
export interface Scale extends ApiObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly replicas?: number;
    /** Label selector of the pods in string form. */
    readonly selector?: string;
  };
}
