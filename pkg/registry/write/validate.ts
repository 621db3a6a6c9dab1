import { type Awaitable, chainAwaitable, promptly, type Slices } from "#base";
import {
  checkQualifiedFinalizers,
  type HookContext,
  invalid,
  objectMetaChecks,
  objectMetaUpdateChecks,
  type Resource,
} from "#meta";
import { checkFields, checkImmutable, Path, Problems } from "#schema";

const metadataPath = Path.of("metadata");

/**
 * Throws 422 with all invalid fields of a new object, in Kubernetes' order. Long validation
 * yields to other requests.
 */
export function validateCreate(
  resource: Resource,
  object: any,
  context: HookContext,
): Awaitable<void> {
  const problems = new Problems();
  const checks = checkNew(resource, object, { problems, context });
  return validate(resource, object, { problems, checks });
}

interface CheckContext {
  readonly problems: Problems;
  readonly context: HookContext;
}

function* checkNew(
  resource: Resource,
  object: any,
  { problems, context }: CheckContext,
): Slices<void> {
  const { hooks, rules } = resource.kind;
  const checks = { problems, context };
  if (!rules.metadataLastOnCreate) yield* metadataChecks(resource, object, checks);
  yield;
  checkFields(resource.hub.struct, object, Path.root, problems);
  yield;
  hooks.validate?.(object, problems, context);
  yield;
  resource.served.validate?.(object, problems, context);
  if (!problems.empty || (!rules.metadataLastOnCreate && rules.name !== "any")) return;
  yield* commonMetadataChecks(resource, object, problems);
}

interface UpdateValidation {
  readonly old: any;
  readonly context: HookContext;
}

/** Throws 422 with all invalid fields and forbidden changes of a changed object. */
export function validateUpdate(
  resource: Resource,
  object: any,
  { old, context }: UpdateValidation,
): Awaitable<void> {
  const problems = new Problems();
  const checks = checkChanged(resource, object, { old, problems, context });
  return validate(resource, object, { problems, checks });
}

function* checkChanged(
  resource: Resource,
  object: any,
  { old, problems, context }: CheckContext & { readonly old: any },
): Slices<void> {
  const { hooks, rules } = resource.kind;
  // kube-apiserver checks metadata twice: in rest.BeforeUpdate, with rules common to all kinds, and
  // in the kind's strategy.
  yield* commonMetadataChecks(resource, object, problems);
  yield;
  yield* objectMetaUpdateChecks(object.metadata, old.metadata, metadataPath, problems);
  for (const check of rules.metadataOnUpdate?.[context.subresource] ?? ["change"]) {
    yield;
    if (check === "object") yield* metadataChecks(resource, object, { problems, context });
    else {
      yield* objectMetaUpdateChecks(object.metadata, old.metadata, metadataPath, problems);
      if (!hasQualifiedFinalizers(resource)) continue;
      const { finalizers = [] } = object.metadata;
      checkQualifiedFinalizers(finalizers, metadataPath.child("finalizers"), problems);
    }
  }
  yield;
  checkFields(resource.hub.struct, object, Path.root, problems);
  yield;
  checkImmutable(resource.hub.struct, object, old, Path.root, problems);
  yield;
  if (hooks.validateUpdate !== undefined) hooks.validateUpdate(object, old, problems, context);
  else if (context.subresource === "") hooks.validate?.(object, problems, context);
  yield;
  resource.served.validate?.(object, problems, context);
}

interface Validation {
  readonly problems: Problems;
  /** Adds to `problems` while it is iterated. */
  readonly checks: Slices<void>;
}

/**
 * Runs the checks and throws 422 if they found problems. Returns a promise if that takes long: for a
 * large object, or one with expensive CEL rules.
 */
function validate(
  resource: Resource,
  object: any,
  { problems, checks }: Validation,
): Awaitable<void> {
  return chainAwaitable(promptly(settledAfter(checks, problems)), () =>
    throwIfInvalid(resource, object, problems),
  );
}

function* settledAfter(checks: Slices<void>, problems: Problems): Slices<void> {
  yield* checks;
  yield* problems.settle();
}

function throwIfInvalid({ hub, kind }: Resource, object: any, problems: Problems): void {
  if (problems.empty) return;
  // The error names the group of the hub version, in which the object is validated.
  throw invalid({ group: hub.group, kind: kind.kind }, object.metadata.name ?? "", problems);
}

function hasQualifiedFinalizers({ kind }: Resource): boolean {
  return kind.custom === undefined && kind.rules.freeFinalizers !== true;
}

function metadataChecks(
  resource: Resource,
  object: any,
  { problems, context }: CheckContext,
): Slices<void> {
  const { scope, rules } = resource.kind;
  const { relaxedName: relaxed } = rules;
  const options = {
    namespaced: scope === "Namespaced",
    name: relaxed !== undefined && context.gate(relaxed.gate) ? relaxed.name : rules.name,
    object,
    qualifiedFinalizers: hasQualifiedFinalizers(resource),
  };
  return objectMetaChecks(object.metadata, options, metadataPath, problems);
}

/** The checks of metadata that kube-apiserver makes for every kind. */
function commonMetadataChecks(
  { kind }: Resource,
  { metadata }: any,
  problems: Problems,
): Slices<void> {
  const namespaced = kind.scope === "Namespaced";
  const options = { namespaced, name: "path-segment", qualifiedFinalizers: false } as const;
  return objectMetaChecks(metadata, options, metadataPath, problems);
}
