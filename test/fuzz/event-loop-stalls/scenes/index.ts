import { access, admissions } from "./access.ts";
import { bodies } from "./bodies.ts";
import { definitions, documents } from "./documents.ts";
import { expressions } from "./expressions.ts";
import { objects } from "./objects.ts";
import { protection } from "./protection.ts";
import type { Scene } from "./scene.ts";

export type { Scene } from "./scene.ts";

export const scenes: readonly Scene[] = [
  bodies,
  documents,
  definitions,
  objects,
  access,
  admissions,
  expressions,
  ...protection,
];
