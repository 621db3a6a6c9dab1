/** Device requests of claims, prepared for the search. */
import { type ApiObject, objectKey } from "#client";
import { type DeviceSelectors, SelectorFault } from "../device-selectors.ts";
import type {
  DeviceClass,
  DeviceDemand,
  DeviceRequest,
  DeviceSelector,
  ResourceClaim,
} from "#kinds";
import { hasCapacity } from "./capacity.ts";
import type { RequestName } from "./constraints.ts";
import { type Candidate, type NodeMatcher, type Pool, isDeviceAccessible } from "./pools.ts";
import type { AllocatedState, AllocatorFeatures } from "./state.ts";

/** A claim or class is invalid or not supported, so that no node can satisfy it. */
export class AllocationFault extends Error {
  override readonly name = "AllocationFault";
}

/** Maximum number of devices per claim. */
export const maxDevices = 32;

/** Inputs for preparing a request. */
export interface RequestContext {
  readonly features: AllocatorFeatures;
  readonly allocated: AllocatedState;
  readonly selectors: DeviceSelectors;
  readonly classOf: (name: string) => DeviceClass | undefined;
  readonly nodeMatches: NodeMatcher;
  readonly node: ApiObject;
  readonly pools: readonly Pool[];
  readonly candidates: readonly Candidate[];
}

/** A request, or one alternative of a request. */
export class PreparedRequest {
  readonly deviceClass: DeviceClass;
  /** Number of devices to allocate. */
  readonly count: number;
  /** Positions of all matching candidates, for allocation mode All; undefined for other modes. */
  readonly all: readonly number[] | undefined;
  readonly isAdmin: boolean;
  /** Selector results by position: 0 = not evaluated, 1 = match, 2 = no match. */
  private readonly matched: Uint8Array;

  constructor(
    private readonly context: RequestContext,
    private readonly claim: ResourceClaim,
    readonly name: RequestName,
    readonly demand: DeviceDemand,
  ) {
    this.matched = new Uint8Array(context.candidates.length);
    this.isAdmin = demand.adminAccess === true;
    this.check();
    this.deviceClass = this.findClass();
    this.all = demand.allocationMode === "All" ? this.allDevices() : undefined;
    this.count = this.all?.length ?? this.exactCount();
  }

  /** `request`, or `request/alternative`. */
  get fullName(): string {
    const { request, alternative } = this.name;
    return alternative === undefined ? request : `${request}/${alternative}`;
  }

  /**
   * Whether the device at the position matches class and request.
   * @throws AllocationFault if a selector fails
   */
  matches(position: number): boolean {
    const known = this.matched[position];
    if (known !== 0) return known === 1;
    const candidate = this.context.candidates[position]!;
    const matches = this.isSelected(candidate);
    this.matched[position] = matches ? 1 : 2;
    return matches;
  }

  private isSelected(candidate: Candidate): boolean {
    const { node, nodeMatches, features, allocated } = this.context;
    const { device, id } = candidate;
    // Binding conditions are not supported.
    if ((device.bindingConditions ?? []).length > 0) return false;
    const { name } = this.deviceClass.metadata;
    if (!this.passes(this.deviceClass.spec.selectors, candidate, `class ${name}`)) return false;
    const claim = `claim ${objectKey(this.claim)}`;
    if (!this.passes(this.demand.selectors, candidate, claim)) return false;
    if (!isDeviceAccessible(candidate, node, nodeMatches)) return false;
    return (
      !features.consumableCapacity || hasCapacity(device, this.demand, [allocated.consumedOf(id)])
    );
  }

  private passes(
    selectors: readonly DeviceSelector[] = [],
    { device, slice }: Candidate,
    origin: string,
  ): boolean {
    return selectors.every(({ cel }, index) => {
      try {
        return this.context.selectors.matches(cel?.expression ?? "", device, slice.spec.driver);
      } catch (error) {
        if (!(error instanceof SelectorFault)) throw error;
        throw new AllocationFault(`${origin}: selector #${index}: ${error.message}`);
      }
    });
  }

  /** @throws AllocationFault for a request that is not supported */
  private check(): void {
    const { selectors = [], adminAccess, deviceClassName, capacity } = this.demand;
    const { features } = this.context;
    for (const [index, { cel }] of selectors.entries()) {
      if (cel !== undefined) continue;
      throw this.fault(`, selector #${index}: CEL expression empty (unsupported selector type?)`);
    }
    if (!features.adminAccess && adminAccess !== undefined) {
      throw this.fault(": admin access is requested, but the feature is disabled");
    }
    if (!features.consumableCapacity && capacity !== undefined) {
      throw this.fault(
        ": has capacity requests, but the DRAConsumableCapacity feature is disabled",
      );
    }
    if (deviceClassName !== "") return;
    throw this.fault(": missing device class name (unsupported request type?)");
  }

  private findClass(): DeviceClass {
    const { deviceClassName } = this.demand;
    const found = this.context.classOf(deviceClassName);
    if (found !== undefined) return found;
    const message = `: could not retrieve device class ${deviceClassName}`;
    throw this.fault(`${message}: deviceclass "${deviceClassName}" not found`);
  }

  private exactCount(): number {
    const { allocationMode = "ExactCount", count = 1 } = this.demand;
    if (allocationMode === "ExactCount") return Number(count);
    throw this.fault(`: unsupported count mode ${allocationMode}`);
  }

  private allDevices(): readonly number[] {
    for (const { name, isIncomplete, invalidReason } of this.context.pools) {
      if (!isIncomplete && invalidReason === undefined) continue;
      const state = isIncomplete ? "being updated" : "invalid";
      throw this.fault(`: asks for all devices, but resource pool ${name} is currently ${state}`);
    }
    return [...this.context.candidates.keys()].filter((position) => this.matches(position));
  }

  /** An error prefixed with claim and request. */
  fault(text: string): AllocationFault {
    const { request, alternative = request } = this.name;
    return new AllocationFault(`claim ${objectKey(this.claim)}, request ${alternative}${text}`);
  }
}

/** Alternatives of a request: itself, or its `firstAvailable` subrequests in order. */
export function prepareRequest(
  context: RequestContext,
  claim: ResourceClaim,
  request: DeviceRequest,
): readonly PreparedRequest[] {
  const { name, exactly, firstAvailable = [] } = request;
  const prepare = (fullName: RequestName, demand: DeviceDemand) =>
    new PreparedRequest(context, claim, fullName, demand);
  if (firstAvailable.length > 0) {
    if (!context.features.prioritizedList) {
      const origin = `claim ${objectKey(claim)}, request ${name}`;
      const reason = "has subrequests, but the DRAPrioritizedList feature is disabled";
      throw new AllocationFault(`${origin}: ${reason}`);
    }
    return firstAvailable.map((each) => prepare({ request: name, alternative: each.name }, each));
  }
  return [prepare({ request: name }, exactly ?? { deviceClassName: "" })];
}
