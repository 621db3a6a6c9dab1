import { printJson } from "#base";
import type { AdmissionAttributes } from "#registry";
import { isFor, forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { containerFields, containersOf } from "../containers.ts";

/**
 * Sets imagePullPolicy Always in all containers, so that a pod can use images only with its own credentials,
 * even if they are already on the node. The validating phase rejects other policies set by later plugins.
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
    const value = printJson(containers[index].imagePullPolicy ?? "");
    const path = `spec.${field}[${index}].imagePullPolicy`;
    throw forbiddenRequest(
      attributes,
      `${path}: Unsupported value: ${value}: supported values: "Always"`,
    );
  }
}

/** Whether a write adds images; false for an update with known images only. */
function bringsImages(attributes: AdmissionAttributes): boolean {
  const { object, old, operation } = attributes;
  if (!isFor(attributes, "", "pods") || operation === "delete") return false;
  const known = new Set(containersOf(old).map(({ image }) => image));
  return old === undefined || containersOf(object).some(({ image }) => !known.has(image));
}
