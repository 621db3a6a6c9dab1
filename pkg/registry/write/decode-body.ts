import { atOnce, type JsonObject, printSortedJson, type Slices } from "#base";
import {
  badRequest,
  goQuote,
  parseJsonRequest,
  parseYamlRequest,
  requestBounds,
  type Resource,
  withinBounds,
} from "#meta";
import {
  applyDefaults,
  DecodeFault,
  fromJson,
  fromProtobuf,
  JsonFault,
  type ParsedJson,
  strictFaults,
  toJson,
  unwrapEnvelope,
} from "#schema";
import type { Body, ResourceRequest, WriteOptions } from "../contract.ts";
import { type RegistryContext, hookContext } from "../context.ts";
import { keepClearedManagedFields } from "./managed-fields.ts";
import { checkCustomTypeMeta, nameIn } from "./custom-resource-errors.ts";
import { cannotHandle, checkTypeMeta, jsonTypeMeta, type TypeMeta } from "../codec/type-meta.ts";

/** A client's object in hub form with defaults, and the warnings of its decoding. */
export interface Decoded {
  readonly object: any;
  readonly warnings: string[];
  /** The stored object in the version of the request, as a patch was applied to it. */
  readonly document?: JsonObject;
}

/**
 * Decodes a request body as an object of the request's kind and version, and converts it to the hub
 * version. Throws 400 with the message of Kubernetes' decoder, and 413 for too many values.
 */
export function* decodeBodyInSlices(
  registry: RegistryContext,
  request: ResourceRequest,
  body: Body,
  options: WriteOptions,
): Slices<Decoded> {
  const decoded =
    body.format === "protobuf"
      ? withinBounds(() => decodeProtobuf(registry, request, body))
      : yield* decodeText(registry, request, { body, options });
  recordRequestObject(request, decoded.object);
  return decoded;
}

/** As `decodeBodyInSlices`, at once. */
export function decodeBody(
  registry: RegistryContext,
  request: ResourceRequest,
  body: Body,
  options: WriteOptions,
): Decoded {
  return atOnce(decodeBodyInSlices(registry, request, body, options));
}

/** Records the object for the audit log, encoded on demand in the version of the request. */
function recordRequestObject({ notes, resource }: ResourceRequest, object: any): void {
  if (notes === undefined) return;
  const { struct, served, groupVersion, kind } = resource;
  const json = (): string => {
    const versioned = served.convert === "hub" ? object : served.convert.down(object);
    return toJson(struct, versioned, { kind: kind.kind, apiVersion: groupVersion });
  };
  notes.sent({ metadata: object.metadata, json });
}

function decodeProtobuf(
  registry: RegistryContext,
  request: ResourceRequest,
  { bytes, maxWeight = requestBounds.weight }: Body,
): Decoded {
  const { resource } = request;
  const envelope = decodingTypeMeta(resource, bytes, () => {
    if (bytes.length === 0) throw new DecodeFault("empty data");
    const found = unwrapEnvelope(bytes);
    if (found === undefined) {
      throw new DecodeFault(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
      );
    }
    if (bytes.length === envelopePrefixLength) throw new DecodeFault("empty body");
    return found;
  });
  const typeMeta = decodingTypeMeta(resource, bytes, () => defaultTypeMeta(resource, envelope));
  checkTypeMeta(registry, resource, typeMeta);
  const object = decodingObject(resource, typeMeta, () =>
    toHub(registry, request, fromProtobuf(resource.struct, envelope.raw, maxWeight)),
  );
  return { object, warnings: [] };
}

const envelopePrefixLength = 4;

function* decodeText(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options }: { readonly body: Body; readonly options: WriteOptions },
): Slices<Decoded> {
  const { resource } = request;
  const { parsed, duplicates } = withinBounds(() =>
    decodingTypeMeta(resource, body.bytes, () => parseText(body)),
  );
  const value = parsed.value ?? {};
  const typeMeta = decodingTypeMeta(resource, body.bytes, () => typeMetaOf(resource, value, body));
  if (resource.kind.custom === undefined) checkTypeMeta(registry, resource, typeMeta);
  else checkCustomTypeMeta(request, typeMeta, nameIn(value));
  const unknown: string[] = [];
  const { literals = false } = parsed;
  const maxWeight = body.maxWeight ?? requestBounds.weight;
  const decoding = { root: true, unknown, literals, maxWeight, unpruned: true };
  const object = withinBounds(() =>
    decodingObject(resource, typeMeta, () => fromJson(resource.struct, value, decoding)),
  );
  yield;
  yield* pruneOpen(resource, { typeMeta, object, unknown });
  const warnings =
    options.fieldValidation === "Ignore"
      ? []
      : checkFields(request, typeMeta, { body, value, duplicates, unknown, options });
  const hub = decodingObject(resource, typeMeta, () => toHub(registry, request, object));
  keepClearedManagedFields(value, hub);
  return { object: hub, warnings };
}

interface DecodedObject {
  readonly typeMeta: TypeMeta;
  readonly object: any;
  readonly unknown: string[];
}

/** Prunes a custom resource; throws 400 for values that are nested too deeply. */
function* pruneOpen(
  resource: Resource,
  { typeMeta, object, unknown }: DecodedObject,
): Slices<void> {
  const { open } = resource.struct;
  if (open === undefined) return;
  const slices = open.prune(object, unknown);
  const next = (): IteratorResult<void> => slices.next();
  while (decodingObject(resource, typeMeta, next).done !== true) yield;
}

interface ParsedText {
  readonly parsed: ParsedJson;
  readonly duplicates: DuplicateKeys;
}

/** Messages about duplicate keys. */
interface DuplicateKeys {
  /** Warnings, one per key. */
  readonly warnings: readonly string[];
  /** Errors with `fieldValidation=Strict`: one per key of JSON, a single one for YAML. */
  readonly errors: readonly string[];
}

function parseText({ bytes, format }: Body): ParsedText {
  if (format === "yaml") {
    const { value, duplicates } = parseYamlRequest(bytes);
    const all = `yaml: unmarshal errors:\n${duplicates.map((line) => `  ${line}`).join("\n")}`;
    const errors = duplicates.length > 0 ? [all] : [];
    return { parsed: { value, duplicates }, duplicates: { warnings: duplicates, errors } };
  }
  if (format === "cbor") throw new DecodeFault("CBOR is not served");
  const parsed = parseJsonBody(bytes);
  const warnings = parsed.duplicates.map((path) => `duplicate field ${goQuote(path)}`);
  return { parsed, duplicates: { warnings, errors: warnings } };
}

function parseJsonBody(bytes: Uint8Array): ParsedJson {
  try {
    return parseJsonRequest(bytes);
  } catch (fault) {
    if (!(fault instanceof JsonFault)) throw fault;
    throw new JsonFault(`couldn't get version/kind; json parse error: ${fault.message}`);
  }
}

interface FieldProblems {
  readonly body: Body;
  readonly value: unknown;
  readonly duplicates: DuplicateKeys;
  /** Paths of fields that are not in the kind's schema. */
  readonly unknown: readonly string[];
  readonly options: WriteOptions;
}

/** Warnings about unknown and duplicate fields; throws 400 instead if `fieldValidation=Strict`. */
function checkFields(
  { resource }: ResourceRequest,
  typeMeta: TypeMeta,
  problems: FieldProblems,
): string[] {
  const { duplicates, options } = problems;
  if (duplicates.warnings.length === 0 && problems.unknown.length === 0) return [];
  const isStrict = options.fieldValidation === "Strict";
  const all = inDocumentOrder(resource, problems) ?? [
    ...(isStrict ? duplicates.errors : duplicates.warnings),
    ...unknownFields(resource, problems),
  ];
  if (!isStrict) return all;
  if (all.length === 0) return [];
  throw cannotHandle(resource, typeMeta, `strict decoding error: ${all.join(", ")}`);
}

/**
 * Unknown and duplicate fields in document order, for JSON bodies with duplicate keys. Undefined for
 * YAML and custom resources, where kube-apiserver reports all duplicate keys before unknown fields.
 */
function inDocumentOrder(
  { kind, struct }: Resource,
  { body, duplicates }: FieldProblems,
): string[] | undefined {
  if (kind.custom !== undefined || body.format === "yaml") return undefined;
  if (duplicates.warnings.length === 0) return undefined;
  const text = Buffer.from(body.bytes).toString("utf8");
  return strictFaults(struct, text).map(({ problem, path }) => `${problem} ${goQuote(path)}`);
}

function unknownFields({ kind, struct }: Resource, problems: FieldProblems): readonly string[] {
  const { body, value, unknown } = problems;
  const isSorted = body.format === "yaml" && kind.custom === undefined && unknown.length > 1;
  const paths = isSorted ? unknownInSorted(struct, value) : unknown;
  return paths.map((path) => `unknown field ${goQuote(path)}`);
}

/**
 * Paths of unknown fields in the order of sorted keys: kube-apiserver converts YAML, and the result of
 * a merge patch, to JSON with sorted keys before it decodes the fields.
 */
export function unknownInSorted(struct: Resource["struct"], value: unknown): readonly string[] {
  return strictFaults(struct, printSortedJson(value)).map(({ path }) => path);
}

/**
 * Applies defaults and converts an object from the version of the request to the hub version.
 * @throws DecodeFault for a failed conversion
 */
export function toHub(registry: RegistryContext, request: ResourceRequest, object: any): any {
  const { kind, served, struct } = request.resource;
  applyDefaults(struct, object);
  const hub = served.convert === "hub" ? object : served.convert.up(object);
  const fault = kind.hooks.conversionFault?.(hub);
  if (fault !== undefined) throw new DecodeFault(fault);
  kind.hooks.default?.(hub, hookContext(registry, request));
  return hub;
}

/** Kind and apiVersion of the body; optional for built-in kinds, required for custom resources. */
function typeMetaOf(resource: Resource, value: unknown, { bytes }: Body): TypeMeta {
  const typeMeta = jsonTypeMeta(value);
  if (resource.kind.custom === undefined) return defaultTypeMeta(resource, typeMeta);
  if (typeMeta.kind !== "") return typeMeta;
  throw new DecodeFault(`Object 'Kind' is missing in '${Buffer.from(bytes).toString("utf8")}'`);
}

/** Fills in an absent kind or apiVersion from the resource of the path. */
function defaultTypeMeta(resource: Resource, { apiVersion, kind }: TypeMeta): TypeMeta {
  if (apiVersion.split("/").length > 2) {
    throw new DecodeFault(`unexpected GroupVersion string: ${apiVersion}`);
  }
  return { apiVersion: apiVersion || resource.groupVersion, kind: kind || resource.kind.kind };
}

/** Translates decode faults before the kind is known into 400. */
function decodingTypeMeta<T>({ kind }: Resource, bytes: Uint8Array, work: () => T): T {
  try {
    return work();
  } catch (fault) {
    if (!isDecodeFault(fault)) throw fault;
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind.kind}): ` +
        `${fault.message} (${summary(bytes)})`,
    );
  }
}

/** Translates decode faults of an object of known kind into 400. */
function decodingObject<T>(resource: Resource, typeMeta: TypeMeta, work: () => T): T {
  try {
    return work();
  } catch (fault) {
    if (!isDecodeFault(fault)) throw fault;
    throw cannotHandle(resource, typeMeta, fault.message);
  }
}

function isDecodeFault(fault: unknown): fault is Error {
  if (fault instanceof JsonFault || fault instanceof DecodeFault) return true;
  return fault instanceof Error && fault.name === "YamlFault";
}

/** The first 30 bytes of a body: as text if it begins with `{`, otherwise in hexadecimal. */
function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return "<empty>";
  const head = Buffer.from(bytes.subarray(0, 30));
  const text = head.toString(bytes[0] === 0x7b ? "utf8" : "hex");
  return bytes.length > 30 ? `${text} ...` : text;
}
