import { toBuffer } from "#base";
import { DecodeFault } from "../fault/faults.ts";
import { WireReader } from "./protobuf-reader.ts";
import protobuf from "protobufjs/minimal.js";

/** `k8s\0`: what a Protobuf body or stored value begins with. */
const PREFIX = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** The message inside; a view of the bytes that were unwrapped. */
  readonly raw: Uint8Array;
  /** Empty for Protobuf. */
  readonly contentType: string;
}

/** The prefix and runtime.Unknown around a message. */
export function wrapEnvelope(
  type: { readonly apiVersion: string; readonly kind: string },
  raw: Uint8Array,
): Uint8Array {
  const writer = protobuf.Writer.create();
  writer.raw(PREFIX);
  writer.uint32(0x0a).fork();
  writer.uint32(0x0a).string(type.apiVersion).uint32(0x12).string(type.kind).ldelim();
  writer.uint32(0x12).bytes(raw);
  return writer.uint32(0x1a).string("").uint32(0x22).string("").finish();
}

/** What stands before and after a message of `size` bytes in its envelope. */
export function envelopeAround(
  type: { readonly apiVersion: string; readonly kind: string },
  size: number,
): { readonly head: Uint8Array; readonly tail: Uint8Array } {
  const writer = protobuf.Writer.create();
  writer.raw(PREFIX);
  writer.uint32(0x0a).fork();
  writer.uint32(0x0a).string(type.apiVersion).uint32(0x12).string(type.kind).ldelim();
  const head = writer.uint32(0x12).uint32(size).finish();
  const tail = protobuf.Writer.create().uint32(0x1a).string("").uint32(0x22).string("").finish();
  return { head, tail };
}

/**
 * What `wrapEnvelope` made; undefined if the prefix is missing.
 * @throws DecodeFault if what follows the prefix is no runtime.Unknown
 */
export function unwrapEnvelope(bytes: Uint8Array): Envelope | undefined {
  const buffer = toBuffer(bytes);
  if (buffer.length < PREFIX.length || buffer.compare(PREFIX, 0, 4, 0, 4) !== 0) return undefined;
  const reader = new WireReader(buffer);
  reader.at = PREFIX.length;
  const end = buffer.length;
  let typeMeta: TypeMeta = { apiVersion: "", kind: "" };
  let raw: Uint8Array = buffer.subarray(0, 0);
  let contentType = "";
  while (reader.at < end) {
    const tag = reader.varint(end);
    if (tag === 0x0a) typeMeta = readTypeMeta(reader, reader.delimited(end));
    else if (tag === 0x12) raw = readView(reader, end);
    else if (tag === 0x22) contentType = reader.string(end);
    else skip("Unknown", tag, { reader, end });
  }
  return { ...typeMeta, raw, contentType };
}

interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

function readTypeMeta(reader: WireReader, end: number): TypeMeta {
  let apiVersion = "";
  let kind = "";
  while (reader.at < end) {
    const tag = reader.varint(end);
    if (tag === 0x0a) apiVersion = reader.string(end);
    else if (tag === 0x12) kind = reader.string(end);
    else skip("TypeMeta", tag, { reader, end });
  }
  return { apiVersion, kind };
}

function readView(reader: WireReader, end: number): Uint8Array {
  const stop = reader.delimited(end);
  const view = reader.buffer.subarray(reader.at, stop);
  reader.at = stop;
  return view;
}

function skip(message: string, tag: number, from: { reader: WireReader; end: number }): void {
  const wireType = tag % 8;
  if (wireType === 4) throw new DecodeFault(`proto: ${message}: wiretype end group for non-group`);
  if (tag < 8) {
    throw new DecodeFault(`proto: ${message}: illegal tag 0 (wire type ${wireType})`);
  }
  from.reader.skip(wireType, from.end);
}
