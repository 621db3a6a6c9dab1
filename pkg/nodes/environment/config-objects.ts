import type { ApiObject, Handle, Informer, Informers } from "#client";
import { type ConfigMap, configMaps, type Secret, secrets } from "#kinds";

/** Key of a ConfigMap, distinct from that of a Secret. */
export function configMapKey(namespace: string, name: string): string {
  return `configmap ${namespace}/${name}`;
}

export function secretKey(namespace: string, name: string): string {
  return `secret ${namespace}/${name}`;
}

/**
 * ConfigMaps and Secrets of pods. Informers start when a pod first needs a kind.
 */
export class ConfigObjects {
  private configMaps: Informer<ConfigMap> | undefined;
  private secrets: Informer<Secret> | undefined;
  private readonly changeListeners: ((key: string) => void)[] = [];
  private readonly syncListeners: (() => void)[] = [];

  constructor(private readonly informers: Informers) {}

  /** Undefined = missing, or the informer has not synced. */
  configMap(namespace: string, name: string): ConfigMap | undefined {
    this.configMaps ??= this.follow(configMaps, configMapKey);
    return this.configMaps.get(`${namespace}/${name}`);
  }

  /** Undefined = missing, or the informer has not synced. */
  secret(namespace: string, name: string): Secret | undefined {
    this.secrets ??= this.follow(secrets, secretKey);
    return this.secrets.get(`${namespace}/${name}`);
  }

  /** Whether all started informers have synced. */
  get isSynced(): boolean {
    return this.configMaps?.synced !== false && this.secrets?.synced !== false;
  }

  /** Calls `listener` with the key of each added or changed object. */
  onChange(listener: (key: string) => void): void {
    this.changeListeners.push(listener);
  }

  /** Calls `listener` when the informer of a kind has synced. */
  onSynced(listener: () => void): void {
    this.syncListeners.push(listener);
  }

  private follow<T extends ApiObject>(
    resource: Handle<T>,
    keyOf: (namespace: string, name: string) => string,
  ): Informer<T> {
    const informer = this.informers.of(resource);
    informer.subscribe(({ type, object: { metadata } }) => {
      if (type === "deleted") return;
      const key = keyOf(metadata.namespace ?? "", metadata.name);
      for (const listener of this.changeListeners) listener(key);
    });
    void informer.untilSynced().then(() => {
      for (const listener of this.syncListeners) listener();
    });
    return informer;
  }
}
