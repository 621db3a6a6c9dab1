import { type Clock, realClock, setBounded } from "#base";
import { TokenBucket } from "#client";
import { type Domain, tooManyRequests } from "#meta";
import type { AdmissionAttributes } from "#registry";
import {
  AdmissionConfigurationFault,
  known,
  listIn,
  numberIn,
  recordOf,
  typed,
} from "../../configuration/fields.ts";
import { aggregate } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";

/** Bucket key of an Event, by type of limit. */
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

interface EventLimit {
  /** Server, Namespace, User or SourceAndObject. */
  readonly type: string;
  readonly perSecond: number;
  readonly burst: number;
  /** Maximum number of buckets; the least recently used is evicted. */
  readonly capacity: number;
}

const defaultCapacity = 4096;
const maxInt32 = 2 ** 31 - 1;

/** @throws AdmissionConfigurationFault */
function eventLimitsIn(value: unknown, domain: Domain): readonly EventLimit[] {
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
    const quoted = JSON.stringify(type);
    throw new AdmissionConfigurationFault(
      `type: Unsupported value: ${quoted}: supported values: ${offered}`,
    );
  }
  const positive = { least: 1, most: maxInt32, usual: 0 };
  return {
    type,
    perSecond: numberIn(limit, "qps", positive),
    burst: numberIn(limit, "burst", positive),
    capacity:
      numberIn(limit, "cacheSize", { least: 0, most: maxInt32, usual: 0 }) || defaultCapacity,
  };
}

/** Limits the rate of Events with token buckets. Every limit counts every Event. */
export const eventRateLimit: AdmissionPlugin<readonly EventLimit[]> = {
  name: "EventRateLimit",
  enabled: "optional",
  resources: ["events"],
  requiresConfiguration: true,
  parseConfiguration: (value, { domain }) => eventLimitsIn(value, domain),
  create({ clock }, limits = []) {
    const all = limits.map((limit) => new Limit(limit, realClock(clock)));
    return {
      validate: (attributes) => {
        const { request, operation, dryRun } = attributes;
        const { kind, plural } = request.resource;
        // Kubernetes does not limit Events of the group events.k8s.io.
        const isEvent = plural === "events" && kind.group === "" && request.resource.group === "";
        if (!isEvent || dryRun || !["create", "update"].includes(operation)) return undefined;
        const exceeded = all.filter((limit) => !limit.allows(attributes));
        if (exceeded.length === 0) return undefined;
        const reasons = exceeded.map(
          ({ type, key }) => `limit reached on type ${type} for key ${key(attributes)}`,
        );
        throw tooManyRequests(`Too many requests: ${aggregate(reasons)}`, 0);
      },
    };
  },
};

class Limit {
  readonly type: string;
  readonly key: (attributes: AdmissionAttributes) => string;
  /** By key, least recently used first. */
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
    return bucket.tryTake();
  }
}
