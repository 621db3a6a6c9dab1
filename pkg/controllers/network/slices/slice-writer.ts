import { deepEqual } from "#base";
import type { ApiObject, Client, Draft, Handle } from "#client";
import type { EndpointSlice } from "#kinds";
import { isConflict, isNotFound, ignoreNotFound } from "#meta";
import { isTerminating } from "../../controller-context.ts";
import { controllerRef } from "../../owners/controller-ref.ts";
import type { PlannedSlice } from "./slice-plan.ts";
import type { SliceTracker } from "./slice-tracker.ts";

/** Maximum length of an EndpointSlice's name. */
const maxNameLength = 253;

export interface SliceWriterOptions {
  readonly client: Client;
  readonly resource: Handle<EndpointSlice>;
  readonly tracker: SliceTracker;
  /** Whether an updated slice keeps its generateName; mirrored ones lose it. */
  readonly keepsGenerateName: boolean;
  /** Called after each write. */
  readonly wrote: (operation: "create" | "update" | "delete") => void;
}

/** Owner of slices: a Service or Endpoints. */
export interface SliceOwner {
  readonly object: ApiObject;
  readonly resource: Handle;
}

export interface SliceChanges {
  readonly create: readonly PlannedSlice[];
  readonly update: readonly PlannedSlice[];
  readonly delete: readonly EndpointSlice[];
}

/** Creates, updates and deletes the EndpointSlices of an owner. */
export class SliceWriter {
  constructor(private readonly options: SliceWriterOptions) {}

  /**
   * Writes the changes. Pairs of a deletion and a creation become updates.
   * @param annotationsOf returns the annotations of a slice, given the stored ones
   */
  async write(
    owner: SliceOwner,
    changes: SliceChanges,
    annotationsOf: (stored: Readonly<Record<string, string>>) => Readonly<Record<string, string>>,
  ): Promise<void> {
    const { create, update, delete: deleted } = reuseDeleted(owner, changes);
    // The garbage collector deletes the slices of an owner that is being deleted.
    const isDeleted = owner.object.metadata.deletionTimestamp !== undefined;
    for (const slice of isDeleted ? [] : create) {
      const draft = newSlice(owner, slice, annotationsOf({}));
      if (!(await this.create(draft))) return;
    }
    for (const slice of update) await this.update(owner, slice, annotationsOf);
    for (const slice of deleted) await this.delete(slice);
  }

  async delete(slice: EndpointSlice): Promise<void> {
    const { client, resource, tracker, wrote } = this.options;
    const { namespace = "", name, uid } = slice.metadata;
    const preconditions = { uid };
    await client.delete(resource, { namespace, name }, { preconditions }).catch(ignoreNotFound);
    tracker.hasDeleted(slice);
    wrote("delete");
  }

  /** Returns false if the namespace is terminating. */
  private async create(draft: Draft<EndpointSlice>): Promise<boolean> {
    const { client, resource, tracker, wrote } = this.options;
    try {
      tracker.wrote(await client.create(resource, draft));
    } catch (error) {
      if (isTerminating(error)) return false;
      throw new Error(`failed to create EndpointSlice for ${shown(draft)}: ${messageOf(error)}`, {
        cause: error,
      });
    }
    wrote("create");
    return true;
  }

  private async update(
    owner: SliceOwner,
    slice: PlannedSlice,
    annotationsOf: (stored: Readonly<Record<string, string>>) => Readonly<Record<string, string>>,
  ): Promise<void> {
    const { client, resource, tracker, wrote, keepsGenerateName } = this.options;
    const { stored, labels, endpoints, ports } = slice;
    if (stored === undefined) return;
    const { generateName, ...rest } = stored.metadata as Draft<EndpointSlice>["metadata"];
    const metadata =
      keepsGenerateName && generateName !== undefined ? { ...rest, generateName } : rest;
    const annotations = annotationsOf(metadata.annotations ?? {});
    const own = metadata.ownerReferences ?? [];
    const isOwned = own.some(({ uid }) => uid === owner.object.metadata.uid);
    const ownerReferences = isOwned ? own : [controllerRef(owner.resource, owner.object)];
    const draft = {
      ...stored,
      metadata: { ...metadata, labels, annotations, ownerReferences },
      endpoints,
      ports,
    };
    try {
      tracker.wrote(await client.update(resource, draft));
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) throw error;
      const what = `failed to update ${metadata.name} EndpointSlice for ${shown(stored)}`;
      throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
    }
    wrote("update");
  }
}

/** Replaces pairs of a creation and a deletion by updates. */
function reuseDeleted({ object }: SliceOwner, changes: SliceChanges): SliceChanges {
  const create = [...changes.create];
  const update = [...changes.update];
  const deletions = changes.delete.filter((slice) => {
    const isOwned = slice.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid);
    const index = create.findLastIndex(({ addressType }) => addressType === slice.addressType);
    if (isOwned !== true || index < 0) return true;
    const [taken] = create.splice(index, 1);
    update.push({ ...taken!, stored: slice });
    return false;
  });
  return { create, update, delete: deletions };
}

function newSlice(
  { object, resource }: SliceOwner,
  { addressType, endpoints, labels, ports }: PlannedSlice,
  annotations: Readonly<Record<string, string>>,
): Draft<EndpointSlice> {
  const { namespace = "", name } = object.metadata;
  const generateName = name.length < maxNameLength ? `${name}-` : name;
  const ownerReferences = [controllerRef(resource, object)];
  return {
    metadata: { namespace, generateName, labels, annotations, ownerReferences },
    addressType,
    endpoints,
    ports,
  };
}

/** Labels without those named. */
export function withoutLabels(
  labels: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const entries = Object.entries(labels ?? {}).filter(([name]) => !names.includes(name));
  return Object.fromEntries(entries);
}

export function hasSameEntries(
  left: Readonly<Record<string, string>>,
  right: Readonly<Record<string, string>>,
): boolean {
  return deepEqual(left, right);
}

function shown({ metadata }: Draft<EndpointSlice>): string {
  const owner = metadata.ownerReferences?.[0];
  return `${owner?.kind ?? "Service"} ${metadata.namespace}/${owner?.name}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
