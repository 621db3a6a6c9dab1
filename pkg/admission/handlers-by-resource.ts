/** A step of admission that looks at the writes of some resources only. */
export interface ResourceHandler<Step> {
  /** Their plural names; undefined = all. */
  readonly about: readonly string[] | undefined;
  readonly step: Step;
}

/**
 * The steps for the writes of a resource, by its plural name and in their order: most steps are
 * about one resource, and writes of all others should not wait for them to say so.
 */
export function handlersByResource<Step>(
  steps: readonly ResourceHandler<Step>[],
): (plural: string) => readonly Step[] {
  const chosen = (plural: string): readonly Step[] =>
    steps
      .filter(({ about }) => about === undefined || about.includes(plural))
      .map(({ step }) => step);
  const plurals = new Set(steps.flatMap(({ about = [] }) => about));
  const known = new Map([...plurals].map((plural) => [plural, chosen(plural)]));
  const others = chosen("");
  return (plural) => known.get(plural) ?? others;
}
