import { required, int64, list, named, pointer, value, string } from "#schema";
import { condition, objectMeta } from "#meta";
import { byName, sharedPolicyStructs, type Version } from "./policy-structs.ts";

function partsOf({ declare }: ReturnType<typeof sharedPolicyStructs>) {
  const validation = declare("Validation", "A condition that requests must meet.", {
    expression: required(1, string, "Must be true for the request to be let in, in CEL.", {
      protoName: "Expression",
    }),
    message: value(2, string, "What the client is told otherwise."),
    reason: pointer(
      3,
      string,
      "Reason of the refusal: Unauthorized, Forbidden, Invalid, RequestEntityTooLarge.",
    ),
    messageExpression: value(4, string, "The message as an expression, instead of `message`."),
  });
  const auditAnnotation = declare("AuditAnnotation", "What to add to the audit event.", {
    key: required(1, string, "Name of the annotation, behind that of the policy and a slash."),
    valueExpression: required(2, string, "Its value in CEL; null leaves it out."),
  });
  const expressionWarning = declare("ExpressionWarning", "A doubt about an expression.", {
    fieldRef: required(2, string, "Where the expression stands, as in `spec.validations[0]`."),
    warning: required(3, string, "What is wrong with it, for people to read."),
  });
  const typeChecking = declare("TypeChecking", "What checking the types has found.", {
    expressionWarnings: value(1, list(expressionWarning), "Doubts about single expressions.", {
      listType: "atomic",
    }),
  });
  return { validation, auditAnnotation, typeChecking };
}

function policyOf(shared: ReturnType<typeof sharedPolicyStructs>) {
  const { declare, failurePolicy, matchCondition, matchResources, paramKind, variable } = shared;
  const { validation, auditAnnotation, typeChecking } = partsOf(shared);
  const spec = declare("ValidatingAdmissionPolicySpec", "What the policy demands.", {
    paramKind: pointer(1, paramKind, "Kind of the objects that parametrize it; absent: none."),
    matchConstraints: pointer(2, matchResources, "Which requests it is for."),
    validations: value(3, list(validation), "Conditions that those requests must meet.", {
      listType: "atomic",
    }),
    failurePolicy: pointer(
      4,
      failurePolicy,
      "What an error in an expression means: Fail (the request) or Ignore (the policy).",
      { default: "Fail" },
    ),
    auditAnnotations: value(5, list(auditAnnotation), "What to add to audit events.", {
      listType: "atomic",
    }),
    matchConditions: value(6, list(matchCondition), "Filters of requests; all must hold.", byName),
    variables: value(7, list(variable), "Expressions for use in the others.", byName),
  });
  const status = declare("ValidatingAdmissionPolicyStatus", "What is known of the policy.", {
    observedGeneration: value(1, int64, "Generation of the policy that this is about."),
    typeChecking: pointer(2, typeChecking, "What checking the types has found."),
    conditions: value(3, list(condition), "What the controller observes.", {
      listType: "map",
      listMapKeys: ["type"],
    }),
  });
  return declare("ValidatingAdmissionPolicy", "Refuses requests that break its rules, by CEL.", {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "What the policy demands."),
    status: value(3, status, "What is known of the policy."),
  });
}

function bindingOf(version: Version, shared: ReturnType<typeof sharedPolicyStructs>) {
  const { declare, matchResources, paramRef } = shared;
  const spec = declare("ValidatingAdmissionPolicyBindingSpec", "What is bound, and how.", {
    policyName: value(1, string, "Name of the policy."),
    paramRef: pointer(2, paramRef, "The objects that parametrize it here."),
    matchResources: pointer(3, matchResources, "Narrows down which requests it is for."),
    validationActions: value(
      4,
      list(named(`${version}.ValidationAction`, "Deny", "Warn", "Audit")),
      "What a broken rule leads to: Deny or Warn, and Audit.",
      { listType: "set" },
    ),
  });
  return declare("ValidatingAdmissionPolicyBinding", "Puts a validating policy to work.", {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "What is bound, and how."),
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
