import { yieldEvery } from "#base";
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

/** Throws 422 with every problem of a new object, in Kubernetes' order. */
export function validateCreate(
  resource: Resource,
  object: any,
  context: HookContext,
): Promise<void> | undefined {
  const problems = new Problems();
  checkMetadata(resource, object, problems);
  checkFields(resource.hub.struct, object, Path.root, problems);
  resource.kind.hooks.validate?.(object, problems, context);
  resource.served.validate?.(object, problems, context);
  return refuse(resource, object, problems);
}

/** Throws 422 with every problem of a changed object, in Kubernetes' order. */
export function validateUpdate(
  resource: Resource,
  object: any,
  { old, context }: { readonly old: any; readonly context: HookContext },
): Promise<void> | undefined {
  const problems = new Problems();
  const { hooks, rules } = resource.kind;
  // Kubernetes checks metadata in a step of every kind and again in the kind's own.
  checkMetadata(resource, object, problems, false);
  checkObjectMetaUpdate(object.metadata, old.metadata, metadataPath, problems);
  for (const check of rules.metadataOnUpdate?.[context.subresource] ?? ["change"]) {
    if (check === "object") checkMetadata(resource, object, problems);
    else {
      checkObjectMetaUpdate(object.metadata, old.metadata, metadataPath, problems);
      if (!hasQualifiedFinalizers(resource)) continue;
      const { finalizers = [] } = object.metadata;
      checkQualifiedFinalizers(finalizers, metadataPath.child("finalizers"), problems);
    }
  }
  checkFields(resource.hub.struct, object, Path.root, problems);
  checkImmutable(resource.hub.struct, object, old, Path.root, problems);
  if (hooks.validateUpdate !== undefined) hooks.validateUpdate(object, old, problems, context);
  else if (context.subresource === "") hooks.validate?.(object, problems, context);
  resource.served.validate?.(object, problems, context);
  return refuse(resource, object, problems);
}

/** What takes long to look at is looked at in turns; nearly always there is no such thing. */
function refuse(resource: Resource, object: any, problems: Problems): Promise<void> | undefined {
  if (!problems.isSettled) return refuseLater(resource, object, problems);
  if (problems.empty) return undefined;
  // Kubernetes validates what it stores, and names the group of that.
  const { hub, kind } = resource;
  throw invalid({ group: hub.group, kind: kind.kind }, object.metadata.name ?? "", problems);
}

async function refuseLater(resource: Resource, object: any, problems: Problems): Promise<void> {
  const pause = yieldEvery();
  for (const _look of problems.settle()) await pause();
  await refuse(resource, object, problems);
}

function hasQualifiedFinalizers({ kind }: Resource): boolean {
  return kind.custom === undefined && kind.rules.freeFinalizers !== true;
}

function checkMetadata(
  resource: Resource,
  object: any,
  problems: Problems,
  checksFinalizers = true,
): void {
  const { scope, rules } = resource.kind;
  const options = {
    namespaced: scope === "Namespaced",
    name: rules.name,
    qualifiedFinalizers: checksFinalizers && hasQualifiedFinalizers(resource),
  };
  checkObjectMeta(object.metadata, options, metadataPath, problems);
}
