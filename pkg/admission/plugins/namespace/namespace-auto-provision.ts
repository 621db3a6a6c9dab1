import { ignoreConflict } from "#meta";
import { bodyOf, defaultWriteOptions, loopbackRequest } from "#registry";
import type { AdmissionPlugin } from "../../plugin.ts";

/** Creates the missing namespace of a created object. */
export const namespaceAutoProvision: AdmissionPlugin = {
  name: "NamespaceAutoProvision",
  enabled: "optional",
  create: ({ objects, catalog, registry }) => ({
    mutate: ({ request, operation, dryRun }) => {
      const { namespace: name, context, resource } = request;
      const isNamespace = resource.keyPrefix === "/namespaces/";
      if (operation !== "create" || dryRun || name === "" || isNamespace) return undefined;
      const provision = async (): Promise<readonly string[]> => {
        const found = await objects.find({ group: "", plural: "namespaces" }, name, context);
        const namespaces = catalog.find("", "v1", "namespaces");
        if (found !== undefined || namespaces === undefined) return [];
        const body = bodyOf(namespaces, { metadata: { name } });
        const to = loopbackRequest(namespaces, {}, context);
        await registry().create(to, body, defaultWriteOptions).catch(ignoreConflict);
        return [];
      };
      return provision();
    },
  }),
};
