import { type Catalog, type Resource, resolve } from "#meta";
import { type Aim, type Rule, ruleCovers } from "./rules.ts";

/** What one configuration is about. */
export interface Matching {
  readonly rules: readonly Rule[];
  /** Win over `rules`. */
  readonly excluded?: readonly Rule[];
  /** Whether no rules at all mean everything; else they mean nothing. */
  readonly anyWithoutRules?: boolean;
  /** Requests by way of another group or version of the same objects count, too. */
  readonly equivalent: boolean;
}

/** How a rule comes to be about a request. */
interface Hit {
  /** The resource as the rule has it: its version is the one that the object is shown in. */
  readonly as: Resource;
  /** Objects that are meant; empty = all. */
  readonly names: readonly string[];
}

interface Match {
  readonly hits: readonly Hit[];
  readonly exclusions: readonly Hit[];
}

/** What is to be looked at for one sort of request; only names are left to be compared. */
interface Candidate<T> {
  readonly entry: T;
  /** Resource rules of each of the entry's matches. */
  readonly matches: readonly Match[];
}

const admissionPlurals = ["validating", "mutating"].flatMap((sort) => [
  `${sort}webhookconfigurations`,
  `${sort}admissionpolicies`,
  `${sort}admissionpolicybindings`,
]);

/**
 * Finds the configurations that match a request. Matches are computed for the first request of each
 * sort and cached, so that the cost of a request does not depend on unrelated configurations.
 * Admission configurations themselves match no configuration, since a faulty one could otherwise
 * not be deleted.
 */
export class MatchIndex<T> {
  readonly #known = new Map<string, readonly Candidate<T>[]>();
  #content: object | undefined;

  constructor(
    private readonly entries: readonly T[],
    /** All of which must be about a request. */
    private readonly matchingsOf: (entry: T) => readonly Matching[],
    private readonly catalog: Catalog,
  ) {}

  candidates(aim: Aim): readonly Candidate<T>[] {
    if (this.entries.length === 0) return none;
    // Which resources are equivalent changes with what is served.
    if (this.#content !== this.catalog.content) {
      this.#known.clear();
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

  #candidate(entry: T, aim: Aim): readonly Candidate<T>[] {
    const matches = this.matchingsOf(entry).map((matching) => this.#match(matching, aim));
    return matches.includes(undefined) ? [] : [{ entry, matches: matches as readonly Match[] }];
  }

  #match(matching: Matching, aim: Aim): Match | undefined {
    const everything = matching.anyWithoutRules === true && matching.rules.length === 0;
    const hits = everything
      ? [{ as: aim.resource, names: [] }]
      : this.#hits(matching.rules, matching, aim);
    if (hits.length === 0) return undefined;
    const exclusions = this.#hits(matching.excluded ?? [], matching, aim);
    return exclusions.some(({ names }) => names.length === 0) ? undefined : { hits, exclusions };
  }

  /** Rules that name the resource itself come before those that name it in other words. */
  #hits(rules: readonly Rule[], { equivalent }: Matching, aim: Aim): readonly Hit[] {
    const { resource } = aim;
    const own = this.#hitsAs(rules, aim, [resource]);
    if (!equivalent) return own;
    const others = this.catalog.resources.filter(
      (other) => other.keyPrefix === resource.keyPrefix && other !== resource,
    );
    return [...own, ...this.#hitsAs(rules, aim, others)];
  }

  #hitsAs(rules: readonly Rule[], aim: Aim, resources: readonly Resource[]): readonly Hit[] {
    return rules.flatMap((rule) => {
      const as = resources.find((resource) => ruleCovers(rule, aim, resource));
      return as === undefined ? [] : [{ as, names: rule.resourceNames ?? [] }];
    });
  }
}

const none: readonly never[] = [];

/**
 * The resource as the first rule of the first matching has it that means this object; undefined =
 * not all mean it.
 */
export function matchedAs({ matches }: Candidate<unknown>, name: string): Resource | undefined {
  const means = ({ names }: Hit): boolean => names.length === 0 || names.includes(name);
  const found = matches.map(({ hits, exclusions }) =>
    exclusions.some(means) ? undefined : hits.find(means)?.as,
  );
  return found.includes(undefined) ? undefined : found[0];
}
