/** Conditions, and small kinds of the core group. */
import type { ApiObject, Handle } from "#client";
import type { Amounts } from "#quota";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface Namespace extends ApiObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

export interface ConfigMap extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
  /** Values in Base64. */
  readonly binaryData?: Readonly<Record<string, string>>;
}

export interface Secret extends ApiObject {
  readonly type?: string;
  /** Values in Base64. */
  readonly data?: Readonly<Record<string, string>>;
}

export interface ServiceAccount extends ApiObject {
  readonly secrets?: readonly { readonly name?: string }[];
}

export interface ResourceQuota extends ApiObject {
  readonly spec?: {
    readonly hard?: Amounts;
    readonly scopes?: readonly string[];
    readonly scopeSelector?: object;
  };
  readonly status?: { readonly hard?: Amounts; readonly used?: Amounts };
}

function core<T extends ApiObject>(plural: string, kind: string, namespaced = true): Handle<T> {
  return { group: "", version: "v1", plural, kind, namespaced };
}

export const namespaces = core<Namespace>("namespaces", "Namespace", false);
export const configMaps = core<ConfigMap>("configmaps", "ConfigMap");
export const secrets = core<Secret>("secrets", "Secret");
export const serviceAccounts = core<ServiceAccount>("serviceaccounts", "ServiceAccount");

export const resourceQuotas = core<ResourceQuota>("resourcequotas", "ResourceQuota");
