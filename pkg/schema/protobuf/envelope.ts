import { toBuffer } from "#base";
import { DecodeFault } from "../fault/faults.ts";
import { WireReader } from "./wire-reader.ts";
import { wireTypes, WireWriter } from "./wire-writer.ts";

/** `k8s\0`: the prefix of Protobuf bodies and stored values. */
const protobufPrefix = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** The message, a view of the input. */
  readonly raw: Uint8Array;
  /** Content type; empty for Protobuf. */
  readonly contentType: string;
}

/** The prefix and runtime.Unknown around a message. */
export function wrapEnvelope(type: TypeMeta, raw: Uint8Array): Uint8Array {
  const { head, tail } = envelopeAround(type, raw.byteLength);
  return Buffer.concat([head, raw, tail]);
}

/** The bytes before and after a message of `size` bytes in its envelope. */
export function envelopeAround(
  { apiVersion, kind }: TypeMeta,
  size: number,
): { readonly head: Uint8Array; readonly tail: Uint8Array } {
  const head = new WireWriter()
    .raw(protobufPrefix)
    .message(1, (inner) => inner.string(1, apiVersion).string(2, kind))
    .prefix(2, size);
  return { head: head.finish(), tail };
}

/** No content encoding, and no content type: Protobuf. */
const tail = new WireWriter().string(3, "").string(4, "").finish();

/**
 * Reverses `wrapEnvelope`; undefined if the prefix is missing.
 * @throws DecodeFault if the bytes after the prefix are not a runtime.Unknown
 */
export function unwrapEnvelope(bytes: Uint8Array): Envelope | undefined {
  const buffer = toBuffer(bytes);
  if (buffer.length < protobufPrefix.length || buffer.compare(protobufPrefix, 0, 4, 0, 4) !== 0)
    return undefined;
  const reader = new WireReader(buffer);
  reader.at = protobufPrefix.length;
  let typeMeta: TypeMeta = { apiVersion: "", kind: "" };
  let raw: Uint8Array = buffer.subarray(0, 0);
  let contentType = "";
  while (reader.next()) {
    if (isDelimited(reader, 1)) typeMeta = reader.message(readTypeMeta);
    else if (isDelimited(reader, 2)) raw = reader.view();
    else if (isDelimited(reader, 4)) contentType = reader.string();
    else skip("Unknown", reader);
  }
  return { ...typeMeta, raw, contentType };
}

interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

function readTypeMeta(reader: WireReader): TypeMeta {
  let apiVersion = "";
  let kind = "";
  while (reader.next()) {
    if (isDelimited(reader, 1)) apiVersion = reader.string();
    else if (isDelimited(reader, 2)) kind = reader.string();
    else skip("TypeMeta", reader);
  }
  return { apiVersion, kind };
}

function isDelimited(reader: WireReader, field: number): boolean {
  return reader.field === field && reader.wireType === wireTypes.delimited;
}

function skip(message: string, reader: WireReader): void {
  const { field, wireType } = reader;
  if (wireType === wireTypes.endGroup) {
    throw new DecodeFault(`proto: ${message}: wiretype end group for non-group`);
  }
  if (field === 0) {
    throw new DecodeFault(`proto: ${message}: illegal tag 0 (wire type ${wireType})`);
  }
  reader.skip();
}
