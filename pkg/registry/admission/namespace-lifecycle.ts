import { forbidden, namespaceTerminating, notFound, type Resource } from "#meta";
import type { RegistryContext } from "../context.ts";
import type { NamespaceState } from "./namespace-cache.ts";
import type { AdmissionAttributes, AdmissionHandler } from "../contract.ts";

/** Namespaces that cannot be deleted. */
const immortalNamespaces: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);

/**
 * NamespaceLifecycle: rejects writes into missing namespaces, creates in terminating ones, and the
 * deletion of system namespaces.
 */
export function namespaceLifecycle(
  registry: Pick<RegistryContext, "namespaces">,
  attributes: AdmissionAttributes,
): ReturnType<AdmissionHandler> {
  const { resource, namespace, name } = attributes.request;
  if (attributes.operation === "delete") {
    if (!isNamespace(resource) || !immortalNamespaces.has(name)) return undefined;
    throw forbidden(resource, name, "this namespace may not be deleted");
  }
  if (namespace === "" || attributes.operation === "connect") return undefined;
  const state = registry.namespaces.find(namespace);
  if (!(state instanceof Promise)) return checkNamespaceState(state, attributes);
  return state.then((found) => checkNamespaceState(found, attributes) ?? []);
}

function checkNamespaceState(
  state: NamespaceState | undefined,
  { request, operation, object }: AdmissionAttributes,
): undefined {
  const { resource, namespace } = request;
  if (state === undefined) throw notFound({ group: "", plural: "namespaces" }, namespace);
  const isAllowed = resource.kind.rules.allowedInTerminatingNamespace;
  if (operation === "create" && state.terminating && !isAllowed) {
    const { name = "", generateName = "" } = object.metadata ?? {};
    throw namespaceTerminating(resource, request.name || name || generateName, namespace);
  }
  return undefined;
}

/**
 * Whether the resource is namespaces: their finalizers are in the spec, and writes invalidate the
 * namespace cache.
 */
export function isNamespace(resource: Resource): boolean {
  return resource.keyPrefix === "/namespaces/";
}
