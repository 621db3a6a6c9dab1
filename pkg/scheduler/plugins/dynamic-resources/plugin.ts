import { realClock } from "#base";
import { objectKey } from "#client";
import { Allocator, ClaimFault, claimsOfPod, isReservedFor } from "#dynamic-resource-allocation";
import {
  type AllocationResult,
  type NodeSelector,
  type Pod,
  type ResourceClaim,
  matchesTerms,
} from "#kinds";
import type { Plugin, PreFilterResult, SchedulingContext } from "../../framework/contract.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import {
  errorStatus,
  skip,
  type Status,
  unresolvable,
  unschedulable,
} from "../../framework/status.ts";
import { bindClaim, deallocateClaim, unreserveClaim } from "./claim-binding.ts";
import { deviceEvents } from "./hints.ts";
import { NodeSearches } from "./node-search.ts";

export interface DynamicResourcesArgs {
  /** Timeout of the device search on one node in ms; 0 = none. */
  readonly filterTimeoutMs: number;
}

const name = "DynamicResources";

/** State of one scheduling cycle; shared by copies. */
interface State {
  /** Claims of the pod, replaced as they are written. */
  readonly claims: ResourceClaim[];
  /** Device searches of unallocated claims; undefined = all are allocated. */
  readonly searches: NodeSearches | undefined;
  /** Indexes of allocated claims that are unavailable on some node. */
  readonly unavailable: Set<number>;
  /** New allocations by claim index, since Reserve. */
  readonly allocations: Map<number, AllocationResult>;
}

/** DynamicResources: allocates devices for the ResourceClaims of pods. */
export function dynamicResources(handle: PluginHandle, args: DynamicResourcesArgs): Plugin {
  const plugin = new DynamicResources(handle, args);
  return {
    name,
    preEnqueue: (pod) => plugin.preEnqueue(pod),
    preFilter: (context) => plugin.preFilter(context),
    filter: (context, node) => plugin.filter(context, node),
    postFilter: async (context) => ({ status: await plugin.postFilter(context) }),
    reserve: (context, node) => plugin.reserve(context, node),
    unreserve: (context) => plugin.unreserve(context),
    preBind: (context) => plugin.preBind(context),
    events: deviceEvents(handle.devices),
  };
}

class DynamicResources {
  constructor(
    private readonly handle: PluginHandle,
    private readonly args: DynamicResourcesArgs,
  ) {}

  preEnqueue(pod: Pod): Status | undefined {
    if ((pod.spec?.resourceClaims ?? []).length === 0) return undefined;
    const claims = this.claimsOf(pod);
    return "code" in claims ? claims : undefined;
  }

  preFilter({ pod, state }: SchedulingContext): PreFilterResult | undefined {
    state.write(name, noClaims);
    if ((pod.spec?.resourceClaims ?? []).length === 0) return { status: skip };
    const claims = this.claimsOf(pod);
    if ("code" in claims) return { status: claims };
    if (claims.length === 0) return { status: skip };
    const waiting = claims.filter(({ status }) => status?.allocation === undefined);
    for (const claim of waiting) {
      const problem = this.problemOf(claim);
      if (problem !== undefined) return { status: problem };
    }
    const searches = waiting.length === 0 ? undefined : this.searches(waiting);
    state.write(name, newState(claims, searches));
    return undefined;
  }

  filter({ state }: SchedulingContext, info: NodeInfo): Status | undefined {
    const found = state.read<State>(name);
    if (found === undefined) return errorStatus(name, new Error("not found"));
    const node = info.node!;
    const unavailable = [...found.claims.entries()].filter(([, { status }]) => {
      const selector = status?.allocation?.nodeSelector;
      return selector !== undefined && !matchesTerms(termsOf(selector), node);
    });
    const rejection = found.searches && this.search(found.searches, info);
    if (rejection !== undefined) return rejection;
    if (unavailable.length === 0) return undefined;
    for (const [index] of unavailable) found.unavailable.add(index);
    return unresolvable(name, "resourceclaim not available on the node");
  }

  /** Deallocates a claim that is allocated for other nodes and that no other pod uses. */
  async postFilter({ state, pod }: SchedulingContext): Promise<Status> {
    const found = state.read<State>(name);
    // kube-scheduler reports its missing state if an earlier plugin rejected the pod.
    if (found === undefined) return errorStatus(name, new Error("not found"));
    if (found.claims.length === 0) return unschedulable(name, "no new claims to deallocate");
    const unused = [...found.unavailable].filter((index) => {
      const users = found.claims[index]!.status?.reservedFor ?? [];
      return users.every(({ uid }) => uid === pod.metadata.uid);
    });
    if (unused.length === 0) return unschedulable(name, "still not schedulable");
    try {
      await deallocateClaim(this.handle, found.claims[this.handle.random.pick(unused)]!);
    } catch (error) {
      return errorStatus(name, error);
    }
    return unschedulable(name, "deallocation of ResourceClaim completed");
  }

  reserve({ state }: SchedulingContext, node: string): Status | undefined {
    const found = state.read<State>(name);
    if (found?.searches === undefined) return undefined;
    const results = found.searches.foundOn(node);
    if (results === undefined) {
      return errorStatus(name, new Error("claim allocation not found for node"));
    }
    let next = 0;
    for (const [index, { status, metadata }] of found.claims.entries()) {
      if (status?.allocation !== undefined) continue;
      const allocation = results[next++]!;
      found.allocations.set(index, allocation);
      this.handle.devices.setPending(metadata.uid, allocation);
    }
    return undefined;
  }

  unreserve({ state, pod }: SchedulingContext): void {
    const found = state.read<State>(name);
    for (const [index, claim] of found?.claims.entries() ?? []) {
      if (found!.allocations.has(index)) this.handle.devices.removePending(claim.metadata.uid);
      if (claim.status?.allocation === undefined || !isReservedFor(claim, pod)) continue;
      // Best effort: the next attempt reserves the claim again.
      unreserveClaim(this.handle, pod, claim).catch((error: unknown) => {
        if (this.handle.signal.aborted) return;
        this.handle.report(`Failed to unreserve ResourceClaim ${objectKey(claim)}`, error);
      });
    }
  }

  async preBind({ state, pod }: SchedulingContext): Promise<Status | undefined> {
    const found = state.read<State>(name);
    const { devices } = this.handle;
    for (const [index, claim] of found?.claims.entries() ?? []) {
      if (isReservedFor(claim, pod)) continue;
      const allocation = found!.allocations.get(index);
      try {
        const bound = await bindClaim(this.handle, pod, claim, allocation);
        found!.claims[index] = bound;
        if (allocation !== undefined) devices.assume(bound);
      } catch (error) {
        return errorStatus(name, error);
      } finally {
        if (allocation !== undefined) devices.removePending(claim.metadata.uid);
      }
    }
    return undefined;
  }

  private claimsOf(pod: Pod): ResourceClaim[] | Status {
    try {
      const claims = claimsOfPod(pod, (key) => this.handle.devices.claim(key));
      return [...new Set(claims.values())];
    } catch (error) {
      if (error instanceof ClaimFault) return unresolvable(name, error.message);
      throw error;
    }
  }

  /** Reason why the claim cannot be allocated on any node; undefined = none. */
  private problemOf(claim: ResourceClaim): Status | undefined {
    const { devices } = this.handle;
    const key = objectKey(claim);
    if (devices.isPending(claim.metadata.uid)) {
      const why = `resource claim ${key} is in the process of being allocated`;
      return unresolvable(name, why);
    }
    for (const { name: request, exactly, firstAvailable = [] } of claim.spec.devices?.requests ??
      []) {
      const where = `resource claim ${key}, request ${request}`;
      if (exactly === undefined && firstAvailable.length === 0) {
        return unresolvable(name, `${where}: unknown request type`);
      }
      if (exactly === undefined && !devices.features.prioritizedList) {
        const why = "has subrequests, but the DRAPrioritizedList feature is disabled";
        return unresolvable(name, `${where}: ${why}`);
      }
      const ways =
        exactly === undefined
          ? firstAvailable.map((each) => ({ ...each, path: `${request}/${each.name}` }))
          : [{ ...exactly, path: request }];
      for (const { deviceClassName, path } of ways) {
        if (devices.classOf(deviceClassName) !== undefined) continue;
        const why = `device class ${deviceClassName} does not exist`;
        return unresolvable(name, `request ${path}: ${why}`);
      }
    }
    return undefined;
  }

  private searches(claims: readonly ResourceClaim[]): NodeSearches {
    const { devices, random, clock } = this.handle;
    const allocator = new Allocator({
      features: devices.features,
      allocated: devices.allocated,
      selectors: devices.selectors,
      classOf: (className) => devices.classOf(className),
      slicesFor: (node) => devices.slicesFor(node),
      nodeMatches: (selector, node) => matchesTerms(termsOf(selector), node),
      newShareId: () => random.uuid(),
    });
    const timeoutMs = devices.limitsFilterTime ? this.args.filterTimeoutMs : 0;
    return new NodeSearches({ allocator, claims, clock: realClock(clock), timeoutMs });
  }

  /** Searches for devices on the node for one time slice. */
  private search(searches: NodeSearches, { node }: NodeInfo): Status | undefined {
    const outcome = searches.advance(node!);
    switch (outcome.kind) {
      case "found":
        return undefined;
      case "fault":
        return errorStatus(name, outcome.error);
      case "none":
        return unresolvable(name, "cannot allocate all claims");
      case "timeout":
        return unresolvable(name, "timed out trying to allocate devices");
      case "paused": {
        if (this.handle.signal.aborted) {
          return unresolvable(name, "asked by caller to stop allocating devices: shutting down");
        }
        const late = unresolvable(name, "timed out trying to allocate devices");
        return { ...late, isPaused: true };
      }
    }
  }
}

function newState(claims: ResourceClaim[], searches: NodeSearches | undefined): State {
  return { claims, searches, unavailable: new Set(), allocations: new Map() };
}

/** State of pods without claims; never modified. */
const noClaims = newState([], undefined);

function termsOf({ nodeSelectorTerms = [] }: NodeSelector) {
  return nodeSelectorTerms;
}
