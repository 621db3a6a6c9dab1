import { type Domain, resolve } from "#meta";
import type { ApiObject, Handle } from "../contract.ts";

/** LeaseSpec of coordination/v1. */
export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
  readonly strategy?: string;
  readonly preferredHolder?: string;
}

export interface Lease extends ApiObject {
  readonly spec?: LeaseSpec;
}

export function leases(domain: Domain): Handle<Lease> {
  const group = resolve("coordination.{api}", domain);
  return { group, version: "v1", plural: "leases", kind: "Lease", namespaced: true };
}
