import { deleteOptions as deleteOptionsStruct } from "#api";
import {
  type Catalog,
  parseJsonRequest,
  parseYamlRequest,
  plainFailure,
  requestBounds,
  withinBounds,
  YamlFault,
} from "#meta";
import {
  hasOtherKind,
  optionsScheme,
  type RawDeleteOptions,
  unknownConversion,
  unregisteredKind,
} from "#registry";
import { DecodeFault, fromJson, fromProtobuf, JsonFault, unwrapEnvelope } from "#schema";
import type { Format } from "../response/negotiation.ts";

/** Go's name of the expected type is `v1.DeleteOptions`. */
const deleteOptionsType = { group: "v1", kind: "DeleteOptions" };
const goTypeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; ' +
  'Kind string "json:\\"kind,omitempty\\"" }';

/**
 * Decodes DeleteOptions from a body. Any group and version and unknown fields are accepted.
 * @throws StatusError 500 for a malformed body, as in kube-apiserver
 */
export function deleteOptionsOfBody(
  catalog: Catalog,
  body: Uint8Array,
  format: Format,
): RawDeleteOptions {
  try {
    const options = decode(catalog, body, format);
    return {
      gracePeriodSeconds: optional(options.gracePeriodSeconds, Number),
      propagationPolicy: optional(options.propagationPolicy, String),
      orphanDependents: optional(options.orphanDependents, Boolean),
      dryRun: options.dryRun ?? [],
      preconditions: options.preconditions ?? undefined,
      ignoreReadError: options.ignoreStoreReadErrorWithClusterBreakingPotential ?? false,
    };
  } catch (fault) {
    if (fault instanceof DecodeFault || fault instanceof YamlFault)
      throw plainFailure(fault.message);
    throw fault;
  }
}

function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value);
}

function decode(catalog: Catalog, body: Uint8Array, format: Format): any {
  if (format === "protobuf") {
    const envelope = unwrapEnvelope(body);
    if (envelope === undefined) {
      throw plainFailure(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
      );
    }
    checkKind(catalog, envelope);
    return withinBounds(() =>
      fromProtobuf(deleteOptionsStruct, envelope.raw, requestBounds.weight),
    );
  }
  const value = format === "json" ? parsedJson(body) : parseYamlRequest(body).value;
  if (value !== null && value !== undefined) {
    const type = jsonTypeName(value);
    if (type !== "object") {
      const message = `json: cannot unmarshal ${type} into Go value of type ${goTypeMeta}`;
      throw plainFailure(`couldn't get version/kind; json parse error: ${message}`);
    }
    const apiVersion = textIn(value, "apiVersion") || "v1";
    checkKind(catalog, { kind: textIn(value, "kind"), apiVersion });
  }
  return fromJson(deleteOptionsStruct, value ?? {}, { root: true });
}

function parsedJson(body: Uint8Array): unknown {
  try {
    return parseJsonRequest(body).value;
  } catch (fault) {
    if (!(fault instanceof JsonFault)) throw fault;
    throw plainFailure(`couldn't get version/kind; json parse error: ${fault.message}`);
  }
}

/** A string field, which is checked before the other fields are decoded. */
function textIn(value: object, name: "apiVersion" | "kind"): string {
  const text: unknown = (value as Readonly<Record<string, unknown>>)[name] ?? "";
  if (typeof text === "string") return text;
  const into = `Go struct field .${name} of type string`;
  const message = `json: cannot unmarshal ${jsonTypeName(text)} into ${into}`;
  throw plainFailure(`couldn't get version/kind; json parse error: ${message}`);
}

function checkKind(
  catalog: Catalog,
  typeMeta: { readonly kind: string; readonly apiVersion: string },
): void {
  if (typeMeta.kind === "" || typeMeta.kind === "DeleteOptions") return;
  if (!hasOtherKind(optionsScheme, catalog, typeMeta)) {
    throw plainFailure(unregisteredKind(typeMeta, optionsScheme));
  }
  throw plainFailure(unknownConversion({ ...typeMeta, apiVersion: "v1" }, deleteOptionsType));
}

function jsonTypeName(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value === "bigint" ? "number" : typeof value;
}
