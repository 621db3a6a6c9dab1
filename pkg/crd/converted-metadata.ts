import { checkAnnotations, checkLabels } from "#meta";
import { Path, Problems } from "#schema";

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * A conversion may change labels and annotations, and nothing else of the metadata. The metadata
 * as it was, with these; or what is wrong with them.
 */
export function restoredMetadata(original: JsonObject, converted: JsonObject): JsonObject | string {
  const labels = textMap(converted["labels"]);
  const annotations = textMap(converted["annotations"]);
  if (labels === undefined) return "metadata.labels: Invalid value: must be a map of strings";
  if (annotations === undefined) {
    return "metadata.annotations: Invalid value: must be a map of strings";
  }
  const problems = new Problems();
  checkLabels(labels, Path.of("metadata.labels"), problems);
  checkAnnotations(annotations, Path.of("metadata.annotations"), problems);
  const [problem] = problems.list;
  if (problem !== undefined) return `${problem.field}: ${problem.detail}`;
  const { labels: _labels, annotations: _annotations, ...rest } = original;
  return {
    ...rest,
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

function textMap(value: unknown): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) return undefined;
  const isText = Object.values(value).every((each) => typeof each === "string");
  return isText ? (value as Readonly<Record<string, string>>) : undefined;
}
