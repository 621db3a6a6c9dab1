import { required, int64, list, named, pointer, value, string } from "#schema";
import { condition, objectMeta } from "#meta";
import { byName, sharedPolicyStructs, type Version } from "./policy-structs.ts";

function partsOf({ declare }: ReturnType<typeof sharedPolicyStructs>) {
  const validation = declare("Validation", "Condition that a request must meet.", {
    expression: required(
      1,
      string,
      "CEL expression that must be true for the request to be admitted. It can use object, " +
        "oldObject, request, params, namespaceObject, variables and authorizer.",
      {
        protoName: "Expression",
      },
    ),
    message: value(
      2,
      string,
      "Message for the client when the validation fails. Required if the expression contains " +
        "line breaks. Defaults to `failed Expression: <expression>`.",
    ),
    reason: pointer(
      3,
      named("v1.StatusReason"),
      "Reason of the refusal, and its HTTP status code: Unauthorized, Forbidden, Invalid or " +
        "RequestEntityTooLarge. Defaults to Invalid.",
    ),
    messageExpression: value(
      4,
      string,
      "CEL expression that produces the message. Takes precedence over message; if it fails, " +
        "message is used.",
    ),
  });
  const auditAnnotation = declare(
    "AuditAnnotation",
    "Annotation that a policy adds to audit events.",
    {
      key: required(
        1,
        string,
        "Key of the annotation, unique within the policy. Recorded as `<policy>/<key>`.",
      ),
      valueExpression: required(
        2,
        string,
        "CEL expression that produces the value, a string of at most 5 KiB. null or empty " +
          "omits the annotation.",
      ),
    },
  );
  const expressionWarning = declare(
    "ExpressionWarning",
    "Warning about one expression of a policy.",
    {
      fieldRef: required(
        2,
        string,
        "Path of the field with the expression, for example `spec.validations[0].expression`.",
      ),
      warning: required(
        3,
        string,
        "Human-readable result of type checking, one line per checked type.",
      ),
    },
  );
  const typeChecking = declare(
    "TypeChecking",
    "Result of type checking the expressions of a policy.",
    {
      expressionWarnings: value(
        1,
        list(expressionWarning),
        "One entry per expression with a problem.",
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
        "Kind of the parameter objects that bindings may refer to. When absent, the policy has " +
          "no parameters and `params` is not available.",
      ),
      matchConstraints: pointer(
        2,
        matchResources,
        "Requests that the policy applies to. Required. Admission policies and their bindings " +
          "cannot be matched.",
      ),
      validations: value(
        3,
        list(validation),
        "Conditions to check, all of which must hold. Either these or auditAnnotations are required.",
        {
          listType: "atomic",
        },
      ),
      failurePolicy: pointer(
        4,
        failurePolicy,
        "What happens when an expression fails or the configuration is invalid: one of Ignore " +
          "(skip the policy), Fail (deny the request). Defaults to Fail.",
        { default: "Fail" },
      ),
      auditAnnotations: value(
        5,
        list(auditAnnotation),
        "Annotations to add to the audit event of the request, at most 20. Either these or " +
          "validations are required.",
        {
          listType: "atomic",
        },
      ),
      matchConditions: value(
        6,
        list(matchCondition),
        "Further conditions on the request in CEL, at most 64; all must be true. If one is " +
          "false, the policy is skipped.",
        byName,
      ),
      variables: value(
        7,
        list(variable),
        "Named expressions that other expressions read as `variables.<name>`. Each may use " +
          "those before it.",
        byName,
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
        "Result of type checking. Absent until it has finished.",
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
    "ValidatingAdmissionPolicy accepts or rejects requests by CEL expressions. It takes " +
      "effect through bindings.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: value(2, spec, "Matched requests and validations."),
      status: value(3, status, "Result of type checking. Read-only."),
    },
  );
}

function bindingOf(version: Version, shared: ReturnType<typeof sharedPolicyStructs>) {
  const { declare, matchResources, paramRef } = shared;
  const spec = declare(
    "ValidatingAdmissionPolicyBindingSpec",
    "Policy to enable, its parameters and the requests it applies to.",
    {
      policyName: value(
        1,
        string,
        "Name of the ValidatingAdmissionPolicy. Required. The binding is ignored while the " +
          "policy does not exist.",
      ),
      paramRef: pointer(
        2,
        paramRef,
        "Parameter objects for the policy. With several, it is evaluated once for each, and " +
          "all must admit the request.",
      ),
      matchResources: pointer(
        3,
        matchResources,
        "Further restriction of the matched requests. By default all that the policy matches.",
      ),
      validationActions: value(
        4,
        list(named(`${version}.ValidationAction`, "Deny", "Warn", "Audit")),
        "What happens when a validation fails: Deny (reject the request), Warn (send a warning " +
          "to the client), Audit (annotate the audit event). Deny and Warn are mutually " +
          "exclusive. Required.",
        { listType: "set" },
      ),
    },
  );
  return declare(
    "ValidatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicyBinding enables a ValidatingAdmissionPolicy with given parameters.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: value(2, spec, "Policy, parameters and actions of the binding."),
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
