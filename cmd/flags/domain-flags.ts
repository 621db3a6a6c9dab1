import { flag } from "./parse.ts";

/** Flags of the names that are not those of Kubernetes. */
export const domainFlags = {
  "api-domain": flag("string", "k8s.io", "suffix of API group names"),
  "label-domain": flag(
    "string",
    "",
    "suffix of label, annotation and type names (default: kubernetes.io if --api-domain is " +
      "k8s.io, else --api-domain)",
  ),
} as const;
