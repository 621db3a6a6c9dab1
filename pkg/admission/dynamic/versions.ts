/** Converts objects between hub and served versions. */
import { promptly, yieldEvery } from "#base";
import { type Domain, type HookContext, type KindVersion, type Resource, resolve } from "#meta";
import { applyDefaults, fromJson, parseJsonInSlices, toJson, toJsonValue } from "#schema";

export type Json = Readonly<Record<string, unknown>>;

/** Conversion of an object from the hub version of `from` to the version of `to`. */
interface Conversion {
  readonly from: Resource;
  readonly to: Resource;
  readonly signal: AbortSignal;
}

interface Decoding extends Conversion {
  /** Receives the paths of fields that the schema of a built-in kind does not have. */
  readonly unknown?: string[] | undefined;
}

/** Encodes a hub object as JSON in another version. @throws StatusError */
export async function encodeIn(hub: any, { from, to, signal }: Conversion): Promise<string> {
  const conversion = from === to ? undefined : from.kind.custom?.conversion;
  if (conversion !== undefined) {
    const value = toJsonValue(from.struct, hub, typeMetaOf(from)) as Json;
    const [converted] = await conversion.convert([value], to.groupVersion, signal);
    return toJson(to.struct, fromJson(to.struct, converted, { root: true }), typeMetaOf(to));
  }
  const { convert, struct } = versionIn(from, to);
  return toJson(struct, convert === "hub" ? hub : convert.down(hub), typeMetaOf(to));
}

/** The same as parsed value; a large one is parsed in slices, between which `pause` yields. */
export async function convertTo(hub: any, seen: Conversion, pause = yieldEvery()): Promise<Json> {
  const text = await encodeIn(hub, seen);
  const turn = pause();
  if (turn !== undefined) await turn;
  return (await promptly(parseJsonInSlices(text), pause)).value as Json;
}

/**
 * Decodes JSON in the version of `to` to a hub object: applies defaults, drops unknown fields.
 * @throws DecodeFault, or StatusError
 */
export async function decodeFrom(
  json: unknown,
  seen: Decoding,
  context: HookContext,
): Promise<any> {
  const { from, to, signal } = seen;
  const conversion = from === to ? undefined : from.kind.custom?.conversion;
  if (conversion !== undefined) {
    const [converted] = await conversion.convert([json as Json], from.groupVersion, signal);
    return decodeFrom(converted, { ...seen, to: from }, context);
  }
  const { convert, struct } = versionIn(from, to);
  const unknown = from.kind.custom === undefined ? seen.unknown : undefined;
  const object: any = fromJson(struct, json, { root: true, unknown });
  applyDefaults(struct, object);
  const hub = convert === "hub" ? object : convert.up(object);
  from.kind.hooks.default?.(hub, context);
  return hub;
}

/** Version `to` of a kind; each version of a custom resource is a separate kind. */
function versionIn({ kind }: Resource, to: Resource): Pick<KindVersion, "convert" | "struct"> {
  if (kind === to.kind) return to.served;
  return kind.versions.find(({ version }) => version === to.version) ?? to.served;
}

function typeMetaOf({ kind, groupVersion }: Resource) {
  return { kind: kind.kind, apiVersion: groupVersion };
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Kind of a subresource's objects, which may differ from its parent's. */
export function kindOfSubresource(
  { group, version, kind }: Resource,
  subresource: string,
  domain: Domain,
): GroupVersionKind {
  const { represents } = kind.subresources.find(({ name }) => name === subresource) ?? {};
  if (represents === undefined) return { group, version, kind: kind.kind };
  const { version: taken, kind: name } = represents;
  return { group: resolve(represents.group, domain), version: taken, kind: name };
}
