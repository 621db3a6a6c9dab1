import type { Handle } from "#client";
import { type Domain, groupVersionOf, resolve } from "#meta";
import { pathParts } from "#request";
import type { ApiService } from "./contract.ts";

/** Called with the name of an APIService that was created, changed or deleted. */
export type ApiServiceListener = (name: string) => void;

/** An APIService whose group version another server serves. */
export type RemoteApiService = ApiService & {
  readonly spec: { readonly service: NonNullable<ApiService["spec"]["service"]> };
};

/** Cache of the stored APIServices. */
export class ApiServices {
  private readonly stored = new Map<string, ApiService>();
  /** APIServices with a Service, by group version. */
  private readonly remote = new Map<string, RemoteApiService>();
  private readonly listeners = new Set<ApiServiceListener>();

  constructor(private readonly domain: Domain) {}

  get(name: string): ApiService | undefined {
    return this.stored.get(name);
  }

  /** All APIServices, in no particular order. */
  list(): readonly ApiService[] {
    return [...this.stored.values()];
  }

  /** The APIService whose Service serves the path, such as `/apis/metrics.k8s.io/v1beta1/pods`. */
  remoteFor(path: string): RemoteApiService | undefined {
    if (this.remote.size === 0) return undefined;
    const [prefix, group = "", version = ""] = pathParts(path);
    return prefix === "apis" ? this.remote.get(groupVersionOf(group, version)) : undefined;
  }

  /** Calls the listener after each change; returns the unsubscribe function. */
  onChange(listener: ApiServiceListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** The watched resource and the callbacks that keep this cache in sync with the store. */
  get followed() {
    return {
      group: apiRegistrationGroup(this.domain),
      version: "v1",
      plural: "apiservices",
      index: {
        set: (apiService: ApiService) => this.set(apiService),
        delete: (key: string) => this.delete(key.slice(1)),
        keys: () => [...this.stored.keys()].map((name) => `/${name}`),
      },
    };
  }

  private set(apiService: ApiService): void {
    const { name } = apiService.metadata;
    this.deleteRemote(this.stored.get(name));
    this.stored.set(name, apiService);
    const key = groupVersionKey(apiService);
    // A remote server cannot take over `apiregistration.k8s.io`, where its own registration is.
    const isOwn = apiService.spec.group === apiRegistrationGroup(this.domain);
    if (isRemote(apiService) && !isOwn) this.remote.set(key, apiService);
    this.notify(name);
  }

  private delete(name: string): void {
    this.deleteRemote(this.stored.get(name));
    if (this.stored.delete(name)) this.notify(name);
  }

  private deleteRemote(apiService: ApiService | undefined): void {
    if (apiService !== undefined) this.remote.delete(groupVersionKey(apiService));
  }

  private notify(name: string): void {
    for (const listener of this.listeners) listener(name);
  }
}

export function isRemote(apiService: ApiService): apiService is RemoteApiService {
  return apiService.spec.service !== undefined;
}

/** Whether the condition Available is True. */
export function isAvailable({ status }: ApiService): boolean {
  const found = status?.conditions?.find(({ type }) => type === "Available");
  return found?.status === "True";
}

function groupVersionKey({ spec }: ApiService): string {
  return groupVersionOf(spec.group ?? "", spec.version ?? "");
}

/** The resource of APIServices. */
export function apiServiceHandle(domain: Domain): Handle<ApiService> {
  const group = apiRegistrationGroup(domain);
  return { group, version: "v1", plural: "apiservices", kind: "APIService", namespaced: false };
}

function apiRegistrationGroup(domain: Domain): string {
  return resolve("apiregistration.{api}", domain);
}
