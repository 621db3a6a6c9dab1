import type { CustomResourceDefinition } from "#api";
import type { ObjectConversion } from "#meta";
import type { DefinitionOptions } from "./access.ts";

/** Undefined where only the name of the version changes. */
export function conversionOf(
  definition: CustomResourceDefinition,
  options: DefinitionOptions,
): ObjectConversion | undefined {
  void [definition, options];
  return undefined;
}
