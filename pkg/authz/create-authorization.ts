import { forbidden } from "#meta";
import type { AdmissionHandler, ResourceRequest } from "#registry";
import { type Authorizer, resourceRequestInfo } from "#request";

/** Requires the verb `create` of a PUT or server-side apply that creates an object. */
export function authorizeCreateByUpdate(authorizer: Authorizer): AdmissionHandler {
  return ({ request, operation }) => {
    // Only PUT and PATCH have a name in the path; POST is authorized already.
    const isUpdate = operation === "create" && request.name !== "" && request.subresource === "";
    return isUpdate ? requireCreate(authorizer, request) : undefined;
  };
}

/** @throws StatusError 403 if the user may not create the object */
async function requireCreate(
  authorizer: Authorizer,
  target: ResourceRequest,
): Promise<readonly string[]> {
  const { resource, namespace, name, user } = target;
  const { group, version, plural } = resource;
  const create = { verb: "create", group, version, namespace, resource: plural, name };
  const request = resourceRequestInfo(create);
  const { verdict, reason } = await authorizer.authorize({ user, request });
  if (verdict === "allow") return [];
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const message =
    `User ${JSON.stringify(user.name)} cannot create resource "${plural}" ` +
    `in API group "${group}" ${where}`;
  throw forbidden(resource, name, reason === "" ? message : `${message}: ${reason}`);
}
