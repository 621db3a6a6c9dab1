import { atOnce, type Slices, sortedKeysInSlices } from "#base";
import type { Path, Problems } from "#schema";
import {
  isAnnotationKey,
  isDns1123Label,
  isLabelValue,
  isQualifiedName,
  nameCheck,
  type NameRule,
} from "./names.ts";
import type { ObjectMeta } from "./object-meta.ts";
import { goQuote } from "../encoding/go-quote.ts";

/** Validation of ObjectMeta, with errors in Kubernetes' order. */

/** Maximum total size of annotation keys and values, in bytes. */
const maxAnnotationsBytes = 256 * 1024;
const maxManagerLength = 128;
const standardFinalizers = new Set(["kubernetes", "orphan", "foregroundDeletion"]);

interface ObjectMetaOptions {
  readonly namespaced: boolean;
  readonly name: NameRule;
  /** Passed to the rule of names. */
  readonly object?: unknown;
  /**
   * Whether finalizers without a slash must be standard ones. Most kinds ask for that; leases and
   * custom resources do not. Default true.
   */
  readonly qualifiedFinalizers?: boolean;
}

type Owner = NonNullable<ObjectMeta["ownerReferences"]>[number];

/** Validates metadata on creates and updates. */
export function checkObjectMeta(
  meta: ObjectMeta,
  options: ObjectMetaOptions,
  path: Path,
  problems: Problems,
): void {
  atOnce(objectMetaChecks(meta, options, path, problems));
}

/** As `checkObjectMeta`, in slices. */
export function* objectMetaChecks(
  meta: ObjectMeta,
  options: ObjectMetaOptions,
  path: Path,
  problems: Problems,
): Slices<void> {
  checkNames(meta, options, path, problems);
  checkNamespace(meta.namespace ?? "", options.namespaced, path.child("namespace"), problems);
  const generation = meta.generation ?? 0;
  if (generation < 0) {
    const detail = "must be greater than or equal to 0";
    problems.invalid(path.child("generation"), generation, detail);
  }
  yield* labelChecks(meta.labels ?? {}, path.child("labels"), problems);
  yield* annotationChecks(meta.annotations ?? {}, path.child("annotations"), problems);
  yield* ownerChecks(meta.ownerReferences ?? [], path.child("ownerReferences"), problems);
  yield;
  yield* finalizerChecks(meta.finalizers ?? [], path.child("finalizers"), problems);
  yield;
  checkManagedFields(meta, path.child("managedFields"), problems);
  if (options.qualifiedFinalizers !== false) {
    checkQualifiedFinalizers(meta.finalizers ?? [], path.child("finalizers"), problems);
  }
}

function checkNames(
  meta: ObjectMeta,
  options: ObjectMetaOptions,
  path: Path,
  problems: Problems,
): void {
  const check = nameCheck(options.name);
  if (meta.generateName) {
    for (const message of check(meta.generateName, true, options.object)) {
      problems.invalid(path.child("generateName"), meta.generateName, message);
    }
  }
  if (!meta.name) {
    problems.required(path.child("name"), "name or generateName is required");
    return;
  }
  for (const message of check(meta.name, false, options.object)) {
    problems.invalid(path.child("name"), meta.name, message);
  }
}

function checkNamespace(
  namespace: string,
  namespaced: boolean,
  path: Path,
  problems: Problems,
): void {
  if (!namespaced) {
    if (namespace !== "") problems.forbidden(path, "not allowed on this type");
  } else if (namespace === "") {
    problems.required(path);
  } else {
    for (const message of isDns1123Label(namespace)) problems.invalid(path, namespace, message);
  }
}

/** Validates keys and values of labels, selectors and node selectors. */
export function checkLabels(
  labels: Readonly<Record<string, string>>,
  path: Path,
  problems: Problems,
): void {
  atOnce(labelChecks(labels, path, problems));
}

/** Entries of a map, or elements of a list, that are checked before others may have a turn. */
const entriesPerSlice = 1000;

function* labelChecks(
  labels: Readonly<Record<string, string>>,
  path: Path,
  problems: Problems,
): Slices<void> {
  let checked = 0;
  for (const key of yield* sortedKeysInSlices(labels)) {
    for (const message of isQualifiedName(key)) problems.invalid(path, key, message);
    const value = labels[key] ?? "";
    for (const message of isLabelValue(value)) problems.invalid(path, value, message);
    if (++checked % entriesPerSlice === 0) yield;
  }
}

/** Validates keys and total size of annotations. */
export function checkAnnotations(
  annotations: Readonly<Record<string, string>>,
  path: Path,
  problems: Problems,
): void {
  atOnce(annotationChecks(annotations, path, problems));
}

function* annotationChecks(
  annotations: Readonly<Record<string, string>>,
  path: Path,
  problems: Problems,
): Slices<void> {
  let size = 0;
  let checked = 0;
  for (const key of yield* sortedKeysInSlices(annotations)) {
    for (const message of isAnnotationKey(key)) problems.invalid(path, key, message);
    size += Buffer.byteLength(key) + Buffer.byteLength(annotations[key] ?? "");
    if (++checked % entriesPerSlice === 0) yield;
  }
  if (size > maxAnnotationsBytes) problems.tooLong(path, "", maxAnnotationsBytes);
}

function* ownerChecks(owners: readonly Owner[], path: Path, problems: Problems): Slices<void> {
  // One value for all problems, which may be many.
  const all = owners.map(shownOwner);
  let controller: string | undefined;
  for (const [index, owner] of owners.entries()) {
    if (index % entriesPerSlice === 0) yield;
    checkOwner(owner, path, problems);
    if (!owner.controller) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller === undefined) {
      controller = name;
      continue;
    }
    const detail =
      "Only one reference can have Controller set to true. " +
      `Found "true" in references for ${controller} and ${name}`;
    problems.invalid(path, all, detail);
  }
}

function checkOwner(owner: Owner, path: Path, problems: Problems): void {
  const { apiVersion, kind, name, uid } = owner;
  const slashes = apiVersion.split("/").length - 1;
  const version = slashes > 1 ? "" : apiVersion.slice(apiVersion.indexOf("/") + 1);
  if (version === "") {
    problems.invalid(path.child("apiVersion"), apiVersion, "version must not be empty");
  }
  if (kind === "") problems.invalid(path.child("kind"), kind, "must not be empty");
  if (name === "") problems.invalid(path.child("name"), name, "must not be empty");
  if (uid === "") problems.invalid(path.child("uid"), uid, "must not be empty");
  if (apiVersion === "v1" && kind === "Event") {
    const detail = "/v1, Kind=Event is disallowed from being an owner";
    problems.invalid(path, shownOwner(owner), detail);
  }
}

/** The owner reference with fields in the order of Go's struct, for messages. */
function shownOwner({ apiVersion, kind, name, uid, ...flags }: Owner): unknown {
  const { controller, blockOwnerDeletion } = flags;
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion };
}

function* finalizerChecks(
  finalizers: readonly string[],
  path: Path,
  problems: Problems,
): Slices<void> {
  for (const [index, finalizer] of finalizers.entries()) {
    if (index % entriesPerSlice === 0) yield;
    for (const message of isQualifiedName(finalizer)) {
      problems.invalid(path, finalizer, message);
    }
  }
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    const detail = "finalizer orphan and foregroundDeletion cannot be both set";
    problems.invalid(path, finalizers, detail);
  }
}

/** Finalizers without a domain must be standard ones. */
export function checkQualifiedFinalizers(
  finalizers: readonly string[],
  path: Path,
  problems: Problems,
): void {
  const detail = "name is neither a standard finalizer name nor is it fully qualified";
  for (const [index, finalizer] of finalizers.entries()) {
    if (finalizer.includes("/") || standardFinalizers.has(finalizer)) continue;
    problems.invalid(path.index(index), finalizer, detail);
  }
}

function checkManagedFields(meta: ObjectMeta, path: Path, problems: Problems): void {
  for (const [index, entry] of (meta.managedFields ?? []).entries()) {
    const at = path.index(index);
    const operation: string = entry.operation ?? "";
    if (operation !== "Apply" && operation !== "Update") {
      problems.invalid(at.child("operation"), operation, "must be `Apply` or `Update`");
    }
    const fieldsType = entry.fieldsType ?? "";
    if (fieldsType !== "" && fieldsType !== "FieldsV1") {
      problems.invalid(at.child("fieldsType"), fieldsType, "must be `FieldsV1`");
    }
    checkManager(entry.manager ?? "", at.child("manager"), problems);
    if (Buffer.byteLength(entry.subresource ?? "") > maxSubresourceLength) {
      problems.tooLong(at.child("subresource"), entry.subresource, maxSubresourceLength);
    }
  }
}

const maxSubresourceLength = 256;

/** The name of a field manager, in managedFields and as the option `fieldManager`. */
export function checkManager(manager: string, path: Path, problems: Problems): void {
  if (Buffer.byteLength(manager) > maxManagerLength)
    problems.tooLong(path, manager, maxManagerLength);
  if (/^[ -~]*$/.test(manager)) return;
  let position = 0;
  for (const character of manager) {
    if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
      const detail = `invalid character U+${code} (at position ${position})`;
      problems.invalid(path, manager, detail);
      return;
    }
    position += Buffer.byteLength(character);
  }
}

/** Validates changes of metadata on updates, in addition to `checkObjectMeta`. */
export function checkObjectMetaUpdate(
  meta: ObjectMeta,
  old: ObjectMeta,
  path: Path,
  problems: Problems,
): void {
  atOnce(objectMetaUpdateChecks(meta, old, path, problems));
}

/** As `checkObjectMetaUpdate`, in slices. */
export function* objectMetaUpdateChecks(
  meta: ObjectMeta,
  old: ObjectMeta,
  path: Path,
  problems: Problems,
): Slices<void> {
  if (old.deletionTimestamp) checkNoNewFinalizers(meta, old, path.child("finalizers"), problems);
  if (!meta.resourceVersion) {
    const detail = "must be specified for an update";
    problems.invalid(path.child("resourceVersion"), meta.resourceVersion ?? "", detail);
  }
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    problems.invalid(path.child("generation"), meta.generation ?? 0, "must not be decremented");
  }
  const unchanged = [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
  ] as const;
  for (const field of unchanged) {
    if (empty(meta[field]) && empty(old[field])) continue;
    if (meta[field] === old[field]) continue;
    const absent = field.startsWith("deletion") || field === "creationTimestamp" ? null : "";
    problems.invalid(path.child(field), meta[field] ?? absent, "field is immutable");
  }
  yield* labelChecks(meta.labels ?? {}, path.child("labels"), problems);
  yield* annotationChecks(meta.annotations ?? {}, path.child("annotations"), problems);
  yield* ownerChecks(meta.ownerReferences ?? [], path.child("ownerReferences"), problems);
  yield;
  checkManagedFields(meta, path.child("managedFields"), problems);
}

function empty(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

function checkNoNewFinalizers(
  meta: ObjectMeta,
  old: ObjectMeta,
  path: Path,
  problems: Problems,
): void {
  const kept = new Set(old.finalizers ?? []);
  const added = [...new Set(meta.finalizers ?? [])].filter((finalizer) => !kept.has(finalizer));
  if (added.length === 0) return;
  const shown = added.sort().map(goQuote).join(", ");
  const detail =
    "no new finalizers can be added if the object is being deleted, " +
    `found new finalizers []string{${shown}}`;
  problems.forbidden(path, detail);
}
