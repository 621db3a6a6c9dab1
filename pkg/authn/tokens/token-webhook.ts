import { isJsonObject, type JsonObject } from "#base";
import { type Domain, resolve } from "#meta";
import { type User, type WebhookClient, WebhookFault } from "#request";
import {
  type TokenAuthenticator,
  InvalidTokenError,
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
  ): Promise<TokenIdentity | undefined> {
    const status = await this.review(token, audiences);
    if (status["authenticated"] !== true) {
      const { error } = status;
      if (typeof error === "string" && error !== "") throw new InvalidTokenError(error);
      return undefined;
    }
    const user = userOf(fields(status["user"]));
    const named = texts(status["audiences"]);
    // A webhook that does not support audiences authenticates for those of the API server.
    if (named.length === 0) return { user };
    const common = audiences.filter((audience) => named.includes(audience));
    return common.length === 0 ? undefined : { user, audiences: common };
  }

  /** @throws InvalidTokenError if the call fails; TokenReviews report the error */
  private async review(token: string, audiences: readonly string[]): Promise<JsonObject> {
    const { client, domain, version, report } = this.options;
    const review = {
      kind: "TokenReview",
      apiVersion: resolve(`authentication.{api}/${version}`, domain),
      metadata: { creationTimestamp: null },
      spec: { token, audiences },
      status: { user: {} },
    };
    try {
      return fields(fields(await client.post(review))["status"]);
    } catch (error) {
      if (!(error instanceof WebhookFault)) throw error;
      report(error);
      throw new InvalidTokenError(error.message);
    }
  }
}

function userOf(user: JsonObject): User {
  const { username, uid } = user;
  const extra = Object.entries(fields(user["extra"])).map(
    ([key, values]) => [key, texts(values)] as const,
  );
  return {
    name: typeof username === "string" ? username : "",
    uid: typeof uid === "string" ? uid : "",
    groups: texts(user["groups"]),
    extra: new Map(extra),
  };
}

function fields(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
