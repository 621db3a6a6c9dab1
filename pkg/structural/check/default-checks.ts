/** Validation of the defaults in CustomResourceDefinitions. */
import { atOnce, deepClone, isJsonObject } from "#base";
import { costLimits } from "#cel";
import { problemText } from "#meta";
import { DecodeFault, Path, Problems } from "#schema";
import { checkValue } from "./check-value.ts";
import { CompiledSchema } from "../schema/compiled-schema.ts";
import { checkEmbedded, coerceEmbedded } from "./embedded.ts";
import { inGoOrder } from "./go-order.ts";
import { metaFields, prune } from "../prune/prune.ts";
import { checkRules } from "../rules/rules.ts";

/** Validates all defaults in the schema of a resource; `path` is that of the schema. */
export function checkDefaults(
  schema: CompiledSchema,
  path: Path,
  {
    problems,
    allowsUnknown,
  }: {
    readonly problems: Problems;
    /** Allows defaults with fields that would be pruned. */
    readonly allowsUnknown: boolean;
  },
): void {
  if (!schema.hasDefaults) return;
  const root = asEmbedded(schema);
  const walk = new DefaultWalk(problems, allowsUnknown);
  walk.check({ schema: root, path, root, wrap: asResource, isMeta: false });
}

/** The schema as that of an embedded resource. */
function asEmbedded(schema: CompiledSchema): CompiledSchema {
  return new CompiledSchema({ ...schema.source, "x-kubernetes-embedded-resource": true });
}

interface DefaultContext {
  readonly schema: CompiledSchema;
  readonly path: Path;
  /** Schema of the innermost enclosing resource. */
  readonly root: CompiledSchema;
  /** Builds a minimal enclosing resource that has a value at this path. */
  readonly wrap: (value: unknown) => unknown;
  /** Whether the schema is within apiVersion, kind or metadata of a resource. */
  readonly isMeta: boolean;
}

function asResource(value: unknown): unknown {
  const fields = isJsonObject(value) ? value : {};
  return { apiVersion: "validation/v1", kind: "Validation", ...fields };
}

class DefaultWalk {
  /** Remaining cost units for the rules of all defaults. */
  private budget: number = costLimits.object;

  constructor(
    private readonly problems: Problems,
    private readonly allowsUnknown: boolean,
  ) {}

  check(context: DefaultContext): void {
    const { schema, path, wrap } = context;
    if (!schema.hasDefaults || this.budget < 0) return;
    if (schema.default !== undefined) this.checkDefault(schema.default, context);
    if (schema.items !== undefined) {
      this.check(
        enter(
          { ...context, path: path.child("items"), wrap: (item) => wrap([item]) },
          schema.items,
        ),
      );
    }
    // additionalProperties are skipped: defaults there are forbidden or have no effect.
    for (const name of schema.propertyNames) {
      const property = schema.property(name);
      if (property === undefined) continue;
      const ofProperty: DefaultContext = {
        ...context,
        path: path.child("properties").key(name),
        wrap: (value) => wrap({ [name]: value }),
        isMeta: context.isMeta || (schema.isEmbedded && metaFields.has(name)),
      };
      this.check(enter(ofProperty, property));
    }
  }

  private checkDefault(value: unknown, context: DefaultContext): void {
    const { schema } = context;
    const path = context.path.child("default");
    const isAllowed = context.isMeta || this.allowsUnknown || hasNoUnknownFields(value, schema);
    if (!isAllowed) this.problems.invalid(path, inGoOrder(value), "must not have unknown fields");
    const problems = new Problems();
    if (context.isMeta) checkMetaDefault(value, context, { path, problems });
    else checkCoerced(value, schema, { path, problems });
    if (problems.empty) checkValue(value, schema, { prefix: path.toString(), problems });
    if (problems.empty) this.checkRules(value, context, { path, problems });
    for (const problem of problems.list) this.problems.add(problem);
  }

  /** Evaluates the rules as in an update without changes and in a creation. */
  private checkRules(
    value: unknown,
    { schema, root }: DefaultContext,
    { path, problems }: ProblemTarget,
  ): void {
    if (!schema.hasRules) return;
    const options = { path, isRoot: schema === root, problems, budget: this.budget };
    let remaining = atOnce(checkRules(value, schema, { ...options, old: value }));
    if (problems.empty) remaining = Math.min(remaining, atOnce(checkRules(value, schema, options)));
    this.budget = remaining;
  }
}

/** The context of a subschema; an embedded resource starts a new root. */
function enter(context: DefaultContext, schema: CompiledSchema): DefaultContext {
  if (!schema.isEmbedded) return { ...context, schema };
  return { ...context, schema, root: schema, wrap: asResource, isMeta: false };
}

interface ProblemTarget {
  readonly path: Path;
  readonly problems: Problems;
}

/** Whether the value has no fields that would be pruned. */
function hasNoUnknownFields(value: unknown, schema: CompiledSchema): boolean {
  const pruned = deepClone(value);
  return prune(pruned, schema, schema.isEmbedded).length === 0;
}

function checkCoerced(
  value: unknown,
  schema: CompiledSchema,
  { path, problems }: ProblemTarget,
): void {
  const coerced = deepClone(value);
  try {
    coerceEmbedded(coerced, schema);
  } catch (fault) {
    if (!(fault instanceof DecodeFault)) throw fault;
    return problems.invalid(path, inGoOrder(value), fault.message);
  }
  checkEmbedded(coerced, schema, path, problems);
}

/** Validates a default within metadata as part of a minimal resource. */
function checkMetaDefault(
  value: unknown,
  context: DefaultContext,
  { path, problems }: ProblemTarget,
): void {
  const resource = context.wrap(deepClone(value));
  const found = new Problems();
  try {
    coerceEmbedded(resource, context.root);
    checkEmbedded(resource, context.root, Path.root, found);
  } catch (fault) {
    if (!(fault instanceof DecodeFault)) throw fault;
    found.invalid(Path.root, undefined, fault.message);
  }
  if (found.empty) return;
  const texts = found.list.map((problem) => `${problem.field}: ${problemText(problem)}`);
  const all = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  problems.invalid(path, inGoOrder(value), `must result in valid metadata: ${all}`);
}
