/** How many events may be written (EventRateLimit). */
import { type Clock, setBounded } from "#base";
import { TokenBucket } from "#client";
import { type Domain, tooManyRequests } from "#meta";
import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import {
  AdmissionConfigurationFault,
  known,
  listIn,
  numberIn,
  recordOf,
  typed,
} from "../../configuration/fields.ts";

/** What events are counted by, each with the name that its limit has in messages. */
const keys: Readonly<Record<string, (attributes: AdmissionAttributes) => string>> = {
  Server: () => "",
  Namespace: ({ request }) => request.namespace,
  User: ({ request }) => request.user.name,
  SourceAndObject: ({ object }) => {
    const { source = {}, involvedObject = {} } = object;
    const { kind, namespace, name, uid, apiVersion } = involvedObject;
    return [source.component, source.host, kind, namespace, name, uid, apiVersion].join("");
  },
};

export interface EventLimit {
  /** One of the `keys`. */
  readonly type: string;
  readonly perSecond: number;
  readonly burst: number;
  /** Keys that are remembered; the one that was not seen for longest makes room. */
  readonly capacity: number;
}

const usualCapacity = 4096;
const mostOfAny = 2 ** 31 - 1;

/** @throws AdmissionConfigurationFault */
export function eventLimitsIn(value: unknown, domain: Domain): readonly EventLimit[] {
  const type = { group: "eventratelimit.admission.{api}", kind: "Configuration" };
  const fields = typed(value, type, domain);
  known(fields, ["apiVersion", "kind", "limits"], "EventRateLimit");
  const limits = listIn(fields, "limits").map((each) => limitIn(each));
  if (limits.length > 0) return limits;
  throw new AdmissionConfigurationFault("limits: Invalid value: []: must not be empty");
}

function limitIn(value: unknown): EventLimit {
  const limit = recordOf(value, "limits");
  known(limit, ["type", "qps", "burst", "cacheSize"], "limits");
  const type = String(limit["type"]);
  if (!Object.hasOwn(keys, type)) {
    const offered = Object.keys(keys).sort().join(", ");
    const told = JSON.stringify(type);
    throw new AdmissionConfigurationFault(
      `type: Unsupported value: ${told}: supported values: ${offered}`,
    );
  }
  const positive = { least: 1, most: mostOfAny, usual: 0 };
  return {
    type,
    perSecond: numberIn(limit, "qps", positive),
    burst: numberIn(limit, "burst", positive),
    capacity:
      numberIn(limit, "cacheSize", { least: 0, most: mostOfAny, usual: 0 }) || usualCapacity,
  };
}

/** Every limit counts every event, whichever of them refuses it. */
export function eventRates(limits: readonly EventLimit[], clock: Clock): AdmissionHandler {
  const all = limits.map((limit) => new Limit(limit, clock));
  return async (attributes) => {
    const { request, operation, dryRun } = attributes;
    const { kind, plural } = request.resource;
    // Events of another group are none to Kubernetes either.
    const isEvent = plural === "events" && kind.group === "" && request.resource.group === "";
    if (!isEvent || dryRun || !["create", "update"].includes(operation)) return [];
    const [refused] = all.filter((limit) => !limit.allows(attributes)).reverse();
    if (refused === undefined) return [];
    const why = `limit reached on type ${refused.type} for key ${refused.key(attributes)}`;
    throw tooManyRequests(`Too many requests: ${why}`);
  };
}

class Limit {
  readonly type: string;
  readonly key: (attributes: AdmissionAttributes) => string;
  /** In the order in which they were last asked. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(
    private readonly limit: EventLimit,
    private readonly clock: Clock,
  ) {
    this.type = limit.type;
    this.key = keys[limit.type]!;
  }

  allows(attributes: AdmissionAttributes): boolean {
    const key = this.key(attributes);
    const bucket = this.#buckets.get(key) ?? new TokenBucket(this.clock, this.limit);
    setBounded(this.#buckets, [key, bucket], this.limit.capacity);
    return bucket.takeIfThere();
  }
}
