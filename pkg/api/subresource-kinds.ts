/** Kinds that are bodies of subresources and never stored. */
import { kind, type Kind } from "#meta";
import { tokenRequestV1 } from "./authentication/token-request.ts";
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

const tokenRequest = kind(tokenRequestV1, {
  group: "authentication.{api}",
  kind: "TokenRequest",
  plural: "tokenrequests",
  scope: "Namespaced",
  verbs: ["create"],
  versions: [{ version: "v1", struct: tokenRequestV1, onByDefault: true, convert: "hub" }],
  columns: [],
  row: () => [],
});

export const subresourceKinds: readonly Kind[] = [scale, eviction, statusKind, tokenRequest];
