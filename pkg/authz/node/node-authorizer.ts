import { type Domain, goQuote, resolve } from "#meta";
import type {
  PolicyRule,
  AuthorizationAttributes,
  Authorizer,
  Decision,
  KnownRules,
  RequestInfo,
  SelectorTerm,
  User,
} from "#request";
import type { FollowedKind } from "../stored-objects.ts";
import { type ReferencedKind, NodeGraph } from "./node-graph.ts";
import { objectKey } from "../rbac/rbac-index.ts";
import { allowsResource } from "../rbac/policy-rules.ts";

const allowed: Decision = { verdict: "allow", reason: "" };
const readVerbs = ["get", "list", "watch"];
const singleObjectVerbs = ["get", "create", "update", "patch", "delete"];

export interface NodeAuthorizerOptions {
  readonly domain: Domain;
  /** Rules of every node: ClusterRole `system:node`. */
  readonly rules: readonly PolicyRule[];
}

/**
 * Node authorizer: allows kubelets access to their own Node, the pods bound to it, and the objects that those
 * reference. No opinion on other users.
 */
export class NodeAuthorizer implements Authorizer {
  private readonly graph = new NodeGraph();

  constructor(private readonly options: NodeAuthorizerOptions) {}

  /** Kinds to watch. */
  followed(): readonly FollowedKind[] {
    return this.graph.followed(this.options.domain);
  }

  authorize(attributes: AuthorizationAttributes): Decision {
    const { user } = attributes;
    const node = nodeOf(user);
    if (node === undefined || !attributes.request.isResource) return denied("");
    if (node === "") return denied(`unknown node for user ${goQuote(user.name)}`);
    const reason = this.objection(node, attributes);
    if (reason !== undefined) return reason === "" ? allowed : denied(reason);
    const { request } = attributes;
    const isAllowed = this.options.rules.some((rule) => allowsResource(rule, request));
    return isAllowed ? allowed : denied("");
  }

  rules(user: User): KnownRules {
    const incomplete = nodeOf(user) !== undefined;
    const error = incomplete ? "node authorizer does not support user rule resolution" : "";
    return { rules: [], incomplete, error };
  }

  /** Reason of a denial; "" = allowed, undefined = the rules of every node apply. */
  private objection(node: string, attributes: AuthorizationAttributes): string | undefined {
    const { request } = attributes;
    const { group, resource, subresource } = request;
    const { domain } = this.options;
    switch (group === "" ? resource : `${resource}.${group}`) {
      case "secrets":
      case "configmaps":
        return this.readObjection(node, resource as ReferencedKind, request);
      case "persistentvolumeclaims":
        return subresource === "status"
          ? this.statusObjection(node, request)
          : this.getObjection(node, "persistentvolumeclaims", request);
      case "persistentvolumes":
        return this.getObjection(node, "persistentvolumes", request);
      case resolve("resourceclaims.resource.{api}", domain):
        return this.getObjection(node, "resourceclaims", request);
      case resolve("resourceslices.resource.{api}", domain):
        return this.sliceObjection(node, attributes);
      case resolve("podcertificaterequests.certificates.{api}", domain):
        return this.certificateObjection(node, attributes);
      case resolve("volumeattachments.storage.{api}", domain):
        return this.getObjection(node, "volumeattachments", request);
      case "serviceaccounts":
        return request.verb === "get" && subresource === ""
          ? this.readObjection(node, "serviceaccounts", request)
          : this.tokenObjection(node, request);
      case resolve("leases.coordination.{api}", domain):
        return leaseObjection(node, request);
      case resolve("csinodes.storage.{api}", domain):
        return csiNodeObjection(node, request);
      case "nodes":
        return nodeObjection(node, request);
      case "pods":
        return this.podObjection(node, attributes);
      default:
        return undefined;
    }
  }

  /** Objection unless the graph relates the object to the node. */
  private relationObjection(node: string, kind: ReferencedKind, request: RequestInfo): string {
    const { namespace, name } = request;
    if (name === "") return "No Object name found";
    if (this.graph.mayAccess(node, kind, objectKey(namespace, name))) return "";
    return `no relationship found between node '${node}' and this object`;
  }

  private readObjection(node: string, kind: ReferencedKind, request: RequestInfo): string {
    const { verb, subresource, namespace } = request;
    if (!readVerbs.includes(verb)) return "can only read resources of this type";
    if (subresource !== "") return "cannot read subresource";
    if (namespace === "") return "can only read namespaced object of this type";
    return this.relationObjection(node, kind, request);
  }

  private getObjection(node: string, kind: ReferencedKind, request: RequestInfo): string {
    if (request.verb !== "get") return "can only get individual resources of this type";
    if (request.subresource !== "") return "cannot get subresource";
    return this.relationObjection(node, kind, request);
  }

  private statusObjection(node: string, request: RequestInfo): string {
    if (request.verb !== "update" && request.verb !== "patch") {
      // Kubernetes' message, although `get` of the status is denied, too.
      return "can only get/update/patch this type";
    }
    return this.relationObjection(node, "persistentvolumeclaims", request);
  }

  private tokenObjection(node: string, request: RequestInfo): string {
    if (request.verb !== "create" || request.name === "") {
      return "can only create tokens for individual service accounts";
    }
    if (request.subresource !== "token") {
      return "can only create token subresource of serviceaccount";
    }
    return this.relationObjection(node, "serviceaccounts", request);
  }

  private podObjection(node: string, attributes: AuthorizationAttributes): string | undefined {
    const { request, fieldTerms = [] } = attributes;
    if (request.subresource !== "") return undefined;
    if (request.verb === "get") return this.getObjection(node, "pods", request);
    if (request.verb !== "list" && request.verb !== "watch") return undefined;
    if (selectsNode(fieldTerms, node)) return "";
    if (request.name !== "") return this.relationObjection(node, "pods", request);
    return "can only list/watch pods with spec.nodeName field selector";
  }

  /** Objection to access to ResourceSlices of other nodes; admission checks the node of written ones. */
  private sliceObjection(
    node: string,
    { request, fieldTerms = [] }: AuthorizationAttributes,
  ): string {
    const { verb, subresource } = request;
    if (subresource !== "") return "cannot authorize ResourceSlice subresources";
    if (verb === "create") return "";
    if (["get", "update", "patch", "delete"].includes(verb)) {
      return this.relationObjection(node, "resourceslices", request);
    }
    if (["watch", "list", "deletecollection"].includes(verb)) {
      if (selectsNode(fieldTerms, node)) return "";
      return "can only list/watch/deletecollection resourceslices with nodeName field selector";
    }
    const verbs = "get, watch, list, create, update, patch, delete, deletecollection";
    return `only the following verbs are allowed for a ResourceSlice: ${verbs}`;
  }

  private hasRuleFor(resource: string): boolean {
    return this.options.rules.some(({ resources = [] }) => resources.includes(resource));
  }

  /** Objection to certificate requests; nodes have rules for them only if the feature gate is enabled. */
  private certificateObjection(
    node: string,
    attributes: AuthorizationAttributes,
  ): string | undefined {
    const { request, fieldTerms = [] } = attributes;
    const { verb, subresource } = request;
    if (!this.hasRuleFor("podcertificaterequests")) return undefined;
    if (subresource !== "") {
      return "nodes may not access the status subresource of PodCertificateRequests";
    }
    if (verb === "create") return "";
    if (verb === "get") return this.relationObjection(node, "podcertificaterequests", request);
    if (!readVerbs.includes(verb)) return `nodes may not ${verb} podcertificaterequests`;
    if (selectsNode(fieldTerms, node)) return "";
    return "can only list/watch podcertificaterequests with nodeName field selector";
  }
}

/** Node name of a kubelet's user; "" = without a name. Undefined = the user is no kubelet. */
function nodeOf({ name, groups }: User): string | undefined {
  const [, node] = /^system:node:(.*)$/s.exec(name) ?? [];
  return groups.includes("system:nodes") ? node : undefined;
}

/** Whether the field selector restricts the request to this node. */
function selectsNode(terms: readonly SelectorTerm[], node: string): boolean {
  return terms.some(
    ({ key, operator, values }) =>
      key === "spec.nodeName" && operator === "In" && values.length === 1 && values[0] === node,
  );
}

function denied(reason: string): Decision {
  return { verdict: "no-opinion", reason };
}

function nodeObjection(node: string, request: RequestInfo): string | undefined {
  const { verb, subresource, name } = request;
  if (subresource !== "" || !readVerbs.includes(verb) || name === node) return undefined;
  const what = name === "" ? "all nodes" : `'${name}'`;
  return `node '${node}' cannot read ${what}, only its own Node object`;
}

function leaseObjection(node: string, { verb, namespace, name }: RequestInfo): string {
  if (!singleObjectVerbs.includes(verb))
    return "can only get, create, update, patch, or delete a node lease";
  if (namespace !== "kube-node-lease") {
    return 'can only access leases in the "kube-node-lease" system namespace';
  }
  if (verb === "create" || name === node) return "";
  return "can only access node lease with the same name as the requesting node";
}

function csiNodeObjection(node: string, request: RequestInfo): string {
  const { verb, subresource, name } = request;
  if (!singleObjectVerbs.includes(verb))
    return "can only get, create, update, patch, or delete a CSINode";
  if (subresource !== "") return "cannot authorize CSINode subresources";
  if (verb === "create" || name === node) return "";
  return "can only access CSINode with the same name as the requesting node";
}
