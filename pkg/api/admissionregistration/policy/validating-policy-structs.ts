import { required, int64, list, named, pointer, value, string, mergedBy } from "#schema";
import { condition, objectMeta } from "#meta";
import { sharedPolicyStructs, type Version } from "./policy-structs.ts";

function partsOf({ declare }: ReturnType<typeof sharedPolicyStructs>) {
  const validation = declare("Validation", "Validation of a request by a CEL expression.", {
    expression: required(
      1,
      string,
      "CEL expression that must be true for the request to be admitted. Available variables: " +
        "object, oldObject, request, params, namespaceObject, variables and authorizer.",
      {
        protoName: "Expression",
      },
    ),
    message: value(
      2,
      string,
      "Message for the client if the validation fails, without line breaks. Required if the " +
        "expression contains line breaks. Defaults to `failed Expression: <expression>`.",
    ),
    reason: pointer(
      3,
      named("v1.StatusReason"),
      "Machine-readable reason of the failure, which also decides on the HTTP status code: " +
        "Unauthorized, Forbidden, Invalid or RequestEntityTooLarge. Defaults to Invalid.",
    ),
    messageExpression: value(
      4,
      string,
      "CEL expression that evaluates to the message, with the variables of expression except " +
        "for authorizer. Takes precedence over message, which is used if the expression fails.",
    ),
  });
  const auditAnnotation = declare(
    "AuditAnnotation",
    "Annotation that a policy adds to the audit event of a request.",
    {
      key: required(
        1,
        string,
        "Key of the annotation: a qualified name, unique within the policy. Audit events " +
          "contain it as `<policy>/<key>`.",
      ),
      valueExpression: required(
        2,
        string,
        "CEL expression, at most 5 KiB, that evaluates to the value: a string, truncated to 10 " +
          "KiB. null or an empty string omits the annotation.",
      ),
    },
  );
  const expressionWarning = declare(
    "ExpressionWarning",
    "Type checking warning for an expression of a policy.",
    {
      fieldRef: required(
        2,
        string,
        "Path of the field that contains the expression, for example " +
          "`spec.validations[0].expression`.",
      ),
      warning: required(
        3,
        string,
        "Human-readable warning: for each type that the expression is checked against, the " +
          "type and the error.",
      ),
    },
  );
  const typeChecking = declare(
    "TypeChecking",
    "Result of type checking the CEL expressions of a policy.",
    {
      expressionWarnings: value(
        1,
        list(expressionWarning),
        "Type checking warnings, one entry per expression.",
        {
          listType: "atomic",
        },
      ),
    },
  );
  return { validation, auditAnnotation, typeChecking };
}

function policyOf(shared: ReturnType<typeof sharedPolicyStructs>) {
  const { declare, failurePolicy, matchCondition, matchResources, paramKind, variable } = shared;
  const { validation, auditAnnotation, typeChecking } = partsOf(shared);
  const spec = declare(
    "ValidatingAdmissionPolicySpec",
    "Desired behavior of a ValidatingAdmissionPolicy.",
    {
      paramKind: pointer(
        1,
        paramKind,
        "Kind of the parameter objects that bindings refer to. If absent, the policy has no " +
          "parameters and `params` is not available.",
      ),
      matchConstraints: pointer(
        2,
        matchResources,
        "Requests that the policy validates. Policies and bindings of admission cannot be " +
          "matched. Required.",
      ),
      validations: value(
        3,
        list(validation),
        "Validations, all of which must succeed. At least one validation or audit annotation " +
          "is required.",
        {
          listType: "atomic",
        },
      ),
      failurePolicy: pointer(
        4,
        failurePolicy,
        "Handling of expressions that fail and of invalid configuration: one of Ignore (skip " +
          "the policy), Fail (deny the request). Defaults to Fail.",
        { default: "Fail" },
      ),
      auditAnnotations: value(
        5,
        list(auditAnnotation),
        "Annotations for the audit event of the request, at most 20. At least one validation " +
          "or audit annotation is required.",
        {
          listType: "atomic",
        },
      ),
      matchConditions: value(
        6,
        list(matchCondition),
        "CEL conditions that must all be true for the policy to be evaluated, at most 64. If " +
          "one is false, the policy is skipped.",
        mergedBy("name"),
      ),
      variables: value(
        7,
        list(variable),
        "Variables that other expressions use as `variables.<name>`. Each can use those that " +
          "precede it.",
        mergedBy("name"),
      ),
    },
  );
  const status = declare(
    "ValidatingAdmissionPolicyStatus",
    "Observed state of a ValidatingAdmissionPolicy.",
    {
      observedGeneration: value(
        1,
        int64,
        "Value of metadata.generation that this status describes.",
      ),
      typeChecking: pointer(
        2,
        typeChecking,
        "Result of type checking the expressions. Absent until type checking is complete.",
      ),
      conditions: value(
        3,
        list(condition),
        "Latest observed conditions, one entry per condition type.",
        {
          listType: "map",
          listMapKeys: ["type"],
        },
      ),
    },
  );
  return declare(
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicy validates requests with CEL expressions. It only takes effect " +
      "through a ValidatingAdmissionPolicyBinding.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: value(2, spec, "Matched requests, validations and audit annotations."),
      status: value(3, status, "Result of type checking. Read-only."),
    },
  );
}

function bindingOf(version: Version, shared: ReturnType<typeof sharedPolicyStructs>) {
  const { declare, matchResources, paramRef } = shared;
  const spec = declare(
    "ValidatingAdmissionPolicyBindingSpec",
    "Specification of a binding: the policy, its parameters and the requests that it applies to.",
    {
      policyName: value(
        1,
        string,
        "Name of the ValidatingAdmissionPolicy. The binding is ignored if the policy does not " +
          "exist. Required.",
      ),
      paramRef: pointer(
        2,
        paramRef,
        "Parameter objects of the policy. The policy is evaluated for each of them, and all " +
          "must admit the request.",
      ),
      matchResources: pointer(
        3,
        matchResources,
        "Further restrictions on the requests. By default, all requests that the policy matches.",
      ),
      validationActions: value(
        4,
        list(named(`${version}.ValidationAction`, "Deny", "Warn", "Audit")),
        "Actions to take if a validation fails: Deny (reject the request), Warn (return a " +
          "warning to the client), Audit (add an audit annotation). Deny and Warn are mutually " +
          "exclusive. Required.",
        { listType: "set" },
      ),
    },
  );
  return declare(
    "ValidatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicyBinding binds a ValidatingAdmissionPolicy to parameters, and so " +
      "puts it into effect.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: value(2, spec, "Policy, parameters, matched requests and validation actions."),
    },
  );
}

function structsOf(version: Version) {
  const shared = sharedPolicyStructs(version);
  return { policy: policyOf(shared), binding: bindingOf(version, shared) };
}

export const validatingV1 = structsOf("v1");
/** Served until 1.33; still decodable. */
export const validatingV1beta1 = structsOf("v1beta1");
export const validatingV1alpha1 = structsOf("v1alpha1");
