import { atOnce, deepClone } from "#base";
import { checkScale } from "#api";
import { ManagedFieldsError, toParent, type ReplicasField, toSubresource } from "#fieldmanager";
import {
  conflict,
  groupVersionOf,
  internalError,
  invalid,
  notFound,
  plainFailure,
  type Resource,
  resolve,
  type ScaleAccess,
} from "#meta";
import { Problems } from "#schema";
import { decodeBody, type Decoded } from "../write/decode-body.ts";
import type {
  Body,
  GetOptions,
  Item,
  PatchOptions,
  ResourceRequest,
  WriteResponse,
  WriteOptions,
} from "../contract.ts";
import { configurationApplier } from "../write/server-side-apply.ts";
import type { RegistryContext } from "../context.ts";
import { matchName, matchNamespace } from "../write/metadata.ts";
import { updateManagedFields, setManagedFields } from "../write/managed-fields.ts";
import { patchApplier } from "../write/patch.ts";
import { changeBySubresource } from "../write/pipeline.ts";
import type { ObjectChange } from "../write/write.ts";
import { get } from "../read/get.ts";
import type { StoredItem } from "../codec/stored.ts";
import { virtualItem, subresourceKind } from "./virtual-item.ts";
import type { SpecialVerbs } from "./special-verbs.ts";

/**
 * The verbs of a `scale` subresource, which represents an object as a Scale (autoscaling/v1). A write
 * changes only the desired number of replicas, through the write pipeline of the object's kind.
 */
export function scaleVerbs(access: ScaleAccess): SpecialVerbs {
  return {
    get: (registry, request, options) => getScale(registry, request, { options, access }),
    update: (registry, request, input) => updateScale(registry, request, { ...input, access }),
    patch: (registry, request, input) => patchScale(registry, request, { ...input, access }),
  };
}

async function getScale(
  registry: RegistryContext,
  request: ResourceRequest,
  { options, access }: { readonly options: GetOptions; readonly access: ScaleAccess },
): Promise<Item> {
  const item = await get(registry, request, options);
  const missing = access.missing?.(item.object);
  if (missing !== undefined) throw internalError(missing);
  return scaleItem(scaleResource(registry), item, access);
}

async function updateScale(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options, access }: Request<WriteOptions>,
): Promise<WriteResponse> {
  const resource = scaleResource(registry);
  const decoded = decodeBody(registry, { ...request, resource }, body, options);
  matchNamespace(request, decoded.object.metadata);
  matchName(request, decoded.object.metadata);
  const uid: string | undefined = decoded.object.metadata.uid || undefined;
  const change: ObjectChange = (_registry, current) => {
    const parent = existingObject(request, current);
    const before = scaleOf(registry, request, { parent, access });
    const scale = { object: deepClone(decoded.object), warnings: decoded.warnings };
    const { fieldManager } = options;
    const scaleUpdate = { object: scale.object, old: before, fieldManager };
    atOnce(updateManagedFields(registry, { ...request, resource }, scaleUpdate));
    return withScale(registry, request, { parent, scale, access });
  };
  const response = await changeBySubresource(registry, request, {
    change,
    uid,
    dryRun: options.dryRun,
  });
  return { ...response, item: scaleItem(resource, response.item, access) };
}

async function patchScale(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options, access }: Request<PatchOptions>,
): Promise<WriteResponse> {
  const resource = scaleResource(registry);
  const scaleRequest = { ...request, resource };
  const patchScaleObject = scalePatcher(registry, scaleRequest, { body, options });
  const change: ObjectChange = (_registry, current) => {
    const parent = existingObject(request, current);
    const before = scaleOf(registry, request, { parent, access });
    const scale = patchScaleObject(virtualItem(resource, before, parent.revision));
    matchNamespace(request, scale.object.metadata);
    matchName(request, scale.object.metadata);
    const scaled = withScale(registry, request, { parent, scale, access });
    checkPatchedUid(request, scale.object, parent.object);
    return scaled;
  };
  const { dryRun } = options;
  const response = await changeBySubresource(registry, request, { change, uid: undefined, dryRun });
  return { ...response, item: scaleItem(resource, response.item, access) };
}

/**
 * Throws 409 if a patch changed the uid of a Scale, in the words of the strategies of built-in kinds;
 * kube-apiserver ignores the uid in a Scale of a custom resource.
 */
function checkPatchedUid({ resource, name }: ResourceRequest, scale: any, parent: any): void {
  const { uid } = scale.metadata;
  if (!uid || uid === parent.metadata.uid || resource.kind.custom !== undefined) return;
  const why = `UID in precondition: ${uid}, UID in object meta: ${parent.metadata.uid}`;
  const subresource = { group: resource.group, plural: `${resource.kind.plural}/scale` };
  throw conflict(subresource, name, `Precondition failed: ${why}`);
}

/** Returns a function that patches or applies to the current Scale, and updates its managedFields. */
function scalePatcher(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options }: { readonly body: Body; readonly options: PatchOptions },
): (before: Item) => Decoded {
  if (options.patchType === "apply") {
    const applyConfiguration = configurationApplier(request, { body, options });
    return (before) => atOnce(applyConfiguration(registry, before));
  }
  const applyPatch = patchApplier(request, { body, options });
  const { fieldManager } = options;
  return (before) => {
    const next = atOnce(applyPatch(registry, before));
    const scaleUpdate = { object: next.object, old: before.object, fieldManager };
    atOnce(updateManagedFields(registry, request, scaleUpdate));
    return next;
  };
}

interface Request<O> {
  readonly body: Body;
  readonly options: O;
  readonly access: ScaleAccess;
}

function scaleResource(registry: RegistryContext): Resource {
  return subresourceKind(registry, "autoscaling/v1", "Scale");
}

function existingObject(request: ResourceRequest, current: StoredItem | undefined): StoredItem {
  if (current === undefined) throw notFound(request.resource, request.name);
  return current;
}

interface ScaledObject {
  readonly parent: StoredItem;
  readonly access: ScaleAccess;
}

/** The Scale of a stored object, with managedFields derived from those of the object. */
function scaleOf(
  registry: RegistryContext,
  request: ResourceRequest,
  { parent, access }: ScaledObject,
): any {
  const scale = scaleItem(scaleResource(registry), parent, access).object;
  const replicas = replicasFieldOf(registry, request, access);
  const entries = withManagedFieldsFailure(() =>
    toSubresource(parent.object.metadata.managedFields, replicas),
  );
  setManagedFields(scale.metadata, entries);
  return scale;
}

/**
 * The object with the replicas of the written Scale. The Scale's resourceVersion, if any, becomes the
 * precondition of the write.
 */
function withScale(
  registry: RegistryContext,
  request: ResourceRequest,
  { parent, scale, access }: ScaledObject & { readonly scale: Decoded },
): Decoded {
  const { metadata, spec } = scale.object;
  const problems = new Problems();
  if (access.checksItself !== true) checkScale(scale.object, problems);
  const kind = { group: "autoscaling", kind: "Scale" };
  if (!problems.empty) throw invalid(kind, metadata.name, problems);
  const object = deepClone(parent.object);
  access.set(object, spec.replicas ?? 0);
  const replicas = replicasFieldOf(registry, request, access);
  const entries = withManagedFieldsFailure(() =>
    toParent(object.metadata.managedFields, metadata.managedFields, replicas),
  );
  setManagedFields(object.metadata, entries);
  if (metadata.resourceVersion) object.metadata.resourceVersion = metadata.resourceVersion;
  return { object, warnings: [...scale.warnings] };
}

/** The path of the replicas field in each version of the request's kind. */
function replicasFieldOf(
  { catalog }: RegistryContext,
  { resource }: ResourceRequest,
  { path = "spec.replicas" }: ScaleAccess,
): ReplicasField {
  const { group: kindGroup, versions } = resource.kind;
  const elements = path.split(".").map((name) => `f:${name}`);
  const paths = versions.map(({ group = kindGroup, version }) => {
    const groupVersion = groupVersionOf(resolve(group, catalog.domain), version);
    return [groupVersion, elements] as const;
  });
  return { paths: new Map(paths), apiVersion: resource.groupVersion };
}

/** Turns a ManagedFieldsError of `convert` into a 500 with its message. */
function withManagedFieldsFailure<T>(convert: () => T): T {
  try {
    return convert();
  } catch (fault) {
    throw fault instanceof ManagedFieldsError ? plainFailure(fault.message) : fault;
  }
}

function scaleItem(resource: Resource, { object, revision }: Item, access: ScaleAccess): Item {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const identity = { name, namespace, uid, resourceVersion, creationTimestamp };
  const metadata = Object.fromEntries(
    Object.entries(identity).filter(([, value]) => value !== undefined),
  );
  const { replicas, observed, selector } = access.get(object);
  const status = { replicas: observed, ...(selector === "" ? {} : { selector }) };
  return virtualItem(resource, { metadata, spec: { replicas }, status }, revision);
}
