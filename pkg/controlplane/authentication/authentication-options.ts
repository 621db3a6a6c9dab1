import type { JwtConfiguration, RequestHeaderNames } from "#authn";
import type { Endpoint } from "#request";
import type { TextSource } from "../files/file-reloader.ts";

/** An authenticating front proxy (`--requestheader-*`). */
export interface FrontProxyOptions {
  /** CA certificates that verify its client certificate (PEM), but not those of other clients. */
  readonly ca: TextSource;
  /** Accepted common names; empty = any. */
  readonly allowedNames: readonly string[];
  readonly headers: RequestHeaderNames;
}

/** An OpenID Connect issuer (`--oidc-*`). */
export interface OidcOptions {
  readonly issuer: JwtConfiguration;
  readonly algorithms: readonly string[];
}

/** The token webhook (`--authentication-token-webhook-*`). */
export interface TokenWebhookOptions {
  readonly endpoint: Endpoint;
  /** Time for which its responses are cached, in ms; default 2 minutes. */
  readonly cacheMs?: number;
  /** API version of sent TokenReviews; default v1beta1, as in Kubernetes. */
  readonly version?: "v1" | "v1beta1";
}
