import { type Catalog, StatusError } from "#meta";
import type { Registry } from "#registry";
import type { User } from "#request";

export interface ObjectName {
  /** In the core group. */
  readonly plural: "serviceaccounts" | "secrets" | "pods" | "nodes";
  readonly namespace: string;
  readonly name: string;
}

/** Reads the objects that credentials live and die with. */
export type ReadObject = (name: ObjectName) => Promise<any>;

/** Undefined = there is no such object, or its kind is not served. */
export function storedObjects(
  registry: () => Registry,
  { catalog, user }: { readonly catalog: Catalog; readonly user: User },
): ReadObject {
  return async ({ plural, namespace, name }) => {
    const resource = catalog.find("", "v1", plural);
    if (resource === undefined) return undefined;
    const { signal } = new AbortController();
    const who = { user, signal, userAgent: "keelson" };
    const target = { resource, namespace, name, subresource: "", ...who };
    try {
      return (await registry().get(target, { resourceVersion: "" })).object;
    } catch (error) {
      if (error instanceof StatusError && [400, 404].includes(error.code)) return undefined;
      throw error;
    }
  };
}

/** Sets a label of a Secret behind the back of whoever uses its token. */
export type LabelSecret = (
  secret: { readonly namespace: string; readonly name: string },
  label: { readonly key: string; readonly value: string },
) => void;

interface LabellingOptions {
  readonly catalog: Catalog;
  readonly user: User;
  /** Told of what went wrong. */
  readonly report: (error: unknown) => void;
}

export function secretLabels(
  registry: () => Registry,
  { catalog, user, report }: LabellingOptions,
): LabelSecret {
  return ({ namespace, name }, { key, value }) => {
    const resource = catalog.find("", "v1", "secrets");
    if (resource === undefined) return;
    const { signal } = new AbortController();
    const who = { user, signal, userAgent: "keelson" };
    const target = { resource, namespace, name, subresource: "", ...who };
    const bytes = Buffer.from(JSON.stringify({ metadata: { labels: { [key]: value } } }));
    const options = { dryRun: false, fieldManager: "", fieldValidation: "Ignore" } as const;
    const patch = { ...options, patchType: "merge", force: undefined } as const;
    registry().patch(target, { bytes, format: "json" }, patch).catch(report);
  };
}
