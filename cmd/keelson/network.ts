import type { ServiceNetwork } from "#registry";

/** What kube-apiserver uses unless told otherwise. */
export const defaultNetwork: ServiceNetwork = {
  cidrs: ["10.0.0.0/24"],
  nodePorts: { first: 30_000, last: 32_767 },
};
