/** Objects as clients of one version see them, and the way back. */
import { type Domain, type HookContext, type KindVersion, type Resource, resolve } from "#meta";
import { applyDefaults, fromJson, parseJson, toJson, toJsonValue } from "#schema";

export type Json = Readonly<Record<string, unknown>>;

/** One object in the hub version of `from`, seen in the version of `to`. */
interface Seen {
  readonly from: Resource;
  readonly to: Resource;
  readonly signal: AbortSignal;
}

/** JSON text of a hub object in another version of its kind. Throws StatusError. */
export async function printed(hub: any, { from, to, signal }: Seen): Promise<string> {
  const conversion = from === to ? undefined : from.kind.custom?.conversion;
  if (conversion !== undefined) {
    const value = toJsonValue(from.struct, hub, typeMetaOf(from)) as Json;
    const [converted] = await conversion.convert([value], to.groupVersion, signal);
    return toJson(to.struct, fromJson(to.struct, converted, { root: true }), typeMetaOf(to));
  }
  const { convert, struct } = versionIn(from, to);
  return toJson(struct, convert === "hub" ? hub : convert.down(hub), typeMetaOf(to));
}

/** The same as a value. */
export async function shown(hub: any, seen: Seen): Promise<Json> {
  return parseJson(Buffer.from(await printed(hub, seen))).value as Json;
}

/**
 * The hub object of JSON in the version of `to`, defaulted, without what its schema does not know.
 * Throws DecodeFault, or StatusError.
 */
export async function readBack(json: unknown, seen: Seen, context: HookContext): Promise<any> {
  const { from, to, signal } = seen;
  const conversion = from === to ? undefined : from.kind.custom?.conversion;
  if (conversion !== undefined) {
    const [converted] = await conversion.convert([json as Json], from.groupVersion, signal);
    return readBack(converted, { ...seen, to: from }, context);
  }
  const { convert, struct } = versionIn(from, to);
  const object: any = fromJson(struct, json, { root: true });
  applyDefaults(struct, object);
  const hub = convert === "hub" ? object : convert.up(object);
  from.kind.hooks.default?.(hub, context);
  return hub;
}

/** Each version of a custom resource is a kind of its own, which knows the others. */
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

/** The kind that a subresource takes, which need not be its parent's. */
export function spokenKind(
  { group, version, kind }: Resource,
  subresource: string,
  domain: Domain,
): GroupVersionKind {
  const { represents } = kind.subresources.find(({ name }) => name === subresource) ?? {};
  if (represents === undefined) return { group, version, kind: kind.kind };
  const { version: taken, kind: name } = represents;
  return { group: resolve(represents.group, domain), version: taken, kind: name };
}
