import { firstDefined, chainAwaitable } from "#base";
import type { Authorizer, Decision } from "#request";
import { aggregate } from "./rbac/rbac-authorizer.ts";

const noOpinion: Decision = { verdict: "no-opinion", reason: "" };

/** Allows everything (`--authorization-mode=AlwaysAllow`). */
export const alwaysAllow: Authorizer = {
  authorize: () => ({ verdict: "allow", reason: "" }),
  rules: () => ({
    rules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] },
    ],
    incomplete: false,
    error: "",
  }),
};

/** Denies everything (`--authorization-mode=AlwaysDeny`). */
export const alwaysDeny: Authorizer = {
  authorize: () => ({ verdict: "no-opinion", reason: "Everything is forbidden." }),
};

/** Allows everything to group `system:masters`, in every mode. */
export const superuserAuthorizer: Authorizer = {
  authorize: ({ user }) =>
    user.groups.includes("system:masters") ? { verdict: "allow", reason: "" } : noOpinion,
};

/** Tries authorizers in order: the first with an opinion decides. Without any, the request is denied. */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  return {
    authorize(attributes) {
      const reasons: string[] = [];
      const errors: string[] = [];
      const opinionOf = (decision: Decision): Decision | undefined => {
        const { verdict, reason, error = "" } = decision;
        if (error !== "") errors.push(error);
        if (verdict !== "no-opinion") return decision;
        if (reason !== "") reasons.push(reason);
        return undefined;
      };
      const tryOne = (authorizer: Authorizer) =>
        chainAwaitable(authorizer.authorize(attributes), opinionOf);
      return chainAwaitable(firstDefined(authorizers, tryOne), (decision): Decision => {
        if (decision !== undefined) return decision;
        return { verdict: "no-opinion", reason: reasons.join("\n"), ...errorOf(errors) };
      });
    },
    rules: (user, namespace) => {
      const known = authorizers.flatMap((each) => each.rules?.(user, namespace) ?? []);
      return {
        rules: known.flatMap(({ rules }) => rules),
        incomplete: known.some(({ incomplete }) => incomplete),
        error: aggregate(known.map(({ error }) => error).filter(Boolean)),
      };
    },
  };
}

function errorOf(errors: readonly string[]): { readonly error?: string } {
  return errors.length === 0 ? {} : { error: aggregate(errors) };
}
