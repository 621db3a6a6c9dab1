import { deepClone, type JsonObject, type Slices } from "#base";
import { applyConfiguration, describeObject } from "#fieldmanager";
import {
  badRequest,
  conflict,
  parseJsonRequest,
  parseYamlRequest,
  plainFailure,
  requestBounds,
  withinBounds,
  YamlFault,
} from "#meta";
import { checkDepth, DecodeFault, fromJson, JsonFault } from "#schema";
import { toHub } from "./decode-body.ts";
import type { Body, PatchOptions, ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { converterMessage } from "../codec/converter-words.ts";
import { jsonType } from "../codec/json-type.ts";
import { managedWrite, setManagedFields, servedJson, emptyObject } from "./managed-fields.ts";
import type { PatchApplier } from "./write.ts";

/**
 * Server-side apply: the document says which fields its manager wants, and with which values; the
 * rest of the object belongs to others.
 */

interface ApplyRequest {
  readonly body: Body;
  readonly options: PatchOptions;
}

/** The function from what is there to what the configuration makes of it. */
export function configurationApplier(
  request: ResourceRequest,
  { body, options }: ApplyRequest,
): PatchApplier {
  let parsed: Document | undefined;
  return function* (registry, current) {
    const { document, repeated } = (parsed ??= parseDocument(body));
    yield;
    const object = yield* applyTo(registry, request, { document, options, old: current?.object });
    if (options.fieldValidation === "Strict" && repeated.length > 0) {
      const lines = repeated.map((line) => `  ${line}`).join("\n");
      const why = `error converting YAML to JSON: yaml: unmarshal errors:\n${lines}`;
      throw badRequest(`error strict decoding YAML: ${why}`);
    }
    const warnings = options.fieldValidation === "Warn" ? [...repeated] : [];
    return { object, warnings };
  };
}

interface Application {
  readonly document: JsonObject;
  readonly options: PatchOptions;
  readonly old: any;
}

function* applyTo(
  registry: RegistryContext,
  request: ResourceRequest,
  { document, options, old }: Application,
): Slices<any> {
  const { resource } = request;
  const write = managedWrite(registry, request, options.fieldManager);
  const typeMeta = { apiVersion: resource.groupVersion, kind: resource.kind.kind };
  const zero = (): JsonObject => emptyObject(resource.struct);
  const live = { ...typeMeta, ...(old === undefined ? zero() : servedJson(resource, old)) };
  yield;
  const applied = yield* applyConfiguration(write, {
    document,
    live,
    zero,
    creation: old === undefined,
    entries: old?.metadata.managedFields,
    force: options.force === true,
  });
  yield;
  const wanted = applied.object ?? (old === undefined ? live : undefined);
  const object =
    wanted === undefined
      ? deepClone(old)
      : yield* decode(registry, request, { wanted, named: describeObject(write, document) });
  setManagedFields(object.metadata, applied.entries);
  const { uid } = object.metadata;
  if (old === undefined && uid) {
    const why = `uid mismatch: the provided object specified uid ${uid}, `;
    throw conflict(resource, request.name, `${why}and no existing object was found`);
  }
  return object;
}

interface Wanted {
  readonly wanted: JsonObject;
  /** How messages name the document. */
  readonly named: string;
}

function* decode(
  registry: RegistryContext,
  request: ResourceRequest,
  { wanted, named }: Wanted,
): Slices<any> {
  const { struct } = request.resource;
  let object: any;
  try {
    const options = { root: true, unpruned: true, maxWeight: requestBounds.weight };
    object = withinBounds(() => fromJson(struct, wanted, options));
  } catch (fault) {
    if (!(fault instanceof DecodeFault)) throw fault;
    const kind = named.slice(named.indexOf("; ") + 2);
    throw plainFailure(
      `failed to convert new object (${named}) to proper version: ` +
        `unable to convert unstructured object to ${kind}: ${converted(fault.message)}`,
    );
  }
  yield;
  return toHub(registry, request, object);
}

/**
 * What the decoder says, in the words of the converter that Kubernetes uses here. The schema was
 * checked before, so that a wrong type can only be meant for a type with a reader of its own.
 */
function converted(message: string): string {
  if (/^json: cannot unmarshal (?!number)/.test(message)) {
    return message.replace(/ into Go struct field \S+ of type /, " into Go value of type ");
  }
  // All numbers of a configuration are floats.
  return converterMessage(message).replace("cannot convert int64", "cannot convert float64");
}

interface Document {
  readonly document: JsonObject;
  /** Keys given twice, one line each. */
  readonly repeated: readonly string[];
}

/** @throws StatusError 400 */
function parseDocument({ bytes }: Body): Document {
  const { value, repeated } = parseText(bytes);
  if (value !== null && (typeof value !== "object" || Array.isArray(value))) {
    const into = "Go value of type map[string]interface {}";
    const why = `json: cannot unmarshal ${jsonType(value)} into ${into}`;
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
  }
  try {
    checkDepth(value);
  } catch (fault) {
    throw fault instanceof DecodeFault
      ? badRequest(`error decoding YAML: ${fault.message}`)
      : fault;
  }
  return { document: (value ?? {}) as JsonObject, repeated };
}

function parseText(bytes: Uint8Array): { value: unknown; repeated: readonly string[] } {
  // JSON is YAML, and most documents are JSON, which is read many times faster as such.
  if (bytes[0] === 0x7b) {
    const value = parsedJson(bytes);
    if (value !== undefined) return { value, repeated: [] };
  }
  try {
    const { value, duplicates } = parseYamlRequest(bytes);
    return { value, repeated: duplicates };
  } catch (fault) {
    if (!(fault instanceof YamlFault)) throw fault;
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${fault.message}`);
  }
}

/** Undefined for what only the reader of YAML can speak about. */
function parsedJson(bytes: Uint8Array): unknown {
  try {
    const { value, duplicates } = parseJsonRequest(bytes);
    return duplicates.length === 0 ? value : undefined;
  } catch (fault) {
    if (fault instanceof JsonFault) return undefined;
    throw fault;
  }
}
