/** Clients of KWOK's Stages for kinds other than Pod and Node. */
import type { Clock } from "#base";
import { type ApiObject, type Client, type Handle, HttpClient, type RoundTrip } from "#client";
import { type Catalog, forbidden, goQuote, resolve } from "#meta";
import type { StageClients } from "#nodes";
import type { KeelsonServer } from "#server";
import { inProcessTransport } from "./in-process-transport.ts";

type HttpClientOptions = ConstructorParameters<typeof HttpClient>[0];

interface LocalStageClients {
  readonly server: KeelsonServer;
  readonly token: string;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface SelfSubjectAccessReview extends ApiObject {
  readonly spec: { readonly resourceAttributes: object };
  readonly status?: { readonly allowed?: boolean };
}

/**
 * The user of Stages in the process of the API server: KWOK's service account, which has the
 * permissions that RBAC objects grant it, such as those that KWOK ships.
 */
const kwokController = "system:serviceaccount:kube-system:kwok-controller";
const accountPattern = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** Creates a client that impersonates a user, if its credentials permit it. */
export function clientAs(options: HttpClientOptions, username: string): HttpClient {
  const send: RoundTrip = (request) => {
    const headers = { ...request.headers, "impersonate-user": username };
    return options.send({ ...request, headers });
  };
  return new HttpClient({ ...options, send });
}

export function localStageClients(local: LocalStageClients): StageClients {
  const { server, token, catalog, clock, signal } = local;
  const { domain } = catalog;
  const send = inProcessTransport(server, { authorization: `Bearer ${token}` });
  const options = { send, domain, clock, userAgent: "kwok", signal };
  const client: Client = clientAs(options, kwokController);
  return {
    client,
    as: async (username) => {
      await requireImpersonation(client, username);
      return clientAs(options, username);
    },
  };
}

/** @throws StatusError 403 unless the user of the client may impersonate `username` */
async function requireImpersonation(client: Client, username: string): Promise<void> {
  const [, namespace = "", account = ""] = accountPattern.exec(username) ?? [];
  const target =
    account === ""
      ? { resource: "users", name: username }
      : { resource: "serviceaccounts", namespace, name: account };
  const spec = { resourceAttributes: { verb: "impersonate", ...target } };
  const reviews: Handle<SelfSubjectAccessReview> = {
    group: resolve("authorization.{api}", client.domain),
    version: "v1",
    plural: "selfsubjectaccessreviews",
    kind: "SelfSubjectAccessReview",
    namespaced: false,
  };
  const { status } = await client.create(reviews, { metadata: {}, spec });
  if (status?.allowed === true) return;
  const reason = `User ${goQuote(kwokController)} cannot impersonate it`;
  throw forbidden({ group: "", plural: target.resource }, target.name, reason);
}
