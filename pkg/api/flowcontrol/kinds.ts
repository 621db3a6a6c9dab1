import type { Kind } from "#meta";
import { flowSchema } from "./flow-schema.ts";
import { priorityLevelConfiguration } from "./priority-level-configuration.ts";

export const flowControlKinds: readonly Kind[] = [flowSchema, priorityLevelConfiguration];
