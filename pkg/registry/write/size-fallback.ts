import type { Resource } from "#meta";
import { StoreFault } from "#storage";
import type { RegistryContext } from "../context.ts";
import { encodeStored } from "../codec/stored.ts";

interface SizedWrite {
  /** Loses its managedFields when it is too large with them. */
  readonly object: any;
  /** The object as it is stored with them. */
  readonly encoded: Uint8Array;
  /** Server-side apply needs managedFields: an object too large for them is refused. */
  readonly applies: boolean;
}

/**
 * Writes an object by `write`. An object that is too large for the store is written without its
 * managedFields before the write is refused.
 */
export async function writeWithSizeFallback<T>(
  registry: RegistryContext,
  resource: Resource,
  {
    object,
    encoded,
    applies,
    write,
  }: SizedWrite & { readonly write: (value: Uint8Array) => Promise<T> },
): Promise<T> {
  try {
    return await write(encoded);
  } catch (fault) {
    const isTooLarge = fault instanceof StoreFault && fault.detail.kind === "too-large";
    if (!isTooLarge || applies || object.metadata.managedFields === undefined) throw fault;
    delete object.metadata.managedFields;
    return write(encodeStored(registry, resource, object));
  }
}
