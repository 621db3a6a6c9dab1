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
import {
  managedWrite,
  setManagedFields,
  servedJsonInSlices,
  emptyObject,
} from "./managed-fields.ts";
import type { PatchApplier } from "./write.ts";

/**
 * Server-side apply (KEP-555): the applied configuration holds the fields that its manager wants to
 * own, with their values. Fields of other managers remain.
 */

interface ApplyRequest {
  readonly body: Body;
  readonly options: PatchOptions;
}

/** A function that merges the configuration into the stored object, or creates one. Throws 400, 409. */
export function configurationApplier(
  request: ResourceRequest,
  { body, options }: ApplyRequest,
): PatchApplier {
  let parsed: Document | undefined;
  return function* (registry, current) {
    const { document, duplicates } = (parsed ??= parseDocument(body));
    yield;
    const object = yield* applyTo(registry, request, { document, options, old: current?.object });
    if (options.fieldValidation === "Strict" && duplicates.length > 0) {
      const lines = duplicates.map((line) => `  ${line}`).join("\n");
      const why = `error converting YAML to JSON: yaml: unmarshal errors:\n${lines}`;
      throw badRequest(`error strict decoding YAML: ${why}`);
    }
    const warnings = options.fieldValidation === "Warn" ? [...duplicates] : [];
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
  const live = {
    ...typeMeta,
    ...(old === undefined ? zero() : yield* servedJsonInSlices(resource, old)),
  };
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
  const merged = applied.object ?? (old === undefined ? live : undefined);
  const object =
    merged === undefined
      ? deepClone(old)
      : yield* decode(registry, request, { merged, title: describeObject(write, document) });
  setManagedFields(object.metadata, applied.entries);
  const { uid } = object.metadata;
  if (old === undefined && uid) {
    const why = `uid mismatch: the provided object specified uid ${uid}, `;
    throw conflict(resource, request.name, `${why}and no existing object was found`);
  }
  return object;
}

interface MergedObject {
  readonly merged: JsonObject;
  /** The configuration's name and kind in messages. */
  readonly title: string;
}

function* decode(
  registry: RegistryContext,
  request: ResourceRequest,
  { merged, title }: MergedObject,
): Slices<any> {
  const { struct } = request.resource;
  let object: any;
  try {
    const options = { root: true, unpruned: true, maxWeight: requestBounds.weight };
    object = withinBounds(() => fromJson(struct, merged, options));
  } catch (fault) {
    if (!(fault instanceof DecodeFault)) throw fault;
    const kind = title.slice(title.indexOf("; ") + 2);
    throw plainFailure(
      `failed to convert new object (${title}) to proper version: ` +
        `unable to convert unstructured object to ${kind}: ${conversionMessage(fault.message)}`,
    );
  }
  yield;
  try {
    return toHub(registry, request, object);
  } catch (fault) {
    if (!(fault instanceof DecodeFault)) throw fault;
    throw plainFailure(`failed to convert to unversioned (${title}): ${fault.message}`);
  }
}

/**
 * Rephrases a decode fault as kube-apiserver's unstructured converter reports it. The configuration has
 * passed its schema, so a type error concerns a type with an UnmarshalJSON method.
 */
function conversionMessage(message: string): string {
  if (/^json: cannot unmarshal (?!number)/.test(message)) {
    return message.replace(/ into Go struct field \S+ of type /, " into Go value of type ");
  }
  // kube-apiserver reads all numbers of a configuration as floats.
  return converterMessage(message).replace("cannot convert int64", "cannot convert float64");
}

interface Document {
  readonly document: JsonObject;
  /** Messages about duplicate keys, one per key. */
  readonly duplicates: readonly string[];
}

/** Parses an applied configuration. Throws 400 for malformed YAML and for anything but a map. */
function parseDocument({ bytes }: Body): Document {
  const { value, duplicates } = parseText(bytes);
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
  return { document: (value ?? {}) as JsonObject, duplicates };
}

function parseText(bytes: Uint8Array): { value: unknown; duplicates: readonly string[] } {
  // Most configurations are JSON, a subset of YAML that is parsed many times faster.
  if (bytes[0] === 0x7b) {
    const value = parseJson(bytes);
    if (value !== undefined) return { value, duplicates: [] };
  }
  try {
    return parseYamlRequest(bytes);
  } catch (fault) {
    if (!(fault instanceof YamlFault)) throw fault;
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${fault.message}`);
  }
}

/** Undefined for malformed JSON and duplicate keys, which the YAML parser reports. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    const { value, duplicates } = parseJsonRequest(bytes);
    return duplicates.length === 0 ? value : undefined;
  } catch (fault) {
    if (fault instanceof JsonFault) return undefined;
    throw fault;
  }
}
