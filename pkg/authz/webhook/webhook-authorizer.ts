import { createHash } from "node:crypto";
import { type Clock, setBounded, SharedCalls, printJson, type TypedFields } from "#base";
import type { Program } from "#cel";
import { type Domain, resolve } from "#meta";
import {
  type AuthorizationAttributes,
  type Authorizer,
  type Decision,
  type KnownRules,
  type SelectorTerm,
  decodeReviewStatus,
  type WebhookClient,
  WebhookFault,
} from "#request";
import { meetsConditions, type ReviewSpec } from "./match-conditions.ts";

export interface WebhookAuthorizerOptions {
  readonly client: WebhookClient;
  readonly clock: Clock;
  readonly domain: Domain;
  /** Version of SubjectAccessReview to send. */
  readonly version: "v1" | "v1beta1";
  /** Cache TTL of allowed requests in ms; 0 = not cached. */
  readonly authorizedMs: number;
  /** Cache TTL of other decisions in ms; 0 = not cached. */
  readonly unauthorizedMs: number;
  /** failurePolicy: decision if the call fails. */
  readonly onFailure: "no-opinion" | "deny";
  /** matchConditions: the webhook is called only if all are true. */
  readonly conditions: readonly Program[];
  /** Called with errors of failed calls. */
  readonly report: (error: unknown) => void;
}

interface CachedDecision {
  readonly decision: Decision;
  /** Expiry by the monotonic clock in ms. */
  readonly until: number;
}

/** Maximum number of cached decisions; the oldest is evicted. */
const capacity = 8192;
/** Maximum length of client-controlled attributes of cached decisions (source: Kubernetes). */
const maxCachedLength = 10_000;

/** Webhook authorizer (`--authorization-webhook-config-file`); caches decisions. */
export class WebhookAuthorizer implements Authorizer {
  private readonly decisions = new Map<string, CachedDecision>();
  /** Pending calls by key: concurrent equal requests share one call. */
  private readonly pendingCalls = new SharedCalls<Decision>();

  constructor(private readonly options: WebhookAuthorizerOptions) {}

  async authorize(attributes: AuthorizationAttributes): Promise<Decision> {
    const { conditions } = this.options;
    if (conditions.length > 0) {
      const met = meetsConditions(conditions, completeSpec(attributes));
      if (typeof met === "object") return this.failed(met.error);
      if (!met) return { verdict: "no-opinion", reason: "" };
    }
    const spec = specOf(attributes);
    const key = createHash("sha256").update(printJson(spec)).digest("base64");
    const cached = this.decisions.get(key);
    if (cached !== undefined && cached.until > this.options.clock.monotonic()) {
      return cached.decision;
    }
    const isCacheable = lengthOf(attributes) < maxCachedLength;
    return this.pendingCalls.join(key, attributes.signal, (signal) =>
      this.review(spec, isCacheable ? key : undefined, signal),
    );
  }

  rules(): KnownRules {
    const error = "webhook authorizer does not support user rule resolution";
    return { rules: [], incomplete: true, error };
  }

  private async review(
    spec: ReviewSpec,
    key: string | undefined,
    signal: AbortSignal,
  ): Promise<Decision> {
    const { client, clock, domain, version, authorizedMs, unauthorizedMs, report } = this.options;
    const review = {
      kind: "SubjectAccessReview",
      apiVersion: resolve(`authorization.{api}/${version}`, domain),
      metadata: { creationTimestamp: null },
      spec: version === "v1" ? spec : v1beta1Spec(spec),
      status: { allowed: false },
    };
    let decision: Decision;
    try {
      decision = decodeReviewStatus(await client.post(review, signal), review, decisionOf);
    } catch (error) {
      if (!(error instanceof WebhookFault)) throw error;
      report(error);
      return this.failed(error.message);
    }
    const ttlMs = decision.verdict === "allow" ? authorizedMs : unauthorizedMs;
    if (key !== undefined && ttlMs > 0) {
      const cached = { decision, until: clock.monotonic() + ttlMs };
      setBounded(this.decisions, [key, cached], capacity);
    }
    return decision;
  }

  /** Decision by the failure policy. */
  private failed(error: string): Decision {
    return { verdict: this.options.onFailure, reason: "", error };
  }
}

/** Length of client-controlled attributes. */
function lengthOf({ request }: AuthorizationAttributes): number {
  const { namespace, verb, group, version, resource, subresource, name, path } = request;
  return [namespace, verb, group, version, resource, subresource, name, path].join("").length;
}

/** Spec of the SubjectAccessReview to send, without empty fields. */
function specOf(attributes: AuthorizationAttributes): ReviewSpec {
  const { user, request } = attributes;
  const { path, verb } = request;
  const requestSpec = request.isResource
    ? { resourceAttributes: withoutEmpty(resourceAttributes(attributes)) }
    : { nonResourceAttributes: withoutEmpty({ path, verb }) };
  const { name, groups, uid } = user;
  return {
    ...requestSpec,
    ...withoutEmpty({ user: name, groups, extra: Object.fromEntries(user.extra), uid }),
  };
}

/** Spec for match conditions, including empty strings. */
function completeSpec(attributes: AuthorizationAttributes): ReviewSpec {
  const { user, request } = attributes;
  const { path, verb } = request;
  const requestSpec = request.isResource
    ? { resourceAttributes: resourceAttributes(attributes) }
    : { nonResourceAttributes: { path, verb } };
  const { name, groups, uid } = user;
  return { user: name, groups, uid, extra: Object.fromEntries(user.extra), ...requestSpec };
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
  const isSet = (value: unknown) =>
    typeof value === "object" ? Object.keys(value ?? {}).length > 0 : value !== "";
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isSet(value)));
}

/** Spec in v1beta1, in which `groups` is named `group`. */
function v1beta1Spec({ groups, ...spec }: ReviewSpec): ReviewSpec {
  return groups === undefined ? spec : { ...spec, group: groups };
}

function decisionOf(status: TypedFields): Decision {
  const [allowed, denied] = [status.boolean("allowed"), status.boolean("denied")];
  const reason = status.text("reason");
  status.text("evaluationError");
  if (allowed && denied) {
    const error = "webhook subject access review returned both allow and deny response";
    return { verdict: "deny", reason, error };
  }
  if (denied) return { verdict: "deny", reason };
  return { verdict: allowed ? "allow" : "no-opinion", reason };
}
