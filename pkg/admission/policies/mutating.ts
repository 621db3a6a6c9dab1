/** Evaluates MutatingAdmissionPolicies. */
import { memoize } from "#base";
import type { ApiObject } from "#client";
import { StatusError } from "#meta";
import type { AdmissionAttributes, AdmissionHandler, ServerAccess } from "#registry";
import { noInstruments } from "#request";
import { expressionOf, type Json } from "../dynamic/index.ts";
import { countPolicy } from "../metrics.ts";
import { forbiddenRequest } from "../objects.ts";
import type { ReinvocationContext } from "../reinvocation.ts";
import { type MatchedPolicy, PolicyInput, type PolicyParts } from "./input.ts";
import { applyMutation, type Mutation } from "./mutation.ts";
import { ParamsFault, paramsOf } from "./params.ts";
import {
  type Candidates,
  compiledPolicy,
  paramResource,
  type Policy,
  PolicySet,
  unknownKind,
} from "./policy.ts";

interface MutatingPolicy extends Policy {
  readonly spec: Policy["spec"] & {
    readonly reinvocationPolicy?: string;
    readonly mutations?: readonly {
      readonly patchType: string;
      readonly applyConfiguration?: { readonly expression?: string };
      readonly jsonPatch?: { readonly expression?: string };
    }[];
  };
}

type Mutating = MatchedPolicy<MutatingPolicy>;

const compiledMutation = memoize((policy: MutatingPolicy) => {
  const common = compiledPolicy(policy);
  const scope = { ...common.scope, hasPatchTypes: true };
  const mutations = (policy.spec.mutations ?? []).map((mutation): Mutation => {
    const place = mutation.patchType === "JSONPatch" ? "jsonPatch" : "applyConfiguration";
    const source = mutation[place]?.expression ?? "";
    return { place, expression: expressionOf(source, place, scope) };
  });
  return { ...common, mutations };
});

/** A policy, binding and parameter to evaluate for a request. */
interface Invocation extends Mutating {
  readonly params: Json | null;
  /** Identifies the invocation in both rounds of the mutating phase. */
  readonly key: string;
}

/** An error of a policy, or of its binding. */
interface PolicyError {
  readonly policy: MutatingPolicy;
  /** Absent if the policy itself is misconfigured. */
  readonly binding?: string;
  readonly message: string;
  readonly reason: string;
}

export class MutatingPolicies {
  readonly #set: PolicySet<MutatingPolicy>;

  constructor(private readonly parts: PolicyParts) {
    this.#set = new PolicySet("mutating", ["v1beta1", "v1alpha1"], parts.catalog);
  }

  /** Watches policies and bindings; resolves when the stored ones are known. */
  follow(options: ServerAccess): Promise<void> {
    return this.#set.follow(options);
  }

  /** Applies all policies sequentially, each to the result of the previous one. */
  mutate(
    attributes: AdmissionAttributes,
    reinvocation: ReinvocationContext,
  ): ReturnType<AdmissionHandler> {
    const { operation } = attributes;
    if (operation !== "create" && operation !== "update") return undefined;
    const candidates = this.#set.candidates(attributes);
    return candidates.length === 0
      ? undefined
      : this.#mutateByAll(candidates, attributes, reinvocation);
  }

  async #mutateByAll(
    candidates: Candidates<MutatingPolicy>,
    attributes: AdmissionAttributes,
    reinvocation: ReinvocationContext,
  ): Promise<readonly string[]> {
    const { object } = attributes;
    const state = reinvocation.stateOf("policies");
    if (reinvocation.round > 0) state.startRound(object);
    const input = new PolicyInput(attributes, this.parts);
    const errors: PolicyError[] = [];
    const invocations = await this.#invocations(candidates, input, errors);
    let mutated = false;
    for (const invocation of invocations) {
      const { policy, binding, key } = invocation;
      const fail = (message: string): void => {
        errors.push({ policy, binding: binding.metadata.name, message, reason: "Invalid" });
      };
      const { met, error } = await this.#conditionsOf(invocation, input);
      if (error !== undefined) fail(error);
      if (met !== true || (reinvocation.round > 0 && !state.isDue(key))) continue;
      const result = await this.#mutateBy(invocation, input, fail);
      mutated ||= result !== "failed";
      if (result === "changed") state.objectChanged();
      if (policy.spec.reinvocationPolicy === "IfNeeded") state.called(key);
    }
    // As in Kubernetes, any applied mutation causes reinvocation, also of the policy itself.
    if (mutated) {
      state.objectChanged();
      reinvocation.requestReinvocation();
    }
    state.endRound(object);
    refuse(attributes, errors);
    return [];
  }

  /** Policies that match the request, once per parameter. */
  async #invocations(
    candidates: Candidates<MutatingPolicy>,
    input: PolicyInput,
    errors: PolicyError[],
  ): Promise<readonly Invocation[]> {
    const { catalog, objects } = this.parts;
    const invocations: Invocation[] = [];
    for (const candidate of candidates) {
      const matched = await input.match(candidate);
      if (matched === undefined) continue;
      const { policy, binding } = matched;
      const resource = paramResource(policy, catalog);
      if (resource === "unknown") {
        errors.push({ policy, message: unknownKind(policy), reason: "Forbidden" });
        continue;
      }
      try {
        for (const params of await paramsOf(matched, input.reviewed, { objects, resource })) {
          invocations.push({ ...matched, params, key: keyOf(matched, params) });
        }
      } catch (fault) {
        if (!(fault instanceof ParamsFault)) throw fault;
        const { message } = fault;
        errors.push({ policy, binding: binding.metadata.name, message, reason: "Forbidden" });
      }
    }
    return invocations;
  }

  async #conditionsOf({ policy, as, params }: Invocation, input: PolicyInput) {
    const compiled = compiledMutation(policy);
    if (compiled.conditions.length === 0) return { met: true } as const;
    return input.evaluateConditions(compiled, await input.bindings(as, params));
  }

  /** Applies the mutations in order, each to the result of the previous ones; failed ones are skipped. */
  async #mutateBy(
    invocation: Invocation,
    input: PolicyInput,
    fail: (message: string) => void,
  ): Promise<"failed" | "unchanged" | "changed"> {
    const { policy, binding, as, params } = invocation;
    const { instruments = noInstruments } = this.parts;
    const compiled = compiledMutation(policy);
    const names = { policy: policy.metadata.name, binding: binding.metadata.name };
    let result: "failed" | "unchanged" | "changed" = "failed";
    for (const mutation of compiled.mutations) {
      const started = performance.now();
      const outcome = await applyMutation(mutation, input, {
        as,
        catalog: this.parts.catalog,
        evaluation: input.evaluation(compiled, await input.bindings(as, params)),
      });
      const seconds = (performance.now() - started) / 1000;
      countPolicy(instruments, "mutating", { ...names, seconds, error: outcome.error });
      if (outcome.error !== undefined) fail(outcome.error);
      else if (outcome.isChanged) result = "changed";
      else if (result === "failed") result = "unchanged";
    }
    return result;
  }
}

function keyOf({ policy, binding }: Mutating, params: Json | null): string {
  const { namespace = "", name = "" } = (params?.["metadata"] ?? {}) as ApiObject["metadata"];
  return [policy.metadata.name, binding.metadata.name, namespace, name].join("\0");
}

/** Rejects the request if a policy failed whose failurePolicy is Fail. @throws StatusError */
function refuse(attributes: AdmissionAttributes, errors: readonly PolicyError[]): void {
  const denials = errors
    .filter(({ policy }) => policy.spec.failurePolicy !== "Ignore")
    .map(({ policy, binding, message, reason }) => {
      const { name } = policy.metadata;
      const who =
        binding === undefined
          ? `policy ${JSON.stringify(name)}`
          : `policy '${name}' with binding '${binding}'`;
      return { message: `${who} denied request: ${message}`, reason };
    });
  const [first] = denials;
  if (first === undefined) return;
  const { status } = forbiddenRequest(attributes, first.message);
  const causes = denials.map(({ message }) => ({ message }));
  // The code is always 403, unlike that of validating policies.
  throw new StatusError({ ...status, ...first, details: { ...status.details, causes } });
}
