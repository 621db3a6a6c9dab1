import type { FileSource, Volume } from "#kinds";
import { type ConfigObjects, configMapKey, secretKey } from "../environment/config-objects.ts";

/** Missing objects of a volume. */
export interface MissingFiles {
  /** Keys of the objects that the volume projects. */
  readonly objects: readonly string[];
  /** The kubelet's error of the volume's setup; undefined = none. */
  readonly fault: string | undefined;
}

interface Source extends FileSource {
  readonly kind: "configmap" | "secret";
}

/** Volumes that project Secrets and ConfigMaps. */
export class VolumeFiles {
  constructor(private readonly objects: ConfigObjects) {}

  /** Undefined for a volume of another type. */
  missing(volume: Volume, namespace: string): MissingFiles | undefined {
    const sources = sourcesOf(volume);
    if (sources === undefined) return undefined;
    const faults = sources.flatMap((source) => this.faultOf(source, namespace) ?? []);
    const keyOf = { configmap: configMapKey, secret: secretKey };
    const objects = sources.map(({ kind, name = "" }) => keyOf[kind](namespace, name));
    // Go prints an aggregate of several errors as a list.
    const fault = faults.length > 1 ? `[${faults.join(", ")}]` : faults[0];
    return { objects, fault };
  }

  private faultOf(source: Source, namespace: string): string | undefined {
    const { kind, name = "", items = [], optional = false } = source;
    const keys =
      kind === "secret" ? this.secretKeys(namespace, name) : this.configMapKeys(namespace, name);
    if (keys === undefined) {
      return optional ? undefined : `${kind} ${JSON.stringify(name)} not found`;
    }
    const absent = optional ? undefined : items.find((item) => !keys.has(item.key));
    if (absent === undefined) return undefined;
    const what = kind === "secret" ? "references" : "configmap references";
    const noun = kind === "secret" ? "secret" : "config";
    return `${what} non-existent ${noun} key: ${absent.key}`;
  }

  private configMapKeys(namespace: string, name: string): ReadonlySet<string> | undefined {
    const found = this.objects.configMap(namespace, name);
    return (
      found && new Set([...Object.keys(found.data ?? {}), ...Object.keys(found.binaryData ?? {})])
    );
  }

  private secretKeys(namespace: string, name: string): ReadonlySet<string> | undefined {
    const found = this.objects.secret(namespace, name);
    return found && new Set(Object.keys(found.data ?? {}));
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
