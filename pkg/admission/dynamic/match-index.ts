import { type Catalog, type Resource, resolve } from "#meta";
import { type RequestPattern, type Rule, ruleCovers } from "./rules.ts";

/** Match constraints of a configuration. */
export interface MatchConstraints {
  readonly rules: readonly Rule[];
  /** excludeResourceRules, which take precedence over `rules`. */
  readonly excluded?: readonly Rule[];
  /** Whether absent rules match everything; otherwise nothing. */
  readonly anyWithoutRules?: boolean;
  /** matchPolicy Equivalent: also matches requests by another group or version. */
  readonly equivalent: boolean;
}

/** A match of a rule. */
interface RuleMatch {
  /** The matched resource; the object is converted to its version. */
  readonly as: Resource;
  /** resourceNames; empty = all. */
  readonly names: readonly string[];
}

interface Match {
  readonly hits: readonly RuleMatch[];
  readonly exclusions: readonly RuleMatch[];
}

/** A configuration that may match; only resourceNames remain to be checked. */
interface Candidate<T> {
  readonly entry: T;
  /** Matched rules of each of the entry's constraints. */
  readonly matches: readonly Match[];
}

const admissionPlurals = ["validating", "mutating"].flatMap((sort) => [
  `${sort}webhookconfigurations`,
  `${sort}admissionpolicies`,
  `${sort}admissionpolicybindings`,
]);

/**
 * Finds the configurations that match a request. Matches are cached per operation and resource, so that the
 * cost of a request does not depend on unrelated configurations. Requests for admission configurations match
 * nothing, since otherwise a broken one could not be deleted.
 */
export class MatchIndex<T> {
  readonly #known = new Map<string, readonly Candidate<T>[]>();
  readonly #equivalents = new Map<Resource, readonly Resource[]>();
  #content: object | undefined;

  constructor(
    private readonly entries: readonly T[],
    /** Constraints of an entry, all of which must match. */
    private readonly matchingsOf: (entry: T) => readonly MatchConstraints[],
    private readonly catalog: Catalog,
  ) {}

  candidates(aim: RequestPattern): readonly Candidate<T>[] {
    if (this.entries.length === 0) return none;
    // Equivalent resources change with the served resources.
    if (this.#content !== this.catalog.content) {
      this.#known.clear();
      this.#equivalents.clear();
      this.#content = this.catalog.content;
    }
    const { operation, resource, subresource } = aim;
    const key = `${operation} ${resource.groupVersion}/${resource.plural}/${subresource}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = this.#isExempt(resource)
      ? none
      : this.entries.flatMap((entry) => this.#candidate(entry, aim));
    this.#known.set(key, found);
    return found;
  }

  #isExempt({ group, plural }: Resource): boolean {
    const own = resolve("admissionregistration.{api}", this.catalog.domain);
    return group === own && admissionPlurals.includes(plural);
  }

  #candidate(entry: T, aim: RequestPattern): readonly Candidate<T>[] {
    const matches = this.matchingsOf(entry).map((matching) => this.#match(matching, aim));
    return matches.includes(undefined) ? [] : [{ entry, matches: matches as readonly Match[] }];
  }

  #match(matching: MatchConstraints, aim: RequestPattern): Match | undefined {
    const everything = matching.anyWithoutRules === true && matching.rules.length === 0;
    const hits = everything
      ? [{ as: aim.resource, names: [] }]
      : this.#hits(matching.rules, matching, aim);
    if (hits.length === 0) return undefined;
    const exclusions = this.#hits(matching.excluded ?? [], matching, aim);
    return exclusions.some(({ names }) => names.length === 0) ? undefined : { hits, exclusions };
  }

  /** Exact matches precede equivalent ones. */
  #hits(
    rules: readonly Rule[],
    { equivalent }: MatchConstraints,
    aim: RequestPattern,
  ): readonly RuleMatch[] {
    const { resource } = aim;
    const own = this.#hitsAs(rules, aim, [resource]);
    if (!equivalent) return own;
    return [...own, ...this.#hitsAs(rules, aim, this.#equivalentTo(resource))];
  }

  /** Other versions of the resource; found once for all entries. */
  #equivalentTo(resource: Resource): readonly Resource[] {
    let found = this.#equivalents.get(resource);
    if (found === undefined) {
      found = this.catalog.resources.filter(
        (other) => other.keyPrefix === resource.keyPrefix && other !== resource,
      );
      this.#equivalents.set(resource, found);
    }
    return found;
  }

  #hitsAs(
    rules: readonly Rule[],
    aim: RequestPattern,
    resources: readonly Resource[],
  ): readonly RuleMatch[] {
    return rules.flatMap((rule) => {
      const as = resources.find((resource) => ruleCovers(rule, aim, resource));
      return as === undefined ? [] : [{ as, names: rule.resourceNames ?? [] }];
    });
  }
}

const none: readonly never[] = [];

/**
 * Resource of the first rule that matches the object's name; undefined = not all constraints match.
 */
export function matchedAs({ matches }: Candidate<unknown>, name: string): Resource | undefined {
  const means = ({ names }: RuleMatch): boolean => names.length === 0 || names.includes(name);
  const found = matches.map(({ hits, exclusions }) =>
    exclusions.some(means) ? undefined : hits.find(means)?.as,
  );
  return found.includes(undefined) ? undefined : found[0];
}
