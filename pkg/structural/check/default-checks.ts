/** Defaults are values of their schemas. */
import { deepClone, isJsonObject } from "#base";
import { costLimits } from "#cel";
import { problemText } from "#meta";
import { DecodeFault, Path, Problems } from "#schema";
import { checkValue } from "./check-value.ts";
import { CompiledSchema } from "../schema/compiled-schema.ts";
import { checkEmbedded, coerceEmbedded } from "./embedded.ts";
import { inGoOrder } from "./go-order.ts";
import { metaFields, prune } from "../prune/prune.ts";
import { checkRules } from "../rules/rules.ts";

/** Checks all defaults in the schema of a resource, at `path`. */
export function checkDefaults(
  schema: CompiledSchema,
  path: Path,
  {
    problems,
    allowsUnknown,
  }: {
    readonly problems: Problems;
    /** Defaults may have fields that would be pruned. */
    readonly allowsUnknown: boolean;
  },
): void {
  if (!schema.hasDefaults) return;
  const root = embedding(schema);
  const walk = new DefaultWalk(problems, allowsUnknown);
  walk.check({ schema: root, path, root, surround: asResource, isMeta: false });
}

/** The same schema of something with apiVersion, kind and metadata. */
function embedding(schema: CompiledSchema): CompiledSchema {
  return new CompiledSchema({ ...schema.source, "x-kubernetes-embedded-resource": true });
}

interface DefaultContext {
  readonly schema: CompiledSchema;
  readonly path: Path;
  /** Schema of the innermost resource around it. */
  readonly root: CompiledSchema;
  /** That resource, with nothing in it but a value in this place. */
  readonly surround: (value: unknown) => unknown;
  /** In what every resource has: apiVersion, kind, metadata. */
  readonly isMeta: boolean;
}

function asResource(value: unknown): unknown {
  const fields = isJsonObject(value) ? value : {};
  return { apiVersion: "validation/v1", kind: "Validation", ...fields };
}

class DefaultWalk {
  /** Cost units for the rules of all defaults together. */
  private budget: number = costLimits.object;

  constructor(
    private readonly problems: Problems,
    private readonly allowsUnknown: boolean,
  ) {}

  check(place: DefaultContext): void {
    const { schema, path, surround } = place;
    if (!schema.hasDefaults || this.budget < 0) return;
    if (schema.default !== undefined) this.checkDefault(schema.default, place);
    if (schema.items !== undefined) {
      this.check(
        inside(
          { ...place, path: path.child("items"), surround: (item) => surround([item]) },
          schema.items,
        ),
      );
    }
    // Not into the values of maps, whose defaults are forbidden or do nothing.
    for (const name of schema.names) {
      const property = schema.property(name);
      if (property === undefined) continue;
      const below: DefaultContext = {
        ...place,
        path: path.child("properties").key(name),
        surround: (value) => surround({ [name]: value }),
        isMeta: place.isMeta || (schema.isEmbedded && metaFields.has(name)),
      };
      this.check(inside(below, property));
    }
  }

  private checkDefault(value: unknown, place: DefaultContext): void {
    const { schema } = place;
    const path = place.path.child("default");
    const isKept = place.isMeta || this.allowsUnknown || isPruned(value, schema);
    if (!isKept) this.problems.invalid(path, inGoOrder(value), "must not have unknown fields");
    const problems = new Problems();
    if (place.isMeta) checkMetaDefault(value, place, { path, problems });
    else checkCoerced(value, schema, { path, problems });
    if (problems.empty) checkValue(value, schema, { prefix: path.toString(), problems });
    if (problems.empty) this.checkRules(value, place, { path, problems });
    for (const problem of problems.list) this.problems.add(problem);
  }

  /** As an update from the same value, and as a creation. */
  private checkRules(
    value: unknown,
    { schema, root }: DefaultContext,
    { path, problems }: Report,
  ): void {
    if (!schema.hasRules) return;
    const options = { path, isRoot: schema === root, problems, budget: this.budget };
    let left = checkRules(value, schema, { ...options, old: value });
    if (problems.empty) left = Math.min(left, checkRules(value, schema, options));
    this.budget = left;
  }
}

function inside(place: DefaultContext, schema: CompiledSchema): DefaultContext {
  if (!schema.isEmbedded) return { ...place, schema };
  return { ...place, schema, root: schema, surround: asResource, isMeta: false };
}

interface Report {
  readonly path: Path;
  readonly problems: Problems;
}

function isPruned(value: unknown, schema: CompiledSchema): boolean {
  const pruned = deepClone(value);
  return prune(pruned, schema, schema.isEmbedded).length === 0;
}

function checkCoerced(value: unknown, schema: CompiledSchema, { path, problems }: Report): void {
  const coerced = deepClone(value);
  try {
    coerceEmbedded(coerced, schema);
  } catch (fault) {
    if (!(fault instanceof DecodeFault)) throw fault;
    return problems.invalid(path, inGoOrder(value), fault.message);
  }
  checkEmbedded(coerced, schema, path, problems);
}

/** What metadata must be shows only in a whole resource. */
function checkMetaDefault(value: unknown, place: DefaultContext, { path, problems }: Report): void {
  const resource = place.surround(deepClone(value));
  const found = new Problems();
  try {
    coerceEmbedded(resource, place.root);
    checkEmbedded(resource, place.root, Path.root, found);
  } catch (fault) {
    if (!(fault instanceof DecodeFault)) throw fault;
    found.invalid(Path.root, undefined, fault.message);
  }
  if (found.empty) return;
  const texts = found.list.map((problem) => `${problem.field}: ${problemText(problem)}`);
  const all = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  problems.invalid(path, inGoOrder(value), `must result in valid metadata: ${all}`);
}
