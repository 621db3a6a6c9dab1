import type { Library } from "../declare.ts";

/** What Kubernetes adds to the language. */
export const kubernetesLibraries: readonly Library[] = [];
