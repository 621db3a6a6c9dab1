import { compareUtf8 } from "#base";
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
import { markManagedFieldsCleared } from "./managed-fields.ts";
import { checkCustomTypeMeta, nameIn } from "./custom-resource-errors.ts";
import { cannotHandle, checkTypeMeta, jsonTypeMeta, type TypeMeta } from "../codec/type-meta.ts";

/** A client's object in hub form, defaulted, and what the client is to be warned of. */
export interface Decoded {
  readonly object: any;
  readonly warnings: string[];
}

/**
 * Reads a request body as an object of the request's kind in the version that the client speaks, and
 * brings it into the hub version. Throws 400 in the words of Kubernetes' decoders, and 413 for too
 * many values.
 */
export function decodeBody(
  registry: RegistryContext,
  request: ResourceRequest,
  body: Body,
  options: WriteOptions,
): Decoded {
  const decoded = withinBounds(() =>
    body.format === "protobuf"
      ? decodeProtobuf(registry, request, body)
      : decodeText(registry, request, { body, options }),
  );
  noteSent(request, decoded.object);
  return decoded;
}

/** For the record: the object in the version that the client speaks. */
function noteSent({ notes, resource }: ResourceRequest, object: any): void {
  if (notes === undefined) return;
  const { struct, served, groupVersion, kind } = resource;
  const json = (): string => {
    const spoken = served.convert === "hub" ? object : served.convert.down(object);
    return toJson(struct, spoken, { kind: kind.kind, apiVersion: groupVersion });
  };
  notes.sent({ metadata: object.metadata, json });
}

function decodeProtobuf(
  registry: RegistryContext,
  request: ResourceRequest,
  { bytes, maxWeight = requestBounds.weight }: Body,
): Decoded {
  const { resource } = request;
  const envelope = unrecognized(resource, bytes, () => {
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
  const named = unrecognized(resource, bytes, () => completed(resource, envelope));
  checkTypeMeta(registry, resource, named);
  const object = unhandled(resource, named, () =>
    fromProtobuf(resource.struct, envelope.raw, maxWeight),
  );
  return { object: toHub(registry, request, object), warnings: [] };
}

const envelopePrefixLength = 4;

function decodeText(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options }: { readonly body: Body; readonly options: WriteOptions },
): Decoded {
  const { resource } = request;
  const { parsed, repeated } = parse(resource, body);
  const value = parsed.value ?? {};
  const named = unrecognized(resource, body.bytes, () => namedIn(resource, value, body));
  if (resource.kind.custom === undefined) checkTypeMeta(registry, resource, named);
  else checkCustomTypeMeta(resource, named, nameIn(value));
  const unknown: string[] = [];
  const { literals = false } = parsed;
  const object = unhandled(resource, named, () =>
    fromJson(resource.struct, value, {
      root: true,
      unknown,
      literals,
      maxWeight: body.maxWeight ?? requestBounds.weight,
    }),
  );
  const warnings =
    options.fieldValidation === "Ignore"
      ? []
      : checkFields(request, named, { body, value, repeated, unknown, options });
  const hub = toHub(registry, request, object);
  markManagedFieldsCleared(value, hub);
  return { object: hub, warnings };
}

function parse(resource: Resource, body: Body): ParsedText {
  return unrecognized(resource, body.bytes, () => parseText(body));
}

interface ParsedText {
  readonly parsed: ParsedJson;
  readonly repeated: Repeated;
}

/** Keys given twice; YAML tells of all of them in one fault. */
interface Repeated {
  readonly keys: readonly string[];
  readonly strict: readonly string[];
}

function parseText({ bytes, format }: Body): ParsedText {
  if (format === "yaml") {
    const { value, duplicates } = parseYamlRequest(bytes);
    const all = `yaml: unmarshal errors:\n${duplicates.map((line) => `  ${line}`).join("\n")}`;
    const repeated = { keys: duplicates, strict: duplicates.length > 0 ? [all] : [] };
    return { parsed: { value, duplicates }, repeated };
  }
  if (format === "cbor") throw new DecodeFault("CBOR is not served");
  const parsed = parseJsonBody(bytes);
  const keys = parsed.duplicates.map((path) => `duplicate field ${goQuote(path)}`);
  return { parsed, repeated: { keys, strict: keys } };
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
  readonly repeated: Repeated;
  /** Paths of fields that the kind does not have. */
  readonly unknown: readonly string[];
  readonly options: WriteOptions;
}

/** Warnings of unknown and duplicate fields. `fieldValidation=Strict` refuses them instead. */
function checkFields(
  { resource }: ResourceRequest,
  named: TypeMeta,
  problems: FieldProblems,
): string[] {
  const { repeated, options } = problems;
  if (repeated.keys.length === 0 && problems.unknown.length === 0) return [];
  const isStrict = options.fieldValidation === "Strict";
  const all = inDocumentOrder(resource, problems) ?? [
    ...(isStrict ? repeated.strict : repeated.keys),
    ...unknownFields(resource, problems),
  ];
  if (!isStrict) return all;
  if (all.length === 0) return [];
  throw cannotHandle(resource, named, `strict decoding error: ${all.join(", ")}`);
}

/**
 * What JSON that gives keys twice is told of: unknown and duplicate fields as they come. Undefined
 * for YAML, whose duplicates are found before its fields are read, and for custom resources, which
 * are read first and pruned then.
 */
function inDocumentOrder(
  { kind, struct }: Resource,
  { body, repeated }: FieldProblems,
): string[] | undefined {
  if (kind.custom !== undefined || body.format === "yaml" || repeated.keys.length === 0) {
    return undefined;
  }
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
 * Kubernetes reads YAML, and what a merge patch makes, from JSON with sorted keys: this gives the
 * unknown fields in that order.
 */
export function unknownInSorted(struct: Resource["struct"], value: unknown): readonly string[] {
  const sorted = JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === "bigint") return Number(inner);
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    const entries = Object.entries(inner as Readonly<Record<string, unknown>>);
    return Object.fromEntries(entries.sort(([a], [b]) => compareUtf8(a, b)));
  });
  return strictFaults(struct, sorted).map(({ path }) => path);
}

/** From the version that the client speaks into the hub version, defaulted. */
export function toHub(registry: RegistryContext, request: ResourceRequest, object: any): any {
  const { kind, served, struct } = request.resource;
  applyDefaults(struct, object);
  const hub = served.convert === "hub" ? object : served.convert.up(object);
  kind.hooks.default?.(hub, hookContext(registry, request));
  return hub;
}

/** What the body says that it is. Custom resources must say it themselves. */
function namedIn(resource: Resource, value: unknown, { bytes }: Body): TypeMeta {
  const named = jsonTypeMeta(value);
  if (resource.kind.custom === undefined) return completed(resource, named);
  if (named.kind !== "") return named;
  throw new DecodeFault(`Object 'Kind' is missing in '${Buffer.from(bytes).toString("utf8")}'`);
}

/** A body may leave out what the path says already. */
function completed(resource: Resource, { apiVersion, kind }: TypeMeta): TypeMeta {
  if (apiVersion.split("/").length > 2) {
    throw new DecodeFault(`unexpected GroupVersion string: ${apiVersion}`);
  }
  return { apiVersion: apiVersion || resource.groupVersion, kind: kind || resource.kind.kind };
}

/** Faults before the kind is known. */
function unrecognized<T>({ kind }: Resource, bytes: Uint8Array, work: () => T): T {
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

/** Faults once the kind is known. */
function unhandled<T>(resource: Resource, named: TypeMeta, work: () => T): T {
  try {
    return work();
  } catch (fault) {
    if (!isDecodeFault(fault)) throw fault;
    throw cannotHandle(resource, named, fault.message);
  }
}

function isDecodeFault(fault: unknown): fault is Error {
  if (fault instanceof JsonFault || fault instanceof DecodeFault) return true;
  return fault instanceof Error && fault.name === "YamlFault";
}

/** The first bytes of a body, as text if it looks like JSON and else in hexadecimal. */
function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return "<empty>";
  const head = Buffer.from(bytes.subarray(0, 30));
  const text = head.toString(bytes[0] === 0x7b ? "utf8" : "hex");
  return bytes.length > 30 ? `${text} ...` : text;
}
