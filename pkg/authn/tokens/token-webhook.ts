import type { TypedFields } from "#base";
import { type Domain, resolve } from "#meta";
import { decodeReviewStatus, type User, type WebhookClient, WebhookFault } from "#request";
import {
  type TokenAuthenticator,
  InvalidTokenError,
  type TokenCaller,
  type TokenIdentity,
} from "./token-authenticator.ts";

export interface WebhookTokenOptions {
  readonly client: WebhookClient;
  readonly domain: Domain;
  /** Version of TokenReview to send. */
  readonly version: "v1" | "v1beta1";
  /** Called with errors of failed calls. */
  readonly report: (error: unknown) => void;
}

/** Webhook token authenticator (`--authentication-token-webhook-config-file`). */
export class WebhookTokenAuthenticator implements TokenAuthenticator {
  constructor(private readonly options: WebhookTokenOptions) {}

  async authenticateToken(
    token: string,
    audiences: readonly string[],
    { signal }: TokenCaller,
  ): Promise<TokenIdentity | undefined> {
    const spec = { token, audiences };
    const { authenticated, error, user, named } = await this.review(spec, signal);
    if (!authenticated) {
      if (error !== "") throw new InvalidTokenError(error);
      return undefined;
    }
    // A webhook that does not support audiences authenticates for those of the API server.
    if (named.length === 0) return { user };
    const common = audiences.filter((audience) => named.includes(audience));
    return common.length === 0 ? undefined : { user, audiences: common };
  }

  /** @throws InvalidTokenError if the call fails, which TokenReviews report; or the signal's reason */
  private async review(spec: object, signal: AbortSignal | undefined): Promise<ReviewedToken> {
    const { client, domain, version, report } = this.options;
    const review = {
      kind: "TokenReview",
      apiVersion: resolve(`authentication.{api}/${version}`, domain),
      metadata: { creationTimestamp: null },
      spec,
      status: { user: {} },
    };
    try {
      return decodeReviewStatus(await client.post(review, signal), review, reviewedToken);
    } catch (error) {
      if (!(error instanceof WebhookFault)) throw error;
      report(error);
      throw new InvalidTokenError(error.message);
    }
  }
}

interface ReviewedToken {
  readonly authenticated: boolean;
  readonly error: string;
  readonly user: User;
  /** Audiences that the token is valid for. */
  readonly named: readonly string[];
}

/** @throws JsonTypeFault for a field of another type, also if the token is not authenticated */
function reviewedToken(status: TypedFields): ReviewedToken {
  const user = status.object("user");
  const extra = user.object("extra");
  return {
    authenticated: status.boolean("authenticated"),
    error: status.text("error"),
    user: {
      name: user.text("username"),
      uid: user.text("uid"),
      groups: user.texts("groups"),
      extra: new Map(extra.keys().map((key) => [key, extra.texts(key)] as const)),
    },
    named: status.texts("audiences"),
  };
}
