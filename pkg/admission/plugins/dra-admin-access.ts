import { type Domain, invalid, resolve } from "#meta";
import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import { Path, Problems } from "#schema";
import type { ObjectReader } from "../objects.ts";

const namespaces = { group: "", plural: "namespaces" };

/** Claims may reach for devices that others use only in namespaces that are marked for it. */
export function deviceAccess(objects: ObjectReader, domain: Domain): AdmissionHandler {
  const label = resolve("resource.{label}/admin-access", domain);
  const checked = async ({ request, object }: AdmissionAttributes, requests: readonly any[]) => {
    const { resource, context } = request;
    const index = requests.findIndex(({ exactly }) => exactly?.adminAccess === true);
    if (index < 0) return [];
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
  return (attributes) => {
    const requests = requestsOf(attributes);
    return requests.length === 0 ? undefined : checked(attributes, requests);
  };
}

/** The requests for devices in what is written. */
function requestsOf({ request, object, operation }: AdmissionAttributes): readonly any[] {
  const { resource, subresource } = request;
  const { group, plural } = resource.kind;
  if (group !== "resource.{api}" || subresource !== "" || operation === "delete") return [];
  const spec =
    plural === "resourceclaims"
      ? object.spec
      : plural === "resourceclaimtemplates"
        ? object.spec.spec
        : undefined;
  return spec?.devices.requests ?? [];
}
