/** ResourceClaims and their templates, ResourceSlices, DeviceClasses and DeviceTaintRules. */
import type { ApiObject, Handle, Metadata } from "#client";
import { type Domain, resolve } from "#meta";
import type { NodeSelector } from "./node.ts";

type Int64 = number | bigint;

/** Value of a device's attribute: exactly one field is set. */
export interface DeviceAttribute {
  readonly int?: Int64;
  readonly bool?: boolean;
  readonly string?: string;
  readonly version?: string;
}

/** Amounts of a shared device's capacity that a request may consume. */
export interface CapacityRequestPolicy {
  readonly default?: string;
  readonly validValues?: readonly string[];
  readonly validRange?: { readonly min?: string; readonly max?: string; readonly step?: string };
}

export interface DeviceCapacity {
  readonly value: string;
  readonly requestPolicy?: CapacityRequestPolicy;
}

export interface DeviceTaint {
  readonly key: string;
  readonly value?: string;
  /** `None`, `NoSchedule` or `NoExecute`. */
  readonly effect: string;
  readonly timeAdded?: string;
}

export interface DeviceToleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: Int64;
}

/** Counters by name. */
type Counters = Readonly<Record<string, { readonly value: string }>>;

export interface CounterSet {
  readonly name: string;
  readonly counters?: Counters;
}

/** Nodes that reach the devices: one of the fields is set. */
export interface NodeReach {
  readonly nodeName?: string;
  readonly allNodes?: boolean;
  readonly nodeSelector?: NodeSelector;
}

export interface Device extends NodeReach {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, DeviceAttribute>>;
  readonly capacity?: Readonly<Record<string, DeviceCapacity>>;
  readonly consumesCounters?: readonly {
    readonly counterSet: string;
    readonly counters?: Counters;
  }[];
  readonly taints?: readonly DeviceTaint[];
  readonly bindingConditions?: readonly string[];
  readonly allowMultipleAllocations?: boolean;
}

export interface ResourceSlice extends ApiObject {
  readonly spec: NodeReach & {
    readonly driver: string;
    readonly pool: {
      readonly name: string;
      readonly generation: Int64;
      readonly resourceSliceCount: Int64;
    };
    readonly perDeviceNodeSelection?: boolean;
    /** Null where there are none. */
    readonly devices?: readonly Device[] | null;
    readonly sharedCounters?: readonly CounterSet[];
  };
}

export interface DeviceSelector {
  readonly cel?: { readonly expression: string };
}

/** Parameters for a driver, which are passed through. */
export interface DeviceConfiguration {
  readonly opaque?: object;
}

export interface DeviceClass extends ApiObject {
  readonly spec: {
    readonly selectors?: readonly DeviceSelector[];
    readonly config?: readonly DeviceConfiguration[];
  };
}

/** Devices that a request asks for: those of a direct request or of an alternative. */
export interface DeviceDemand {
  readonly deviceClassName: string;
  readonly selectors?: readonly DeviceSelector[];
  readonly allocationMode?: string;
  readonly count?: Int64;
  readonly adminAccess?: boolean;
  readonly tolerations?: readonly DeviceToleration[];
  readonly capacity?: { readonly requests?: Readonly<Record<string, string>> };
}

export interface DeviceRequest {
  readonly name: string;
  readonly exactly?: DeviceDemand;
  readonly firstAvailable?: readonly (DeviceDemand & { readonly name: string })[];
}

export interface DeviceConstraint {
  readonly requests?: readonly string[];
  readonly matchAttribute?: string;
  readonly distinctAttribute?: string;
}

export interface ResourceClaimSpec {
  readonly devices?: {
    readonly requests?: readonly DeviceRequest[] | null;
    readonly constraints?: readonly DeviceConstraint[];
    readonly config?: readonly (DeviceConfiguration & { readonly requests?: readonly string[] })[];
  };
}

export interface DeviceIdentity {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
}

export interface AllocatedDevice extends DeviceIdentity {
  readonly request: string;
  readonly adminAccess?: boolean;
  readonly tolerations?: readonly DeviceToleration[];
  readonly shareID?: string;
  readonly consumedCapacity?: Readonly<Record<string, string>>;
}

export interface AllocatedConfiguration extends DeviceConfiguration {
  readonly source: "FromClass" | "FromClaim";
  readonly requests?: readonly string[];
}

export interface AllocationResult {
  readonly devices?: {
    readonly results?: readonly AllocatedDevice[];
    readonly config?: readonly AllocatedConfiguration[];
  };
  readonly nodeSelector?: NodeSelector;
}

/** A user of a claim. */
export interface ConsumerReference {
  readonly apiGroup?: string;
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
}

export interface AllocatedDeviceStatus extends DeviceIdentity {
  readonly shareID?: string;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
    readonly lastTransitionTime: string;
  }[];
  readonly data?: unknown;
}

export interface ResourceClaim extends ApiObject {
  readonly spec: ResourceClaimSpec;
  readonly status?: {
    readonly allocation?: AllocationResult;
    readonly reservedFor?: readonly ConsumerReference[];
    readonly devices?: readonly AllocatedDeviceStatus[];
  };
}

export interface ResourceClaimTemplate extends ApiObject {
  readonly spec: {
    readonly metadata?: Pick<Metadata, "labels" | "annotations">;
    readonly spec: ResourceClaimSpec;
  };
}

export interface DeviceTaintRule extends ApiObject {
  readonly spec: {
    readonly deviceSelector?: {
      readonly deviceClassName?: string;
      readonly driver?: string;
      readonly pool?: string;
      readonly device?: string;
      readonly selectors?: readonly DeviceSelector[];
    };
    readonly taint: DeviceTaint;
  };
}

function handleOf<T extends ApiObject>(
  domain: Domain,
  plural: string,
  kind: string,
  more: { readonly namespaced?: boolean; readonly version?: string } = {},
): Handle<T> {
  const { namespaced = false, version = "v1" } = more;
  return { group: resolve("resource.{api}", domain), version, plural, kind, namespaced };
}

export const resourceClaims = (domain: Domain) =>
  handleOf<ResourceClaim>(domain, "resourceclaims", "ResourceClaim", { namespaced: true });

export const resourceClaimTemplates = (domain: Domain) =>
  handleOf<ResourceClaimTemplate>(domain, "resourceclaimtemplates", "ResourceClaimTemplate", {
    namespaced: true,
  });

export const resourceSlices = (domain: Domain) =>
  handleOf<ResourceSlice>(domain, "resourceslices", "ResourceSlice");

export const deviceClasses = (domain: Domain) =>
  handleOf<DeviceClass>(domain, "deviceclasses", "DeviceClass");

export const deviceTaintRules = (domain: Domain) =>
  handleOf<DeviceTaintRule>(domain, "devicetaintrules", "DeviceTaintRule", {
    version: "v1alpha3",
  });
