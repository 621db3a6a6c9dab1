import { ignoreConflict } from "#meta";
import { type AdmissionHandler, bodyOf, defaultWriteOptions, loopbackRequest } from "#registry";
import type { ObjectReaderOptions, ObjectReader } from "../../objects.ts";

/** Makes the namespace that something is created in (NamespaceAutoProvision). */
export function provideNamespace(
  objects: ObjectReader,
  parts: ObjectReaderOptions,
): AdmissionHandler {
  return async ({ request, operation, dryRun }) => {
    const { namespace: name, context, resource } = request;
    const isNamespace = resource.keyPrefix === "/namespaces/";
    if (operation !== "create" || dryRun || name === "" || isNamespace) return [];
    const found = await objects.find({ group: "", plural: "namespaces" }, name, context);
    const namespaces = parts.catalog.find("", "v1", "namespaces");
    if (found !== undefined || namespaces === undefined) return [];
    const body = bodyOf(namespaces, { metadata: { name } });
    const at = loopbackRequest(namespaces, {}, context);
    await parts.registry().create(at, body, defaultWriteOptions).catch(ignoreConflict);
    return [];
  };
}
