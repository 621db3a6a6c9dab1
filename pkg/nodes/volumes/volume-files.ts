import type { ApiObject, Handle, Informer, Informers } from "#client";
import {
  type ConfigMap,
  configMaps,
  type FileSource,
  type Secret,
  secrets,
  type Volume,
} from "#kinds";

/** What a volume of files lacks. */
export interface MissingFiles {
  /** Keys of the objects that the volume is made of. */
  readonly objects: readonly string[];
  /** Why the volume cannot be set up, in a kubelet's words; undefined = it can. */
  readonly fault: string | undefined;
}

function configMapKey(namespace: string, name: string): string {
  return `configmap ${namespace}/${name}`;
}

function secretKey(namespace: string, name: string): string {
  return `secret ${namespace}/${name}`;
}

interface Source extends FileSource {
  readonly kind: "configmap" | "secret";
}

/**
 * Secrets and ConfigMaps that volumes of pods are made of. They are listed and watched once a pod
 * needs one.
 */
export class VolumeFiles {
  private configMaps: Informer<ConfigMap> | undefined;
  private secrets: Informer<Secret> | undefined;

  constructor(
    private readonly informers: Informers,
    private readonly handlers: {
      /** Called with the key of an object that has come or changed. */
      readonly onChange: (key: string) => void;
      /** Called when all objects of a kind are known. */
      readonly onSynced: () => void;
    },
  ) {}

  /** Undefined for a volume of another type. */
  missing(volume: Volume, namespace: string): MissingFiles | undefined {
    const sources = sourcesOf(volume);
    if (sources === undefined) return undefined;
    const faults = sources.flatMap((source) => this.faultOf(source, namespace) ?? []);
    const keyOf = { configmap: configMapKey, secret: secretKey };
    const objects = sources.map(({ kind, name = "" }) => keyOf[kind](namespace, name));
    // Go prints several errors as a list.
    const fault = faults.length > 1 ? `[${faults.join(", ")}]` : faults[0];
    return { objects, fault };
  }

  private faultOf(source: Source, namespace: string): string | undefined {
    const { kind, name = "", items = [], optional = false } = source;
    const key = `${namespace}/${name}`;
    const keys = kind === "secret" ? this.secretKeys(key) : this.configMapKeys(key);
    if (keys === undefined) {
      return optional ? undefined : `${kind} ${JSON.stringify(name)} not found`;
    }
    const absent = optional ? undefined : items.find((item) => !keys.has(item.key));
    if (absent === undefined) return undefined;
    const what = kind === "secret" ? "references" : "configmap references";
    const noun = kind === "secret" ? "secret" : "config";
    return `${what} non-existent ${noun} key: ${absent.key}`;
  }

  private configMapKeys(key: string): ReadonlySet<string> | undefined {
    this.configMaps ??= this.follow(configMaps, configMapKey);
    const found = this.configMaps.get(key);
    return (
      found && new Set([...Object.keys(found.data ?? {}), ...Object.keys(found.binaryData ?? {})])
    );
  }

  private secretKeys(key: string): ReadonlySet<string> | undefined {
    this.secrets ??= this.follow(secrets, secretKey);
    const found = this.secrets.get(key);
    return found && new Set(Object.keys(found.data ?? {}));
  }

  /** Whether all objects are known that volumes looked at so far may need. */
  get isSynced(): boolean {
    return this.configMaps?.synced !== false && this.secrets?.synced !== false;
  }

  private follow<T extends ApiObject>(
    resource: Handle<T>,
    keyOf: (namespace: string, name: string) => string,
  ): Informer<T> {
    const informer = this.informers.of(resource);
    informer.subscribe(({ type, object: { metadata } }) => {
      if (type === "deleted") return;
      this.handlers.onChange(keyOf(metadata.namespace ?? "", metadata.name));
    });
    void informer.untilSynced().then(this.handlers.onSynced);
    return informer;
  }
}

function sourcesOf({ secret, configMap, projected }: Volume): readonly Source[] | undefined {
  if (secret !== undefined) {
    const { secretName, ...rest } = secret;
    return [{ kind: "secret", ...rest, ...(secretName === undefined ? {} : { name: secretName }) }];
  }
  if (configMap !== undefined) return [{ kind: "configmap", ...configMap }];
  return projected?.sources?.flatMap((source) => [
    ...(source.secret === undefined ? [] : [{ kind: "secret" as const, ...source.secret }]),
    ...(source.configMap === undefined
      ? []
      : [{ kind: "configmap" as const, ...source.configMap }]),
  ]);
}
