import type { JwtConfiguration, RequestHeaderNames } from "#authn";
import type { Endpoint } from "#request";
import type { TextSource } from "../files/file-reloader.ts";

/** A proxy in front of the server that authenticates users (`--requestheader-*`). */
export interface FrontProxyOptions {
  /** Authorities of its certificate (PEM); others than those of client certificates. */
  readonly ca: TextSource;
  /** Common names that it may have; none = any. */
  readonly allowedNames: readonly string[];
  readonly headers: RequestHeaderNames;
}

/** An issuer of ID tokens as flags describe it (`--oidc-*`). */
export interface OidcOptions {
  readonly issuer: JwtConfiguration;
  readonly algorithms: readonly string[];
}

/** Another server that knows tokens (`--authentication-token-webhook-*`). */
export interface TokenWebhookOptions {
  readonly endpoint: Endpoint;
  /** How long its answers hold, in milliseconds; default two minutes. */
  readonly cacheMs?: number;
  /** Version of the TokenReview that it is sent; default v1beta1, as in Kubernetes. */
  readonly version?: "v1" | "v1beta1";
}
