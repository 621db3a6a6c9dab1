/** `npm run bench:authorization`: what one decision costs among 2,000 roles and 5,000 bindings. */
import { Rbac } from "#authz";
import type { Attributes, User } from "#request";

const rounds = 200_000;

function manyBindings(): Rbac {
  const rbac = new Rbac("rbac.example.org");
  for (let n = 0; n < 2000; n++) {
    const resources = [`things${n % 50}`, "configmaps"];
    const rules = [{ verbs: ["get"], apiGroups: [""], resources }];
    rbac.set("ClusterRole", { metadata: { name: `r${n}` }, rules });
  }
  for (let n = 0; n < 5000; n++) {
    const roleRef = { apiGroup: "rbac.example.org", kind: "ClusterRole", name: `r${n % 2000}` };
    // Half of them reach everybody, which is the worst case.
    const [kind, name] =
      n % 2 === 0 ? ["Group", "system:authenticated"] : ["User", `u${n % 100}`];
    const subjects = [{ apiGroup: "rbac.example.org", kind, name }];
    const metadata = { name: `b${n}`, namespace: `ns${n % 100}` };
    const binding = { metadata, roleRef, subjects };
    rbac.set("RoleBinding", binding);
  }
  return rbac;
}

const user: User = {
  name: "u7",
  uid: "",
  groups: ["system:authenticated", "g1", "g2"],
  extra: new Map(),
};
const request: Attributes["request"] = {
  isResource: true,
  path: "/api/v1/namespaces/ns7/configmaps",
  verb: "list",
  apiPrefix: "api",
  group: "",
  version: "v1",
  namespace: "ns7",
  resource: "configmaps",
  subresource: "",
  name: "",
  rest: [],
};

const rbac = manyBindings();
for (const round of ["warm-up", "measured"]) {
  const start = performance.now();
  let allowed = 0;
  for (let n = 0; n < rounds; n++) {
    const { verdict } = await rbac.authorize({ user, request });
    if (verdict === "allow") allowed++;
  }
  const each = ((performance.now() - start) * 1000) / rounds;
  console.log(`${round}: ${each.toFixed(2)} µs a decision (${allowed} allowed)`);
}
