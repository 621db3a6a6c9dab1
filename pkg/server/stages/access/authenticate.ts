import { hasSpacedToken } from "#authn";
import { realClock, recoverAwaitable, chainAwaitable } from "#base";
import { StatusError, unauthorized } from "#meta";
import type { Credentials, User } from "#request";
import { auditRefusal } from "../audit.ts";
import { warningHeaders } from "../../response/response-writer.ts";
import type { Stage } from "../middleware-chain.ts";
import type { Arrived, Authenticated, Parsed } from "../state.ts";
import type { ServerParts } from "../server-parts.ts";

/** Authenticates the request; invalid credentials are rejected, never treated as anonymous. */
export function authenticate(parts: ServerParts): Stage<Arrived & Parsed, Authenticated> {
  const { authenticator, logger, metrics, clock } = parts;
  return {
    name: "authenticate",
    run: ({ state }, next) => {
      const { exchange, info } = state;
      const { authorization, certificate } = exchange;
      const headersBelow = (prefix: string) => exchange.headersBelow(prefix);
      const credentials: Credentials = {
        authorization,
        certificate,
        headersBelow,
        path: info.path,
        get signal() {
          return exchange.signal;
        },
      };
      if (certificate === undefined && hasSpacedToken(credentials)) {
        const [warning = ""] = warningHeaders([spacedTokenWarning]);
        exchange.response.addHeader("warning", warning);
      }
      let rejection: StatusError | undefined;
      let outcome: "failure" | "error" = "failure";
      const started = performance.now();
      const record = (result: { readonly user: User } | "failure" | "error") =>
        metrics.access.authenticated(result, (performance.now() - started) / 1000);
      const onError = (error: unknown) => {
        if (exchange.reason !== undefined) throw exchange.reason;
        if (error instanceof StatusError) rejection = error;
        else {
          outcome = "error";
          logger.error("Unable to authenticate the request", error, {
            "audit-ID": exchange.auditId,
          });
        }
        return undefined;
      };
      const found = recoverAwaitable<User | undefined>(
        () => authenticator.authenticate(credentials),
        onError,
      );
      return chainAwaitable(found, (user) => {
        if (user === undefined) {
          record(outcome);
          throw auditRefusal(parts, state, rejection ?? unauthorized());
        }
        record({ user });
        if (certificate !== undefined)
          metrics.access.certificate(certificate, realClock(clock).now());
        return next({ user });
      });
    },
  };
}

const spacedTokenWarning =
  "the provided Authorization header contains extra space before the bearer token, and is ignored";
