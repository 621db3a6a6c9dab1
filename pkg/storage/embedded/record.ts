import { crc32 } from "node:zlib";
import { parseJsonText } from "#base";

/**
 * A version of a key in the journal. The journal has a record for each live version, and a head record;
 * each contains a CRC-32 of its key and content.
 *
 * Key: 0x01, revision (8 bytes, big endian), key (UTF-8), hence records are sorted by revision. Content:
 * CRC (4), kind (1: 0 put, 1 delete), position in the transaction (2), create revision (8, double),
 * deadline (8, double; 0 = none), value.
 */
export interface VersionRecord {
  readonly key: string;
  readonly revision: number;
  readonly deleted: boolean;
  /** Position in the events of its transaction. */
  readonly index: number;
  /** 0 for a deletion. */
  readonly createRevision: number;
  /** Time in ms since 1970 at which the key expires; undefined = never. */
  readonly deadline: number | undefined;
  readonly value: Uint8Array;
}

/** The head record, which is written with every group and must match the versions. */
export interface Head {
  /** Version of the layout. */
  readonly format: 1;
  /** The newest revision. */
  readonly revision: number;
  /** The oldest readable revision. */
  readonly oldest: number;
  /** Number of version records. */
  readonly versions: number;
}

export const headKey: Buffer = Buffer.from([0]);

const recordVersion = 1;
const keyHeaderBytes = 9;
const recordHeaderBytes = 23;
const putType = 0;
const deleteType = 1;

export function versionKey(revision: number, key: string): Buffer {
  const result = Buffer.allocUnsafe(keyHeaderBytes + Buffer.byteLength(key));
  result[0] = recordVersion;
  result.writeBigUInt64BE(BigInt(revision), 1);
  result.write(key, keyHeaderBytes);
  return result;
}

export function encodeVersion(record: VersionRecord): { key: Buffer; content: Buffer } {
  const key = versionKey(record.revision, record.key);
  const content = Buffer.allocUnsafe(recordHeaderBytes + record.value.byteLength);
  content[4] = record.deleted ? deleteType : putType;
  content.writeUInt16BE(record.index, 5);
  content.writeDoubleBE(record.createRevision, 7);
  content.writeDoubleBE(record.deadline ?? 0, 15);
  content.set(record.value, recordHeaderBytes);
  content.writeUInt32BE(checksum(key, content.subarray(4)), 0);
  return { key, content };
}

/** Decodes a version; undefined if its checksum or format is wrong. */
export function decodeVersion(key: Buffer, content: Buffer): VersionRecord | undefined {
  if (key.length < keyHeaderBytes || key[0] !== recordVersion || content.length < recordHeaderBytes)
    return undefined;
  if (content.readUInt32BE(0) !== checksum(key, content.subarray(4))) return undefined;
  const deadline = content.readDoubleBE(15);
  return {
    key: key.toString("utf8", keyHeaderBytes),
    revision: Number(key.readBigUInt64BE(1)),
    deleted: content[4] === deleteType,
    index: content.readUInt16BE(5),
    createRevision: content.readDoubleBE(7),
    deadline: deadline === 0 ? undefined : deadline,
    value: content.subarray(recordHeaderBytes),
  };
}

/** The head record: CRC (4 bytes), then JSON. */
export function encodeHead(head: Head): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const content = Buffer.allocUnsafe(4 + text.length);
  content.writeUInt32BE(checksum(headKey, text), 0);
  content.set(text, 4);
  return content;
}

export function decodeHead(content: Buffer): Head | undefined {
  if (content.length < 4) return undefined;
  const text = content.subarray(4);
  if (content.readUInt32BE(0) !== checksum(headKey, text)) return undefined;
  return parseJsonText(text.toString()) as Head;
}

function checksum(key: Uint8Array, content: Uint8Array): number {
  return crc32(content, crc32(key));
}
