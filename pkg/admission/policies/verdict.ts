import { printJson } from "#base";
import { escapeHtml, StatusError } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { forbiddenRequest } from "../objects.ts";
import type { BoundPolicy } from "./policy.ts";
import type { Failure, ValidatingPolicy } from "./validation.ts";

const codes: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

/** Maximum length of an audit annotation's value, from Kubernetes. */
const maxAnnotationLength = 10 * 1024;

interface Denial {
  readonly message: string;
  readonly reason: string;
}

/** Combined decision of all policies on a request. */
export class PolicyDecision {
  readonly warnings: string[] = [];
  readonly #denials: Denial[] = [];
  /** The first failure to audit: as in Kubernetes, an annotation keeps its first value. */
  #recorded: object | undefined;
  readonly #annotations = new Map<string, Set<string>>();

  /** Records a misconfigured policy or binding, which denies regardless of validationActions. */
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
      this.#recorded ??= {
        message,
        policy: policyName,
        binding: bindingName,
        expressionIndex: index,
        validationActions,
      };
    }
  }

  note(key: string, value: string): void {
    const values = this.#annotations.get(key) ?? new Set();
    this.#annotations.set(key, values.add(cut(value)));
  }

  /** Adds warnings and audit annotations. @throws StatusError if the request is denied */
  finish(attributes: AdmissionAttributes, api: string): void {
    const { notes } = attributes.request;
    for (const [key, values] of this.#annotations) notes?.annotate(key, [...values].join(", "));
    if (this.#recorded !== undefined) {
      const key = `validation.policy.admission.${api}/validation_failure`;
      notes?.annotate(key, escapeHtml(printJson([this.#recorded])));
    }
    const [first] = this.#denials;
    if (first !== undefined) throw deniedBy(attributes, first);
  }
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= maxAnnotationLength) return text;
  return bytes.subarray(0, maxAnnotationLength).toString("utf8");
}

/** Status of a denial by a policy. */
function deniedBy(attributes: AdmissionAttributes, { message, reason }: Denial): StatusError {
  const { status } = forbiddenRequest(attributes, message);
  const code = codes[reason] ?? 422;
  const details = { ...status.details, causes: [{ message }] };
  return new StatusError({ ...status, reason, details, code });
}
