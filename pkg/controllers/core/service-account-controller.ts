import { serviceAccounts } from "#kinds";
import type { ControllerContext } from "../controller-context.ts";
import { runPerNamespaceObject } from "./per-namespace-object.ts";

/** Maintains the ServiceAccount `default` in every namespace. */
export function runServiceAccountController(context: ControllerContext): Promise<void> {
  const controller = "serviceaccount";
  return runPerNamespaceObject(context, {
    controller,
    resource: serviceAccounts,
    name: "default",
    content: {},
  });
}
