import { badRequest, type Resource, StatusError } from "#meta";
import { TlsAgent } from "#pki";
import { DecodeFault } from "#schema";
import type { RequestContext } from "#registry";
import {
  CallFault,
  callWebhook,
  type Dialer,
  noTracer,
  type ServiceReader,
  type Tracer,
  webhookPlace,
} from "#request";
import type { VersionedAttributes } from "../dynamic/index.ts";
import type { ObjectReader } from "../objects.ts";
import type { Hook } from "./hook.ts";
import { webhookRejection } from "./refusal.ts";
import { decodeReview, reviewOf, type WebhookResponse, validateResponse } from "./review.ts";

/** A failed call or an invalid response: failurePolicy of the webhook applies. */
export class CallingFault extends Error {
  override readonly name = "CallingFault";
}

export interface CallerParts {
  readonly objects: ObjectReader;
  readonly api: string;
  readonly dialer: Dialer;
  /** Records calls. */
  readonly tracer?: Tracer | undefined;
}

const usualTimeoutSeconds = 10;
/** Maximum number of connections to one webhook; further calls queue until their timeout. */
const maxConnections = 256;
/** Maximum number of idle connections to one webhook. */
const maxIdle = 8;
const idleMs = 60_000;
const withoutSideEffects = ["None", "NoneOnDryRun"];

/** Calls webhooks over persistent connections. */
export class Caller {
  readonly #agent = new TlsAgent({
    keepAlive: true,
    maxSockets: maxConnections,
    maxFreeSockets: maxIdle,
    timeout: idleMs,
  });

  constructor(private readonly parts: CallerParts) {}

  /**
   * Calls a webhook; returns the response if it allows the request.
   * @throws StatusError if it rejects the request, CallingFault if the call fails
   */
  async call(hook: Hook, reviewed: VersionedAttributes, as: Resource): Promise<WebhookResponse> {
    const { dryRun, request } = reviewed.attributes;
    if (dryRun && !withoutSideEffects.includes(hook.spec.sideEffects ?? "")) {
      throw badRequest(`admission webhook ${quoted(hook)} does not support dry run`);
    }
    const verdict = await this.#called(hook, reviewed, as);
    for (const [key, value] of verdict.annotations) {
      request.notes?.annotate(`${hook.name}/${key}`, value);
    }
    if (!verdict.allowed) throw webhookRejection(hook.name, verdict.result, verdict.warnings);
    return verdict;
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  async #called(hook: Hook, reviewed: VersionedAttributes, as: Resource): Promise<WebhookResponse> {
    const { clientConfig, timeoutSeconds = usualTimeoutSeconds } = hook.spec;
    const { context } = reviewed.attributes.request;
    const { signal } = context;
    const versions = hook.spec.admissionReviewVersions ?? [];
    const failed = `failed calling webhook ${quoted(hook)}`;
    let received = false;
    try {
      const { dialer, tracer = noTracer } = this.parts;
      const review = await reviewOf(reviewed, as, { versions, api: this.parts.api });
      const place = webhookPlace(clientConfig, { reader: this.#reader(context), dialer });
      const { body } = review;
      const call = { body, signal, timeoutMs: timeoutSeconds * 1000, agent: this.#agent };
      const { origin, pathname } = place.url;
      const about = { "webhook.name": hook.name, "url.full": `${origin}${pathname}` };
      const answer = await tracer.call("webhook", about, (headers) =>
        callWebhook(place, { ...call, headers }),
      );
      const decoded = decodeReview(answer, review.apiVersion);
      received = true;
      return validateResponse(decoded, {
        ...review,
        mayPatch: hook.spec.reinvocationPolicy !== undefined,
      });
    } catch (error) {
      if (error instanceof StatusError || signal.aborted) throw error;
      const isKnown = error instanceof CallFault || error instanceof DecodeFault;
      if (!isKnown) throw error;
      const stage = received ? "received invalid webhook response" : "failed to call webhook";
      throw new CallingFault(`${failed}: ${stage}: ${error.message}`);
    }
  }

  #reader(life: RequestContext): ServiceReader {
    const { objects } = this.parts;
    return {
      service: async ({ namespace, name }) =>
        objects.find({ group: "", plural: "services", namespace }, name, life),
      slices: ({ namespace, name }) => {
        const labelSelector = `{label}/service-name=${name}`;
        const slices = { group: "discovery.{api}", plural: "endpointslices", namespace };
        return objects.list({ ...slices, labelSelector }, life);
      },
    };
  }
}

function quoted({ name }: Hook): string {
  return JSON.stringify(name);
}
