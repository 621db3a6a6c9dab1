import { createHash } from "node:crypto";
import { type Clock, setBounded } from "#base";
import type { Program } from "#cel";
import { type Domain, resolve } from "#meta";
import {
  type AuthorizationAttributes,
  type Authorizer,
  type Decision,
  type KnownRules,
  type SelectorTerm,
  type WebhookClient,
  WebhookFault,
} from "#request";
import { meetsConditions, type ReviewSpec } from "./match-conditions.ts";

export interface WebhookAuthorizerOptions {
  readonly client: WebhookClient;
  readonly clock: Clock;
  readonly domain: Domain;
  /** Version of the SubjectAccessReview that it is sent. */
  readonly version: "v1" | "v1beta1";
  /** How long what was allowed stays allowed, in milliseconds; 0 = ask each time. */
  readonly authorizedMs: number;
  /** How long what was not allowed stays so, in milliseconds; 0 = ask each time. */
  readonly unauthorizedMs: number;
  /** What it means that the webhook cannot be asked. */
  readonly onFailure: "no-opinion" | "deny";
  /** Only requests that meet all of them are asked about. */
  readonly conditions: readonly Program[];
  /** Told of calls that came to nothing. */
  readonly report: (error: unknown) => void;
}

interface Answer {
  readonly decision: Decision;
  /** When it has to be asked for again; milliseconds since 1970. */
  readonly until: number;
}

/** Answers kept at a time; the eldest makes room. */
const capacity = 8192;
/** A client must not fill the memory with long names (source: Kubernetes). */
const longestKept = 10_000;

/** Asks another server (`--authorization-webhook-config-file`), and remembers its answers. */
export class WebhookAuthorizer implements Authorizer {
  private readonly answers = new Map<string, Answer>();
  /** Questions under way: who asks the same waits for the same answer. */
  private readonly asked = new Map<string, Promise<Decision>>();

  constructor(private readonly options: WebhookAuthorizerOptions) {}

  async authorize(attributes: AuthorizationAttributes): Promise<Decision> {
    const { conditions } = this.options;
    if (conditions.length > 0) {
      const met = meetsConditions(conditions, completeSpec(attributes));
      if (typeof met === "object") return this.failed(met.error);
      if (!met) return { verdict: "no-opinion", reason: "" };
    }
    const spec = specOf(attributes);
    const key = createHash("sha256").update(JSON.stringify(spec)).digest("base64");
    const known = this.answers.get(key);
    if (known !== undefined && known.until > this.options.clock.monotonic()) return known.decision;
    let question = this.asked.get(key);
    if (question === undefined) {
      const mayKeep = lengthOf(attributes) < longestKept;
      question = this.ask(spec, mayKeep ? key : undefined).finally(() => this.asked.delete(key));
      this.asked.set(key, question);
    }
    return question;
  }

  rules(): KnownRules {
    const error = "webhook authorizer does not support user rule resolution";
    return { rules: [], incomplete: true, error };
  }

  private async ask(spec: ReviewSpec, key: string | undefined): Promise<Decision> {
    const { client, clock, domain, version, authorizedMs, unauthorizedMs, report } = this.options;
    const review = {
      kind: "SubjectAccessReview",
      apiVersion: resolve(`authorization.{api}/${version}`, domain),
      metadata: { creationTimestamp: null },
      spec: version === "v1" ? spec : oldSpec(spec),
      status: { allowed: false },
    };
    let answer: unknown;
    try {
      answer = await client.post(review);
    } catch (error) {
      if (!(error instanceof WebhookFault)) throw error;
      report(error);
      return this.failed(error.message);
    }
    const decision = decisionOf(answer);
    const keptMs = decision.verdict === "allow" ? authorizedMs : unauthorizedMs;
    if (key !== undefined && keptMs > 0) {
      const kept = { decision, until: clock.monotonic() + keptMs };
      setBounded(this.answers, [key, kept], capacity);
    }
    return decision;
  }

  private failed(error: string): Decision {
    return { verdict: this.options.onFailure, reason: "", error };
  }
}

/** What the client made up of a question. */
function lengthOf({ request }: AuthorizationAttributes): number {
  const { namespace, verb, group, version, resource, subresource, name, path } = request;
  return [namespace, verb, group, version, resource, subresource, name, path].join("").length;
}

/** The question as it is sent: what is empty is left out. */
function specOf(attributes: AuthorizationAttributes): ReviewSpec {
  const { user, request } = attributes;
  const { path, verb } = request;
  const asked = request.isResource
    ? { resourceAttributes: withoutEmpty(resourceAttributes(attributes)) }
    : { nonResourceAttributes: withoutEmpty({ path, verb }) };
  const { name, groups, uid } = user;
  return {
    ...asked,
    ...withoutEmpty({ user: name, groups, extra: Object.fromEntries(user.extra), uid }),
  };
}

/** The question as conditions see it: texts are there even if they are empty. */
function completeSpec(attributes: AuthorizationAttributes): ReviewSpec {
  const { user, request } = attributes;
  const { path, verb } = request;
  const asked = request.isResource
    ? { resourceAttributes: resourceAttributes(attributes) }
    : { nonResourceAttributes: { path, verb } };
  const { name, groups, uid } = user;
  return { user: name, groups, uid, extra: Object.fromEntries(user.extra), ...asked };
}

function resourceAttributes(
  attributes: AuthorizationAttributes,
): Readonly<Record<string, unknown>> {
  const { request, fieldTerms, labelTerms } = attributes;
  const { namespace, verb, group, version, resource, subresource, name } = request;
  return {
    namespace,
    verb,
    group,
    version,
    resource,
    subresource,
    name,
    ...selector("fieldSelector", fieldTerms),
    ...selector("labelSelector", labelTerms),
  };
}

function selector(name: string, terms: readonly SelectorTerm[] = []): object {
  if (terms.length === 0) return {};
  const requirements = terms.map(({ key, operator, values }) =>
    values.length === 0 ? { key, operator } : { key, operator, values },
  );
  return { [name]: { requirements } };
}

function withoutEmpty(fields: Readonly<Record<string, unknown>>): object {
  const isFull = (value: unknown) =>
    typeof value === "object" ? Object.keys(value ?? {}).length > 0 : value !== "";
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isFull(value)));
}

/** The one field that was called otherwise. */
function oldSpec({ groups, ...spec }: ReviewSpec): ReviewSpec {
  return groups === undefined ? spec : { ...spec, group: groups };
}

function decisionOf(review: unknown): Decision {
  const { status } = (review ?? {}) as { readonly status?: Readonly<Record<string, unknown>> };
  const { allowed = false, denied = false, reason: said } = status ?? {};
  const reason = typeof said === "string" ? said : "";
  if (allowed === true && denied === true) {
    const error = "webhook subject access review returned both allow and deny response";
    return { verdict: "deny", reason, error };
  }
  if (denied === true) return { verdict: "deny", reason };
  return { verdict: allowed === true ? "allow" : "no-opinion", reason };
}
