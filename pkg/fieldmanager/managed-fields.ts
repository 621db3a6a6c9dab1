import { isJsonObject, type JsonObject, memoize, OpaqueJson, type Slices } from "#base";
import { applyConflict, badRequest, goQuote, plainFailure } from "#meta";
import { configurationFaultInSlices } from "./typed/validate.ts";
import { difference, type FieldSet, isEmptySet, setOf, union } from "./fieldpath/set.ts";
import { isSameSetInSlices, unionInSlices } from "./fieldpath/set-in-slices.ts";
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
  conflictsOutside,
  pathText,
  update,
} from "./updater.ts";
import { ElementError } from "./typed/value.ts";

/** A write for which managedFields are computed. Objects are JSON in the version of the request. */
export interface Write extends Change {
  readonly kind: string;
  /** "" if the request names none. */
  readonly manager: string;
  readonly subresource: string;
  /** RFC 3339 in whole seconds. */
  readonly now: string;
  /** Key of the annotation with kubectl's last applied configuration. */
  readonly annotation: string;
}

const unknownManager = "unknown";

/** Manager of the fields that an object without managedFields has when it is first applied. */
const beforeApply = "before-first-apply";

/** Fields without a manager: identity and metadata that the server sets. */
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

interface ComparedObjects {
  /** The stored object; for a creation the zero object of the kind. */
  readonly live: JsonObject;
  /** The written object. */
  readonly next: JsonObject;
}

export interface Update {
  /**
   * The objects to compare, in the version of the write; what is equal in both may be left out unless
   * `areConverted`: other versions may map a member to several fields.
   */
  readonly objects: (areConverted: boolean) => Slices<ComparedObjects>;
  readonly creation: boolean;
  /** The managedFields of the stored object. */
  readonly entries: readonly ManagedFieldsEntry[] | null | undefined;
  /** The managedFields in the request; undefined if it has none. */
  readonly sent: readonly ManagedFieldsEntry[] | null | undefined;
}

/**
 * The managedFields after a create, replace or patch. Updates of an object without managedFields add
 * none. Malformed managedFields and list items without distinct keys do not fail the request: the
 * object then has no managedFields.
 */
export function* managedFieldsAfterUpdate(
  write: Write,
  change: Update,
): Slices<readonly ManagedFieldsEntry[]> {
  const managers = yield* managersBefore(write, change);
  if (managers.size === 0 && !change.creation) return [];
  yield;
  try {
    const after = yield* updateManagers(write, change, managers);
    yield;
    return yield* after.entriesInSlices();
  } catch (fault) {
    if (fault instanceof ManagedFieldsError || fault instanceof ElementError) return [];
    throw fault;
  }
}

/** The managers to start from: a request can replace managedFields, and reset them with `[]` or `[{}]`. */
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

function* updateManagers(
  write: Write,
  { objects: compared }: Pick<Update, "objects">,
  known: Managers,
): Slices<Managers> {
  const areConverted = [...known].some(([, { apiVersion }]) => apiVersion !== write.apiVersion);
  const objects = yield* compared(areConverted);
  yield;
  const manager = managerOf(write, "Update");
  const id = managerIdentifier(manager);
  const { managers, fields } = yield* update(write, objects, { managers: known, self: id });
  yield;
  const changed = difference(fields, strippedFields);
  yield;
  if (!isEmptySet(changed)) {
    const previous = managers.get(id);
    const { levels } = managers;
    const managed =
      previous === undefined ? changed : yield* unionInSlices(previous.fields, changed, levels);
    yield;
    const updater = { ...manager, fields: managed, time: write.now };
    managers.put(yield* withEncoded(updater, known.get(id), levels));
  }
  capUpdaters(managers);
  return managers;
}

/** Paths without a manager after a create: those that the endpoint ignores, and stripped ones. */
export const excludedAtCreation = memoize((ignored: FieldSet): FieldSet =>
  union(ignored, strippedFields),
);

/** The managedFields of an object that is created without any; `created` comes from `createdFields`. */
export function managedFieldsAtCreation(
  { manager, apiVersion, now }: Pick<Write, "manager" | "apiVersion" | "now">,
  created: string,
): readonly ManagedFieldsEntry[] {
  if (created === "") return [];
  return [
    {
      manager: manager || unknownManager,
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
  return { name: manager || unknownManager, operation, subresource, apiVersion };
}

export interface Configuration {
  /** The applied document as it was sent. */
  readonly document: JsonObject;
  readonly live: JsonObject;
  /** The zero object of the kind. */
  readonly zero: () => JsonObject;
  /** The object does not exist yet: `live` is the zero object. */
  readonly creation: boolean;
  readonly entries: readonly ManagedFieldsEntry[] | null | undefined;
  readonly force: boolean;
}

export interface AppliedConfiguration {
  /** Undefined if the object does not change; managedFields may change nevertheless. */
  readonly object: JsonObject | undefined;
  readonly entries: readonly ManagedFieldsEntry[];
}

/**
 * Applies a configuration to a live object.
 *
 * @throws StatusError 400, 409 and 500 with the messages of kube-apiserver
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
      const objects = () => done({ live: zero(), next: live });
      managers = yield* updateManagers(first, { objects }, managers);
    }
    yield;
    yield* checkDocument(write, document);
    yield;
    const applied = yield* applyAsManager(write, configuration, managers);
    yield;
    const object =
      applied.object === undefined ? undefined : withLastApplied(write, applied.object, document);
    return {
      // The annotation is updated even if nothing else changes.
      object: object ?? changedBy(withLastApplied(write, live, document), live),
      entries: yield* applied.managers.entriesInSlices(),
    };
  } catch (fault) {
    if (fault instanceof ManagedFieldsError) throw plainFailure(fault.message);
    if (fault instanceof ConflictError) throw conflictError(fault.conflicts);
    if (fault instanceof ElementError) {
      const failure = `failed to create typed live object (${describeObject(write, live)})`;
      throw plainFailure(`${failure}: ${fault.message}`);
    }
    throw fault;
  }
}

/** Work that is done already. */
function* done<T>(result: T): Slices<T> {
  yield;
  return result;
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
    const conflicts = conflictsOutside(fault.conflicts, allowed);
    if (conflicts.length > 0) throw new ConflictError(conflicts);
    applied = yield* apply(write, { ...application, force: true }, before);
  }
  const { object, managers } = applied;
  yield;
  managers.removeFields(id, strippedFields);
  const applier = managers.get(id);
  if (applier === undefined) return applied;
  const time = object === undefined ? applier.time : write.now;
  const encoded = yield* withEncoded(applier, before.get(id), managers.levels);
  managers.put({ ...encoded, time });
  return applied;
}

/** The manager with the encoded fields of its previous entry, if the fields are the same. */
function* withEncoded(
  manager: Manager,
  before: Manager | undefined,
  levels: number,
): Slices<Manager> {
  if (before?.encoded === undefined) return manager;
  if (!(yield* isSameSetInSlices(before.fields, manager.fields, levels))) return manager;
  const { fields, encoded } = before;
  return { ...manager, fields, encoded };
}

/** @throws StatusError 400 unless the document is of the kind and version of the endpoint */
function checkKind({ kind, apiVersion }: Write, document: JsonObject): void {
  const documentKind = typeof document["kind"] === "string" ? document["kind"] : "";
  const version = typeof document["apiVersion"] === "string" ? document["apiVersion"] : "";
  const parts = version.split("/");
  const isMalformed = parts.length > 2;
  const [group, name] = isMalformed ? ["", ""] : parts.length === 2 ? parts : ["", version];
  if (!isMalformed && documentKind === kind && version === apiVersion) return;
  const invalidKind = isMalformed ? "" : documentKind;
  throw badRequest(`invalid object type: ${group}/${name}, Kind=${invalidKind}`);
}

/** @throws StatusError 400 and 500 */
function* checkDocument(write: Write, document: JsonObject): Slices<void> {
  const metadata = isJsonObject(document["metadata"]) ? document["metadata"] : {};
  if (Array.isArray(metadata["managedFields"])) {
    throw badRequest("metadata.managedFields must be nil");
  }
  const shape = write.versions.shapeOf(write.apiVersion) as Shape;
  yield;
  const fault = yield* configurationFaultInSlices(shape, document);
  yield;
  if (fault !== "") {
    const object = describeObject(write, document);
    throw plainFailure(`failed to create typed patch object (${object}): ${fault}`);
  }
}

/** `namespace/name; group/version, Kind=Kind`, with the namespace and name of the document. */
export function describeObject(
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
    const conflict = `conflict with ${describeManager(manager)}: ${pathText(path)}`;
    return `Apply failed with 1 conflict: ${conflict}`;
  }
  const ids = [...new Set(conflicts.map(({ id }) => id))].sort();
  const lists = ids.map((id) => {
    const sameManager = conflicts.filter((conflict) => conflict.id === id);
    const paths = sameManager.map(({ path }) => `- ${pathText(path)}`);
    const manager = sameManager[0]?.manager;
    const name = manager === undefined ? "" : describeManager(manager);
    return [`conflicts with ${name}:`, ...paths].join("\n");
  });
  return `Apply failed with ${conflicts.length} conflicts: ${lists.join("\n")}`;
}

function describeManager({ name, operation, subresource, apiVersion }: Manager): string {
  const endpoint = subresource === "" ? "" : ` with subresource ${goQuote(subresource)}`;
  const version = operation === "Update" ? ` using ${apiVersion}` : "";
  return `${goQuote(name)}${endpoint}${version}`;
}
