import type { Slices } from "#base";
import { checkDepth } from "#schema";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { dropNulls } from "./defaults.ts";
import { coerceEmbedded } from "../check/embedded.ts";
import { prune } from "./prune.ts";

/** Maximum nesting depth that managedFields can represent, below the decoder's limit of 500. */
const maxDepth = 450;

/**
 * Normalizes a decoded resource in place, in slices: removes unknown fields and nulls without meaning, and
 * coerces the metadata of embedded resources. Returns the paths of the unknown fields.
 * @throws DecodeFault for malformed embedded metadata and for values that are nested too deeply
 */
export function* pruneObject(
  object: Record<string, unknown>,
  schema: CompiledSchema,
): Slices<readonly string[]> {
  for (const name of Object.keys(object)) {
    if (name !== "metadata") checkDepth(object[name], maxDepth);
    yield;
  }
  const dropped = prune(object, schema, true);
  yield;
  dropNulls(object, schema);
  yield;
  return [...dropped, ...coerceEmbedded(object, schema)];
}
