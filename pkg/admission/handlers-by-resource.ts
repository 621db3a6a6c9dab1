/** A handler and its resources. */
export interface ResourceHandler<Handler> {
  /** Plural names; undefined = all resources. */
  readonly resources: readonly string[] | undefined;
  readonly handler: Handler;
}

/**
 * Indexes handlers by resource (plural name), in order. Most plugins handle one resource; writes of other
 * resources never call them.
 */
export function handlersByResource<Handler>(
  all: readonly ResourceHandler<Handler>[],
): (plural: string) => readonly Handler[] {
  const chosen = (plural: string): readonly Handler[] =>
    all
      .filter(({ resources }) => resources === undefined || resources.includes(plural))
      .map(({ handler }) => handler);
  const plurals = new Set(all.flatMap(({ resources = [] }) => resources));
  const known = new Map([...plurals].map((plural) => [plural, chosen(plural)]));
  const others = chosen("");
  return (plural) => known.get(plural) ?? others;
}
