import { adapt, costLimits, dyn, type AccessEvaluator } from "#cel";
import type { Resource } from "#meta";
import type { AdmissionAttributes } from "#registry";
import type { Authorizer, Instruments } from "#request";
import {
  admissionRequest,
  authorizerBindings,
  Evaluation,
  authorizationRequest,
  type Json,
  matchedAs,
  meetsConditions,
  namespacesSelect,
  objectsSelect,
  requestTail,
  VersionedAttributes,
  type VersionedAttributesOptions,
} from "../dynamic/index.ts";
import type { ObjectReader } from "../objects.ts";
import type { BoundPolicy, Candidates, CompiledPolicy, Policy } from "./policy.ts";

export interface PolicyParts extends VersionedAttributesOptions {
  readonly objects: ObjectReader;
  readonly authorizer: Authorizer;
  readonly instruments?: Instruments;
}

/** A bound policy that matches a request, with the object in the version of `as`. */
export interface MatchedPolicy<P extends Policy> extends BoundPolicy<P> {
  readonly as: Resource;
}

/** Inputs of policy expressions for one request. */
export class PolicyInput {
  readonly reviewed: VersionedAttributes;
  readonly #inquiry: AccessEvaluator;

  constructor(
    readonly attributes: AdmissionAttributes,
    private readonly parts: PolicyParts,
  ) {
    this.reviewed = new VersionedAttributes(attributes, parts);
    this.#inquiry = authorizationRequest(this.reviewed, parts.authorizer);
  }

  /** Undefined if the policy or its binding does not match the request. @throws StatusError */
  async match<P extends Policy>(
    candidate: Candidates<P>[number],
  ): Promise<MatchedPolicy<P> | undefined> {
    const { reviewed, parts } = this;
    const { entry } = candidate;
    const turn = reviewed.pause();
    if (turn !== undefined) await turn;
    const as = matchedAs(candidate, reviewed.name);
    if (as === undefined) return undefined;
    for (const selectors of entry.selectors) {
      if (!objectsSelect(selectors, reviewed)) return undefined;
      if (!(await namespacesSelect(selectors, reviewed, parts.objects))) return undefined;
    }
    return { ...entry, as };
  }

  /** Evaluates the match conditions, which have a separate cost budget. */
  async evaluateConditions({ conditions }: CompiledPolicy, bindings: Json) {
    if (conditions.length === 0) return { met: true } as const;
    const budget = costLimits.matchConditions;
    const evaluation = new Evaluation({ bindings, inquiry: this.#inquiry, budget });
    return meetsConditions(conditions, evaluation);
  }

  /** Evaluation of all other expressions of a policy. */
  evaluation({ variables }: CompiledPolicy, bindings: Json): Evaluation {
    const inquiry = this.#inquiry;
    const scope = { bindings, inquiry, budget: costLimits.object };
    return new Evaluation(variables.length === 0 ? scope : { ...scope, variables });
  }

  async bindings(as: Resource, params: Json | null): Promise<Json> {
    const { reviewed, parts } = this;
    return {
      object: (await reviewed.value("object", as)) ?? null,
      oldObject: (await reviewed.value("old", as)) ?? null,
      request: {
        ...admissionRequest(reviewed, as),
        ...requestTail(reviewed, parts.catalog.domain.api),
      },
      // Timestamps of the namespace are strings at run time, regardless of their declared type.
      namespaceObject: adapt(await this.#namespace(), dyn),
      params,
      ...authorizerBindings(this.#inquiry, reviewed),
    };
  }

  async #namespace(): Promise<Json | null> {
    const { namespace, isNamespace } = this.reviewed;
    if (namespace === "" || isNamespace) return null;
    const { context } = this.attributes.request;
    const where = { group: "", plural: "namespaces" };
    return (await this.parts.objects.find(where, namespace, context)) ?? null;
  }
}
