import type { Resource } from "#meta";
import { StoreFault } from "#storage";
import type { RegistryContext } from "../context.ts";
import { encodeStored } from "../codec/stored.ts";

interface SizedWrite {
  /** Its managedFields are removed if it is too large with them. */
  readonly object: any;
  /** The object in storage form, with its managedFields. */
  readonly encoded: Uint8Array;
  /** Server-side apply requires managedFields: no fallback. */
  readonly applies: boolean;
}

/**
 * Calls `write` with the encoded object. If that is too large for the store, retries once without
 * managedFields.
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
