import { assert, compareUtf8, type JsonObject, parseJsonText, type Slices, printJson } from "#base";
import {
  badRequest,
  genericFailure,
  goQuote,
  goValue,
  patchedText,
  groupVersionOf,
  invalid,
  jsonPatchInSlices,
  mergePatchInSlices,
  parseJsonRequest,
  PatchFault,
  plainFailure,
  requestBounds,
  requestEntityTooLarge,
  type Resource,
  StatusError,
  strategicMergePatchInSlices,
  withinBounds,
} from "#meta";
import {
  DecodeFault,
  fromJson,
  JsonFault,
  type ParsedJson,
  Path,
  Problems,
  restoreWritten,
  toJsonValueInSlices,
  TooManyValues,
  withWritten,
} from "#schema";
import { type Decoded, toHub, unknownInSorted } from "./decode-body.ts";
import type { Body, PatchOptions, ResourceRequest } from "../contract.ts";
import type { PatchApplier } from "./write.ts";
import type { RegistryContext } from "../context.ts";
import { converterMessage } from "../codec/converter-words.ts";
import { checkSameKind } from "./custom-resource-errors.ts";
import { jsonType } from "../codec/json-type.ts";
import {
  keepClearedManagedFields,
  type ManagedFields,
  managedFieldsIn,
  setManagedFields,
  withoutManagedFields,
} from "./managed-fields.ts";
import { jsonTypeMeta, kindFault } from "../codec/type-meta.ts";

/**
 * A patch applies to the JSON of the stored object in the version of the request. The result is
 * decoded like the body of a PUT: same defaults, field validation and type errors.
 */

/** Limit of apiserver's `maxJSONPatchOperations`. */
const maxOperations = 10_000;

interface PatchRequest {
  readonly body: Body;
  readonly options: PatchOptions;
}

interface ParsedPatch {
  readonly value: unknown;
  /** Numbers of the patch keep the digits of their literals. */
  readonly literals: boolean;
  /** Unknown and duplicate fields: warnings or errors, depending on `fieldValidation`. */
  readonly problems: readonly string[];
}

/**
 * A function that applies the patch to the stored object; called again after a conflict. It parses the
 * patch when it is first called: as in kube-apiserver, a malformed patch of a missing object is a 404.
 * Throws 400, 413, 415 and 422.
 */
export function patchApplier(request: ResourceRequest, input: PatchRequest): PatchApplier {
  let parsed: ParsedPatch | undefined;
  return function* (registry, current) {
    assert(current !== undefined, "a patch is applied to a stored object");
    parsed ??= parsePatch(input);
    yield;
    const { kind, served, struct, groupVersion } = request.resource;
    const hub = current.object;
    const object = served.convert === "hub" ? hub : served.convert.down(hub);
    const typeMeta = { kind: kind.kind, apiVersion: groupVersion };
    yield;
    const document = yield* toJsonValueInSlices(struct, object, typeMeta);
    yield;
    const patched = yield* patchedDocument(request, { document, parsed, input });
    yield;
    const { managedFields } = hub.metadata;
    const application = { document: patched, parsed, input, current: document, managedFields };
    return yield* decodePatched(registry, request, application);
  };
}

interface Application {
  readonly document: unknown;
  readonly parsed: ParsedPatch;
  readonly input: PatchRequest;
}

/** The patched document; `document` itself is not changed. */
function* patchedDocument(
  request: ResourceRequest,
  { document, parsed, input }: Application,
): Slices<unknown> {
  const { patchType } = input.options;
  try {
    switch (patchType) {
      case "json":
        return yield* jsonPatchInSlices(document, (parsed.value ?? []) as never);
      case "merge":
        return yield* mergePatchInSlices(document, parsed.value);
      case "strategic":
        return yield* strategicMergePatchInSlices(request.resource.struct, document, parsed.value);
      default:
        throw genericFailure(415);
    }
  } catch (fault) {
    if (!(fault instanceof PatchFault)) throw fault;
    throw patchError(fault);
  }
}

function patchError({ code, message }: PatchFault): Error {
  switch (code) {
    case 400:
      return badRequest(message);
    case 413:
      return requestEntityTooLarge(message);
    case 422:
      return genericFailure(422);
    case 500:
      return plainFailure(message);
  }
}

interface PatchedDocument extends Application {
  /** The document before the patch, with which the patched one shares what the patch does not name. */
  readonly current: JsonObject;
  /** The managedFields of the stored object. */
  readonly managedFields: ManagedFields;
}

function* decodePatched(
  registry: RegistryContext,
  request: ResourceRequest,
  { document, parsed, input, current, managedFields }: PatchedDocument,
): Slices<Decoded> {
  const { resource } = request;
  const unknown: string[] = [];
  const isStrategic = input.options.patchType === "strategic";
  const isCustom = resource.kind.custom !== undefined;
  const isManagedAsStored = managedFieldsIn(document) === managedFieldsIn(current);
  const decode = (): any => {
    if (isCustom) unknown.push(...membersWithoutSchema(resource, document));
    else if (!isStrategic) checkTypeMetaUnchanged(registry, request, document);
    const { literals } = parsed;
    const options = { root: true, unknown, literals, unpruned: true };
    // Stored managedFields are decoded already.
    const patched = isManagedAsStored ? withoutManagedFields(document) : document;
    return withinBounds(() => fromBoundedJson(resource, { document: patched, current, options }));
  };
  let object: any;
  try {
    if (parsed.literals) restoreWritten(document);
    object = decode();
    yield;
    yield* resource.struct.open?.prune(object, unknown) ?? [];
  } catch (fault) {
    if (!(fault instanceof DecodeFault)) throw fault;
    const why = isStrategic ? converterMessage(fault.message) : fault.message;
    throw invalidPatch(patchForMessage(input, parsed, document), why);
  }
  const { fieldValidation } = input.options;
  const isSorted = input.options.patchType === "merge" && !isCustom && unknown.length > 1;
  const paths = isSorted ? unknownInSorted(resource.struct, document) : unknown;
  const fields = paths.map((path) => `unknown field ${goQuote(path)}`);
  const problems = [...parsed.problems, ...fields];
  if (fieldValidation === "Strict" && problems.length > 0) {
    const why = `strict decoding error: ${problems.join(", ")}`;
    throw invalidPatch(patchForMessage(input, parsed, document), why);
  }
  const warnings = fieldValidation === "Warn" ? problems : [];
  if (isCustom) checkCustomKind(request, document, warnings);
  yield;
  let hub: any;
  try {
    hub = toHub(registry, request, object);
  } catch (fault) {
    if (!(fault instanceof DecodeFault)) throw fault;
    if (isStrategic) throw plainFailure(fault.message);
    throw invalidPatch(patchForMessage(input, parsed, document), fault.message);
  }
  keepClearedManagedFields(document, hub);
  // The stored ones are encoded and known to be canonical.
  if (isManagedAsStored) setManagedFields(hub.metadata, managedFields ?? []);
  return { object: hub, warnings, document: current };
}

interface BoundedDocument {
  /** The patched object. */
  readonly document: any;
  /** The object before the patch. */
  readonly current: any;
  readonly options: {
    readonly root: boolean;
    readonly unknown: string[];
    readonly literals: boolean;
    readonly unpruned: boolean;
  };
}

/**
 * Decodes the patched object. Its weight is bounded unless that of the stored object exceeds the bound
 * already: such an object of another API server must remain patchable, say to remove its finalizers.
 * @throws TooManyValues
 */
function fromBoundedJson(
  { struct }: Resource,
  { document, current, options }: BoundedDocument,
): any {
  const maxWeight = requestBounds.weight;
  const { length } = options.unknown;
  try {
    return fromJson(struct, document ?? {}, { ...options, maxWeight });
  } catch (fault) {
    if (!(fault instanceof TooManyValues) || isWithinWeight(struct, current)) throw fault;
    options.unknown.length = length;
    return fromJson(struct, document ?? {}, options);
  }
}

function isWithinWeight(struct: Resource["struct"], document: any): boolean {
  try {
    fromJson(struct, document, { root: true, maxWeight: requestBounds.weight });
    return true;
  } catch (fault) {
    if (fault instanceof TooManyValues) return false;
    throw fault;
  }
}

/**
 * Throws unless kind and apiVersion of the patched document are those of the resource. Not for strategic
 * merge patches, which kube-apiserver merges into a typed object.
 */
function checkTypeMetaUnchanged(
  registry: RegistryContext,
  { resource }: ResourceRequest,
  document: unknown,
): void {
  if (typeof document !== "object" || document === null || Array.isArray(document)) return;
  const named = jsonTypeMeta(document);
  const { apiVersion = resource.groupVersion } = document as Readonly<Record<string, unknown>>;
  const kind = named.kind === "" ? resource.kind.kind : named.kind;
  if (kind === resource.kind.kind && apiVersion === resource.groupVersion) return;
  const changed = { kind, apiVersion: named.apiVersion };
  const version = `${kind} in version ${printJson(apiVersion)}`;
  const otherVersion = `${version} cannot be handled as a ${resource.kind.kind}`;
  throw new DecodeFault(kindFault(registry, resource, changed) ?? otherVersion);
}

/** All fields of a custom resource if a patch sets an apiVersion without schema: they are unknown. */
function membersWithoutSchema(resource: Resource, document: unknown): readonly string[] {
  const { apiVersion } = jsonTypeMeta(document);
  const { kind, group } = resource;
  if (kind.versions.some(({ version }) => groupVersionOf(group, version) === apiVersion)) return [];
  const common = ["apiVersion", "kind", "metadata"];
  return Object.keys(document ?? {})
    .filter((name) => !common.includes(name))
    .sort(compareUtf8);
}

function checkCustomKind(
  request: ResourceRequest,
  document: unknown,
  warnings: readonly string[],
): void {
  try {
    checkSameKind(request.resource, jsonTypeMeta(document), request.name);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    throw new StatusError(error.status, error.headers, warnings);
  }
}

/** The invalid value in messages: the patched object as JSON, or a strategic patch as a Go map. */
function patchForMessage(
  { options }: PatchRequest,
  parsed: ParsedPatch,
  document: unknown,
): string {
  return options.patchType === "strategic"
    ? goValue(parsed.value)
    : patchedText(document, parsed.value);
}

/** The 422 of a patch whose result cannot be decoded; kube-apiserver names no kind in it. */
function invalidPatch(value: string, why: string): Error {
  const problems = new Problems();
  problems.invalid(Path.of("patch"), value, why);
  return invalid({ group: "", kind: "" }, "", problems);
}

function parsePatch({ body, options }: PatchRequest): ParsedPatch {
  switch (options.patchType) {
    case "json":
      return parseOperations(parseDocument(body, "error decoding patch: "));
    case "merge": {
      const parsed = parseDocument(body, "error decoding patch: ");
      if (parsed.value === null) throw badRequest("Invalid JSON Patch");
      return objectPatch(withLastDuplicates(parsed, body), "error decoding patch: ");
    }
    case "strategic":
      // kube-apiserver merges Go numbers, which do not keep the digits of literals.
      return objectPatch({ ...parseDocument(body, ""), literals: false }, "");
    default:
      throw genericFailure(415);
  }
}

function parseDocument({ bytes }: Body, prefix: string): ParsedJson {
  try {
    return parseJsonRequest(bytes);
  } catch (fault) {
    if (fault instanceof JsonFault) throw badRequest(`${prefix}${fault.message}`);
    throw fault;
  }
}

/** A merge patch with duplicate keys: the last one counts, whereas the values in a body are merged. */
function withLastDuplicates(parsed: ParsedJson, { bytes }: Body): ParsedJson {
  if (parsed.duplicates.length === 0) return parsed;
  return {
    value: parseJsonText(Buffer.from(bytes).toString("utf8")),
    duplicates: parsed.duplicates,
  };
}

function objectPatch(
  { value, duplicates, literals = false }: ParsedJson,
  prefix: string,
): ParsedPatch {
  if (typeof (value ?? {}) !== "object" || Array.isArray(value)) {
    const into = "Go value of type map[string]interface {}";
    throw badRequest(`${prefix}json: cannot unmarshal ${jsonType(value)} into ${into}`);
  }
  const problems = duplicates.map((path) => `duplicate field ${goQuote(path)}`);
  return { value: literals ? withWritten(value) : (value ?? {}), literals, problems };
}

/** Limit of reported fields; that of sigs.k8s.io/json. */
const maxUnknown = 100;

const operationMember = /^(?:op|path|from|value)$/;

function parseOperations({ value, duplicates, literals = false }: ParsedJson): ParsedPatch {
  const operations = value ?? [];
  if (!Array.isArray(operations)) throw wrongType(value, "Go value of type []handlers.jsonPatchOp");
  if (operations.length > maxOperations) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${maxOperations}, ` +
        `got ${operations.length}`,
    );
  }
  const unknown: string[] = [];
  for (const [index, operation] of operations.entries()) {
    if (operation !== null) checkOperation(operation, index, unknown);
  }
  const duplicate = duplicates.map((path) => `json patch duplicate field ${goQuote(path)}`);
  const written = literals ? withWritten(operations) : operations;
  return { value: written, literals, problems: [...duplicate, ...unknown] };
}

function checkOperation(operation: unknown, index: number, unknown: string[]): void {
  if (typeof operation !== "object" || operation === null || Array.isArray(operation)) {
    throw wrongType(operation, "Go value of type handlers.jsonPatchOp");
  }
  for (const [member, value] of Object.entries(operation)) {
    if (!operationMember.test(member)) {
      const field = JSON.stringify(`[${index}].${member}`);
      if (unknown.length < maxUnknown) unknown.push(`json patch unknown field ${field}`);
    } else if (member !== "value" && typeof (value ?? "") !== "string") {
      throw wrongType(value, `Go struct field jsonPatchOp.${member} of type string`);
    }
  }
}

function wrongType(value: unknown, into: string): Error {
  return badRequest(`error decoding patch: json: cannot unmarshal ${jsonType(value)} into ${into}`);
}
