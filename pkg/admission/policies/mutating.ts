/** Evaluates MutatingAdmissionPolicies. */
import {
  atomicPaths,
  configurationFault,
  ElementError,
  mergeConfiguration,
  rootShape,
} from "#fieldmanager";
import { deepEqual, memoize } from "#base";
import { CelFault, ListValue, MapValue, plainJson, typeNameFaults, type Value } from "#cel";
import { internalError, jsonPatch, PatchFault, type Resource, StatusError } from "#meta";
import type { AdmissionAttributes, AdmissionHandler, ServerAccess } from "#registry";
import { noInstruments } from "#request";
import { DecodeFault } from "#schema";
import { CostBudgetError, type Expression, expressionOf, type Json } from "../dynamic/index.ts";
import { countPolicy } from "../metrics.ts";
import type { ReinvocationContext } from "../reinvocation.ts";
import { type MatchedPolicy, PolicyInput, type PolicyParts } from "./input.ts";
import { ParamsFault, paramsOf } from "./params.ts";
import {
  type Candidates,
  compiledPolicy,
  paramResource,
  type Policy,
  PolicySet,
  unknownKind,
} from "./policy.ts";
import { deniedBy } from "./verdict.ts";

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

interface Mutation {
  readonly place: "applyConfiguration" | "jsonPatch";
  readonly expression: Expression;
}

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

/** A mutation that cannot be applied. */
class MutationFault extends Error {
  override readonly name = "MutationFault";
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
    for (const candidate of candidates) {
      const concerned = await input.match(candidate);
      if (concerned === undefined) continue;
      const { policy, binding } = concerned;
      if (reinvocation.round > 0 && !state.isDue(binding)) continue;
      if (await this.#mutateBy(concerned, input)) {
        state.objectChanged();
        reinvocation.requestReinvocation();
      }
      if (policy.spec.reinvocationPolicy === "IfNeeded") state.called(binding);
    }
    state.endRound(object);
    return [];
  }

  /** Whether the policy has changed the object. */
  async #mutateBy(concerned: Mutating, input: PolicyInput): Promise<boolean> {
    const { policy, binding } = concerned;
    const { catalog, objects, instruments = noInstruments } = this.parts;
    const [name, bound] = [policy.metadata.name, binding.metadata.name];
    const started = performance.now();
    const count = (error?: string): void => {
      const seconds = (performance.now() - started) / 1000;
      countPolicy(instruments, "mutating", { policy: name, binding: bound, seconds, error });
    };
    try {
      const resource = paramResource(policy, catalog);
      if (resource === "unknown") throw new ParamsFault(unknownKind(policy));
      let changed = false;
      for (const params of await paramsOf(concerned, input.reviewed, { objects, resource })) {
        changed = (await mutateWith(concerned, params, input)) || changed;
      }
      count();
      return changed;
    } catch (fault) {
      const isOurs = fault instanceof ParamsFault || fault instanceof MutationFault;
      if (!isOurs) throw fault;
      count(fault.message);
      if (policy.spec.failurePolicy === "Ignore") return false;
      const message = `policy '${name}' with binding '${bound}' denied request: ${fault.message}`;
      const reason = fault instanceof ParamsFault ? "Forbidden" : "Invalid";
      throw mutationDenied(input.attributes, { message, reason });
    }
  }
}

/** Evaluates a policy with one parameter, or none. */
async function mutateWith(
  { policy, as }: Mutating,
  params: Json | null,
  input: PolicyInput,
): Promise<boolean> {
  const compiled = compiledMutation(policy);
  const { met, error } = await input.evaluateConditions(compiled, await input.bindings(as, params));
  if (error !== undefined) throw new MutationFault(error);
  if (!met) return false;
  let changed = false;
  for (const { place, expression } of compiled.mutations) {
    // Each mutation applies to the result of the previous one.
    const evaluation = input.evaluation(compiled, await input.bindings(as, params));
    const before = (await input.reviewed.value("object", as)) ?? {};
    try {
      const result = await evaluation.run(expression);
      if (result.error !== undefined) throw new MutationFault(result.error);
      checkTypeNames(result.value, place);
      const wanted = plainJson(result.value);
      const after =
        place === "jsonPatch"
          ? patched(before, wanted as readonly object[])
          : merged(as, before, wanted as Json);
      if (deepEqual(before, after)) continue;
      await input.reviewed.change(after, as);
      changed = true;
    } catch (fault) {
      // An object that a patch made invalid is not the client's error.
      if (fault instanceof DecodeFault && place === "jsonPatch") throw internalError(fault.message);
      throw inWords(fault);
    }
  }
  return changed;
}

/** Checks the type names of constructed objects: their path in the object, or in a patch's value. */
function checkTypeNames(value: Value, place: Mutation["place"]): void {
  const isPatch = place === "jsonPatch" && value instanceof ListValue;
  const roots = isPatch ? [...value].map((patch) => patchValue(patch)) : [value];
  for (const root of roots) {
    const faults = root instanceof MapValue ? typeNameFaults(root) : [];
    if (faults.length > 0) throw new MutationFault(`type mismatch: ${faults.join("\n")}`);
  }
}

function patchValue(patch: Value): Value {
  return patch instanceof MapValue ? (patch.field("value") ?? null) : null;
}

/** Applies a JSON patch; a failing `test` operation leaves the object unchanged. */
function patched(before: Json, patch: readonly object[]): Json {
  try {
    return jsonPatch(before, patch) as Json;
  } catch (fault) {
    if (!(fault instanceof PatchFault)) throw fault;
    if (fault.message.endsWith(" failed: test failed")) return before;
    throw new MutationFault(`JSON Patch: ${fault.message}`);
  }
}

/** Status of a denial: always 403, unlike that of validating policies. */
function mutationDenied(
  attributes: AdmissionAttributes,
  denial: { readonly message: string; readonly reason: string },
): StatusError {
  const { status } = deniedBy(attributes, denial);
  return new StatusError({ ...status, message: denial.message, code: 403 });
}

/** Merges like server-side apply, but without managed fields: never removes fields. */
function merged(as: Resource, before: Json, wanted: Json): Json {
  const shape = rootShape(as.struct);
  const { kind, apiVersion, ...object } = before;
  const wrong = configurationFault(shape, wanted);
  if (wrong !== "") {
    const what = "failed to convert patch object to typed object";
    throw new MutationFault(`error applying patch: ${what}: ${wrong}`);
  }
  const atomic = atomicPaths(shape, wanted);
  if (atomic.length > 0) {
    const why = "may not mutate atomic arrays, maps or structs";
    throw new MutationFault(`invalid ApplyConfiguration: ${why}: ${atomic.join(", ")}`);
  }
  return { kind, apiVersion, ...mergeConfiguration(shape, object, wanted) };
}

function inWords(fault: unknown): unknown {
  const known = [CelFault, CostBudgetError, PatchFault, DecodeFault, ElementError];
  if (!known.some((type) => fault instanceof type)) return fault;
  return new MutationFault((fault as Error).message);
}
