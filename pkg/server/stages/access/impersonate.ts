import { chainAwaitable } from "#base";
import type { Stage } from "../middleware-chain.ts";
import type { Arrived, Audited, Authenticated, Parsed } from "../state.ts";
import { actingUser } from "./impersonated-user.ts";
import type { ServerParts } from "../server-parts.ts";

/** Replaces the user by the impersonated one, if the user is authorized to impersonate it. */
export function impersonate({
  authorizer,
  catalog,
}: ServerParts): Stage<Arrived & Parsed & Authenticated & Audited, Authenticated> {
  return {
    name: "impersonate",
    run: ({ state: { exchange, info, user, record, trail } }, next) => {
      const { domain } = catalog;
      const request = { exchange, path: info.path };
      return chainAwaitable(actingUser(user, request, { authorizer, domain }), (acting) => {
        if (acting === undefined) {
          record.code = 500;
          return undefined;
        }
        if (acting !== user) trail?.actsAs(acting);
        return next({ user: acting });
      });
    },
  };
}
