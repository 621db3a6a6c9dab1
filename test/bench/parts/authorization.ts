/**
 * `npm run bench:authorization`: cost of authentication and authorization per request, for a cached
 * token, with 2,000 roles and 5,000 bindings.
 */
import {
  TokenCache,
  TokenCacheMetrics,
  UnionTokenAuthenticator,
  TokenFileAuthenticator,
  UnionAuthenticator,
} from "#authn";
import { unionAuthorizer, superuserAuthorizer, RbacAuthorizer } from "#authz";
import { systemClock } from "#base";
import { kubernetes } from "#meta";
import { type AuthorizationAttributes, type Credentials, noInstruments } from "#request";

const rounds = 100_000;
const batch = 100;

function manyBindings(): RbacAuthorizer {
  const rbac = new RbacAuthorizer("rbac.example.org");
  for (let n = 0; n < 2000; n++) {
    const resources = [`things${n % 50}`, "configmaps"];
    const rules = [{ verbs: ["get"], apiGroups: [""], resources }];
    rbac.set("ClusterRole", { metadata: { name: `r${n}` }, rules });
  }
  for (let n = 0; n < 5000; n++) {
    const roleRef = { apiGroup: "rbac.example.org", kind: "ClusterRole", name: `r${n % 2000}` };
    // Half of them apply to all users, which is the worst case.
    const [kind, name] = n % 2 === 0 ? ["Group", "system:authenticated"] : ["User", `u${n % 100}`];
    const subjects = [{ apiGroup: "rbac.example.org", kind, name }];
    const metadata = { name: `b${n}`, namespace: `ns${n % 100}` };
    const binding = { metadata, roleRef, subjects };
    rbac.set("RoleBinding", binding);
  }
  return rbac;
}

/** The second file represents tokens whose check is costly and cached. */
function authenticator(): UnionAuthenticator {
  const listed = new TokenFileAuthenticator('admin,admin,1,"system:masters"');
  const metrics = new TokenCacheMetrics(noInstruments);
  const known = new TokenFileAuthenticator('warm,u7,7,"g1,g2"');
  const costly = { authenticateToken: async (token: string) => known.authenticateToken(token) };
  const remembered = new TokenCache(costly, { clock: systemClock, metrics, successTtlMs: 500 });
  const tokens = new UnionTokenAuthenticator(
    [listed, remembered],
    ["https://kubernetes.default.svc"],
    kubernetes,
  );
  return new UnionAuthenticator({ authenticators: [tokens], anonymous: () => true });
}

const credentials: Credentials = {
  authorization: ["Bearer warm"],
  certificate: undefined,
  path: "/api/v1/namespaces/ns7/configmaps",
  headersBelow: () => new Map(),
};
const request: AuthorizationAttributes["request"] = {
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

const who = authenticator();
const rbac = unionAuthorizer([superuserAuthorizer, manyBindings()]);
for (const round of ["warm-up", "measured"]) {
  const spent = { authentication: 0, authorization: 0 };
  for (let n = 0; n < rounds; n += batch) {
    const start = performance.now();
    const users = [];
    for (let of = 0; of < batch; of++) users.push(await who.authenticate(credentials));
    const known = performance.now();
    for (const user of users) await rbac.authorize({ user, request });
    spent.authentication += known - start;
    spent.authorization += performance.now() - known;
  }
  for (const [what, milliseconds] of Object.entries(spent)) {
    console.log(`${round}: ${((milliseconds * 1000) / rounds).toFixed(2)} µs for ${what}`);
  }
}
