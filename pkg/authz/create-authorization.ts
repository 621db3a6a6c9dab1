import { forbidden } from "#meta";
import type { AdmissionHandler, ResourceRequest } from "#registry";
import { type Authorizer, resourceRequestInfo } from "#request";

/** A PUT or an apply that creates needs the right to create, besides that of its own verb. */
export function authorizeCreateByUpdate(authorizer: Authorizer): AdmissionHandler {
  return ({ request, operation }) => {
    // The path of a POST names no object.
    const isOther = operation === "create" && request.name !== "" && request.subresource === "";
    return isOther ? mayCreate(authorizer, request) : undefined;
  };
}

/** Checks that the user may create the object. Throws StatusError 403. */
async function mayCreate(
  authorizer: Authorizer,
  target: ResourceRequest,
): Promise<readonly string[]> {
  const { resource, namespace, name, user } = target;
  const { group, version, plural } = resource;
  const asked = { verb: "create", group, version, namespace, resource: plural, name };
  const request = resourceRequestInfo(asked);
  const { verdict, reason } = await authorizer.authorize({ user, request });
  if (verdict === "allow") return [];
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const story =
    `User ${JSON.stringify(user.name)} cannot create resource "${plural}" ` +
    `in API group "${group}" ${where}`;
  throw forbidden(resource, name, reason === "" ? story : `${story}: ${reason}`);
}
