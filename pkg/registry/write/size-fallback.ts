import type { Resource } from "#meta";
import { StoreFault } from "#storage";
import type { RegistryContext } from "../context.ts";
import { encodeStored } from "../codec/stored.ts";

interface Fitting {
  /** Loses its managedFields where they are too much. */
  readonly object: any;
  /** Who applies wants owners; without them the write fails. */
  readonly applies: boolean;
}

/**
 * Writes an object by `write`. Owners take room: an object that is too large for the store with
 * them is written without, rather than not at all.
 */
export async function writeWithSizeFallback<T>(
  registry: RegistryContext,
  resource: Resource,
  { object, applies, write }: Fitting & { readonly write: (value: Uint8Array) => Promise<T> },
): Promise<T> {
  try {
    return await write(encodeStored(registry, resource, object));
  } catch (fault) {
    const isTooLarge = fault instanceof StoreFault && fault.detail.kind === "too-large";
    if (!isTooLarge || applies || object.metadata.managedFields === undefined) throw fault;
    delete object.metadata.managedFields;
    return write(encodeStored(registry, resource, object));
  }
}
