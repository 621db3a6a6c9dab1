/** Shared parts of Role and ClusterRole. */
import { required, type Infer, list, Path, value, type Problems, string, structs } from "#schema";
import type { KindHooks } from "#meta";

const v1 = structs("api/rbac/v1");

export const policyRule = v1(
  "PolicyRule",
  "Permission: verbs that are allowed on the listed resources or non-resource URLs. A rule " +
    "covers either resources or URLs.",
  {
    verbs: required(
      1,
      list(string),
      "Allowed verbs, for example `get` or `create`. `*` represents all verbs.",
      { listType: "atomic" },
    ),
    apiGroups: value(
      2,
      list(string),
      'API groups of the resources. "" represents the core group; `*` represents all groups.',
      {
        listType: "atomic",
      },
    ),
    resources: value(
      3,
      list(string),
      "Resources in lowercase plural, for example `pods` or `pods/log`. `*` represents all " +
        "resources, `*/scale` a subresource of all resources.",
      {
        listType: "atomic",
      },
    ),
    resourceNames: value(
      4,
      list(string),
      "Names of the objects that the rule is restricted to. Empty allows all. create and " +
        "deletecollection cannot be restricted by name.",
      {
        listType: "atomic",
      },
    ),
    nonResourceURLs: value(
      5,
      list(string),
      "Non-resource URL paths, for example `/healthz`. A trailing `*` matches any suffix. Only " +
        "effective in a ClusterRole granted by a ClusterRoleBinding.",
      { listType: "atomic" },
    ),
  },
);

type PolicyRule = Infer<typeof policyRule>;

export function checkPolicyRules(
  rules: readonly PolicyRule[] | null,
  { isNamespaced }: { readonly isNamespaced: boolean },
  problems: Problems,
): void {
  for (const [index, rule] of (rules ?? []).entries()) {
    const path = Path.of("rules").index(index);
    const {
      verbs,
      apiGroups = [],
      resources = [],
      resourceNames = [],
      nonResourceURLs = [],
    } = rule;
    if ((verbs ?? []).length === 0) {
      problems.required(path.child("verbs"), "verbs must contain at least one value");
    }
    if (nonResourceURLs.length > 0) {
      const refuse = (detail: string) =>
        problems.invalid(path.child("nonResourceURLs"), nonResourceURLs, detail);
      if (isNamespaced) refuse("namespaced rules cannot apply to non-resource URLs");
      if (apiGroups.length > 0 || resources.length > 0 || resourceNames.length > 0) {
        refuse("rules cannot apply to both regular resources and non-resource URLs");
      }
      continue;
    }
    if (apiGroups.length === 0) {
      const detail = "resource rules must supply at least one api group";
      problems.required(path.child("apiGroups"), detail);
    }
    if (resources.length === 0) {
      const detail = "resource rules must supply at least one resource";
      problems.required(path.child("resources"), detail);
    }
  }
}

/** Hooks of a kind of role. */
export function roleHooks<R>(validate: (role: R, problems: Problems) => void): KindHooks<R> {
  return {
    validate,
    // Kubernetes validates a changed role twice and reports each error twice.
    validateUpdate: (object, _old, problems) => {
      validate(object, problems);
      validate(object, problems);
    },
  };
}
