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

/** One webhook of a configuration, as both sorts of configurations have it. */
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

/** Either of ValidatingWebhookConfiguration and MutatingWebhookConfiguration. */
export interface WebhookConfiguration extends ApiObject {
  readonly webhooks?: readonly WebhookSpec[];
}

/** A webhook, ready for use. */
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

  /** Compiled when the first request needs them. */
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
