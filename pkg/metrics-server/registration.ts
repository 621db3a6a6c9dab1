import type { ApiObject, Client, Draft, Handle } from "#client";
import { ignoreNotFound, resolve } from "#meta";
import { groupOf, version } from "./documents.ts";

interface Spec extends ApiObject {
  readonly spec: object;
}

const services: Handle<Spec> = {
  group: "",
  version: "v1",
  plural: "services",
  kind: "Service",
  namespaced: true,
};

export interface Registration {
  readonly namespace: string;
  readonly name: string;
  /** Port on localhost. */
  readonly port: number;
  /** CA certificates: base64 of PEM. */
  readonly caBundle: string;
}

/**
 * Creates or updates the Service and the APIService. The Service is an ExternalName of localhost, since
 * EndpointSlices must not contain loopback addresses.
 */
export async function registerMetricsServer(
  client: Client,
  { namespace, name, port, caBundle }: Registration,
): Promise<void> {
  await ensure(client, services, {
    metadata: { namespace, name, labels: { "k8s-app": name } },
    spec: { type: "ExternalName", externalName: "localhost" },
  });
  const { domain } = client;
  const group = groupOf(domain);
  const apiServices: Handle<Spec> = {
    group: resolve("apiregistration.{api}", domain),
    version: "v1",
    plural: "apiservices",
    kind: "APIService",
    namespaced: false,
  };
  await ensure(client, apiServices, {
    metadata: { name: `${version}.${group}`, labels: { "k8s-app": name } },
    spec: {
      group,
      version,
      groupPriorityMinimum: 100,
      versionPriority: 100,
      service: { namespace, name, port },
      caBundle,
    },
  });
}

async function ensure(client: Client, resource: Handle<Spec>, wanted: Draft<Spec>): Promise<void> {
  const { namespace = "", name = "" } = wanted.metadata;
  const present = await client.get(resource, { namespace, name }).catch(ignoreNotFound);
  if (present === undefined) await client.create(resource, wanted);
  else await client.update(resource, { ...present, spec: wanted.spec });
}
