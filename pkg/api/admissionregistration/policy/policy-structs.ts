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

/** Options of a list of type map with key `name`. */
export const byName = {
  listType: "map",
  listMapKeys: ["name"],
  patchStrategy: ["merge"],
  patchMergeKey: "name",
} as const;

/** Omits the allowed values from OpenAPI: Kubernetes declares the enum in some versions only. */
export const withoutOpenApiEnum = { openApi: { enum: false } } as const;

export function matchConditionOf(version: Version) {
  const declare = structs(`api/admissionregistration/${version}`);
  return declare(
    "MatchCondition",
    "Condition in CEL that decides whether a request is evaluated.",
    {
      name: required(
        1,
        string,
        "Name of the condition for logs and errors, a qualified name that is unique within the list.",
      ),
      expression: required(
        2,
        string,
        "CEL expression that must be true. It can use object, oldObject, request, authorizer " +
          "and, in policies, params and variables.",
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
    "Kind of the parameter objects of a policy.",
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
    "Named CEL expression, which is evaluated when it is first used.",
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
      expression: required(2, string, "CEL expression that produces the value.", {
        protoName: "Expression",
      }),
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
    "Operations, resources and object names that a rule matches.",
    {
      resourceNames: value(
        1,
        list(string),
        "Names of the objects to match. Empty matches every name.",
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
    "Requests that a policy or binding applies to. All fields must match.",
    {
      namespaceSelector: pointer(
        1,
        labelSelector,
        "Selects requests by labels of the object's namespace, or of the object itself if it " +
          "is a namespace. Cluster-scoped objects always match. Defaults to {}, which matches " +
          "everything.",
        {
          default: {},
        },
      ),
      objectSelector: pointer(
        2,
        labelSelector,
        "Selects requests by labels of object or oldObject; one match is enough. Clients may " +
          "evade it by changing labels. Defaults to {}, which matches everything.",
        {
          default: {},
        },
      ),
      resourceRules: value(
        3,
        list(namedRule),
        "Operations and resources to match; any of the rules is enough.",
        {
          listType: "atomic",
        },
      ),
      excludeResourceRules: value(
        4,
        list(namedRule),
        "Operations and resources to leave out. They take precedence over resourceRules.",
        {
          listType: "atomic",
        },
      ),
      matchPolicy: pointer(
        7,
        named(`${version}.MatchPolicyType`, "Exact", "Equivalent"),
        "Whether requests through another group or version match as well. One of Exact (as " +
          "listed in the rules), Equivalent (any version; the object is converted). Defaults to " +
          "Equivalent.",
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
    "Selects the parameter objects of a binding. Exactly one of name and selector must be set.",
    {
      name: value(1, string, "Name of the parameter object. Mutually exclusive with selector."),
      namespace: value(
        2,
        string,
        "Namespace of the parameter objects. For a namespaced paramKind it defaults to the " +
          "namespace of the request; must be absent for a cluster-scoped one.",
      ),
      selector: pointer(
        3,
        labelSelector,
        "Selects parameter objects by label; the policy is evaluated for each. {} selects all. " +
          "Mutually exclusive with name.",
      ),
      parameterNotFoundAction: pointer(
        4,
        named(`${version}.ParameterNotFoundActionType`, "Allow", "Deny"),
        "What happens when no parameter object is found. One of Allow (skip the binding), Deny " +
          "(apply the failurePolicy of the policy). Required, except in v1alpha1, where it " +
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
