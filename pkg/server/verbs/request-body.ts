import { parseAhead, parseYaml, printJson, YamlFault } from "#meta";
import {
  type Body,
  ignoreReadErrorField,
  type PatchOptions,
  type RawDeleteOptions,
} from "#registry";
import { JsonFault, parseJson } from "#schema";

/** Parses a large JSON or YAML body in slices, ahead of the verb, which then finds the parsed value. */
export function parseLargeBody(
  { bytes, format }: Body,
  patchType?: PatchOptions["patchType"],
): Promise<void> | undefined {
  // The media type of server-side apply is YAML, but its body is mostly JSON.
  if (patchType === "apply" && bytes[0] === 0x7b) return parseAhead(bytes, ["json", "yaml"]);
  return format === "json" || format === "yaml" ? parseAhead(bytes, [format]) : undefined;
}

/**
 * A request body as JSON without line breaks, for the audit event; undefined when it is neither
 * JSON nor YAML, for which the handler returns an error of its own.
 */
export function bodyJson({ bytes, format }: Body): string | undefined {
  try {
    if (format === "json") return printJson(parseJson(bytes).value);
    if (format === "yaml") return printJson(parseYaml(Buffer.from(bytes).toString("utf8")).value);
    return undefined;
  } catch (fault) {
    if (fault instanceof JsonFault || fault instanceof YamlFault) return undefined;
    throw fault;
  }
}

export function deleteOptionsJson(options: RawDeleteOptions): string {
  const { dryRun, ignoreReadError, ...others } = options;
  return printJson({
    kind: "DeleteOptions",
    apiVersion: "v1",
    ...others,
    ...(dryRun.length === 0 ? {} : { dryRun }),
    ...(ignoreReadError ? { [ignoreReadErrorField]: true } : {}),
  });
}
