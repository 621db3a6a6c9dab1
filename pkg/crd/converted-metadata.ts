import { isJsonObject, type JsonObject } from "#base";
import { checkAnnotations, checkLabels, goTypeOf, problemText } from "#meta";
import { maxReportedProblems, Path, Problems } from "#schema";

type Texts = Readonly<Record<string, string>>;

/**
 * Returns the original metadata with the labels and annotations of the converted object, the only
 * metadata that a conversion may change; or the error message if they are invalid.
 */
export function restoredMetadata(original: JsonObject, converted: unknown): JsonObject | string {
  if (converted === undefined) return "missing metadata in converted object";
  if (!isJsonObject(converted)) {
    return `invalid metadata of type ${goTypeOf(converted)} in converted object`;
  }
  const problems = new Problems();
  const restored: Record<string, unknown> = { ...original };
  // As in Kubernetes, messages name the path of annotations without the plural.
  for (const [field, check, path] of [
    ["labels", checkLabels, "metadata.labels"],
    ["annotations", checkAnnotations, "metadata.annotation"],
  ] as const) {
    delete restored[field];
    const texts = converted[field] ?? {};
    const fault = stringMapFault(field, texts);
    if (fault !== undefined) return fault;
    check(texts as Texts, Path.of(path), problems);
    if (Object.keys(texts).length > 0) restored[field] = texts;
  }
  const told = problems.list
    .slice(0, maxReportedProblems)
    .map((problem) => `${problem.field}: ${problemText(problem)}`);
  if (told.length === 0) return restored;
  return told.length === 1 ? String(told[0]) : `[${told.join(", ")}]`;
}

/** The error of a value that is not a map of strings. */
function stringMapFault(field: string, value: unknown): string | undefined {
  if (!isJsonObject(value)) {
    return `invalid metadata.${field} of type ${goTypeOf(value)} in converted object`;
  }
  const [found] = Object.entries(value).filter(([, each]) => typeof each !== "string");
  if (found === undefined) return undefined;
  const what = `metadata.${field}[${found[0]}]`;
  return `${what} must be a string, but is ${goTypeOf(found[1])} in converted object`;
}
