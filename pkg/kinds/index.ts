/** Typed handles of built-in kinds, with the fields that Keelson's own clients read or write. */
export * from "./affinity.ts";
export * from "./apps.ts";
export * from "./batch.ts";
export * from "./container.ts";
export * from "./core.ts";
export * from "./names.ts";
export * from "./network.ts";
export * from "./node-affinity.ts";
export * from "./node.ts";
export * from "./pod.ts";
export * from "./policy.ts";
export * from "./resource.ts";
export * from "./stage.ts";
export * from "./storage.ts";
export * from "./taints.ts";
