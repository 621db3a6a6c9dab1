import { type Domain, invalid, resolve } from "#meta";
import type { Admit } from "#registry";
import { Path, Problems } from "#schema";
import type { Objects } from "./objects.ts";

const namespaces = { group: "", plural: "namespaces" };

/** Claims may reach for devices that others use only in namespaces that are marked for it. */
export function deviceAccess(objects: Objects, domain: Domain): Admit {
  const label = resolve("resource.{label}/admin-access", domain);
  return async ({ target, object, operation }) => {
    const { resource, subresource, signal } = target;
    const { group, plural } = resource.kind;
    if (group !== "resource.{api}" || subresource !== "" || operation === "delete") return [];
    const spec =
      plural === "resourceclaims"
        ? object.spec
        : plural === "resourceclaimtemplates"
          ? object.spec.spec
          : undefined;
    const requests: readonly any[] = spec?.devices.requests ?? [];
    const index = requests.findIndex(({ exactly }) => exactly?.adminAccess === true);
    if (index < 0) return [];
    const namespace = await objects.find(namespaces, target.namespace, signal);
    if (namespace?.metadata.labels?.[label] === "true") return [];
    const problems = new Problems();
    problems.forbidden(
      Path.of("spec.devices.requests").index(index).child("adminAccess"),
      `admin access to devices requires the \`${label}: true\` label on the containing namespace`,
    );
    const { hub, kind } = resource;
    throw invalid({ group: hub.group, kind: kind.kind }, object.metadata.name ?? "", problems);
  };
}
