import type { ServerAccess } from "#registry";
import { ensureLocalApiServices } from "./local-api-services.ts";
import type { ControllerContext } from "../controller-context.ts";
import {
  ensureFlowControlDefaults,
  runFlowControlDefaults,
} from "../flowcontrol/flow-control-defaults.ts";
import { runFlowSchemaStatus } from "../flowcontrol/flow-schema-status.ts";

/** Creates and repairs FlowSchemas, PriorityLevelConfigurations and APIServices at the start. */
export async function ensureServerObjects(access: ServerAccess): Promise<void> {
  await Promise.all([ensureFlowControlDefaults(access), ensureLocalApiServices(access)]);
}

/** Maintains them until the signal aborts, on every API server. */
export async function runServerObjects(
  access: ServerAccess,
  context: ControllerContext,
): Promise<void> {
  await Promise.all([
    runFlowControlDefaults(access, context.informers),
    runFlowSchemaStatus(context),
  ]);
}
