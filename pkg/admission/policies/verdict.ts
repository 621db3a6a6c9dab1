import { StatusError } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { refuse } from "../objects.ts";
import type { BoundPolicy } from "./policy.ts";
import type { Failure, ValidatingPolicy } from "./validation.ts";

const codes: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

/** As Kubernetes cuts them. */
const longestAnnotation = 10 * 1024;

interface Denial {
  readonly message: string;
  readonly reason: string;
}

/** What all policies together have to say of one request. */
export class PolicyVerdict {
  readonly warnings: string[] = [];
  readonly #denials: Denial[] = [];
  readonly #recorded: object[] = [];
  readonly #annotations = new Map<string, Set<string>>();

  /** A policy or binding that cannot be used denies, whatever its actions are. */
  misconfigured(policy: string, binding: string | undefined, message: string): void {
    const bound = binding === undefined ? "" : ` with binding '${binding}'`;
    const denied = `ValidatingAdmissionPolicy '${policy}'${bound} denied request: ${message}`;
    this.#denials.push({ message: denied, reason: "Invalid" });
  }

  failed({ policy, binding }: BoundPolicy<ValidatingPolicy>, failure: Failure): void {
    const { validationActions = [] } = binding.spec;
    const [policyName, bindingName] = [policy.metadata.name, binding.metadata.name];
    const of = `ValidatingAdmissionPolicy '${policyName}' with binding '${bindingName}'`;
    const { message, reason, index } = failure;
    if (validationActions.includes("Deny")) {
      this.#denials.push({ message: `${of} denied request: ${message}`, reason });
    }
    if (validationActions.includes("Warn")) {
      this.warnings.push(`Validation failed for ${of}: ${message}`);
    }
    if (validationActions.includes("Audit")) {
      this.#recorded.push({
        message,
        policy: policyName,
        binding: bindingName,
        expressionIndex: index,
        validationActions,
      });
    }
  }

  note(key: string, value: string): void {
    const values = this.#annotations.get(key) ?? new Set();
    this.#annotations.set(key, values.add(cut(value)));
  }

  /** Writes down what is to be recorded. Throws StatusError where the request is denied. */
  pronounce(attributes: AdmissionAttributes, api: string): void {
    const { notes } = attributes.request;
    for (const [key, values] of this.#annotations) notes?.annotate(key, [...values].join(", "));
    if (this.#recorded.length > 0) {
      const key = `validation.policy.admission.${api}/validation_failure`;
      notes?.annotate(key, JSON.stringify(this.#recorded));
    }
    const [first] = this.#denials;
    if (first !== undefined) throw deniedBy(attributes, first);
  }
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= longestAnnotation) return text;
  return bytes.subarray(0, longestAnnotation).toString("utf8");
}

/** The refusal of a policy as its client sees it. */
export function deniedBy(
  attributes: AdmissionAttributes,
  { message, reason }: Denial,
): StatusError {
  const { status } = refuse(attributes, message);
  const code = codes[reason] ?? 422;
  const details = { ...status.details, causes: [{ message }] };
  return new StatusError({ ...status, reason, details, code });
}
