import { flag } from "./parse.ts";

/** Flags that replace the domains of Kubernetes in names. */
export const domainFlags = {
  "api-domain": flag("string", "k8s.io", "suffix of API group names"),
  "label-domain": flag(
    "string",
    "",
    "suffix of label, annotation and type names (default: kubernetes.io if --api-domain is " +
      "k8s.io, else --api-domain)",
  ),
} as const;
