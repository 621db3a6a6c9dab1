/** Kinds that no path lists or stores, but that subresources take and answer. */
import { kind, type Kind } from "#meta";
import { scale } from "./autoscaling/scale.ts";
import { status } from "./meta/status.ts";
import { eviction } from "./policy/eviction.ts";

const statusKind = kind(status, {
  group: "",
  kind: "Status",
  plural: "statuses",
  scope: "Cluster",
  versions: [{ version: "v1", struct: status, onByDefault: true, convert: "hub" }],
  columns: [],
  row: () => [],
});

export const subresourceKinds: readonly Kind[] = [scale, eviction, statusKind];
