import { atOnce, inTurns, type Slices } from "#base";
import {
  checkObjectMeta,
  checkObjectMetaUpdate,
  checkQualifiedFinalizers,
  type HookContext,
  invalid,
  type Resource,
} from "#meta";
import { checkFields, checkImmutable, Path, Problems } from "#schema";

const metadataPath = Path.of("metadata");

/**
 * Throws 422 with every problem of a new object, in Kubernetes' order. A large object is checked in
 * turns with other requests.
 */
export function validateCreate(
  resource: Resource,
  object: any,
  { context, isLarge }: { readonly context: HookContext; readonly isLarge: boolean },
): Promise<void> | undefined {
  const problems = new Problems();
  const checks = checksOfNew(resource, object, { problems, context });
  return refuse(resource, object, { problems, checks, isLarge });
}

interface Checked {
  readonly problems: Problems;
  readonly context: HookContext;
}

function* checksOfNew(
  resource: Resource,
  object: any,
  { problems, context }: Checked,
): Slices<void> {
  checkMetadata(resource, object, problems);
  yield;
  checkFields(resource.hub.struct, object, Path.root, problems);
  yield;
  resource.kind.hooks.validate?.(object, problems, context);
  yield;
  resource.served.validate?.(object, problems, context);
}

interface UpdateValidation {
  readonly old: any;
  readonly context: HookContext;
  readonly isLarge: boolean;
}

/** As `validateCreate`, of a changed object. */
export function validateUpdate(
  resource: Resource,
  object: any,
  { old, context, isLarge }: UpdateValidation,
): Promise<void> | undefined {
  const problems = new Problems();
  const checks = checksOfChanged(resource, object, { old, problems, context });
  return refuse(resource, object, { problems, checks, isLarge });
}

function* checksOfChanged(
  resource: Resource,
  object: any,
  { old, problems, context }: Checked & { readonly old: any },
): Slices<void> {
  const { hooks, rules } = resource.kind;
  // Kubernetes checks metadata in a step of every kind, which knows no kind's names and
  // finalizers, and again in the kind's own.
  const options = {
    namespaced: resource.kind.scope === "Namespaced",
    name: "path-segment",
  } as const;
  checkObjectMeta(
    object.metadata,
    { ...options, qualifiedFinalizers: false },
    metadataPath,
    problems,
  );
  yield;
  checkObjectMetaUpdate(object.metadata, old.metadata, metadataPath, problems);
  for (const check of rules.metadataOnUpdate?.[context.subresource] ?? ["change"]) {
    yield;
    if (check === "object") checkMetadata(resource, object, problems);
    else {
      checkObjectMetaUpdate(object.metadata, old.metadata, metadataPath, problems);
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
  /** Adds to the problems. */
  readonly checks: Slices<void>;
  readonly isLarge: boolean;
}

/** What takes long to look at is looked at in turns; nearly always there is no such thing. */
function refuse(
  resource: Resource,
  object: any,
  { problems, checks, isLarge }: Validation,
): Promise<void> | undefined {
  if (isLarge) {
    return inTurns(checks).then(() => refuseInTurns(resource, object, problems));
  }
  atOnce(checks);
  if (!problems.isSettled) return refuseInTurns(resource, object, problems);
  return void refuseFound(resource, object, problems);
}

async function refuseInTurns(resource: Resource, object: any, problems: Problems): Promise<void> {
  await inTurns(problems.settle());
  refuseFound(resource, object, problems);
}

function refuseFound({ hub, kind }: Resource, object: any, problems: Problems): void {
  if (problems.empty) return;
  // Kubernetes validates what it stores, and names the group of that.
  throw invalid({ group: hub.group, kind: kind.kind }, object.metadata.name ?? "", problems);
}

function hasQualifiedFinalizers({ kind }: Resource): boolean {
  return kind.custom === undefined && kind.rules.freeFinalizers !== true;
}

function checkMetadata(resource: Resource, object: any, problems: Problems): void {
  const { scope, rules } = resource.kind;
  const options = {
    namespaced: scope === "Namespaced",
    name: rules.name,
    qualifiedFinalizers: hasQualifiedFinalizers(resource),
  };
  checkObjectMeta(object.metadata, options, metadataPath, problems);
}
