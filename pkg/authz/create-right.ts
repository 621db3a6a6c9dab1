import { forbidden } from "#meta";
import type { Admit } from "#registry";
import type { Authorizer, RequestInfo } from "#request";

/** A PUT or an apply that creates needs the right to create, besides that of its own verb. */
export function createRight(authorizer: Authorizer): Admit {
  return async ({ target, operation }) => {
    const { resource, namespace, name, subresource, user } = target;
    // The path of a POST names no object.
    if (operation !== "create" || name === "" || subresource !== "") return [];
    const { group, version, plural } = resource;
    const request: RequestInfo = {
      isResource: true,
      path: "",
      verb: "create",
      apiPrefix: group === "" ? "api" : "apis",
      group,
      version,
      namespace,
      resource: plural,
      subresource: "",
      name,
      rest: [],
    };
    const { verdict, reason } = await authorizer.authorize({ user, request });
    if (verdict === "allow") return [];
    const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
    const story =
      `User ${JSON.stringify(user.name)} cannot create resource "${plural}" ` +
      `in API group "${group}" ${where}`;
    throw forbidden(resource, name, reason === "" ? story : `${story}: ${reason}`);
  };
}
