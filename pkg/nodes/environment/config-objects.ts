import type { ApiObject, Handle, Informer, Informers } from "#client";
import { type ConfigMap, configMaps, type Secret, secrets } from "#kinds";

/** Key of a ConfigMap or Secret that a pod needs. */
export function configMapKey(namespace: string, name: string): string {
  return `configmap ${namespace}/${name}`;
}

export function secretKey(namespace: string, name: string): string {
  return `secret ${namespace}/${name}`;
}

/**
 * ConfigMaps and Secrets that pods are made of. They are listed and watched once a pod needs one.
 */
export class ConfigObjects {
  private configMaps: Informer<ConfigMap> | undefined;
  private secrets: Informer<Secret> | undefined;
  private readonly changeListeners: ((key: string) => void)[] = [];
  private readonly syncListeners: (() => void)[] = [];

  constructor(private readonly informers: Informers) {}

  /** Undefined = there is none, or it is not known yet. */
  configMap(namespace: string, name: string): ConfigMap | undefined {
    this.configMaps ??= this.follow(configMaps, configMapKey);
    return this.configMaps.get(`${namespace}/${name}`);
  }

  /** Undefined = there is none, or it is not known yet. */
  secret(namespace: string, name: string): Secret | undefined {
    this.secrets ??= this.follow(secrets, secretKey);
    return this.secrets.get(`${namespace}/${name}`);
  }

  /** Whether all objects are known of the kinds that pods have needed so far. */
  get isSynced(): boolean {
    return this.configMaps?.synced !== false && this.secrets?.synced !== false;
  }

  /** Calls a function with the key of each object that comes or changes. */
  onChange(listener: (key: string) => void): void {
    this.changeListeners.push(listener);
  }

  /** Calls a function whenever all objects of a kind have become known. */
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
