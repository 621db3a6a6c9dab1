/** Shared parts of RoleBinding and ClusterRoleBinding. */
import { deepEqual } from "#base";
import { required, type Infer, list, Path, value, type Problems, string, structs } from "#schema";
import { type HookContext, isDns1123Subdomain, isPathSegmentName, resolve } from "#meta";
import type { Cell, Column, KindHooks, RowContext } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { invalidEach, unsupported } from "../strategy.ts";

const v1 = structs("api/rbac/v1");

export const rbacGroup = "rbac.authorization.{api}";

const subject = v1(
  "Subject",
  "User, group or service account that a role binding applies to.",
  {
    kind: required(1, string, "Kind of the subject: one of User, Group, ServiceAccount."),
    apiGroup: value(
      2,
      string,
      'API group of the kind. Defaults to "" for ServiceAccount and to the RBAC API group ' +
        "for User and Group.",
    ),
    name: required(3, string, "Name of the user, group or service account."),
    namespace: value(
      4,
      string,
      "Namespace of a ServiceAccount. Without effect for User and Group.",
    ),
  },
  { atomic: true },
);

export const subjects = value(
  2,
  list(subject),
  "Users, groups and service accounts to which the role applies.",
  { listType: "atomic" },
);

export const roleRef = v1(
  "RoleRef",
  "Reference to the role that a binding grants.",
  {
    apiGroup: required(1, string, "API group of the role, which is that of RBAC."),
    kind: required(
      2,
      string,
      "Kind of the role: one of Role, ClusterRole. A ClusterRoleBinding accepts ClusterRole only.",
    ),
    name: required(3, string, "Name of the referenced role."),
  },
  { atomic: true },
);

interface Binding {
  readonly metadata: { readonly name?: string; readonly creationTimestamp?: string | null };
  readonly subjects?: Infer<typeof subject>[];
  readonly roleRef: Infer<typeof roleRef>;
}

const subjectKinds = ["ServiceAccount", "User", "Group"];

function fillGroups(binding: Binding, { domain }: HookContext): void {
  const group = resolve(rbacGroup, domain);
  if (binding.roleRef.apiGroup === "") binding.roleRef.apiGroup = group;
  for (const each of binding.subjects ?? []) {
    if (each.kind === "User" || each.kind === "Group") each.apiGroup ||= group;
  }
}

interface Rules {
  readonly isNamespaced: boolean;
  /** Kinds allowed in roleRef, in the order in which messages list them. */
  readonly roleKinds: readonly string[];
}

function checkRoleRef(
  { apiGroup, kind, name }: Binding["roleRef"],
  { roleKinds, group }: Rules & { readonly group: string },
  problems: Problems,
): void {
  const path = Path.of("roleRef");
  if (apiGroup !== group) {
    unsupported(problems, path.child("apiGroup"), {
      value: apiGroup,
      supported: [group],
      isQuoted: true,
    });
  }
  if (!roleKinds.includes(kind)) {
    unsupported(problems, path.child("kind"), {
      value: kind,
      supported: roleKinds,
      isQuoted: true,
    });
  }
  const namePath = path.child("name");
  if (name === "") problems.required(namePath);
  else invalidEach(problems, namePath, { value: name, messages: isPathSegmentName(name) });
}

function checkSubject(
  { kind, apiGroup = "", name, namespace }: Infer<typeof subject>,
  { path, group, isNamespaced }: Rules & { readonly path: Path; readonly group: string },
  problems: Problems,
): void {
  if (name === "") problems.required(path.child("name"));
  if (!subjectKinds.includes(kind)) {
    return unsupported(problems, path.child("kind"), {
      value: kind,
      supported: subjectKinds,
      isQuoted: true,
    });
  }
  const isAccount = kind === "ServiceAccount";
  if (isAccount && name !== "") {
    const messages = isDns1123Subdomain(name);
    invalidEach(problems, path.child("name"), { value: name, messages });
  }
  const expected = isAccount ? "" : group;
  if (apiGroup !== expected) {
    unsupported(problems, path.child("apiGroup"), {
      value: apiGroup,
      supported: [expected],
      isQuoted: true,
    });
  }
  if (isAccount && !isNamespaced && !namespace) problems.required(path.child("namespace"));
}

/** Hooks of a kind of binding. */
export function bindingHooks(rules: Rules): KindHooks<any> {
  const validate = (binding: Binding, problems: Problems, { domain }: HookContext) => {
    const group = resolve(rbacGroup, domain);
    checkRoleRef(binding.roleRef, { ...rules, group }, problems);
    for (const [index, each] of (binding.subjects ?? []).entries()) {
      const path = Path.of("subjects").index(index);
      checkSubject(each, { ...rules, path, group }, problems);
    }
  };
  return {
    default: fillGroups,
    validate,
    // Kubernetes validates a changed binding twice and reports each error twice, except those of
    // roleRef.
    validateUpdate: (object: Binding, old: Binding, problems, context) => {
      validate(object, problems, context);
      validate(object, problems, context);
      if (deepEqual(object.roleRef, old.roleRef)) return;
      const { apiGroup, kind, name } = object.roleRef;
      const goRoleRef = { APIGroup: apiGroup, Kind: kind, Name: name };
      problems.invalid(Path.of("roleRef"), goRoleRef, "cannot change roleRef");
    },
  };
}

export const bindingColumns: readonly Column[] = [
  nameColumn,
  column("Role", "Role whose permissions are granted."),
  ageColumn,
  column("Users", "Users that receive the permissions.", { priority: 1 }),
  column("Groups", "Groups that receive the permissions.", { priority: 1 }),
  column("ServiceAccounts", "Service accounts that receive the permissions.", { priority: 1 }),
];

export function bindingRow(binding: Binding, context: RowContext): readonly Cell[] {
  const named = (kind: string) => (binding.subjects ?? []).filter((each) => each.kind === kind);
  const { kind, name } = binding.roleRef;
  return [
    nameOf(binding),
    `${kind}/${name}`,
    ageOf(binding, context),
    named("User")
      .map((each) => each.name)
      .join(", "),
    named("Group")
      .map((each) => each.name)
      .join(", "),
    named("ServiceAccount")
      .map((each) => `${each.namespace ?? ""}/${each.name}`)
      .join(", "),
  ];
}
