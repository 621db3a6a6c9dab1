import { badRequest, genericFailure, notAcceptable, unsupportedMediaType } from "#meta";
import { notRepresentable } from "./failures.ts";

/** How responses and bodies are spelled. */
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

/** Another kind asked for with `;as=`. */
export interface Transform {
  readonly kind: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList";
  /** Version of the group `meta.…`. */
  readonly version: "v1" | "v1beta1";
}

export interface Negotiated {
  readonly format: Format;
  readonly as: Transform | undefined;
  readonly pretty: boolean;
}

/**
 * What a route offers: `object` one object or a write, `list` a collection, `watch` a stream,
 * `virtual` the response to a create that stores nothing, which has metadata and no table, `status`
 * errors and documents, which are never transformed.
 */
export type Offer = "object" | "list" | "watch" | "virtual" | "status";

export interface Clause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * The representation for an Accept header; undefined or "" = JSON.
 * @throws StatusError 406 in the two wordings of Kubernetes: of the route, or of the parameters.
 */
export function negotiate(accept: string | undefined, offer: Offer, metaGroup: string): Negotiated {
  if (!routeAccepts(accept, allTypes)) {
    const streams = offer === "list" || offer === "watch" ? streamTypes : [];
    throw notRepresentable([...allTypes, ...streams]);
  }
  return chosen(accept, { offer, metaGroup });
}

/** The representation of a document that is no route, and knows no wording but that of the types. */
export function negotiateDocument(accept: string | undefined): Negotiated {
  return chosen(accept, { offer: "status", metaGroup: "" });
}

/** Custom resources have no Protobuf form; their metadata has. */
function negotiateCustom(accept: string | undefined, offer: Offer, metaGroup: string): Negotiated {
  const isText = ({ as, format }: Negotiated) => as !== undefined || format !== "protobuf";
  return chosen(accept, { offer, metaGroup, fits: isText });
}

/** A watch chooses as a list does, and has no stream of YAML. */
function chosen(accept: string | undefined, choice: Choice): Negotiated {
  const found = choose(accept, choice);
  if (found === undefined) throw notAcceptable(allTypes);
  if (choice.offer !== "watch" || streamFormats.includes(found.format)) return found;
  throw notAcceptable(streamTypes);
}

/** Headers that are remembered; clients send few different ones. */
const remembered = 500;

/** Remembers what Accept headers came to. */
export class Negotiator {
  private readonly known = new Map<string, Negotiated>();

  constructor(private readonly metaGroup: string) {}

  /** As `negotiate`, or for custom resources as `negotiateCustom`. */
  negotiate(accept: string | undefined, offer: Offer, custom: boolean): Negotiated {
    const key = `${custom ? "custom " : ""}${offer} ${accept ?? ""}`;
    let negotiated = this.known.get(key);
    if (negotiated === undefined) {
      const find = custom ? negotiateCustom : negotiate;
      negotiated = find(accept, offer, this.metaGroup);
      if (this.known.size >= remembered) this.known.clear();
      this.known.set(key, negotiated);
    }
    return negotiated;
  }
}

/** The format for an error: JSON when nothing else fits, since an error must reach the client. */
export function negotiateFailure(accept: string | undefined): Negotiated {
  const found = choose(accept, { offer: "status", metaGroup: "" });
  return found ?? { format: "json", as: undefined, pretty: false };
}

/**
 * Whether a route that produces `types` may be taken: exact types, the full wildcard, weights do
 * not matter.
 */
export function routeAccepts(accept: string | undefined, types: readonly string[]): boolean {
  if (accept === undefined || accept === "") return true;
  return accept.split(",").some((clause) => {
    const type = clause.split(";", 1)[0]!.trim();
    return type === "*/*" || types.includes(type);
  });
}

function choose(
  accept: string | undefined,
  { offer, metaGroup, fits = () => true }: Choice,
): Negotiated | undefined {
  if (accept === undefined || accept === "") return plain(formats[0]!);
  for (const clause of parseAccept(accept)) {
    for (const format of formats) {
      if (!covers(clause, mediaTypes[format])) continue;
      const found = withParameters(clause, { format, offer, metaGroup });
      if (found !== undefined && fits(found)) return found;
    }
  }
  return undefined;
}

interface Choice {
  readonly offer: Offer;
  readonly metaGroup: string;
  readonly fits?: (found: Negotiated) => boolean;
}

function plain(format: Format): Negotiated {
  return { format, as: undefined, pretty: false };
}

export function covers({ type, subtype }: Clause, mediaType: string): boolean {
  if (type === "*" && subtype === "*") return true;
  const [offeredType, offeredSubtype] = mediaType.split("/");
  return type === offeredType && (subtype === offeredSubtype || subtype === "*");
}

function withParameters(
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
  if (offer === "status" || group !== metaGroup) return undefined;
  if (version !== "v1" && version !== "v1beta1") return undefined;
  switch (kind) {
    case "Table":
      if (format === "protobuf" || offer === "virtual") return undefined;
      return { format, as: { kind, version }, pretty };
    case "PartialObjectMetadata":
    case "PartialObjectMetadataList":
      return { format, as: { kind, version }, pretty };
    default:
      return undefined;
  }
}

/** Clauses of an Accept header, best first; equal ones as sent, wildcards after exact types. */
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

/** `pretty` of the query decides; else browsers, curl and Wget get indented JSON. */
export function wantsPretty(query: string | undefined, userAgent: string | undefined): boolean {
  if (query !== undefined && query !== "") return /^(1|t|T|true|TRUE|True)$/.test(query);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent ?? "");
}

/** A media type with well-formed parameters; the first group is the type. */
const mediaTypePattern = /^\s*([^\s;]+)\s*(?:;\s*[^\s;=]+=(?:"[^"]*"|[^\s;"]+)\s*)*;?\s*$/;

/**
 * The format of a request body; no Content-Type means JSON.
 * @throws StatusError 415
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

/** The part of an object that a table row carries. */
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

/** Those of custom resources, whose lists have no strategy. */
const customPatchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/apply-patch+yaml",
];

/**
 * @throws StatusError 415
 */
export function patchTypeOf(contentType: string | undefined, custom: boolean): PatchType {
  const type = (contentType ?? "").split(";", 1)[0]!.trim();
  const found = patchTypes.get(type);
  if (custom && !customPatchTypes.includes(type)) throw unsupportedMediaType(customPatchTypes);
  if (found === undefined) throw genericFailure(415);
  return found;
}
