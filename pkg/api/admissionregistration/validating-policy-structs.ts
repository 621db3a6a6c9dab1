import { always, int64, list, named, optional, plain, string } from "#schema";
import { condition, objectMeta } from "#meta";
import { byName, sharedPolicyStructs, type Version } from "./policy-structs.ts";

function partsOf({ declare }: ReturnType<typeof sharedPolicyStructs>) {
  const validation = declare("Validation", "A condition that requests must meet.", {
    expression: always(1, string, "Must be true for the request to be let in, in CEL.", {
      protoName: "Expression",
    }),
    message: plain(2, string, "What the client is told otherwise."),
    reason: optional(
      3,
      string,
      "Reason of the refusal: Unauthorized, Forbidden, Invalid, RequestEntityTooLarge.",
    ),
    messageExpression: plain(4, string, "The message as an expression, instead of `message`."),
  });
  const auditAnnotation = declare("AuditAnnotation", "What to add to the audit event.", {
    key: always(1, string, "Name of the annotation, behind that of the policy and a slash."),
    valueExpression: always(2, string, "Its value in CEL; null leaves it out."),
  });
  const expressionWarning = declare("ExpressionWarning", "A doubt about an expression.", {
    fieldRef: always(2, string, "Where the expression stands, as in `spec.validations[0]`."),
    warning: always(3, string, "What is wrong with it, for people to read."),
  });
  const typeChecking = declare("TypeChecking", "What checking the types has found.", {
    expressionWarnings: plain(1, list(expressionWarning), "Doubts about single expressions.", {
      listType: "atomic",
    }),
  });
  return { validation, auditAnnotation, typeChecking };
}

function policyOf(shared: ReturnType<typeof sharedPolicyStructs>) {
  const { declare, failurePolicy, matchCondition, matchResources, paramKind, variable } = shared;
  const { validation, auditAnnotation, typeChecking } = partsOf(shared);
  const spec = declare("ValidatingAdmissionPolicySpec", "What the policy demands.", {
    paramKind: optional(1, paramKind, "Kind of the objects that parametrize it; absent: none."),
    matchConstraints: optional(2, matchResources, "Which requests it is for."),
    validations: plain(3, list(validation), "Conditions that those requests must meet.", {
      listType: "atomic",
    }),
    failurePolicy: optional(
      4,
      failurePolicy,
      "What an error in an expression means: Fail (the request) or Ignore (the policy).",
      { default: "Fail" },
    ),
    auditAnnotations: plain(5, list(auditAnnotation), "What to add to audit events.", {
      listType: "atomic",
    }),
    matchConditions: plain(6, list(matchCondition), "Filters of requests; all must hold.", byName),
    variables: plain(7, list(variable), "Expressions for use in the others.", byName),
  });
  const status = declare("ValidatingAdmissionPolicyStatus", "What is known of the policy.", {
    observedGeneration: plain(1, int64, "Generation of the policy that this is about."),
    typeChecking: optional(2, typeChecking, "What checking the types has found."),
    conditions: plain(3, list(condition), "What the controller observes.", {
      listType: "map",
      listMapKeys: ["type"],
    }),
  });
  return declare("ValidatingAdmissionPolicy", "Refuses requests that break its rules, by CEL.", {
    metadata: plain(1, objectMeta, "Standard object metadata."),
    spec: plain(2, spec, "What the policy demands."),
    status: plain(3, status, "What is known of the policy."),
  });
}

function bindingOf(version: Version, shared: ReturnType<typeof sharedPolicyStructs>) {
  const { declare, matchResources, paramRef } = shared;
  const spec = declare("ValidatingAdmissionPolicyBindingSpec", "What is bound, and how.", {
    policyName: plain(1, string, "Name of the policy."),
    paramRef: optional(2, paramRef, "The objects that parametrize it here."),
    matchResources: optional(3, matchResources, "Narrows down which requests it is for."),
    validationActions: plain(
      4,
      list(named(`${version}.ValidationAction`, "Deny", "Warn", "Audit")),
      "What a broken rule leads to: Deny or Warn, and Audit.",
      { listType: "set" },
    ),
  });
  return declare("ValidatingAdmissionPolicyBinding", "Puts a validating policy to work.", {
    metadata: plain(1, objectMeta, "Standard object metadata."),
    spec: plain(2, spec, "What is bound, and how."),
  });
}

function structsOf(version: Version) {
  const shared = sharedPolicyStructs(version);
  return { policy: policyOf(shared), binding: bindingOf(version, shared) };
}

export const validatingV1 = structsOf("v1");
/** Served until 1.33; still known to codecs. */
export const validatingV1beta1 = structsOf("v1beta1");
export const validatingV1alpha1 = structsOf("v1alpha1");
