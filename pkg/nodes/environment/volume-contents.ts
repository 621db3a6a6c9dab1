/** What volumes contain that are made from API objects, independent of where the files are written. */
import type {
  DownwardFile,
  FileSource,
  KeyToPath,
  Node,
  Pod,
  ProjectedSource,
  Volume,
} from "#kinds";
import { containersOf } from "#kinds";
import type { ConfigObjects } from "./config-objects.ts";
import { podField, resourceField } from "./downward.ts";
import type { PodTokens } from "./pod-tokens.ts";

export interface VolumeFile {
  /** Path in the volume. */
  readonly path: string;
  readonly data: Uint8Array;
  readonly mode: number;
}

export interface VolumeContext {
  readonly pod: Pod;
  readonly node: Node | undefined;
  readonly objects: ConfigObjects;
  readonly tokens: PodTokens;
}

type Contents = readonly VolumeFile[] | undefined;

const defaultFileMode = 0o644;

/** Files of a volume; undefined = unsupported type, or a token that the API server has not issued yet. */
export function volumeContents(volume: Volume, context: VolumeContext): Contents {
  const { configMap, secret, downwardAPI, projected } = volume;
  if (configMap !== undefined) return configMapFiles(configMap, configMap.defaultMode, context);
  if (secret !== undefined) {
    const { secretName: name = "", ...rest } = secret;
    return secretFiles({ ...rest, name }, secret.defaultMode, context);
  }
  if (downwardAPI !== undefined) {
    return downwardFiles(downwardAPI.items ?? [], downwardAPI.defaultMode, context);
  }
  if (projected === undefined) return undefined;
  const parts = (projected.sources ?? []).map((source) =>
    projectedFiles(source, projected.defaultMode, context),
  );
  return parts.includes(undefined) ? undefined : parts.flatMap((part) => part ?? []);
}

function projectedFiles(
  source: ProjectedSource,
  defaultMode: number | undefined,
  context: VolumeContext,
): Contents {
  const { configMap, secret, downwardAPI, serviceAccountToken } = source;
  if (configMap !== undefined) return configMapFiles(configMap, defaultMode, context);
  if (secret !== undefined) return secretFiles(secret, defaultMode, context);
  if (downwardAPI !== undefined) {
    return downwardFiles(downwardAPI.items ?? [], defaultMode, context);
  }
  if (serviceAccountToken === undefined) return undefined;
  const token = context.tokens.tokenOf(context.pod, serviceAccountToken);
  if (token === undefined) return undefined;
  const { fsGroup } = context.pod.spec?.securityContext ?? {};
  const mode = fsGroup === undefined ? (defaultMode ?? defaultFileMode) : 0o640;
  return [{ path: serviceAccountToken.path, data: Buffer.from(token), mode }];
}

function configMapFiles(
  source: FileSource,
  defaultMode: number | undefined,
  { pod, objects }: VolumeContext,
): Contents {
  const { data, binaryData } =
    objects.configMap(pod.metadata.namespace ?? "", source.name ?? "") ?? {};
  const entries = { ...decoded(data ?? {}, "utf8"), ...decoded(binaryData ?? {}, "base64") };
  return selected(entries, source.items, defaultMode);
}

function secretFiles(
  source: FileSource,
  defaultMode: number | undefined,
  { pod, objects }: VolumeContext,
): Contents {
  const { data = {} } = objects.secret(pod.metadata.namespace ?? "", source.name ?? "") ?? {};
  return selected(decoded(data, "base64"), source.items, defaultMode);
}

function decoded(
  entries: Readonly<Record<string, string>>,
  encoding: BufferEncoding,
): Record<string, Uint8Array> {
  const decode = ([key, value]: [string, string]) => [key, Buffer.from(value, encoding)] as const;
  return Object.fromEntries(Object.entries(entries).map(decode));
}

function selected(
  entries: Readonly<Record<string, Uint8Array>>,
  items: readonly KeyToPath[] | undefined,
  defaultMode: number | undefined,
): readonly VolumeFile[] {
  const wanted = items ?? Object.keys(entries).map((key): KeyToPath => ({ key, path: key }));
  return wanted.flatMap(({ key, path, mode = defaultMode ?? defaultFileMode }) => {
    const data = entries[key];
    return data === undefined ? [] : [{ path, data, mode }];
  });
}

function downwardFiles(
  items: readonly DownwardFile[],
  defaultMode: number | undefined,
  { pod, node }: VolumeContext,
): Contents {
  const allocatable = node?.status?.allocatable ?? {};
  return items.map(({ path, mode = defaultMode ?? defaultFileMode, ...source }) => {
    const { fieldRef, resourceFieldRef: selector } = source;
    const [own] = containersOf(pod);
    const amount = own && selector && resourceField(pod, own, { selector, allocatable });
    const text = fieldRef === undefined ? amount : podField(pod, fieldRef.fieldPath);
    return { path, data: Buffer.from(text ?? ""), mode };
  });
}
