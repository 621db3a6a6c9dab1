import { type Catalog, ignoreNotFound, resolve, type Resource } from "#meta";
import { listAll, type ServerAccess, loopbackRequest } from "#registry";
import type { ServiceReader } from "#request";

type ServiceSlices = Awaited<ReturnType<ServiceReader["slices"]>>[number][];

/** What a cache knows of services: where they led an instant ago will do. */
const resourceVersion = "0";

export function serviceReader({ registry, catalog, signal }: ServerAccess): ServiceReader {
  const { domain } = catalog;
  return {
    service: async (place) => {
      const target = loopbackRequest(served(catalog, "", "services"), place, { signal });
      return (await registry.get(target, { resourceVersion }).catch(ignoreNotFound))?.object;
    },
    slices: async ({ namespace, name }) => {
      const slices = served(catalog, resolve("discovery.{api}", domain), "endpointslices");
      const labelSelector = `${resolve("{label}/service-name", domain)}=${name}`;
      const options = { ...listAll, resourceVersion, labelSelector };
      const list = await registry.list(loopbackRequest(slices, { namespace }, { signal }), options);
      const objects: ServiceSlices = [];
      for await (const { object } of list.items) objects.push(object);
      return objects;
    },
  };
}

function served(catalog: Catalog, group: string, plural: string): Resource {
  const resource = catalog.find(group, "v1", plural);
  if (resource === undefined) throw new Error(`${plural} are not served`);
  return resource;
}
