/** Evaluates ValidatingAdmissionPolicies. */
import type { AdmissionAttributes, AdmissionHandler, ServerAccess } from "#registry";
import { type Instruments, noInstruments } from "#request";
import { countPolicy } from "../metrics.ts";
import { withEarlierWarnings } from "../reinvocation.ts";
import { type MatchedPolicy, PolicyInput, type PolicyParts } from "./input.ts";
import { ParamsFault, paramsOf } from "./params.ts";
import { type Candidates, paramResource, PolicySet, unknownKind } from "./policy.ts";
import {
  compiledValidation,
  type Failure,
  failuresOf,
  notedBy,
  type ValidatingPolicy,
} from "./validation.ts";
import { PolicyDecision } from "./verdict.ts";

type Validating = MatchedPolicy<ValidatingPolicy>;

export class ValidatingPolicies {
  readonly #set: PolicySet<ValidatingPolicy>;

  constructor(private readonly parts: PolicyParts) {
    this.#set = new PolicySet("validating", ["v1"], parts.catalog);
  }

  /** Watches policies and bindings; resolves when the stored ones are known. */
  follow(options: ServerAccess): Promise<void> {
    return this.#set.follow(options);
  }

  /** Evaluates all policies; reports the first of several denials. */
  validate(attributes: AdmissionAttributes): ReturnType<AdmissionHandler> {
    const candidates = this.#set.candidates(attributes);
    return candidates.length === 0 ? undefined : this.#validateBy(candidates, attributes);
  }

  async #validateBy(
    candidates: Candidates<ValidatingPolicy>,
    attributes: AdmissionAttributes,
  ): Promise<readonly string[]> {
    const input = new PolicyInput(attributes, this.parts);
    const verdict = new PolicyDecision();
    await withEarlierWarnings(verdict.warnings, async () => {
      for (const candidate of candidates) {
        const concerned = await input.match(candidate);
        if (concerned !== undefined) await this.#judge(concerned, input, verdict);
      }
      verdict.finish(attributes, this.parts.catalog.domain.api);
    });
    return verdict.warnings;
  }

  async #judge(concerned: Validating, input: PolicyInput, verdict: PolicyDecision): Promise<void> {
    const { policy, binding } = concerned;
    const { catalog, objects, instruments = noInstruments } = this.parts;
    const resource = paramResource(policy, catalog);
    if (resource === "unknown") {
      if (!isLenient(policy)) {
        verdict.misconfigured(policy.metadata.name, undefined, unknownKind(policy));
      }
      return;
    }
    try {
      for (const params of await paramsOf(concerned, input.reviewed, { objects, resource })) {
        const bindings = await input.bindings(concerned.as, params);
        await evaluate(concerned, bindings, { input, verdict, instruments });
      }
    } catch (fault) {
      if (!(fault instanceof ParamsFault)) throw fault;
      if (isLenient(policy)) return;
      verdict.misconfigured(policy.metadata.name, binding.metadata.name, fault.message);
    }
  }
}

function isLenient({ spec }: ValidatingPolicy): boolean {
  return spec.failurePolicy === "Ignore";
}

interface Judging {
  readonly input: PolicyInput;
  readonly verdict: PolicyDecision;
  readonly instruments: Instruments;
}

/** Evaluates a policy with one parameter, or none. */
async function evaluate(
  concerned: Validating,
  bindings: Readonly<Record<string, unknown>>,
  { input, verdict, instruments }: Judging,
): Promise<void> {
  const { policy } = concerned;
  const compiled = compiledValidation(policy);
  const lenient = isLenient(policy);
  const started = performance.now();
  const fail = (failure: Failure): void => {
    const isLetPass = failure.isError && lenient;
    if (!isLetPass) verdict.failed(concerned, failure);
    const { validationActions = [] } = concerned.binding.spec;
    const actions = isLetPass ? ["Allow"] : validationActions;
    const seconds = (performance.now() - started) / 1000;
    countFailure(instruments, concerned, { failure, actions, seconds });
  };
  const { met, error } = await input.evaluateConditions(compiled, bindings);
  if (error !== undefined) {
    return fail({ index: 0, message: error, reason: "Invalid", isError: true });
  }
  if (!met) return;
  const evaluation = input.evaluation(compiled, bindings);
  for (const failure of await failuresOf(compiled, evaluation)) fail(failure);
  if (compiled.annotations.length === 0) return;
  const { values, errors } = await notedBy(compiled, input.evaluation(compiled, bindings));
  const { name } = policy.metadata;
  for (const [key, value] of values) verdict.note(`${name}/${key}`, value);
  if (lenient) return;
  for (const fault of errors) verdict.misconfigured(name, concerned.binding.metadata.name, fault);
}

interface CountedFailure {
  readonly failure: Failure;
  readonly actions: readonly string[];
  readonly seconds: number;
}

/** Counts a failed validation; as in Kubernetes, passed ones are not counted. */
function countFailure(
  instruments: Instruments,
  { policy, binding }: Validating,
  { failure, actions, seconds }: CountedFailure,
): void {
  const bound = { policy: policy.metadata.name, binding: binding.metadata.name, seconds };
  const error = failure.isError ? failure.message : undefined;
  for (const action of actions) countPolicy(instruments, "validating", { ...bound, error, action });
}
