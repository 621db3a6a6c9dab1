import { resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import type { AdmissionPlugin } from "../../plugin.ts";

/**
 * Copies zone and region labels of a node to a Binding (the registry copies them to the pod), and to a pod
 * created with a node name. Feature gate PodTopologyLabelsAdmission. Ignores unknown nodes.
 */
export const podTopologyLabels: AdmissionPlugin = {
  name: "PodTopologyLabels",
  enabled: "default",
  resources: ["pods"],
  create({ objects, domain, gates }) {
    if (!gates("PodTopologyLabelsAdmission")) return {};
    const keys = ["zone", "region"].map((key) => resolve(`topology.{label}/${key}`, domain));
    const copyLabels = async (
      { object, request }: AdmissionAttributes,
      nodeName: string,
    ): Promise<readonly string[]> => {
      const node = await objects.find({ group: "", plural: "nodes" }, nodeName, request.context);
      const labels: Readonly<Record<string, string>> = node?.metadata.labels ?? {};
      const copied = Object.entries(labels).filter(([key]) => keys.includes(key));
      if (copied.length > 0) {
        const { metadata } = object;
        const all = { __proto__: null, ...metadata.labels, ...Object.fromEntries(copied) };
        metadata.labels = all;
      }
      return [];
    };
    return {
      mutate: (attributes) => {
        const nodeName = nodeOf(attributes);
        return nodeName ? copyLabels(attributes, nodeName) : undefined;
      },
    };
  },
};

/** Node of a new pod or a Binding; undefined = none. */
function nodeOf({ request, operation, object }: AdmissionAttributes): string | undefined {
  const { resource, subresource } = request;
  if (operation !== "create" || resource.keyPrefix !== "/pods/") return undefined;
  if (subresource === "") return object.spec.nodeName;
  return subresource === "binding" && object.target?.kind === "Node"
    ? object.target.name
    : undefined;
}
