import { resolve } from "#meta";
import { isFor } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import type { Toleration } from "./tolerations.ts";

const defaultSeconds = 300;

/**
 * Adds tolerations of not-ready:NoExecute and unreachable:NoExecute for 300 seconds to pods without them.
 */
export const defaultTolerationSeconds: AdmissionPlugin = {
  name: "DefaultTolerationSeconds",
  enabled: "default",
  resources: ["pods"],
  create({ domain }) {
    const keys = ["not-ready", "unreachable"].map((key) => resolve(`node.{label}/${key}`, domain));
    return {
      mutate: (attributes) => {
        if (!isFor(attributes, "", "pods") || attributes.operation === "delete") return undefined;
        const { spec } = attributes.object;
        const given: readonly Toleration[] = spec.tolerations ?? [];
        const missing = keys.filter((key) => !given.some((each) => covers(each, key)));
        if (missing.length === 0) return undefined;
        const added = missing.map((key) => ({
          key,
          operator: "Exists",
          effect: "NoExecute",
          tolerationSeconds: defaultSeconds,
        }));
        spec.tolerations = [...given, ...added];
        return undefined;
      },
    };
  },
};

function covers({ key, effect }: Toleration, wanted: string): boolean {
  return (!key || key === wanted) && (!effect || effect === "NoExecute");
}
