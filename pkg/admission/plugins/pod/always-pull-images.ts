import type { AdmissionAttributes } from "#registry";
import { isFor, refuse } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { containerFields, containersOf } from "../containers.ts";

/**
 * Sets imagePullPolicy to Always in every container, so that a pod can use an image only with its own
 * credentials, even where the image is already on the node. The validating phase refuses what later
 * plugins set to another policy.
 */
export const alwaysPullImages: AdmissionPlugin = {
  name: "AlwaysPullImages",
  enabled: "optional",
  resources: ["pods"],
  create: () => ({ mutate: setPullPolicies, validate: checkPullPolicies }),
};

function setPullPolicies(attributes: AdmissionAttributes): undefined {
  if (!bringsImages(attributes)) return;
  const { object: pod } = attributes;
  for (const container of containersOf(pod)) container.imagePullPolicy = "Always";
  for (const { image } of pod.spec.volumes ?? []) if (image) image.pullPolicy = "Always";
}

function checkPullPolicies(attributes: AdmissionAttributes): undefined {
  if (!bringsImages(attributes)) return;
  for (const field of containerFields) {
    const containers: readonly any[] = attributes.object.spec[field] ?? [];
    const index = containers.findIndex(({ imagePullPolicy }) => imagePullPolicy !== "Always");
    if (index < 0) continue;
    const value = JSON.stringify(containers[index].imagePullPolicy ?? "");
    const path = `spec.${field}[${index}].imagePullPolicy`;
    throw refuse(attributes, `${path}: Unsupported value: ${value}: supported values: "Always"`);
  }
}

/** False for an update in which every image was there before. */
function bringsImages(attributes: AdmissionAttributes): boolean {
  const { object, old, operation } = attributes;
  if (!isFor(attributes, "", "pods") || operation === "delete") return false;
  const known = new Set(containersOf(old).map(({ image }) => image));
  return old === undefined || containersOf(object).some(({ image }) => !known.has(image));
}
