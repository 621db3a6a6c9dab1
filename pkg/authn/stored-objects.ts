import { type Catalog, StatusError } from "#meta";
import { jsonBody, defaultWriteOptions, type Registry, loopbackRequest } from "#registry";

export interface ObjectName {
  /** In the core group. */
  readonly plural: "serviceaccounts" | "secrets" | "pods" | "nodes";
  readonly namespace: string;
  readonly name: string;
}

/** Reads an object on which the validity of a credential depends; undefined = not found. */
export type ReadObject = (name: ObjectName) => Promise<any>;

/** Reads from the registry; an object of a kind that is not served is not found. */
export function storedObjects(registry: () => Registry, catalog: Catalog): ReadObject {
  return async ({ plural, namespace, name }) => {
    const resource = catalog.find("", "v1", plural);
    if (resource === undefined) return undefined;
    const { signal } = new AbortController();
    const target = loopbackRequest(resource, { namespace, name }, { signal });
    try {
      return (await registry().get(target, { resourceVersion: "" })).object;
    } catch (error) {
      if (error instanceof StatusError && [400, 404].includes(error.code)) return undefined;
      throw error;
    }
  };
}

/** Sets a label of a token Secret in the background, without delaying the authentication. */
export type LabelSecret = (
  secret: { readonly namespace: string; readonly name: string },
  label: { readonly key: string; readonly value: string },
) => void;

/** Labels through the registry. Errors are reported only: they do not affect the validity of the token. */
export function secretLabels(
  registry: () => Registry,
  catalog: Catalog,
  report: (error: unknown) => void,
): LabelSecret {
  return ({ namespace, name }, { key, value }) => {
    const resource = catalog.find("", "v1", "secrets");
    if (resource === undefined) return;
    const { signal } = new AbortController();
    const target = loopbackRequest(resource, { namespace, name }, { signal });
    const body = jsonBody({ metadata: { labels: { [key]: value } } });
    const options = { ...defaultWriteOptions, patchType: "merge", force: undefined } as const;
    registry().patch(target, body, options).catch(report);
  };
}
