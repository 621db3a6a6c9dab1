import type { AdmissionAttributes, Allocator, Reservation, ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";

/** The allocator of the resource's kind; undefined for all kinds but services. */
export function allocatorOf(
  registry: RegistryContext,
  request: ResourceRequest,
): Allocator | undefined {
  return registry.allocators.get(request.resource.keyPrefix);
}

/** The allocations of one attempt to write an object. */
export class AllocationTransaction {
  #reservation: Reservation | undefined;

  constructor(private readonly allocator: Allocator) {}

  async reserve(attributes: AdmissionAttributes): Promise<void> {
    this.#reservation = await this.allocator.reserve(attributes);
  }

  /**
   * Release errors are ignored: the write is already decided, and the repair loop reclaims leaked
   * allocations.
   */
  async end(how: "commit" | "cancel"): Promise<void> {
    await this.#reservation?.[how]().catch(() => undefined);
  }
}

/** Releases what a deleted object held; errors are ignored, as the repair loop reclaims leaks. */
export async function releaseAllocations(
  registry: RegistryContext,
  request: ResourceRequest,
  object: unknown,
): Promise<void> {
  await allocatorOf(registry, request)
    ?.release(request, object)
    .catch(() => undefined);
}
