/** api: every kind, one file each, and the structs that only travel. */
import type { Kind } from "#meta";
import { lease } from "./coordination/lease.ts";
import { leaseCandidate } from "./coordination/lease-candidate.ts";
import { configMap } from "./core/config-map.ts";
import { event } from "./core/event.ts";
import { limitRange } from "./core/limit-range.ts";
import { namespace } from "./core/namespace.ts";
import { resourceQuota } from "./core/resource-quota.ts";
import { secret } from "./core/secret.ts";
import { serviceAccount } from "./core/service-account.ts";
import { ipAddress } from "./networking/ip-address.ts";
import { priorityClass } from "./scheduling/priority-class.ts";

/** Groups in the order of preference that discovery shows; kinds of a group by plural name. */
export const builtinKinds: readonly Kind[] = [
  configMap,
  event,
  limitRange,
  namespace,
  resourceQuota,
  secret,
  serviceAccount,
  ipAddress,
  priorityClass,
  lease,
  leaseCandidate,
];

export { bootstrapObjects, systemNamespaces, type BootstrapObject } from "./bootstrap.ts";
export {
  localObjectReference,
  objectReference,
  secretReference,
  typedLocalObjectReference,
  typedObjectReference,
} from "./core/references.ts";
export * from "./meta/index.ts";
export { humanDuration } from "./printing.ts";
