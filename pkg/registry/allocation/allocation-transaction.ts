import { StatusError } from "#meta";
import type { ResourceRequest, AdmissionAttributes, Reservation, Allocator } from "../contract.ts";
import type { RegistryContext } from "../context.ts";

/** Undefined for kinds whose objects need nothing beside themselves, which are most. */
export function allocatorOf(
  registry: RegistryContext,
  request: ResourceRequest,
): Allocator | undefined {
  return registry.allocators.get(request.resource.keyPrefix);
}

/** Takes part in one attempt to write. */
export class AllocationTransaction {
  #reservation: Reservation | undefined;

  constructor(private readonly allocator: Allocator | undefined) {}

  reserve(attributes: AdmissionAttributes): Promise<void> | undefined {
    return this.allocator?.reserve(attributes).then((reservation) => {
      this.#reservation = reservation;
    });
  }
  /**
   * Faults while giving back are nobody's business: the write has ended one way or the other, and
   * what leaks is found by the repair.
   */
  async end(how: "commit" | "cancel"): Promise<void> {
    await this.#reservation?.[how]().catch(() => undefined);
  }
}

/**
 * Does one attempt to write and settles what it took. An attempt that ends neither in an outcome
 * nor in a StatusError may have been written; what it took stays taken until the repair knows.
 */
export function withAllocations<T>(
  allocator: Allocator | undefined,
  attempt: (hold: AllocationTransaction) => Promise<T>,
  isWritten: (outcome: T) => boolean,
): Promise<T> {
  const hold = new AllocationTransaction(allocator);
  return allocator === undefined ? attempt(hold) : settle(hold, attempt, isWritten);
}

async function settle<T>(
  hold: AllocationTransaction,
  attempt: (hold: AllocationTransaction) => Promise<T>,
  isWritten: (outcome: T) => boolean,
): Promise<T> {
  let outcome: T;
  try {
    outcome = await attempt(hold);
  } catch (error) {
    if (error instanceof StatusError) await hold.end("cancel");
    throw error;
  }
  await hold.end(isWritten(outcome) ? "commit" : "cancel");
  return outcome;
}

/**
 * Gives back what an object held that is gone; what cannot be given back is found by the repair.
 */
export async function releaseAllocations(
  registry: RegistryContext,
  request: ResourceRequest,
  object: unknown,
): Promise<void> {
  await allocatorOf(registry, request)
    ?.release(request, object)
    .catch(() => undefined);
}
