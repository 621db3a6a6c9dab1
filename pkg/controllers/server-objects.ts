import type { ControllerOptions } from "./access.ts";
import { ensureLocalApiServices } from "./api-services.ts";
import { ensureFlowControlDefaults, runFlowControlDefaults } from "./flow-control-defaults.ts";
import { runFlowSchemaStatus } from "./flow-schema-status.ts";

/** Makes and repairs the objects that describe the server itself, before it listens. */
export async function ensureServerObjects(options: ControllerOptions): Promise<void> {
  await Promise.all([ensureFlowControlDefaults(options), ensureLocalApiServices(options)]);
}

/** Keeps them until the signal aborts; every server does, whoever runs the other controllers. */
export async function runServerObjects(options: ControllerOptions): Promise<void> {
  await Promise.all([runFlowControlDefaults(options), runFlowSchemaStatus(options)]);
}
