import { invalid, resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { Path, Problems } from "#schema";
import type { AdmissionPlugin } from "../plugin.ts";

const namespaces = { group: "", plural: "namespaces" };

/**
 * Dynamic resource allocation: allows `adminAccess`, i.e. access to devices in use, only in namespaces with
 * the admin-access label. In kube-apiserver part of the validation of ResourceClaims and their templates.
 */
export const draAdminAccess: AdmissionPlugin = {
  name: "DRAAdminAccess",
  enabled: "always",
  resources: ["resourceclaims", "resourceclaimtemplates"],
  create({ objects, domain }) {
    const label = resolve("resource.{label}/admin-access", domain);
    const check = async (
      { request, object }: AdmissionAttributes,
      index: number,
    ): Promise<readonly string[]> => {
      const { resource, context } = request;
      const namespace = await objects.find(namespaces, request.namespace, context);
      if (namespace?.metadata.labels?.[label] === "true") return [];
      const problems = new Problems();
      problems.forbidden(
        Path.of("spec.devices.requests").index(index).child("adminAccess"),
        `admin access to devices requires the \`${label}: true\` label on the containing namespace`,
      );
      const { hub, kind } = resource;
      throw invalid({ group: hub.group, kind: kind.kind }, object.metadata.name ?? "", problems);
    };
    return {
      validate: (attributes) => {
        const index = deviceRequestsOf(attributes).findIndex(
          ({ exactly }) => exactly?.adminAccess === true,
        );
        return index < 0 ? undefined : check(attributes, index);
      },
    };
  },
};

function deviceRequestsOf({ request, object, operation }: AdmissionAttributes): readonly any[] {
  const { resource, subresource } = request;
  const { group, plural } = resource.kind;
  if (group !== "resource.{api}" || subresource !== "" || operation === "delete") return [];
  const spec = plural === "resourceclaims" ? object.spec : object.spec.spec;
  return spec?.devices.requests ?? [];
}
