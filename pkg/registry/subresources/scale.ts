import { atOnce, deepClone } from "#base";
import { checkScale } from "#api";
import { ManagedFieldsError, toParent, type ReplicasField, toSubresource } from "#fieldmanager";
import {
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
import { checkPreconditions } from "../write/preconditions.ts";
import { patchApplier } from "../write/patch.ts";
import { changeBySubresource } from "../write/pipeline.ts";
import type { ObjectChange } from "../write/write.ts";
import { get } from "../read/get.ts";
import type { StoredItem } from "../codec/stored.ts";
import { virtualItem, subresourceKind } from "./virtual-item.ts";
import type { SpecialVerbs } from "./special-verbs.ts";

/**
 * `scale`: an object seen as a Scale. Writing one changes the number of replicas wanted and nothing
 * else; the object keeps its rules, versions and admission.
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
    const there = existingObject(request, current);
    const before = seenAsScale(registry, request, { there, access });
    const wanted = { object: deepClone(decoded.object), warnings: decoded.warnings };
    const { fieldManager } = options;
    const owning = { object: wanted.object, old: before, fieldManager };
    atOnce(updateManagedFields(registry, { ...request, resource }, owning));
    return scaled(registry, request, { there, wanted, access });
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
  const patched = scalePatcher(registry, scaleRequest, { body, options });
  const change: ObjectChange = (_registry, current) => {
    const there = existingObject(request, current);
    const before = seenAsScale(registry, request, { there, access });
    const wanted = patched(virtualItem(resource, before, there.revision));
    matchNamespace(request, wanted.object.metadata);
    matchName(request, wanted.object.metadata);
    const uid: string | undefined = wanted.object.metadata.uid || undefined;
    checkPreconditions(registry, request, { uid, current });
    return scaled(registry, request, { there, wanted, access });
  };
  const { dryRun } = options;
  const response = await changeBySubresource(registry, request, { change, uid: undefined, dryRun });
  return { ...response, item: scaleItem(resource, response.item, access) };
}

/** The wanted Scale, with its owners, made from the Scale that is there. */
function scalePatcher(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options }: { readonly body: Body; readonly options: PatchOptions },
): (before: Item) => Decoded {
  if (options.patchType === "apply") {
    const configured = configurationApplier(request, { body, options });
    return (before) => atOnce(configured(registry, before));
  }
  const patched = patchApplier(request, { body, options });
  const { fieldManager } = options;
  return (before) => {
    const wanted = atOnce(patched(registry, before));
    const owning = { object: wanted.object, old: before.object, fieldManager };
    atOnce(updateManagedFields(registry, request, owning));
    return wanted;
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

interface Seen {
  readonly there: StoredItem;
  readonly access: ScaleAccess;
}

/** What is there as a Scale, with the owners of the number of replicas. */
function seenAsScale(
  registry: RegistryContext,
  request: ResourceRequest,
  { there, access }: Seen,
): any {
  const scale = scaleItem(scaleResource(registry), there, access).object;
  const entries = readably(() =>
    toSubresource(there.object.metadata.managedFields, replicasOf(registry, request, access)),
  );
  setManagedFields(scale.metadata, entries);
  return scale;
}

/** The object with the size that the Scale asks for; one without a version takes any. */
function scaled(
  registry: RegistryContext,
  request: ResourceRequest,
  { there, wanted, access }: Seen & { readonly wanted: Decoded },
): Decoded {
  const { metadata, spec } = wanted.object;
  const problems = new Problems();
  if (access.checksItself !== true) checkScale(wanted.object, problems);
  const kind = { group: "autoscaling", kind: "Scale" };
  if (!problems.empty) throw invalid(kind, metadata.name, problems);
  const object = deepClone(there.object);
  access.set(object, spec.replicas ?? 0);
  const entries = readably(() =>
    toParent(
      object.metadata.managedFields,
      metadata.managedFields,
      replicasOf(registry, request, access),
    ),
  );
  setManagedFields(object.metadata, entries);
  if (metadata.resourceVersion) object.metadata.resourceVersion = metadata.resourceVersion;
  return { object, warnings: [...wanted.warnings] };
}

/** Where each version of the request's kind keeps its number of replicas. */
function replicasOf(
  { catalog }: RegistryContext,
  { resource }: ResourceRequest,
  { path = "spec.replicas" }: ScaleAccess,
): ReplicasField {
  const { group: usual, versions } = resource.kind;
  const elements = path.split(".").map((name) => `f:${name}`);
  const paths = versions.map(({ group = usual, version }) => {
    const groupVersion = groupVersionOf(resolve(group, catalog.domain), version);
    return [groupVersion, elements] as const;
  });
  return { paths: new Map(paths), apiVersion: resource.groupVersion };
}

function readably<T>(work: () => T): T {
  try {
    return work();
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
