/** Asks a webhook whether the images of a pod may be used (ImagePolicyWebhook). */
import { type Clock, isJsonObject, type JsonObject, setBounded } from "#base";
import { type Domain, resolve } from "#meta";
import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import {
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
import { refuse } from "../../objects.ts";

export interface ImagePolicy {
  readonly endpoint: Endpoint;
  /** How long what was allowed stays allowed, in milliseconds; 0 = ask each time. */
  readonly allowedMs: number;
  /** How long what was refused stays so. */
  readonly deniedMs: number;
  /** Before the second try. */
  readonly backoffMs: number;
  /** Where the webhook cannot be asked. */
  readonly allowsByDefault: boolean;
}

const names = ["kubeConfigFile", "retryBackoff", "denyTTL", "allowTTL", "defaultAllow"];

/** @throws AdmissionConfigurationFault, or what `readFile` throws */
export function imagePolicyIn(value: unknown, { readFile }: ConfigurationPlace): ImagePolicy {
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

/** Seconds in the file, where 0 stands for the usual ones and -1 for none at all. */
function millisecondsIn(fields: JsonObject, key: string, usual: number): number {
  const seconds = numberIn(fields, key, { least: -1, most: 1800, usual }) || usual;
  return Math.max(0, seconds) * 1000;
}

export interface ImagePolicyParts {
  readonly policy: ImagePolicy;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly tracer?: Tracer;
  /** Ends connections that are kept open. */
  readonly life?: AbortSignal;
}

interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
  readonly notes: JsonObject;
}

interface Kept {
  readonly verdict: Verdict;
  /** On the monotonic clock. */
  readonly until: number;
}

/** Answers kept at a time, and the longest time for one try. */
const capacity = 1024;
const timeoutMs = 30_000;

export function imagePolicy(parts: ImagePolicyParts): AdmissionHandler {
  const reviews = new ImageReviews(parts);
  return async (attributes) => {
    const { request, operation, object: pod } = attributes;
    const isPod = request.resource.keyPrefix === "/pods/";
    const isWritten = operation === "create" || operation === "update";
    const lists = containerLists[request.subresource];
    if (!isPod || !isWritten || lists === undefined) return [];
    const containers = lists.flatMap((list): readonly any[] => pod.spec[list] ?? []);
    const annotations = Object.entries<string>(pod.metadata.annotations ?? {});
    const marker = resolve(".image-policy.{api}/", parts.domain);
    const own = annotations.filter(([key]) => key.includes(marker));
    const spec = {
      containers: containers.map(({ image = "" }) => ({ image })),
      ...(own.length === 0 ? {} : { annotations: Object.fromEntries(own) }),
      ...(request.namespace === "" ? {} : { namespace: request.namespace }),
    };
    await reviews.judge(attributes, spec);
    return [];
  };
}

/** By subresource, the lists whose images are asked about. */
const containerLists: Readonly<Record<string, readonly string[]>> = {
  "": ["containers", "initContainers"],
  ephemeralcontainers: ["ephemeralContainers"],
};

class ImageReviews {
  readonly #client: WebhookClient;
  readonly #kept = new Map<string, Kept>();

  constructor(private readonly parts: ImagePolicyParts) {
    const { clock, tracer, policy, life } = parts;
    const { endpoint, backoffMs: initialBackoffMs } = policy;
    const traced = tracer === undefined ? {} : { tracer };
    this.#client = webhookClient({ endpoint, timeoutMs, clock, initialBackoffMs, ...traced });
    life?.addEventListener("abort", () => this.#client.close(), { once: true });
  }

  async judge(attributes: AdmissionAttributes, spec: object): Promise<void> {
    const { notes, context } = attributes.request;
    const key = (told: string): string =>
      resolve(`imagepolicywebhook.image-policy.{api}/${told}`, this.parts.domain);
    let verdict: Verdict;
    try {
      verdict = await this.#ask(spec, context.signal);
    } catch (error) {
      if (!(error instanceof WebhookFault)) throw error;
      if (!this.parts.policy.allowsByDefault) throw refuse(attributes, error.message);
      notes?.annotate(key("failed-open"), "true");
      return;
    }
    for (const [told, text] of Object.entries(verdict.notes)) {
      if (typeof text === "string") notes?.annotate(key(told), text);
    }
    if (verdict.allowed) return;
    const { reason } = verdict;
    const denied = "image policy webhook backend denied one or more images";
    const unsaid = "one or more images rejected by webhook backend";
    throw refuse(attributes, reason === "" ? unsaid : `${denied}: ${reason}`);
  }

  async #ask(spec: object, signal: AbortSignal): Promise<Verdict> {
    const { clock, domain, policy } = this.parts;
    const question = JSON.stringify(spec);
    const known = this.#kept.get(question);
    if (known !== undefined && known.until > clock.monotonic()) return known.verdict;
    const answer = await this.#client.post(
      {
        kind: "ImageReview",
        apiVersion: resolve("imagepolicy.{api}/v1alpha1", domain),
        metadata: { creationTimestamp: null },
        spec,
        status: { allowed: false },
      },
      signal,
    );
    const verdict = verdictOf(answer);
    const keptMs = verdict.allowed ? policy.allowedMs : policy.deniedMs;
    const kept = { verdict, until: clock.monotonic() + keptMs };
    if (keptMs > 0) setBounded(this.#kept, [question, kept], capacity);
    return verdict;
  }
}

function verdictOf(answer: unknown): Verdict {
  const fields = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
  const { allowed, reason, auditAnnotations } = fields(fields(answer)["status"]);
  return {
    allowed: allowed === true,
    reason: typeof reason === "string" ? reason : "",
    notes: fields(auditAnnotations),
  };
}
