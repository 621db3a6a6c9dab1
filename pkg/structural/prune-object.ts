import type { CompiledSchema } from "./compiled-schema.ts";
import { dropNulls } from "./defaults.ts";
import { coerceEmbedded } from "./embedded.ts";
import { prune } from "./prune.ts";

/**
 * Brings a resource that came in, or was stored, into the form that its schema gives it, in place:
 * without unknown fields and meaningless nulls, embedded metadata in normal form. Gives the paths
 * of what was unknown.
 *
 * @throws DecodeFault for embedded metadata of the wrong shape
 */
export function pruneObject(
  object: Record<string, unknown>,
  schema: CompiledSchema,
): readonly string[] {
  const dropped = prune(object, schema, true);
  dropNulls(object, schema);
  return [...dropped, ...coerceEmbedded(object, schema)];
}
