import type { FlowSchema } from "#api";
import { setBounded } from "#base";
import type { RequestInfo, User } from "#request";
import { FlowSchemaMatcher, type RequestRules } from "./flow-schema-matcher.ts";

/** A FlowSchema; a mandatory one that is not stored has no uid. */
export interface FlowSchemaObject {
  readonly metadata: { readonly name: string; readonly uid?: string };
  readonly spec: FlowSchema["spec"];
}

/** A FlowSchema with its matcher. */
interface CompiledSchema {
  readonly schema: FlowSchemaObject;
  readonly matcher: FlowSchemaMatcher;
}

type UserRules = readonly { readonly schema: FlowSchemaObject; readonly rules: RequestRules }[];

interface CachedUser {
  readonly groups: readonly string[];
  readonly rules: UserRules;
}

/** Number of users whose matching rules are cached. */
const maxCachedUsers = 1000;
/** Limits for caching; users with a longer name or more groups are matched for each request. */
const maxNameLength = 256;
const maxGroups = 64;

/**
 * Assigns each request to the first matching FlowSchema in order of matchingPrecedence, then of name.
 * Subjects are matched once per user, so that a request costs a few set look-ups however many
 * FlowSchemas name other users.
 */
export class Classifier {
  private readonly schemas: readonly CompiledSchema[];
  private readonly users = new Map<string, CachedUser>();

  /** @param fallback FlowSchema of requests that no schema matches. */
  constructor(
    schemas: readonly FlowSchemaObject[],
    private readonly fallback: FlowSchemaObject,
  ) {
    this.schemas = schemas
      .toSorted(byPrecedence)
      .map((schema) => ({ schema, matcher: new FlowSchemaMatcher(schema.spec) }));
  }

  classify(user: User, request: RequestInfo): FlowSchemaObject {
    for (const { schema, rules } of this.rulesOf(user)) {
      if (rules.matches(request)) return schema;
    }
    return this.fallback;
  }

  private rulesOf(user: User): UserRules {
    const { name, groups } = user;
    const known = this.users.get(name);
    if (known !== undefined && isSame(known.groups, groups)) return known.rules;
    const rules = this.schemas.flatMap(({ schema, matcher }) => {
      const matching = matcher.rulesOf(user);
      return matching === undefined ? [] : [{ schema, rules: matching }];
    });
    if (name.length <= maxNameLength && groups.length <= maxGroups) {
      setBounded(this.users, [name, { groups, rules }], maxCachedUsers);
    }
    return rules;
  }
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  if (some === others) return true;
  return some.length === others.length && some.every((each, index) => each === others[index]);
}

/** The flow distinguisher of a request, which identifies its flow within the FlowSchema. */
export function flowDistinguisher(
  { spec }: FlowSchemaObject,
  user: User,
  request: RequestInfo,
): string {
  switch (spec.distinguisherMethod?.type) {
    case "ByUser":
      return user.name;
    case "ByNamespace":
      return request.namespace;
    default:
      return "";
  }
}

function byPrecedence(a: FlowSchemaObject, b: FlowSchemaObject): number {
  const difference = a.spec.matchingPrecedence - b.spec.matchingPrecedence;
  if (difference !== 0) return difference;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
