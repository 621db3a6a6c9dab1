import type { ServerAccess } from "#registry";
import { ensureLocalApiServices } from "./local-api-services.ts";
import type { ControllerContext } from "../controller-context.ts";
import {
  ensureFlowControlDefaults,
  runFlowControlDefaults,
} from "../flowcontrol/flow-control-defaults.ts";
import { runFlowSchemaStatus } from "../flowcontrol/flow-schema-status.ts";

/** Makes and repairs the objects that describe the server itself, before it listens. */
export async function ensureServerObjects(access: ServerAccess): Promise<void> {
  await Promise.all([ensureFlowControlDefaults(access), ensureLocalApiServices(access)]);
}

/** Keeps them until the signal aborts; every server does, whoever runs the other controllers. */
export async function runServerObjects(
  access: ServerAccess,
  context: ControllerContext,
): Promise<void> {
  await Promise.all([runFlowControlDefaults(access), runFlowSchemaStatus(context)]);
}
