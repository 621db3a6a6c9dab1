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

/** Bytes of one response that are kept for its record. */
const maxResponseBytes = 10 * 1024 * 1024;
/** Bound of the bytes of all responses that are being recorded. */
const mostBytes = 128 * 1024 * 1024;

/** Memory for the responses that are being recorded. */
export class RecordingBudget {
  private taken = 0;

  take(bytes: number): boolean {
    if (this.taken + bytes > mostBytes) return false;
    this.taken += bytes;
    return true;
  }

  give(bytes: number): void {
    this.taken -= bytes;
  }
}

interface RecorderOptions {
  readonly trail: AuditTrail;
  /** The response has no end of its own: only its beginning is recorded. */
  readonly isLong: boolean;
  readonly keepsBody: boolean;
  readonly memory: RecordingBudget;
}

/** Listens to a response and tells the record of its request. */
export class ResponseRecorder implements ResponseObserver {
  /** There was a response to keep, but no room for it. */
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
    if (isTooLong || !memory.take(chunk.byteLength)) {
      this.cut = true;
      return this.forget();
    }
    this.size += chunk.byteLength;
    this.chunks.push(Uint8Array.from(chunk));
  }

  /** What was answered, as JSON without line breaks; undefined for what is no object. */
  async json(domain: Domain, resource: Resource | undefined): Promise<string | undefined> {
    if (this.size === 0) return undefined;
    const sent = concatBytes(this.chunks);
    const isPacked = this.headers["content-encoding"] === "gzip";
    const bytes = isPacked ? await promisify(gunzip)(sent) : sent;
    const type = String(this.headers["content-type"] ?? "");
    if (type.startsWith(mediaTypes.json)) return compact(Buffer.from(bytes).toString("utf8"));
    if (type.startsWith(mediaTypes.yaml)) {
      return printJson(parseYaml(Buffer.from(bytes).toString("utf8")).value);
    }
    return type.startsWith(mediaTypes.protobuf) ? messageJson(bytes, domain, resource) : undefined;
  }

  forget(): void {
    this.options.memory.give(this.size);
    this.chunks = [];
    this.size = 0;
  }
}

/** Only what was made pretty has line breaks. */
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

interface Named {
  readonly kind: string;
  readonly apiVersion: string;
}

function structOf(
  { kind, apiVersion }: Named,
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
  const isMeant = (each: Resource) => each.kind.kind === kind && each.groupVersion === apiVersion;
  return spokenKinds(domain).find(isMeant)?.struct;
}

/** Kinds that only subresources speak. */
const spokenKinds = memoize((domain: Domain) => new Catalog(subresourceKinds, domain).resources);

const made = structs("made/v1");

const listOf = memoize((member: StructType<any>): StructType<any> =>
  made(`${member.name}List`, "A list.", {
    metadata: value(1, listMeta, "Facts about the list."),
    items: required(2, list(member), "Its members."),
  }),
);
