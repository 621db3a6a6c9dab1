import type { Problems } from "#schema";
import type { CompiledSchema } from "./compiled-schema.ts";

/** Checks a value against its schema, as far as rules in CEL are not concerned. */
export function checkValue(
  value: unknown,
  schema: CompiledSchema,
  context: { readonly problems: Problems; readonly old?: unknown; readonly path: string },
): void {
  void [value, schema, context];
}
