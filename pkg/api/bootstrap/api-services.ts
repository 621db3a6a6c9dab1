/** Priorities of the built-in group versions in their APIServices. */
import { type Domain, resolve } from "#meta";

/**
 * Lines of group priority, group name, and version priorities. Higher values are listed first; the
 * priority of v1 defaults to 15.
 */
const table = `
  18000 core v1=1
  17800 apps
  17750 events.{api}
  17700 authentication.{api}
  17600 authorization.{api}
  17500 autoscaling v2=30
  17400 batch
  17300 certificates.{api} v1beta1=9 v1alpha1=1
  17200 networking.{api} v1beta1=9
  17100 policy
  17000 rbac.authorization.{api}
  16800 storage.{api} v1beta1=9 v1alpha1=1
  16700 apiextensions.{api}
  16700 admissionregistration.{api} v1beta1=12 v1alpha1=9
  16600 scheduling.{api}
  16500 coordination.{api} v1beta1=13 v1alpha2=12
  16300 node.{api}
  16200 discovery.{api}
  16200 resource.{api} v1=21 v1beta2=15 v1beta1=9 v1alpha3=1
  16100 flowcontrol.apiserver.{api} v1=21
  16000 internal.apiserver.{api} v1alpha1=9
  15800 storagemigration.{api} v1alpha1=9
`;

export interface ApiRank {
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
}

/** Priorities of built-in versions by `<version>.<group>`, the name of the APIService. */
export function apiServicePriorities(domain: Domain): ReadonlyMap<string, ApiRank> {
  const ranks = new Map<string, ApiRank>();
  for (const line of table.trim().split("\n")) {
    const [groupPriority = "", name = "", ...versions] = line.trim().split(" ");
    const group = name === "core" ? "" : resolve(name, domain);
    for (const each of ["v1=15", ...versions]) {
      const [version = "", versionPriority = ""] = each.split("=");
      ranks.set(`${version}.${group}`, {
        groupPriorityMinimum: Number(groupPriority),
        versionPriority: Number(versionPriority),
      });
    }
  }
  return ranks;
}
