import {
  badRequest,
  genericFailure,
  kubernetes,
  metaGroupOf,
  notAcceptable,
  unsupportedMediaType,
} from "#meta";
import { notRepresentable } from "./failures.ts";

/** Serialization formats of request and response bodies. */
export type Format = "json" | "yaml" | "protobuf";

export const mediaTypes: Readonly<Record<Format, string>> = {
  json: "application/json",
  yaml: "application/yaml",
  protobuf: "application/vnd.kubernetes.protobuf",
};
const formats: readonly Format[] = ["json", "yaml", "protobuf"];
const streamFormats: readonly Format[] = ["json", "protobuf"];
const textTypes = [mediaTypes.json, mediaTypes.yaml];
const allTypes = formats.map((format) => mediaTypes[format]);
const streamTypes = streamFormats.map((format) => `${mediaTypes[format]};stream=watch`);

/** Another kind that a client requested with `;as=`. */
export interface Transform {
  readonly kind: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList";
  /** That of the request: `meta.<API domain>`, or `meta.k8s.io`, which kubectl has compiled in. */
  readonly group: string;
  readonly version: "v1" | "v1beta1";
}

export interface Negotiated {
  readonly format: Format;
  readonly as: Transform | undefined;
  readonly pretty: boolean;
}

/**
 * Kind of response: `object` for reads and writes of one object, `list`, `watch`, `virtual` for creates
 * that store nothing (transformed to metadata only, not to a Table), and `status` for errors and
 * documents, which are never transformed.
 */
export type Offer = "object" | "list" | "watch" | "virtual" | "status";

/** A clause of an Accept header. */
export interface Clause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * The representation for an Accept header; undefined or "" = JSON.
 * @throws StatusError 406 with the message of kube-apiserver's router (go-restful) or of its negotiation
 */
export function negotiate(accept: string | undefined, offer: Offer, metaGroup: string): Negotiated {
  if (!routeAccepts(accept, allTypes)) {
    const streams = offer === "list" || offer === "watch" ? streamTypes : [];
    throw notRepresentable([...allTypes, ...streams]);
  }
  return negotiateWith(accept, { offer, metaGroup });
}

/** As `negotiate`, for documents that kube-apiserver serves without its router. */
export function negotiateDocument(accept: string | undefined): Negotiated {
  return negotiateWith(accept, { offer: "status", metaGroup: "" });
}

/** As `negotiate`, for custom resources, which have no Protobuf form except for their metadata. */
function negotiateCustom(accept: string | undefined, offer: Offer, metaGroup: string): Negotiated {
  const isText = ({ as, format }: Negotiated) => as !== undefined || format !== "protobuf";
  return negotiateWith(accept, { offer, metaGroup, isSupported: isText });
}

/** Negotiates a watch like a list, but rejects YAML, which cannot be streamed. */
function negotiateWith(accept: string | undefined, options: NegotiationOptions): Negotiated {
  const negotiated = findAcceptable(accept, options);
  if (negotiated === undefined) throw notAcceptable(allTypes);
  if (options.offer !== "watch" || streamFormats.includes(negotiated.format)) return negotiated;
  throw notAcceptable(streamTypes);
}

/** Maximum number of cached results; clients send few different headers. */
const maxCached = 500;

/** Negotiation with a cache by Accept header. */
export class Negotiator {
  private readonly cache = new Map<string, Negotiated>();

  constructor(private readonly metaGroup: string) {}

  /** As `negotiate`, or for custom resources as `negotiateCustom`. */
  negotiate(accept: string | undefined, offer: Offer, custom: boolean): Negotiated {
    const key = `${custom ? "custom " : ""}${offer} ${accept ?? ""}`;
    let negotiated = this.cache.get(key);
    if (negotiated === undefined) {
      const find = custom ? negotiateCustom : negotiate;
      negotiated = find(accept, offer, this.metaGroup);
      if (this.cache.size >= maxCached) this.cache.clear();
      this.cache.set(key, negotiated);
    }
    return negotiated;
  }
}

/** The format of an error response: JSON if no other format is acceptable. */
export function negotiateFailure(accept: string | undefined): Negotiated {
  return findAcceptable(accept, { offer: "status", metaGroup: "" }) ?? untransformed("json");
}

/** Whether a route that produces `types` matches as in go-restful: exact types or full wildcard only. */
export function routeAccepts(accept: string | undefined, types: readonly string[]): boolean {
  if (accept === undefined || accept === "") return true;
  return accept.split(",").some((clause) => {
    const type = clause.split(";", 1)[0]!.trim();
    return type === "*/*" || types.includes(type);
  });
}

function findAcceptable(
  accept: string | undefined,
  { offer, metaGroup, isSupported = () => true }: NegotiationOptions,
): Negotiated | undefined {
  if (accept === undefined || accept === "") return untransformed("json");
  for (const clause of parseAccept(accept)) {
    for (const format of formats) {
      if (!covers(clause, mediaTypes[format])) continue;
      const negotiated = applyParameters(clause, { format, offer, metaGroup });
      if (negotiated !== undefined && isSupported(negotiated)) return negotiated;
    }
  }
  return undefined;
}

interface NegotiationOptions {
  readonly offer: Offer;
  readonly metaGroup: string;
  readonly isSupported?: (negotiated: Negotiated) => boolean;
}

function untransformed(format: Format): Negotiated {
  return { format, as: undefined, pretty: false };
}

/** Whether a clause matches a media type, by exact type or wildcard. */
export function covers({ type, subtype }: Clause, mediaType: string): boolean {
  if (type === "*" && subtype === "*") return true;
  const [offeredType, offeredSubtype] = mediaType.split("/");
  return type === offeredType && (subtype === offeredSubtype || subtype === "*");
}

/** The representation that the parameters of a clause request; undefined = not available. */
function applyParameters(
  { parameters }: Clause,
  { format, offer, metaGroup }: { format: Format; offer: Offer; metaGroup: string },
): Negotiated | undefined {
  const stream = parameters.get("stream") ?? "";
  if (stream !== "" && stream !== "watch") return undefined;
  const serverVersion = parameters.get("sv") ?? "";
  if (serverVersion !== "" && (serverVersion !== "v1" || offer === "status")) return undefined;
  const pretty = parameters.get("pretty") === "1";
  const [kind, group, version] = ["as", "g", "v"].map((name) => parameters.get(name));
  if (kind === undefined && group === undefined && version === undefined) {
    return { format, as: undefined, pretty };
  }
  if (offer === "status" || group === undefined) return undefined;
  if (group !== metaGroup && group !== metaGroupOf(kubernetes)) return undefined;
  if (version !== "v1" && version !== "v1beta1") return undefined;
  switch (kind) {
    case "Table":
      if (format === "protobuf" || offer === "virtual") return undefined;
      return { format, as: { kind, group, version }, pretty };
    case "PartialObjectMetadata":
    case "PartialObjectMetadataList":
      return { format, as: { kind, group, version }, pretty };
    default:
      return undefined;
  }
}

/** Clauses of an Accept header by weight, exact types before wildcards, then in the order sent. */
export function parseAccept(header: string): readonly Clause[] {
  const clauses: Clause[] = [];
  for (const text of header.split(",")) {
    const [range, ...rest] = text.split(";");
    const parameters = new Map<string, string>();
    let quality = 1;
    for (const parameter of rest) {
      const equals = parameter.indexOf("=");
      if (equals < 0) continue;
      const name = parameter.slice(0, equals).trim();
      const value = parameter.slice(equals + 1).trim();
      if (name === "q") quality = Number.parseFloat(value) || 0;
      else parameters.set(name, value);
    }
    const [type = "", subtype = type.trim() === "*" ? "*" : ""] = range!.split("/");
    clauses.push({ type: type.trim(), subtype: subtype.trim(), quality, parameters });
  }
  return clauses.sort((a, b) => b.quality - a.quality || wildcards(a) - wildcards(b));
}

function wildcards({ type, subtype }: Clause): number {
  return Number(type === "*") + Number(subtype === "*");
}

/** Whether JSON is indented: the query parameter `pretty`, by default for browsers, curl and Wget. */
export function wantsPretty(query: string | undefined, userAgent: string | undefined): boolean {
  if (query !== undefined && query !== "") return /^(1|t|T|true|TRUE|True)$/.test(query);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent ?? "");
}

/** A media type with well-formed parameters; the first group is the type. */
const mediaTypePattern = /^\s*([^\s;]+)\s*(?:;\s*[^\s;=]+=(?:"[^"]*"|[^\s;"]+)\s*)*;?\s*$/;

/**
 * The format of a request body; JSON without Content-Type.
 * @throws StatusError 415 for other media types
 */
export function bodyFormat(contentType: string | undefined, custom = false): Format {
  if (contentType === undefined || contentType === "") return "json";
  const type = mediaTypePattern.exec(contentType)?.[1]?.toLowerCase();
  const format = formats.find((candidate) => mediaTypes[candidate] === type);
  if (format === undefined) throw unsupportedMediaType(allTypes);
  if (custom && format === "protobuf") throw unsupportedMediaType(textTypes);
  return format;
}

export type IncludeObject = "None" | "Metadata" | "Object";

/** The query parameter `includeObject`: the part of the object that a table row includes. */
export function includeObject(value: string | undefined): IncludeObject {
  switch (value) {
    case undefined:
    case "":
      return "Metadata";
    case "None":
    case "Metadata":
    case "Object":
      return value;
    default:
      throw badRequest(
        `Unable to convert to Table as requested: includeObject: Invalid value: ` +
          `${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
      );
  }
}

export interface PatchType {
  readonly patchType: "json" | "merge" | "strategic" | "apply";
  readonly format: "json" | "yaml";
}

const patchTypes: ReadonlyMap<string, PatchType> = new Map([
  ["application/json-patch+json", { patchType: "json", format: "json" }],
  ["application/merge-patch+json", { patchType: "merge", format: "json" }],
  ["application/strategic-merge-patch+json", { patchType: "strategic", format: "json" }],
  ["application/apply-patch+yaml", { patchType: "apply", format: "yaml" }],
]);

/** Patch types of custom resources, which do not support strategic merge patches. */
const customPatchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/apply-patch+yaml",
];

/** @throws StatusError 415 if the media type is not a patch type of the resource */
export function patchTypeOf(contentType: string | undefined, custom: boolean): PatchType {
  const type = (contentType ?? "").split(";", 1)[0]!.trim();
  const patchType = patchTypes.get(type);
  if (custom && !customPatchTypes.includes(type)) throw unsupportedMediaType(customPatchTypes);
  if (patchType === undefined) throw genericFailure(415);
  return patchType;
}
