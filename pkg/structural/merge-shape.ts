import { deduced } from "#apply";
import type { MergeShape } from "#schema";
import type { CompiledSchema } from "./compiled-schema.ts";

/** How values of a schema merge under server-side apply. */
export function mergeShape(schema: CompiledSchema): MergeShape {
  void schema;
  return deduced;
}
