import { apiRanks } from "#api";
import type { FollowedKind } from "#authz";
import { type Domain, groupVersionOf, resolve } from "#meta";

/** As much of an APIService as says who serves its group version. */
interface ApiService {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group?: string;
    readonly version?: string;
    readonly service?: object;
  };
}

/**
 * Group versions that stored APIServices assign to a Service. This server does not proxy requests to
 * such Services, so that they count as unavailable. Versions that are built in are not assigned.
 */
export class AggregatedVersions {
  private readonly services = new Map<string, string>();

  constructor(private readonly domain: Domain) {}

  /** Whether a request to `path`, such as `/apis/metrics.k8s.io/v1beta1/pods`, needs a Service. */
  readonly includes = (path: string): boolean => {
    if (this.services.size === 0) return false;
    const [, prefix, group = "", version = ""] = path.split("/");
    if (prefix !== "apis") return false;
    const wanted = groupVersionOf(group, version);
    return [...this.services.values()].includes(wanted);
  };

  get followed(): FollowedKind {
    const builtIn = apiRanks(this.domain);
    const { services } = this;
    return {
      group: resolve("apiregistration.{api}", this.domain),
      version: "v1",
      plural: "apiservices",
      index: {
        set: ({ metadata, spec }: ApiService) => {
          const { group = "", version = "", service } = spec;
          const isAssigned = service !== undefined && !builtIn.has(metadata.name);
          if (isAssigned) services.set(`/${metadata.name}`, groupVersionOf(group, version));
          else services.delete(`/${metadata.name}`);
        },
        delete: (key) => void services.delete(key),
        keys: () => services.keys(),
      },
    };
  }
}
