import { memoize } from "#base";
import type { ApiObject } from "#client";
import type { LabelSelector } from "#meta";
import type { WebhookClientConfig } from "#request";
import {
  type Expression,
  expressionOf,
  type Rule,
  type Selectors,
  selectorsOf,
} from "../dynamic/index.ts";

/** Common fields of mutating and validating webhooks. */
interface WebhookSpec {
  readonly name: string;
  readonly clientConfig: WebhookClientConfig;
  readonly rules?: readonly Rule[];
  readonly failurePolicy?: string;
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly sideEffects?: string;
  readonly timeoutSeconds?: number;
  readonly admissionReviewVersions?: readonly string[];
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
  readonly reinvocationPolicy?: string;
}

/** A ValidatingWebhookConfiguration or MutatingWebhookConfiguration. */
export interface WebhookConfiguration extends ApiObject {
  readonly webhooks?: readonly WebhookSpec[];
}

/** A webhook with parsed selectors and compiled match conditions. */
export class Hook {
  readonly selectors: Selectors;
  #conditions: readonly Expression[] | undefined;

  constructor(
    readonly configuration: string,
    readonly spec: WebhookSpec,
  ) {
    this.selectors = selectorsOf(spec);
  }

  get name(): string {
    return this.spec.name;
  }

  get failsOpen(): boolean {
    return this.spec.failurePolicy === "Ignore";
  }

  /** Match conditions, compiled on first use. */
  get conditions(): readonly Expression[] {
    this.#conditions ??= (this.spec.matchConditions ?? []).map(({ expression }) =>
      expressionOf(expression, "condition", { authorizer: true }),
    );
    return this.#conditions;
  }
}

/** The hooks of a configuration, memoized per version of the configuration. */
export const hooksOf = memoize(
  ({ metadata, webhooks = [] }: WebhookConfiguration): readonly Hook[] =>
    webhooks.map((spec) => new Hook(metadata.name, spec)),
);
