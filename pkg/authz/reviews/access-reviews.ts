/** Access reviews: SubjectAccessReview, its variants, and SelfSubjectRulesReview. */
import { badRequest, type Domain, resolve } from "#meta";
import type { CreateHandler, VirtualCreate } from "#registry";
import {
  type AuthorizationAttributes,
  type Authorizer,
  type Decision,
  nonResourceRequestInfo,
  resourceRequestInfo,
  type User,
} from "#request";
import { aggregate } from "../rbac/rbac-authorizer.ts";
import { checkReview } from "./access-review-validation.ts";
import {
  type ReadSelector,
  readFieldSelector,
  readLabelSelector,
} from "./selector-requirements.ts";

/** Create handlers of access reviews, by key prefix of the kind. */
export function accessReviews(
  authorizer: Authorizer,
  domain: Domain,
): readonly (readonly [string, CreateHandler])[] {
  const group = resolve("authorization.{api}", domain);
  const reviewOf = (
    checks: { readonly namesUser: boolean; readonly isLocal: boolean },
    reviewedUser: (create: VirtualCreate) => User,
  ): CreateHandler => ({
    handle: async (create) => {
      const { object } = create;
      if (checks.isLocal) defaultNamespace(object);
      checkReview(object, { group, ...checks });
      const status = await decide(authorizer, reviewedUser(create), object.spec);
      return { metadata: object.metadata, spec: object.spec, status };
    },
  });
  const userInSpec = ({ object }: VirtualCreate) => userOf(object.spec);
  const requestUser = ({ request }: VirtualCreate) => request.user;
  return [
    ["/subjectaccessreviews/", reviewOf({ namesUser: true, isLocal: false }, userInSpec)],
    ["/localsubjectaccessreviews/", reviewOf({ namesUser: true, isLocal: true }, userInSpec)],
    ["/selfsubjectaccessreviews/", reviewOf({ namesUser: false, isLocal: false }, requestUser)],
    ["/selfsubjectrulesreviews/", { handle: (create) => listRules(authorizer, create) }],
  ];
}

/** Defaults the namespace of the attributes to that of the request. */
function defaultNamespace({ metadata, spec }: any): void {
  const { resourceAttributes } = spec;
  if (resourceAttributes !== undefined) resourceAttributes.namespace ||= metadata.namespace;
}

function userOf({ user = "", uid = "", groups = [], extra = {} }: any): User {
  return { name: user, uid, groups, extra: new Map(Object.entries(extra)) };
}

/** Status of a review: the decision of the authorizer for the spec. */
async function decide(authorizer: Authorizer, user: User, spec: any): Promise<object> {
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (resourceAttributes === undefined) {
    const { path = "", verb = "" } = nonResourceAttributes;
    const request = nonResourceRequestInfo(verb, path);
    return statusOf(await authorizer.authorize({ user, request }), []);
  }
  // The default version is "*".
  const { verb = "", version } = resourceAttributes;
  const field = readFieldSelector(resourceAttributes.fieldSelector);
  const label = readLabelSelector(resourceAttributes.labelSelector);
  const attributes: AuthorizationAttributes = {
    user,
    request: resourceRequestInfo({ ...resourceAttributes, verb, version: version || "*" }),
    ...(field.terms === undefined ? {} : { fieldTerms: field.terms }),
    ...(label.terms === undefined ? {} : { labelTerms: label.terms }),
  };
  const parseErrors = [
    ...parseErrorOf("fieldSelector", field),
    ...parseErrorOf("labelSelector", label),
  ];
  return statusOf(await authorizer.authorize(attributes), parseErrors);
}

function parseErrorOf(name: string, { dropped }: ReadSelector): readonly string[] {
  return dropped === "" ? [] : [`spec.resourceAttributes.${name} ${dropped} due to parse error`];
}

function statusOf(
  { verdict, reason, error = "" }: Decision,
  parseErrors: readonly string[],
): object {
  const evaluationError = aggregate([error, ...parseErrors].filter(Boolean));
  return {
    allowed: verdict === "allow",
    ...(verdict === "deny" ? { denied: true } : {}),
    ...(reason === "" ? {} : { reason }),
    ...(evaluationError === "" ? {} : { evaluationError }),
  };
}

/** Responds to a rules review with a new object, without the client's fields. */
async function listRules(
  authorizer: Authorizer,
  { request, object }: VirtualCreate,
): Promise<object> {
  const { namespace = "" } = object.spec;
  if (namespace === "") throw badRequest("no namespace on request");
  const known = authorizer.rules?.(request.user, namespace);
  const { rules = [], incomplete = true, error = "" } = known ?? {};
  const isPath = (rule: { readonly nonResourceURLs?: readonly string[] }) =>
    (rule.nonResourceURLs ?? []).length > 0;
  return {
    metadata: {},
    spec: {},
    status: {
      resourceRules: rules.filter((rule) => !isPath(rule)),
      nonResourceRules: rules.filter(isPath),
      incomplete,
      ...(error === "" ? {} : { evaluationError: error }),
    },
  };
}
