import { checkDepth } from "#schema";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { dropNulls } from "./defaults.ts";
import { coerceEmbedded } from "../check/embedded.ts";
import { prune } from "./prune.ts";

/** What records who owns which field goes as deep, and deeper values than 500 are not read. */
const DEEPEST = 450;

/**
 * Brings a resource that came in, or was stored, into the form that its schema gives it, in place:
 * without unknown fields and meaningless nulls, embedded metadata in normal form. Gives the paths
 * of what was unknown.
 *
 * @throws DecodeFault for embedded metadata of the wrong shape, and for what is nested too deeply
 */
export function pruneObject(
  object: Record<string, unknown>,
  schema: CompiledSchema,
): readonly string[] {
  for (const name of Object.keys(object)) {
    if (name !== "metadata") checkDepth(object[name], DEEPEST);
  }
  const dropped = prune(object, schema, true);
  dropNulls(object, schema);
  return [...dropped, ...coerceEmbedded(object, schema)];
}
