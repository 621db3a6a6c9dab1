import type { Library } from "../../check/declare.ts";
import { addressLibrary } from "./addresses.ts";
import { authorizationLibrary } from "./authorization.ts";
import { formatLibrary } from "./formats.ts";
import { listLibrary } from "./lists.ts";
import { quantityLibrary } from "./quantities.ts";
import { semverLibrary } from "./semver.ts";
import { urlLibrary } from "./urls.ts";

/** Kubernetes' extension libraries. */
export const kubernetesLibraries: readonly Library[] = [
  listLibrary,
  urlLibrary,
  quantityLibrary,
  addressLibrary,
  formatLibrary,
  semverLibrary,
  authorizationLibrary,
];
