import type { Handle, Place } from "../contract.ts";

/** Path of an object or a collection: `/apis/apps/v1/namespaces/shop/deployments/web/status`. */
export function resourcePath({ group, version, plural }: Handle, at: Place): string {
  const { namespace = "", name = "", subresource = "" } = at;
  const root = group === "" ? ["api", version] : ["apis", group, version];
  const within = namespace === "" ? [] : ["namespaces", namespace];
  const parts = [...root, ...within, plural, name, subresource].filter((part) => part !== "");
  return `/${parts.map(encodeURIComponent).join("/")}`;
}
