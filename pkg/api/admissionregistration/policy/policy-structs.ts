import {
  required,
  inline,
  type Infer,
  list,
  named,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { labelSelector } from "#meta";
import { ruleWithOperations } from "../rule.ts";

export type Version = "v1" | "v1beta1" | "v1alpha1";

/** Omits the allowed values from OpenAPI: Kubernetes declares the enum in some versions only. */
export const withoutOpenApiEnum = { openApi: { enum: false } } as const;

export function matchConditionOf(version: Version) {
  const declare = structs(`api/admissionregistration/${version}`);
  return declare(
    "MatchCondition",
    "CEL condition that a request must fulfill to be sent to a webhook or evaluated by a policy.",
    {
      name: required(
        1,
        string,
        "Name of the condition in logs and errors: a qualified name, unique within the list.",
      ),
      expression: required(
        2,
        string,
        "CEL expression, which must evaluate to a boolean. Available variables: object, " +
          "oldObject, request, authorizer, and in policies also params and variables.",
      ),
    },
  );
}

/** Structs shared by validating and mutating policies, in the package of one version. */
export function sharedPolicyStructs(version: Version) {
  const declare = structs(`api/admissionregistration/${version}`);
  const matchCondition = matchConditionOf(version);
  const matchResources = matchResourcesOf(version);
  const paramKind = declare(
    "ParamKind",
    "Kind of the objects that parameterize a policy.",
    {
      apiVersion: value(
        1,
        string,
        "API group and version of the kind, for example `example.com/v1`. Required.",
      ),
      kind: value(2, string, "Kind of the objects. Required."),
    },
    { atomic: true },
  );
  const variable = declare(
    "Variable",
    "Named CEL expression, evaluated on first use.",
    {
      name: required(
        1,
        string,
        "Name of the variable: a CEL identifier, unique within the policy. Read as " +
          "`variables.<name>`.",
        {
          protoName: "Name",
        },
      ),
      expression: required(
        2,
        string,
        "CEL expression that evaluates to the value of the variable.",
        {
          protoName: "Expression",
        },
      ),
    },
    { atomic: version !== "v1alpha1" },
  );
  const failurePolicy = named(`${version}.FailurePolicyType`, "Ignore", "Fail");
  const paramRef = paramRefOf(version);
  return {
    declare,
    matchCondition,
    matchResources,
    paramKind,
    paramRef,
    variable,
    failurePolicy,
  };
}

function matchResourcesOf(version: Version) {
  const declare = structs(`api/admissionregistration/${version}`);
  const namedRule = declare(
    "NamedRuleWithOperations",
    "Rule that matches requests by operation, resource and object name.",
    {
      resourceNames: value(
        1,
        list(string),
        "Names of the objects to match. Empty matches all names.",
        {
          listType: "atomic",
        },
      ),
      ruleWithOperations: inline(2, ruleWithOperations, "Operations and resources to match.", {
        protoName: "ruleWithOperations",
      }),
    },
    { atomic: true },
  );
  return declare(
    "MatchResources",
    "Criteria for the requests that a policy or binding applies to, which are ANDed.",
    {
      namespaceSelector: pointer(
        1,
        labelSelector,
        "Label query over the namespace of the object, or over the object if it is a " +
          "Namespace. Cluster-scoped objects always match. Defaults to {}, which matches " +
          "everything.",
        {
          default: {},
        },
      ),
      objectSelector: pointer(
        2,
        labelSelector,
        "Label query over object and oldObject, one of which must match. Users can evade it by " +
          "setting labels. Defaults to {}, which matches everything.",
        {
          default: {},
        },
      ),
      resourceRules: value(
        3,
        list(namedRule),
        "Operations and resources to match, if any of the rules matches.",
        {
          listType: "atomic",
        },
      ),
      excludeResourceRules: value(
        4,
        list(namedRule),
        "Operations and resources to exclude. Takes precedence over resourceRules.",
        {
          listType: "atomic",
        },
      ),
      matchPolicy: pointer(
        7,
        named(`${version}.MatchPolicyType`, "Exact", "Equivalent"),
        "Matching of requests through other groups or versions of a resource. One of Exact " +
          "(only those that the rules list), Equivalent (any; the object is converted). " +
          "Defaults to Equivalent.",
        { default: "Equivalent", ...(version === "v1beta1" ? withoutOpenApiEnum : {}) },
      ),
    },
    { atomic: true },
  );
}

/** Struct ParamRef, the reference of a binding to its parameter objects. */
function paramRefOf(version: Version) {
  const declare = structs(`api/admissionregistration/${version}`);
  return declare(
    "ParamRef",
    "Reference to the parameter objects of a binding. Exactly one of name and selector must be " +
      "set.",
    {
      name: value(1, string, "Name of the parameter object. Mutually exclusive with selector."),
      namespace: value(
        2,
        string,
        "Namespace of the parameter objects. For a namespaced paramKind, defaults to the " +
          "namespace of the request; for a cluster-scoped one, it must be unset.",
      ),
      selector: pointer(
        3,
        labelSelector,
        "Label query over parameter objects. The policy is evaluated for each of them. {} " +
          "selects all. Mutually exclusive with name.",
      ),
      parameterNotFoundAction: pointer(
        4,
        named(`${version}.ParameterNotFoundActionType`, "Allow", "Deny"),
        "Handling of a parameter reference that finds no object. One of Allow (the binding is " +
          "skipped), Deny (failurePolicy applies). Required, except in v1alpha1, where it " +
          "defaults to Deny.",
        version === "v1alpha1" ? { default: "Deny" } : withoutOpenApiEnum,
      ),
    },
    { atomic: true },
  );
}

export type MatchResources = Infer<ReturnType<typeof matchResourcesOf>>;
export type ParamRef = Infer<ReturnType<typeof paramRefOf>>;
export type SharedPolicyStructs = ReturnType<typeof sharedPolicyStructs>;
export type MatchCondition = Infer<SharedPolicyStructs["matchCondition"]>;
export type ParamKind = Infer<SharedPolicyStructs["paramKind"]>;
export type Variable = Infer<SharedPolicyStructs["variable"]>;
