import {
  type Clock,
  type JsonObject,
  printJson,
  realClock,
  setBounded,
  type TypedFields,
} from "#base";
import { type Domain, resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import {
  decodeReviewStatus,
  type Endpoint,
  KubeconfigFault,
  parseKubeconfig,
  type Tracer,
  type WebhookClient,
  webhookClient,
  WebhookFault,
} from "#request";
import {
  AdmissionConfigurationFault,
  type ConfigurationPlace,
  known,
  numberIn,
  recordOf,
} from "../../configuration/fields.ts";
import { forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";

interface ImagePolicy {
  readonly endpoint: Endpoint;
  /** TTL of an allowed review in the cache, in milliseconds; 0 = not cached. */
  readonly allowedMs: number;
  /** TTL of a denied review, in milliseconds. */
  readonly deniedMs: number;
  /** Delay before the first retry, in milliseconds. */
  readonly backoffMs: number;
  /** Whether to fail open if the webhook is unreachable. */
  readonly allowsByDefault: boolean;
}

const names = ["kubeConfigFile", "retryBackoff", "denyTTL", "allowTTL", "defaultAllow"];

/** @throws AdmissionConfigurationFault, or what `readFile` throws */
function imagePolicyIn(value: unknown, { readFile }: ConfigurationPlace): ImagePolicy {
  const outer = recordOf(value, "ImagePolicyWebhook");
  known(outer, ["imagePolicy"], "ImagePolicyWebhook");
  const fields = recordOf(outer["imagePolicy"] ?? {}, "imagePolicy");
  known(fields, names, "imagePolicy");
  return {
    endpoint: endpointIn(fields["kubeConfigFile"], readFile),
    allowedMs: millisecondsIn(fields, "allowTTL", 300),
    deniedMs: millisecondsIn(fields, "denyTTL", 30),
    backoffMs: numberIn(fields, "retryBackoff", { least: 1, most: 300_000, usual: 500 }),
    allowsByDefault: fields["defaultAllow"] === true,
  };
}

function endpointIn(path: unknown, readFile: (path: string) => string): Endpoint {
  if (typeof path !== "string" || path === "") {
    throw new AdmissionConfigurationFault("imagePolicy needs a kubeConfigFile");
  }
  try {
    return parseKubeconfig(readFile(path), readFile);
  } catch (fault) {
    if (fault instanceof KubeconfigFault) throw new AdmissionConfigurationFault(fault.message);
    throw fault;
  }
}

/** Parses seconds: 0 = default, -1 = no caching. */
function millisecondsIn(fields: JsonObject, key: string, usual: number): number {
  const seconds = numberIn(fields, key, { least: -1, most: 1800, usual }) || usual;
  return Math.max(0, seconds) * 1000;
}

interface ImagePolicyParts {
  readonly policy: ImagePolicy;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly tracer: Tracer | undefined;
  /** Closes idle connections when aborted. */
  readonly life: AbortSignal | undefined;
}

interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
  readonly notes: ReadonlyMap<string, string>;
}

interface CachedVerdict {
  readonly verdict: Verdict;
  /** Expiry on the monotonic clock, in ms. */
  readonly until: number;
}

/** Maximum number of cached reviews. */
const capacity = 1024;
const timeoutMs = 30_000;

/** Reviews the images of a pod by a webhook (ImageReview). */
export const imagePolicyWebhook: AdmissionPlugin<ImagePolicy> = {
  name: "ImagePolicyWebhook",
  enabled: "optional",
  resources: ["pods"],
  requiresConfiguration: true,
  parseConfiguration: imagePolicyIn,
  create({ domain, clock: given, tracer, life }, policy) {
    const clock = realClock(given);
    if (policy === undefined) return {};
    const reviews = new ImageReviews({ policy, domain, clock, tracer, life });
    const marker = resolve(".image-policy.{api}/", domain);
    return {
      validate: (attributes) => {
        const { request, operation, object: pod } = attributes;
        const isPod = request.resource.keyPrefix === "/pods/";
        const isWritten = operation === "create" || operation === "update";
        const lists = containerLists[request.subresource];
        if (!isPod || !isWritten || lists === undefined) return undefined;
        const containers = lists.flatMap((list): readonly any[] => pod.spec[list] ?? []);
        const annotations = Object.entries<string>(pod.metadata.annotations ?? {});
        const own = annotations.filter(([key]) => key.includes(marker));
        const spec = {
          containers: containers.map(({ image = "" }) => ({ image })),
          ...(own.length === 0 ? {} : { annotations: Object.fromEntries(own) }),
          ...(request.namespace === "" ? {} : { namespace: request.namespace }),
        };
        return reviews.judge(attributes, spec);
      },
    };
  },
};

/** Container lists to review, by subresource. */
const containerLists: Readonly<Record<string, readonly string[]>> = {
  "": ["containers", "initContainers"],
  ephemeralcontainers: ["ephemeralContainers"],
};

class ImageReviews {
  readonly #client: WebhookClient;
  readonly #cache = new Map<string, CachedVerdict>();

  constructor(private readonly parts: ImagePolicyParts) {
    const { clock, tracer, policy, life } = parts;
    const { endpoint, backoffMs: initialBackoffMs } = policy;
    const traced = tracer === undefined ? {} : { tracer };
    this.#client = webhookClient({ endpoint, timeoutMs, clock, initialBackoffMs, ...traced });
    life?.addEventListener("abort", () => this.#client.close(), { once: true });
  }

  async judge(attributes: AdmissionAttributes, spec: object): Promise<readonly string[]> {
    const { notes, context } = attributes.request;
    const key = (told: string): string =>
      resolve(`imagepolicywebhook.image-policy.{api}/${told}`, this.parts.domain);
    let verdict: Verdict;
    try {
      verdict = await this.#ask(spec, context.signal);
    } catch (error) {
      if (!(error instanceof WebhookFault)) throw error;
      if (!this.parts.policy.allowsByDefault) throw forbiddenRequest(attributes, error.message);
      notes?.annotate(key("failed-open"), "true");
      return [];
    }
    for (const [told, text] of verdict.notes) notes?.annotate(key(told), text);
    if (verdict.allowed) return [];
    const { reason } = verdict;
    const denied = "image policy webhook backend denied one or more images";
    const unsaid = "one or more images rejected by webhook backend";
    throw forbiddenRequest(attributes, reason === "" ? unsaid : `${denied}: ${reason}`);
  }

  async #ask(spec: object, signal: AbortSignal): Promise<Verdict> {
    const { clock, domain, policy } = this.parts;
    const question = printJson(spec);
    const known = this.#cache.get(question);
    if (known !== undefined && known.until > clock.monotonic()) return known.verdict;
    const review = {
      kind: "ImageReview",
      apiVersion: resolve("imagepolicy.{api}/v1alpha1", domain),
      metadata: { creationTimestamp: null },
      spec,
      status: { allowed: false },
    };
    const answer = await this.#client.post(review, signal);
    const verdict = decodeReviewStatus(answer, review, verdictOf);
    const keptMs = verdict.allowed ? policy.allowedMs : policy.deniedMs;
    const kept = { verdict, until: clock.monotonic() + keptMs };
    if (keptMs > 0) setBounded(this.#cache, [question, kept], capacity);
    return verdict;
  }
}

function verdictOf(status: TypedFields): Verdict {
  return {
    allowed: status.boolean("allowed"),
    reason: status.text("reason"),
    notes: status.textMap("auditAnnotations"),
  };
}
