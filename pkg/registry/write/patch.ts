import { assert, compareUtf8, parseJsonText, type Slices } from "#base";
import {
  badRequest,
  genericFailure,
  goQuote,
  goValue,
  patchedText,
  groupVersionOf,
  invalid,
  jsonPatchInSlices,
  mergePatch,
  parseJsonRequest,
  PatchFault,
  plainFailure,
  requestBounds,
  requestEntityTooLarge,
  type Resource,
  StatusError,
  strategicMergePatch,
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
  toJsonValue,
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
import { markManagedFieldsCleared } from "./managed-fields.ts";
import { jsonTypeMeta } from "../codec/type-meta.ts";

/**
 * Patches work on the JSON of the current object in the version that the client speaks. The result
 * is decoded like a body, so that defaults, unknown fields and types mean the same as for PUT.
 */

const mostOperations = 10_000;

interface PatchRequest {
  readonly body: Body;
  readonly options: PatchOptions;
}

/** A patch in parsed form, and what is wrong with it that only `fieldValidation` cares about. */
interface ParsedPatch {
  readonly value: unknown;
  readonly literals: boolean;
  readonly problems: readonly string[];
}

/**
 * The function from the current object to the patched one, which may be called again on conflict.
 * The patch itself is looked at only when there is an object, as Kubernetes does: a missing object
 * is a 404 whatever the patch. Throws 400, 413, 415 and 422.
 */
export function patchApplier(request: ResourceRequest, input: PatchRequest): PatchApplier {
  let parsed: ParsedPatch | undefined;
  return function* (registry, current) {
    assert(current !== undefined, "a patch is applied to an object that is there");
    parsed ??= parsePatch(input);
    yield;
    const { kind, served, struct, groupVersion } = request.resource;
    const hub = current.object;
    const object = served.convert === "hub" ? hub : served.convert.down(hub);
    const typeMeta = { kind: kind.kind, apiVersion: groupVersion };
    yield;
    const document = toJsonValue(struct, object, typeMeta);
    yield;
    const patched = yield* patchedDocument(request, { document, parsed, input });
    yield;
    const application = { document: patched, parsed, input, current: document };
    return yield* decodePatched(registry, request, application);
  };
}

interface Application {
  readonly document: unknown;
  readonly parsed: ParsedPatch;
  readonly input: PatchRequest;
}

/** Pure patch functions neither change nor share the document. */
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
        return mergePatch(document, parsed.value);
      case "strategic":
        return strategicMergePatch(request.resource.struct, document, parsed.value as never);
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

function* decodePatched(
  registry: RegistryContext,
  request: ResourceRequest,
  { document, parsed, input, current }: Application & { readonly current: unknown },
): Slices<Decoded> {
  const { resource } = request;
  const unknown: string[] = [];
  const isStrategic = input.options.patchType === "strategic";
  const isCustom = resource.kind.custom !== undefined;
  const decode = (): any => {
    if (isCustom) unknown.push(...membersWithoutSchema(resource, document));
    else if (!isStrategic) checkStillOfKind(request, document);
    const { literals } = parsed;
    const options = { root: true, unknown, literals };
    return withinBounds(() => fromBoundedJson(resource, { document, current, options }));
  };
  let object: any;
  try {
    if (parsed.literals) restoreWritten(document);
    object = decode();
  } catch (fault) {
    if (!(fault instanceof DecodeFault)) throw fault;
    const why = isStrategic ? converterMessage(fault.message) : fault.message;
    throw patchInvalid(printedObject(input, parsed, document), why);
  }
  const { fieldValidation } = input.options;
  const isSorted = input.options.patchType === "merge" && !isCustom && unknown.length > 1;
  const paths = isSorted ? unknownInSorted(resource.struct, document) : unknown;
  const fields = paths.map((path) => `unknown field ${goQuote(path)}`);
  const problems = [...parsed.problems, ...fields];
  if (fieldValidation === "Strict" && problems.length > 0) {
    const why = `strict decoding error: ${problems.join(", ")}`;
    throw patchInvalid(printedObject(input, parsed, document), why);
  }
  const warnings = fieldValidation === "Warn" ? problems : [];
  if (isCustom) checkCustomKind(request, document, warnings);
  yield;
  const hub = toHub(registry, request, object);
  markManagedFieldsCleared(document, hub);
  return { object: hub, warnings };
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
  };
}

/**
 * Bounds the weight of what a patch makes, unless the object was above the bound before: objects that
 * another API server stored must stay patchable, to remove their finalizers for example.
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
 * A patch may repeat kind and apiVersion but not change them; a strategic one is merged into the
 * object itself, which has no say in what it is.
 */
function checkStillOfKind({ resource }: ResourceRequest, document: unknown): void {
  if (typeof document !== "object" || document === null) return;
  if (!Array.isArray(document)) jsonTypeMeta(document);
  const { kind, apiVersion } = document as Readonly<Record<string, unknown>>;
  const sameKind = kind === undefined || kind === resource.kind.kind;
  const sameVersion = apiVersion === undefined || apiVersion === resource.groupVersion;
  if (sameKind && sameVersion) return;
  const text = `${String(kind)} in version ${JSON.stringify(apiVersion)}`;
  throw new DecodeFault(`${text} cannot be handled as a ${resource.kind.kind}`);
}

/** A version that the definition does not have has no schema, and without one nothing is known. */
function membersWithoutSchema(resource: Resource, document: unknown): readonly string[] {
  const { apiVersion } = jsonTypeMeta(document);
  const { kind, group } = resource;
  if (kind.versions.some(({ version }) => groupVersionOf(group, version) === apiVersion)) return [];
  const ofEvery = ["apiVersion", "kind", "metadata"];
  return Object.keys(document ?? {})
    .filter((name) => !ofEvery.includes(name))
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

/** What messages show of the patch: the result as JSON, or a strategic patch as Go prints maps. */
function printedObject({ options }: PatchRequest, parsed: ParsedPatch, document: unknown): string {
  return options.patchType === "strategic"
    ? goValue(parsed.value)
    : patchedText(document, parsed.value);
}

/** Kubernetes names no kind here. */
function patchInvalid(value: string, why: string): Error {
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
      return objectPatch(lastOfRepeated(parsed, body), "error decoding patch: ");
    }
    case "strategic":
      // Merged values are those of Go, which keep no digits.
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

/** In a body, objects under a repeated key merge; in a merge patch the last one counts. */
function lastOfRepeated(parsed: ParsedJson, { bytes }: Body): ParsedJson {
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

/** So many are told of. */
const mostUnknown = 100;

const operationMember = /^(?:op|path|from|value)$/;

function parseOperations({ value, duplicates, literals = false }: ParsedJson): ParsedPatch {
  const operations = value ?? [];
  if (!Array.isArray(operations)) throw wrongType(value, "Go value of type []handlers.jsonPatchOp");
  if (operations.length > mostOperations) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${mostOperations}, ` +
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
      if (unknown.length < mostUnknown) unknown.push(`json patch unknown field ${field}`);
    } else if (member !== "value" && typeof (value ?? "") !== "string") {
      throw wrongType(value, `Go struct field jsonPatchOp.${member} of type string`);
    }
  }
}

function wrongType(value: unknown, into: string): Error {
  return badRequest(`error decoding patch: json: cannot unmarshal ${jsonType(value)} into ${into}`);
}
