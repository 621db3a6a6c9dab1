import { isJsonObject, type JsonObject, memoize, OpaqueJson, type Slices } from "#base";
import { applyConflict, badRequest, goQuote, plainFailure } from "#meta";
import { configurationFault } from "./typed/validate.ts";
import { difference, type FieldSet, isEmptySet, isSameSet, setOf, union } from "./fieldpath/set.ts";
import {
  capUpdaters,
  managerIdentifier,
  type ManagedFieldsEntry,
  type Manager,
  Managers,
  ManagedFieldsError,
} from "./managers.ts";
import { allowedByLastApplied, withLastApplied } from "./last-applied.ts";
import { fieldElement } from "./fieldpath/path-element.ts";
import type { Shape } from "./typed/shape.ts";
import {
  apply,
  type Applied,
  type Change,
  type Conflict,
  ConflictError,
  pathText,
  remaining,
  update,
} from "./updater.ts";
import { ElementError } from "./typed/value.ts";

/** One write as ownership sees it. Objects are JSON in the version of the request. */
export interface Write extends Change {
  readonly kind: string;
  /** "" = the manager is not known. */
  readonly manager: string;
  readonly subresource: string;
  /** RFC 3339 in whole seconds. */
  readonly now: string;
  /** Where kubectl's client-side apply keeps its last configuration. */
  readonly annotation: string;
}

const unknown = "unknown";

/** Manager of the fields that an object without managedFields has when it is first applied. */
const beforeApply = "before-first-apply";

/** What the server owns, and what names the object. */
const strippedFields: FieldSet = union(
  setOf(["apiVersion"].map(fieldElement), ["kind"].map(fieldElement)),
  setOf(
    ["f:metadata"],
    ...[
      "name",
      "namespace",
      "creationTimestamp",
      "selfLink",
      "uid",
      "clusterName",
      "generation",
      "managedFields",
      "resourceVersion",
    ].map((name) => ["f:metadata", fieldElement(name)]),
  ),
);

export interface Update {
  /** What was there; for a creation the object of its kind with nothing set. */
  readonly live: () => JsonObject;
  readonly next: () => JsonObject;
  readonly creation: boolean;
  /** What lies there. */
  readonly entries: readonly ManagedFieldsEntry[] | null | undefined;
  /** What the client sent; undefined for nothing. */
  readonly sent: readonly ManagedFieldsEntry[] | null | undefined;
}

/**
 * The entries after a create, replace or patch. An object without owners gets none by an update.
 * Neither owners that cannot be read nor elements that cannot be told apart are an error of the
 * request: the object goes without owners then.
 */
export function* managedFieldsAfterUpdate(
  write: Write,
  change: Update,
): Slices<readonly ManagedFieldsEntry[]> {
  const managers = yield* managersBefore(write, change);
  if (managers.size === 0 && !change.creation) return [];
  yield;
  try {
    const after = yield* updated(write, change, managers);
    yield;
    return yield* after.entriesInSlices();
  } catch (fault) {
    if (fault instanceof ManagedFieldsError || fault instanceof ElementError) return [];
    throw fault;
  }
}

/** A client may hand in other entries, or take all away with `[]` or `[{}]`. */
function* managersBefore({ subresource }: Write, { entries, sent }: Update): Slices<Managers> {
  if (subresource !== "" || sent === undefined || sent === null) {
    return yield* readOrNone(entries);
  }
  const [first] = sent;
  if (first === undefined) return new Managers();
  if (sent.length === 1 && Object.values(first).every((value) => value === undefined)) {
    return new Managers();
  }
  try {
    return yield* Managers.readInSlices(sent);
  } catch (fault) {
    if (fault instanceof ManagedFieldsError) return yield* readOrNone(entries);
    throw fault;
  }
}

function* readOrNone(entries: readonly ManagedFieldsEntry[] | null | undefined): Slices<Managers> {
  try {
    return yield* Managers.readInSlices(entries);
  } catch (fault) {
    if (fault instanceof ManagedFieldsError) return new Managers();
    throw fault;
  }
}

function* updated(
  write: Write,
  { live, next }: Pick<Update, "live" | "next">,
  known: Managers,
): Slices<Managers> {
  const before = live();
  yield;
  const objects = { live: before, next: next() };
  yield;
  const { managers, fields } = yield* update(write, objects, known);
  yield;
  const owned = difference(fields, strippedFields);
  yield;
  if (!isEmptySet(owned)) {
    const manager = managerOf(write, "Update");
    const previous = managers.get(managerIdentifier(manager));
    const all = previous === undefined ? owned : union(owned, previous.fields);
    managers.put({ ...manager, fields: all, time: write.now });
  }
  capUpdaters(managers);
  return managers;
}

/** Paths that a create through an endpoint gives to no manager: what it ignores, and names. */
export const excludedAtCreation = memoize((ignored: FieldSet): FieldSet =>
  union(ignored, strippedFields),
);

/** The entries of an object that had no owners before it was created, from `createdFields`. */
export function managedFieldsAtCreation(
  { manager, apiVersion, now }: Pick<Write, "manager" | "apiVersion" | "now">,
  created: string,
): readonly ManagedFieldsEntry[] {
  if (created === "") return [];
  return [
    {
      manager: manager || unknown,
      operation: "Update",
      apiVersion,
      time: now,
      fieldsType: "FieldsV1",
      fieldsV1: OpaqueJson.printed(created),
    },
  ];
}

function managerOf(
  { manager, subresource, apiVersion }: Write,
  operation: "Apply" | "Update",
): Omit<Manager, "fields" | "time"> {
  return { name: manager || unknown, operation, subresource, apiVersion };
}

export interface Configuration {
  /** The applied document as it was sent. */
  readonly document: JsonObject;
  readonly live: JsonObject;
  /** The object of its kind with nothing set. */
  readonly zero: () => JsonObject;
  /** There is no object yet: `live` has nothing set. */
  readonly creation: boolean;
  readonly entries: readonly ManagedFieldsEntry[] | null | undefined;
  readonly force: boolean;
}

export interface AppliedConfiguration {
  /** Undefined if the object stays as it is; its owners may change all the same. */
  readonly object: JsonObject | undefined;
  readonly entries: readonly ManagedFieldsEntry[];
}

/**
 * Applies a configuration to a live object.
 *
 * @throws StatusError 400, 409 and 500 in Kubernetes' words
 */
export function* applyConfiguration(
  write: Write,
  configuration: Configuration,
): Slices<AppliedConfiguration> {
  const { document, live, zero, creation, entries } = configuration;
  try {
    let managers = yield* readForApply(entries);
    checkKind(write, document);
    if (managers.size === 0 && !creation) {
      const first = { ...write, manager: beforeApply };
      managers = yield* updated(first, { live: zero, next: () => live }, managers);
    }
    yield;
    checkDocument(write, document);
    yield;
    const applied = yield* applyAsManager(write, configuration, managers);
    yield;
    const object =
      applied.object === undefined ? undefined : withLastApplied(write, applied.object, document);
    // The annotation follows even where nothing else changes.
    const kept = object ?? changedBy(withLastApplied(write, live, document), live);
    return { object: kept, entries: yield* applied.managers.entriesInSlices() };
  } catch (fault) {
    if (fault instanceof ManagedFieldsError) throw plainFailure(fault.message);
    if (fault instanceof ConflictError) throw conflictError(fault.conflicts);
    if (fault instanceof ElementError) {
      const what = `failed to create typed live object (${named(write, live)})`;
      throw plainFailure(`${what}: ${fault.message}`);
    }
    throw fault;
  }
}

function changedBy(object: JsonObject, live: JsonObject): JsonObject | undefined {
  return object === live ? undefined : object;
}

function* readForApply(entries: Configuration["entries"]): Slices<Managers> {
  try {
    return yield* Managers.readInSlices(entries);
  } catch (fault) {
    if (!(fault instanceof ManagedFieldsError)) throw fault;
    throw new ManagedFieldsError(`failed to decode managed fields: ${fault.message}`);
  }
}

function* applyAsManager(
  write: Write,
  { document, live, force }: Configuration,
  before: Managers,
): Slices<Applied> {
  const manager = managerOf(write, "Apply");
  const id = managerIdentifier(manager);
  const configuration = document;
  const application = { live, configuration, manager, id, force };
  let applied: Applied;
  try {
    applied = yield* apply(write, application, before);
  } catch (fault) {
    if (!(fault instanceof ConflictError) || write.manager !== "kubectl") throw fault;
    const allowed = allowedByLastApplied(write, live);
    if (allowed === undefined) throw fault;
    const conflicts = remaining(fault.conflicts, allowed);
    if (conflicts.length > 0) throw new ConflictError(conflicts);
    applied = yield* apply(write, { ...application, force: true }, before);
  }
  const { object, managers } = applied;
  yield;
  managers.take(id, strippedFields);
  const own = managers.get(id);
  if (own === undefined) return applied;
  const time = object === undefined ? own.time : write.now;
  managers.put({ ...withPrinted(own, before.get(id)), time });
  return applied;
}

/** The manager with the text of its fields before, if they are the same. */
function withPrinted(manager: Manager, before: Manager | undefined): Manager {
  if (before?.carried === undefined || !isSameSet(before.fields, manager.fields)) return manager;
  const { fields, carried } = before;
  return { ...manager, fields, carried };
}

/** @throws StatusError 400 unless the document is of the kind and version of the endpoint */
function checkKind({ kind, apiVersion }: Write, document: JsonObject): void {
  const named = typeof document["kind"] === "string" ? document["kind"] : "";
  const version = typeof document["apiVersion"] === "string" ? document["apiVersion"] : "";
  const parts = version.split("/");
  const isMalformed = parts.length > 2;
  const [group, name] = isMalformed ? ["", ""] : parts.length === 2 ? parts : ["", version];
  if (!isMalformed && named === kind && version === apiVersion) return;
  throw badRequest(`invalid object type: ${group}/${name}, Kind=${isMalformed ? "" : named}`);
}

/** @throws StatusError 400 and 500 */
function checkDocument(write: Write, document: JsonObject): void {
  const metadata = isJsonObject(document["metadata"]) ? document["metadata"] : {};
  if (Array.isArray(metadata["managedFields"])) {
    throw badRequest("metadata.managedFields must be nil");
  }
  const shape = write.versions.shapeOf(write.apiVersion) as Shape;
  const fault = configurationFault(shape, document);
  if (fault !== "") {
    throw plainFailure(`failed to create typed patch object (${named(write, document)}): ${fault}`);
  }
}

/** `namespace/name; group/version, Kind=Kind` of what a document says of itself. */
export function named(
  { kind, apiVersion }: Pick<Write, "kind" | "apiVersion">,
  document: JsonObject,
): string {
  const metadata = isJsonObject(document["metadata"]) ? document["metadata"] : {};
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const version = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
  const object = `${text(metadata["namespace"])}/${text(metadata["name"])}`;
  return `${object}; ${version}, Kind=${kind}`;
}

function conflictError(conflicts: readonly Conflict[]): Error {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${describeManager(manager)}`,
    field: pathText(path),
  }));
  return applyConflict(conflictMessage(conflicts), causes);
}

function conflictMessage(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined) {
    const { manager, path } = first;
    const with_ = `conflict with ${describeManager(manager)}: ${pathText(path)}`;
    return `Apply failed with 1 conflict: ${with_}`;
  }
  const ids = [...new Set(conflicts.map(({ id }) => id))].sort();
  const lists = ids.map((id) => {
    const own = conflicts.filter((conflict) => conflict.id === id);
    const paths = own.map(({ path }) => `- ${pathText(path)}`);
    const [any] = own;
    const who = any === undefined ? "" : describeManager(any.manager);
    return [`conflicts with ${who}:`, ...paths].join("\n");
  });
  return `Apply failed with ${conflicts.length} conflicts: ${lists.join("\n")}`;
}

function describeManager({ name, operation, subresource, apiVersion }: Manager): string {
  const endpoint = subresource === "" ? "" : ` with subresource ${goQuote(subresource)}`;
  const version = operation === "Update" ? ` using ${apiVersion}` : "";
  return `${goQuote(name)}${endpoint}${version}`;
}
