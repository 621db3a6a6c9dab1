/** KWOK's Stages: what happens to the objects of a kind, and after what delay. */
import type { ApiObject, Handle } from "#client";
import { type Domain, resolve } from "#meta";
import type { Condition } from "./core.ts";

export interface ExpressionFrom {
  readonly cel?: { readonly expression: string };
  readonly jq?: { readonly expression: string };
  /** A jq query; deprecated in favour of `jq`. */
  readonly expressionFrom?: string;
}

export interface MatchExpression {
  readonly cel?: { readonly expression: string };
  readonly jq?: {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  };
  /** The fields of `jq`, in their deprecated place. */
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
}

export interface StagePatch {
  readonly subresource?: string;
  /** Field that the template is the value of. */
  readonly root?: string;
  readonly template?: string;
  readonly type?: string;
  readonly impersonation?: { readonly username: string };
}

export interface StageFinalizers {
  readonly add?: readonly { readonly value?: string }[];
  readonly remove?: readonly { readonly value?: string }[];
  readonly empty?: boolean;
}

export interface StageEvent {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface StageStep {
  readonly event?: StageEvent;
  readonly finalizers?: StageFinalizers;
  readonly patch?: StagePatch;
  readonly delete?: boolean;
  readonly apply?: StageApply;
}

/** An object that is created, or patched if it exists. */
export interface StageApply {
  /** With `apiVersion`, `kind` and `metadata`. */
  readonly template?: string;
  /** Patched in an object that exists. */
  readonly subresource?: string;
  readonly type?: string;
  readonly impersonation?: { readonly username: string };
}

export interface StageNext {
  readonly event?: StageEvent;
  readonly finalizers?: StageFinalizers;
  readonly delete?: boolean;
  readonly patches?: readonly StagePatch[];
  readonly statusTemplate?: string;
  readonly statusSubresource?: string;
  readonly statusPatchAs?: { readonly username: string };
}

export interface StageDelay {
  readonly durationMilliseconds?: number | bigint;
  readonly durationFrom?: ExpressionFrom;
  readonly jitterDurationMilliseconds?: number | bigint;
  readonly jitterDurationFrom?: ExpressionFrom;
}

export interface StageSpec {
  readonly resourceRef: { readonly apiGroup?: string; readonly kind: string };
  readonly selector?: {
    readonly matchLabels?: Readonly<Record<string, string>>;
    readonly matchAnnotations?: Readonly<Record<string, string>>;
    readonly matchExpressions?: readonly MatchExpression[];
  };
  readonly weight?: number | bigint;
  readonly weightFrom?: ExpressionFrom;
  readonly delay?: StageDelay;
  readonly next?: StageNext;
  readonly steps?: readonly StageStep[];
  readonly immediateNextStage?: boolean;
}

export interface Stage extends ApiObject {
  readonly spec: StageSpec;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export function stagesOf(domain: Domain): Handle<Stage> {
  const group = resolve("kwok.x-{api}", domain);
  return { group, version: "v1alpha1", plural: "stages", kind: "Stage", namespaced: false };
}
