import type { ControllerContext } from "../controller-context.ts";
import { runPerNamespaceObject } from "./per-namespace-object.ts";
import { serviceAccounts } from "../kinds.ts";

/** Keeps a service account `default` in every namespace, which pods run as unless they say else. */
export function runServiceAccountController(context: ControllerContext): Promise<void> {
  const controller = "serviceaccount";
  return runPerNamespaceObject(context, {
    controller,
    resource: serviceAccounts,
    name: "default",
    content: {},
  });
}
