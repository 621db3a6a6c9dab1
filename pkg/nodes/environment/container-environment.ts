import type { Informer, Informers } from "#client";
import {
  type Container,
  type EnvFromSource,
  type EnvVar,
  type Node,
  type Pod,
  type Service,
  services,
} from "#kinds";
import { type ConfigObjects, configMapKey, secretKey } from "./config-objects.ts";
import { podField, resourceField } from "./downward.ts";
import { expandReferences } from "./references.ts";
import { serviceVariables } from "./service-variables.ts";

export type Variables = ReadonlyMap<string, string>;

/** Error of a container's environment, with the kubelet's message. */
export class EnvironmentFault extends Error {
  constructor(
    message: string,
    /** Key of the object that is missing or lacks a key. */
    readonly objectKey: string,
  ) {
    super(message);
  }
}

export interface EnvironmentSource {
  readonly pod: Pod;
  readonly container: Container;
  readonly node: Node | undefined;
}

/** Service of the API server, whose variables every container gets. */
const apiServer = "default/kubernetes";
const inNamespace = "namespace";

/** Builds environment variables of containers like the kubelet. */
export class ContainerEnvironments {
  private readonly services: Informer<Service>;

  constructor(
    private readonly objects: ConfigObjects,
    informers: Informers,
  ) {
    this.services = informers.of(services);
    this.services.addIndex(inNamespace, ({ metadata }) => [metadata.namespace ?? ""]);
  }

  untilSynced(): Promise<void> {
    return this.services.untilSynced();
  }

  /**
   * Variables of `env` and `envFrom`.
   * @param others variables that their values may reference
   * @throws EnvironmentFault
   */
  private declared({ pod, container, node }: EnvironmentSource, others: Variables): Variables {
    const { env = [], envFrom = [] } = container;
    const variables = new Map<string, string>();
    for (const source of envFrom) this.addAll(variables, source, pod);
    const get = (name: string) => variables.get(name) ?? others.get(name);
    for (const variable of env) {
      const value =
        variable.value || variable.valueFrom === undefined
          ? expandReferences(variable.value ?? "", get)
          : this.valueFrom(variable, { pod, container, node });
      if (value !== undefined) variables.set(variable.name, value);
    }
    return variables;
  }

  /**
   * Environment of a container: declared variables and those of Services.
   * @throws EnvironmentFault
   */
  environmentOf(source: EnvironmentSource): Variables {
    const { metadata, spec } = source.pod;
    const linked =
      spec?.enableServiceLinks === false
        ? []
        : this.services.indexed(inNamespace, metadata.namespace ?? "");
    const server = this.services.get(apiServer);
    const all = new Map<string, string>();
    for (const service of [...(server === undefined ? [] : [server]), ...linked]) {
      for (const [name, value] of serviceVariables(service)) all.set(name, value);
    }
    for (const [name, value] of this.declared(source, all)) all.set(name, value);
    return all;
  }

  private addAll(variables: Map<string, string>, source: EnvFromSource, pod: Pod): void {
    const { prefix = "", configMapRef, secretRef } = source;
    const entries =
      configMapRef === undefined
        ? secretRef && this.secretEntries(secretRef, pod)
        : this.configMapEntries(configMapRef, pod);
    for (const [name, value] of Object.entries(entries ?? {})) variables.set(prefix + name, value);
  }

  private valueFrom({ valueFrom = {} }: EnvVar, { pod, container, node }: EnvironmentSource) {
    const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = valueFrom;
    if (fieldRef !== undefined) return podField(pod, fieldRef.fieldPath);
    if (resourceFieldRef !== undefined) {
      const allocatable = node?.status?.allocatable ?? {};
      return resourceField(pod, container, { selector: resourceFieldRef, allocatable });
    }
    const reference = configMapKeyRef ?? secretKeyRef;
    if (reference === undefined) return undefined;
    const { name = "", key, optional = false } = reference;
    const isSecret = configMapKeyRef === undefined;
    const entries = isSecret
      ? this.secretEntries(reference, pod)
      : this.configMapEntries(reference, pod);
    const value = entries?.[key];
    if (value !== undefined || optional) return value;
    const { namespace = "" } = pod.metadata;
    const kind = isSecret ? "Secret" : "ConfigMap";
    const message = `couldn't find key ${key} in ${kind} ${namespace}/${name}`;
    throw new EnvironmentFault(message, (isSecret ? secretKey : configMapKey)(namespace, name));
  }

  /** Undefined = missing and optional. */
  private configMapEntries({ name = "", optional = false }: Reference, { metadata }: Pod) {
    const { namespace = "" } = metadata;
    const found = this.objects.configMap(namespace, name);
    if (found !== undefined) return found.data ?? {};
    if (optional) return undefined;
    const message = `configmap ${JSON.stringify(name)} not found`;
    throw new EnvironmentFault(message, configMapKey(namespace, name));
  }

  /** Undefined = missing and optional. */
  private secretEntries({ name = "", optional = false }: Reference, { metadata }: Pod) {
    const { namespace = "" } = metadata;
    const found = this.objects.secret(namespace, name);
    if (found !== undefined) {
      const entries = Object.entries(found.data ?? {});
      return Object.fromEntries(
        entries.map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
      );
    }
    if (optional) return undefined;
    const message = `secret ${JSON.stringify(name)} not found`;
    throw new EnvironmentFault(message, secretKey(namespace, name));
  }
}

interface Reference {
  readonly name?: string;
  readonly optional?: boolean;
}
