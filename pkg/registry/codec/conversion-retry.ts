import { ManagedFieldsError } from "#fieldmanager";
import { atOnce, type Awaitable, inTurns, type JsonObject, type Slices } from "#base";
import { type ObjectConversion, printJson, StatusError } from "#meta";
import type { ResourceRequest, ConvertObject } from "../contract.ts";
import type { RegistryContext } from "../context.ts";

/** Control flow: the work needs a conversion that has not been requested from the webhook yet. */
class ConversionNeeded extends Error {
  constructor(
    readonly object: JsonObject,
    readonly apiVersion: string,
  ) {
    super(`an object is needed in version ${apiVersion}`);
  }
}

type SlicedWork<Input, T> = (input: Input) => Slices<T>;

/**
 * Runs work that compares objects in the versions of their field managers. If a webhook converts the
 * kind, the work restarts after each conversion that it lacks; each object is converted once. The work
 * must have no side effects before it returns. Work on a large object yields to other requests.
 */
export function withConvertedObjects<T>(
  registry: RegistryContext,
  { resource, context }: ResourceRequest,
  { isLarge, work }: { readonly isLarge: boolean; readonly work: SlicedWork<RegistryContext, T> },
): Awaitable<T> {
  const conversion = resource.kind.custom?.conversion;
  if (conversion === undefined) return isLarge ? inTurns(work(registry)) : atOnce(work(registry));
  return retryUntilConverted(conversion, context.signal, (convertObject) =>
    work({ ...registry, convertObject }),
  );
}

async function retryUntilConverted<T>(
  conversion: ObjectConversion,
  signal: AbortSignal,
  work: SlicedWork<ConvertObject, T>,
): Promise<T> {
  const converted = new Map<string, JsonObject | ManagedFieldsError>();
  const cacheKey = (object: JsonObject, apiVersion: string) => `${apiVersion} ${printJson(object)}`;
  for (;;) {
    try {
      const slices = work((object, apiVersion) => {
        const found = converted.get(cacheKey(object, apiVersion));
        if (found === undefined) throw new ConversionNeeded(object, apiVersion);
        if (found instanceof ManagedFieldsError) throw found;
        return found;
      });
      return await inTurns(slices);
    } catch (error) {
      if (!(error instanceof ConversionNeeded)) throw error;
      const { object, apiVersion } = error;
      converted.set(cacheKey(object, apiVersion), await convertOne(conversion, error, signal));
    }
  }
}

/** A failed conversion drops the managedFields entries of that version; the request goes on. */
async function convertOne(
  conversion: ObjectConversion,
  { object, apiVersion }: ConversionNeeded,
  signal: AbortSignal,
): Promise<JsonObject | ManagedFieldsError> {
  try {
    const [converted] = await conversion.convert([object], apiVersion, signal);
    return converted as JsonObject;
  } catch (error) {
    if (error instanceof StatusError) return new ManagedFieldsError(error.status.message ?? "");
    throw error;
  }
}
