import { deepClone } from "#base";
import { checkScale } from "#api";
import { genericFailure, invalid, notFound, type Resource, type ScaleAccess } from "#meta";
import { Problems } from "#schema";
import { decodeBody, type Decoded } from "../body.ts";
import type {
  Body,
  GetOptions,
  Item,
  PatchOptions,
  Target,
  WriteAnswer,
  WriteOptions,
} from "../contract.ts";
import type { Environment } from "../environment.ts";
import { matchName, matchNamespace } from "../metadata.ts";
import { applyPatch } from "../patch.ts";
import { write } from "../pipeline.ts";
import { get } from "../read.ts";
import type { StoredItem } from "../stored.ts";
import { madeItem, spokenResource } from "./made-item.ts";
import type { SpecialVerbs } from "./special-verbs.ts";

/**
 * `scale`: an object seen as a Scale. Writing one changes the number of replicas wanted and nothing
 * else; the object keeps its rules, versions and admission.
 */
export function scaleVerbs(access: ScaleAccess): SpecialVerbs {
  return {
    get: (environment, target, options) => getScale(environment, target, { options, access }),
    update: (environment, target, request) =>
      updateScale(environment, target, { ...request, access }),
    patch: (environment, target, request) =>
      patchScale(environment, target, { ...request, access }),
  };
}

async function getScale(
  environment: Environment,
  target: Target,
  { options, access }: { readonly options: GetOptions; readonly access: ScaleAccess },
): Promise<Item> {
  const item = await get(environment, target, options);
  return scaleItem(scaleResource(environment), item, access);
}

async function updateScale(
  environment: Environment,
  target: Target,
  { body, options, access }: Request<WriteOptions>,
): Promise<WriteAnswer> {
  const resource = scaleResource(environment);
  const decoded = decodeBody(environment, { ...target, resource }, body, options);
  matchNamespace(target, decoded.object.metadata);
  matchName(target, decoded.object.metadata);
  const uid: string | undefined = decoded.object.metadata.uid || undefined;
  const change = (current: StoredItem | undefined): Decoded =>
    scaled(existing(target, current), { wanted: decoded, access });
  const answer = await write(environment, target, { change, uid, dryRun: options.dryRun });
  return { ...answer, item: scaleItem(resource, answer.item, access) };
}

async function patchScale(
  environment: Environment,
  target: Target,
  { body, options, access }: Request<PatchOptions>,
): Promise<WriteAnswer> {
  if (options.patchType === "apply") throw genericFailure(415);
  const resource = scaleResource(environment);
  const patched = applyPatch(environment, { ...target, resource }, { body, options });
  const change = (current: StoredItem | undefined): Decoded => {
    const there = existing(target, current);
    const wanted = patched(scaleItem(resource, there, access));
    matchNamespace(target, wanted.object.metadata);
    matchName(target, wanted.object.metadata);
    return scaled(there, { wanted, access });
  };
  const { dryRun } = options;
  const answer = await write(environment, target, { change, uid: undefined, dryRun });
  return { ...answer, item: scaleItem(resource, answer.item, access) };
}

interface Request<O> {
  readonly body: Body;
  readonly options: O;
  readonly access: ScaleAccess;
}

function scaleResource(environment: Environment): Resource {
  return spokenResource(environment, "autoscaling/v1", "Scale");
}

function existing(target: Target, current: StoredItem | undefined): StoredItem {
  if (current === undefined) throw notFound(target.resource, target.name);
  return current;
}

/** The object with the size that the Scale asks for; one without a version takes any. */
function scaled(
  { object: old }: StoredItem,
  { wanted, access }: { readonly wanted: Decoded; readonly access: ScaleAccess },
): Decoded {
  const { metadata, spec } = wanted.object;
  const problems = new Problems();
  checkScale(wanted.object, problems);
  const kind = { group: "autoscaling", kind: "Scale" };
  if (!problems.empty) throw invalid(kind, metadata.name, problems);
  const object = deepClone(old);
  access.set(object, spec.replicas ?? 0);
  if (metadata.resourceVersion) object.metadata.resourceVersion = metadata.resourceVersion;
  return { object, warnings: [...wanted.warnings] };
}

function scaleItem(resource: Resource, { object, revision }: Item, access: ScaleAccess): Item {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const identity = { name, namespace, uid, resourceVersion, creationTimestamp };
  const metadata = Object.fromEntries(
    Object.entries(identity).filter(([, value]) => value !== undefined),
  );
  const { replicas, observed, selector } = access.get(object);
  const status = { replicas: observed, ...(selector === "" ? {} : { selector }) };
  return madeItem(resource, { metadata, spec: { replicas }, status }, revision);
}
