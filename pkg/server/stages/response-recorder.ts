import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { partialObjectMetadata, status, subresourceKinds } from "#api";
import { concatBytes, memoize } from "#base";
import { Catalog, type Domain, listMeta, parseYaml, printJson, type Resource } from "#meta";
import type { AuditTrail } from "#request";
import {
  required,
  fromProtobuf,
  list,
  parseJson,
  value,
  type StructType,
  structs,
  toJson,
  unwrapEnvelope,
} from "#schema";
import type { ResponseHeaders, ResponseObserver } from "../transport/exchange.ts";
import { mediaTypes } from "../response/negotiation.ts";

/** Limit in bytes of one recorded response. */
const maxResponseBytes = 10 * 1024 * 1024;
/** Limit in bytes of all responses that are being recorded. */
const maxTotalBytes = 128 * 1024 * 1024;

/** Limits the memory of the responses that are being recorded for the audit log. */
export class RecordingBudget {
  private reserved = 0;

  /** False if the budget does not suffice. */
  reserve(bytes: number): boolean {
    if (this.reserved + bytes > maxTotalBytes) return false;
    this.reserved += bytes;
    return true;
  }

  release(bytes: number): void {
    this.reserved -= bytes;
  }
}

interface RecorderOptions {
  readonly trail: AuditTrail;
  /** The request is long-running: only the start of its response is recorded. */
  readonly isLong: boolean;
  readonly keepsBody: boolean;
  readonly memory: RecordingBudget;
}

/** Records a response for the audit event of its request. */
export class ResponseRecorder implements ResponseObserver {
  /** The body is not recorded because it exceeds a limit. */
  cut = false;
  private headers: ResponseHeaders = {};
  private chunks: Uint8Array[] = [];
  private size = 0;

  constructor(private readonly options: RecorderOptions) {}

  started(code: number, headers: ResponseHeaders): void {
    this.headers = headers;
    if (this.options.isLong) this.options.trail.started(code);
  }

  wrote(chunk: Uint8Array): void {
    const { isLong, keepsBody, memory } = this.options;
    if (isLong || !keepsBody || this.cut) return;
    const isTooLong = this.size + chunk.byteLength > maxResponseBytes;
    if (isTooLong || !memory.reserve(chunk.byteLength)) {
      this.cut = true;
      return this.release();
    }
    this.size += chunk.byteLength;
    this.chunks.push(Uint8Array.from(chunk));
  }

  /** The response object as JSON in one line; undefined if the body is not an object. */
  async json(domain: Domain, resource: Resource | undefined): Promise<string | undefined> {
    if (this.size === 0) return undefined;
    const sent = concatBytes(this.chunks);
    const isCompressed = this.headers["content-encoding"] === "gzip";
    const bytes = isCompressed ? await promisify(gunzip)(sent) : sent;
    const type = String(this.headers["content-type"] ?? "");
    if (type.startsWith(mediaTypes.json)) return compact(Buffer.from(bytes).toString("utf8"));
    if (type.startsWith(mediaTypes.yaml)) {
      return printJson(parseYaml(Buffer.from(bytes).toString("utf8")).value);
    }
    return type.startsWith(mediaTypes.protobuf) ? messageJson(bytes, domain, resource) : undefined;
  }

  /** Drops the recorded body. */
  release(): void {
    this.options.memory.release(this.size);
    this.chunks = [];
    this.size = 0;
  }
}

/** JSON in one line; only pretty-printed responses have line breaks. */
function compact(text: string): string {
  const trimmed = text.trimEnd();
  return trimmed.includes("\n") ? printJson(parseJson(trimmed).value) : trimmed;
}

function messageJson(
  bytes: Uint8Array,
  domain: Domain,
  resource: Resource | undefined,
): string | undefined {
  const envelope = unwrapEnvelope(bytes);
  if (envelope === undefined) return undefined;
  const { kind, apiVersion, raw } = envelope;
  const struct = structOf({ kind, apiVersion }, domain, resource);
  return struct && toJson(struct, fromProtobuf(struct, raw), { kind, apiVersion });
}

interface TypeMeta {
  readonly kind: string;
  readonly apiVersion: string;
}

function structOf(
  { kind, apiVersion }: TypeMeta,
  domain: Domain,
  resource: Resource | undefined,
): StructType<any> | undefined {
  switch (kind) {
    case "Status":
      return status;
    case "PartialObjectMetadata":
      return partialObjectMetadata;
    case "PartialObjectMetadataList":
      return listOf(partialObjectMetadata);
  }
  if (kind === resource?.kind.kind) return resource.struct;
  if (kind === resource?.kind.listKind) return listOf(resource.struct);
  const matches = (each: Resource) => each.kind.kind === kind && each.groupVersion === apiVersion;
  return kindsOfSubresources(domain).find(matches)?.struct;
}

/** Kinds that are only bodies of subresources. */
const kindsOfSubresources = memoize(
  (domain: Domain) => new Catalog(subresourceKinds, domain).resources,
);

const made = structs("made/v1");

const listOf = memoize((member: StructType<any>): StructType<any> =>
  made(`${member.name}List`, "A list.", {
    metadata: value(1, listMeta, "Facts about the list."),
    items: required(2, list(member), "Its members."),
  }),
);
