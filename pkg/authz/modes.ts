import type { Attributes, Authorizer, Decision } from "#request";

const noOpinion: Decision = { verdict: "no-opinion", reason: "" };

/** Everything is allowed (`--authorization-mode=AlwaysAllow`). */
export const alwaysAllow: Authorizer = {
  authorize: async () => ({ verdict: "allow", reason: "" }),
};

/** Nothing is allowed (`--authorization-mode=AlwaysDeny`). */
export const alwaysDeny: Authorizer = {
  authorize: async () => ({ verdict: "no-opinion", reason: "Everything is forbidden." }),
};

/** Members of `system:masters` may do everything, in every mode. */
export const masters: Authorizer = {
  authorize: async ({ user }) =>
    user.groups.includes("system:masters") ? { verdict: "allow", reason: "" } : noOpinion,
};

const publicPaths = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
const discoveryPaths = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"];

/**
 * The read-only paths that Kubernetes opens through its bindings for `system:public-info-viewer`
 * (anybody) and `system:discovery` (whoever is authenticated).
 */
export const publicReads: Authorizer = {
  async authorize({ user, request }: Attributes): Promise<Decision> {
    if (request.isResource || request.verb !== "get") return noOpinion;
    const open = user.groups.includes("system:authenticated")
      ? [...publicPaths, ...discoveryPaths]
      : publicPaths;
    return open.some((pattern) => covers(pattern, request.path))
      ? { verdict: "allow", reason: "" }
      : noOpinion;
  },
};

function covers(pattern: string, path: string): boolean {
  return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

/** The first authorizer with an opinion decides; without one the answer is no. */
export function firstOpinion(authorizers: readonly Authorizer[]): Authorizer {
  return {
    async authorize(attributes) {
      const reasons: string[] = [];
      for (const authorizer of authorizers) {
        const decision = await authorizer.authorize(attributes);
        if (decision.verdict !== "no-opinion") return decision;
        if (decision.reason !== "") reasons.push(decision.reason);
      }
      return { verdict: "no-opinion", reason: reasons.join("\n") };
    },
  };
}
