/** Value of an annotation; undefined = none. */
export function annotation(metadata: any, key: string): string | undefined {
  const { annotations } = metadata;
  return annotations && Object.hasOwn(annotations, key) ? annotations[key] : undefined;
}

/**
 * The class marked as default by an annotation; of several the newest, on a tie the first by name.
 */
export function defaultClassOf(classes: readonly any[], marks: readonly string[]): any {
  const [first] = classes
    .filter(({ metadata }) => marks.some((mark) => annotation(metadata, mark) === "true"))
    .sort((left, right) => newerFirst(left.metadata, right.metadata));
  return first;
}

interface Aged {
  readonly name: string;
  readonly creationTimestamp?: string;
}

function newerFirst(left: Aged, right: Aged): number {
  const age = Date.parse(right.creationTimestamp ?? "") - Date.parse(left.creationTimestamp ?? "");
  if (age) return age;
  return left.name < right.name ? -1 : 1;
}
