import { resolve } from "#meta";
import { isFor, forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";

/** Rejects required pod anti-affinity with topology keys other than the host name. */
export const limitPodHardAntiAffinityTopology: AdmissionPlugin = {
  name: "LimitPodHardAntiAffinityTopology",
  enabled: "optional",
  resources: ["pods"],
  create({ domain }) {
    const allowed = resolve("{label}/hostname", domain);
    return {
      validate: (attributes) => {
        if (!isFor(attributes, "", "pods") || attributes.operation !== "create") return undefined;
        const { podAntiAffinity } = attributes.object.spec.affinity ?? {};
        const terms: readonly any[] =
          podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
        const other = terms.find(({ topologyKey }) => topologyKey !== allowed);
        if (other === undefined) return undefined;
        const field = "affinity.PodAntiAffinity.RequiredDuringScheduling";
        const detail = `has TopologyKey ${other.topologyKey} but only key ${allowed} is allowed`;
        throw forbiddenRequest(attributes, `${field} ${detail}`);
      },
    };
  },
};
