import type { AdmissionAttributes } from "#registry";
import { isFor, forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";

/** Rejects new external IPs of Services. */
export const denyServiceExternalIPs: AdmissionPlugin = {
  name: "DenyServiceExternalIPs",
  enabled: "optional",
  resources: ["services"],
  create: () => ({ validate }),
};

function validate(attributes: AdmissionAttributes): undefined {
  if (!isFor(attributes, "", "services") || attributes.operation === "delete") return;
  const [wanted = [], held] = [attributes.object, attributes.old].map(
    (service): readonly string[] => service?.spec.externalIPs ?? [],
  );
  const known = new Set(held);
  if (wanted.every((address) => known.has(address))) return;
  throw forbiddenRequest(attributes, "Use of external IPs is denied by admission control");
}
