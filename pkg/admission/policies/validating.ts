/** Policies in CEL that refuse requests (ValidatingAdmissionPolicy). */
import type { AdmissionAttributes, Admit, ServerAccess } from "#registry";
import { carrying } from "../rounds.ts";
import { type Concerned, PolicyInput, type PolicyParts } from "./input.ts";
import { ParamsFault, paramsOf } from "./params.ts";
import { type Candidates, paramResource, PolicySet, unknownKind } from "./policy.ts";
import { compiledValidation, failuresOf, notedBy, type ValidatingPolicy } from "./validation.ts";
import { PolicyVerdict } from "./verdict.ts";

type Validating = Concerned<ValidatingPolicy>;

export class ValidatingPolicies {
  readonly #set: PolicySet<ValidatingPolicy>;

  constructor(private readonly parts: PolicyParts) {
    this.#set = new PolicySet("validating", ["v1"], parts.catalog);
  }

  /** Follows what is configured; resolves once what is stored now is known. */
  follow(options: ServerAccess): Promise<void> {
    return this.#set.follow(options);
  }

  /** All of them have their say; of several denials the first is told. */
  validate(attributes: AdmissionAttributes): ReturnType<Admit> {
    const candidates = this.#set.candidates(attributes);
    return candidates.length === 0 ? undefined : this.#validateBy(candidates, attributes);
  }

  async #validateBy(
    candidates: Candidates<ValidatingPolicy>,
    attributes: AdmissionAttributes,
  ): Promise<readonly string[]> {
    const input = new PolicyInput(attributes, this.parts);
    const verdict = new PolicyVerdict();
    await carrying(verdict.warnings, async () => {
      for (const candidate of candidates) {
        const concerned = await input.concerned(candidate);
        if (concerned !== undefined) await this.#judge(concerned, input, verdict);
      }
      verdict.pronounce(attributes, this.parts.catalog.domain.api);
    });
    return verdict.warnings;
  }

  async #judge(concerned: Validating, input: PolicyInput, verdict: PolicyVerdict): Promise<void> {
    const { policy, binding } = concerned;
    const { catalog, objects } = this.parts;
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
        await evaluate(concerned, bindings, { input, verdict });
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

/** With one parameter, or none. */
async function evaluate(
  concerned: Validating,
  bindings: Readonly<Record<string, unknown>>,
  { input, verdict }: { readonly input: PolicyInput; readonly verdict: PolicyVerdict },
): Promise<void> {
  const { policy } = concerned;
  const compiled = compiledValidation(policy);
  const lenient = isLenient(policy);
  const { met, error } = await input.meets(compiled, bindings);
  if (error !== undefined) {
    const failure = { index: 0, message: error, reason: "Invalid", isError: true };
    if (!lenient) verdict.failed(concerned, failure);
    return;
  }
  if (!met) return;
  const evaluation = input.evaluation(compiled, bindings);
  for (const failure of await failuresOf(compiled, evaluation)) {
    if (!failure.isError || !lenient) verdict.failed(concerned, failure);
  }
  if (compiled.annotations.length === 0) return;
  const { values, errors } = await notedBy(compiled, input.evaluation(compiled, bindings));
  const { name } = policy.metadata;
  for (const [key, value] of values) verdict.note(`${name}/${key}`, value);
  if (lenient) return;
  for (const fault of errors) verdict.misconfigured(name, concerned.binding.metadata.name, fault);
}
