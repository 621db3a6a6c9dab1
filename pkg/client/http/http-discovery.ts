import { parseJsonText } from "#base";
import { type Domain, groupVersionOf, resolve } from "#meta";
import type { DiscoveredResource, Discovery } from "../contract.ts";
import type { HttpResponse } from "./transport.ts";

interface DiscoveryResponse {
  readonly response: HttpResponse;
  readonly text: string;
}

interface DiscoveryRequest {
  readonly method: string;
  readonly path: string;
  readonly accept?: string;
}

type Send = (request: DiscoveryRequest) => Promise<DiscoveryResponse>;

interface GroupDiscoveries {
  readonly kind: string;
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly VersionDiscovery[];
  }[];
}

interface VersionDiscovery {
  readonly version: string;
  readonly freshness?: string;
  readonly resources?: readonly {
    readonly resource: string;
    readonly scope: string;
    readonly verbs: readonly string[];
    readonly responseKind?: { readonly kind: string };
    readonly subresources?: readonly { readonly subresource: string }[];
  }[];
}

interface GroupList {
  readonly groups?: readonly {
    readonly name: string;
    readonly versions: readonly { readonly version: string }[];
  }[];
}

interface ResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly namespaced: boolean;
    readonly kind: string;
    readonly verbs: readonly string[];
  }[];
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

interface DiscoveredPart {
  readonly resources: readonly DiscoveredResource[];
  readonly failures: readonly (readonly [string, string])[];
}

/** Discovery over HTTP: the aggregated documents of `/api` and `/apis`, else one per group version. */
export class HttpDiscovery {
  constructor(
    private readonly domain: Domain,
    private readonly send: Send,
  ) {}

  async read(): Promise<Discovery> {
    const parts = [await this.root("/api"), await this.root("/apis")];
    return {
      resources: parts.flatMap(({ resources }) => resources),
      failures: new Map(parts.flatMap(({ failures }) => failures)),
    };
  }

  private async root(path: string): Promise<DiscoveredPart> {
    const group = resolve("apidiscovery.{api}", this.domain);
    const aggregatedType = `application/json;g=${group};v=v2;as=APIGroupDiscoveryList`;
    const { text } = await this.send({
      method: "GET",
      path,
      accept: `${aggregatedType},application/json`,
    });
    const document = parseJsonText(text) as GroupDiscoveries;
    if (document.kind === "APIGroupDiscoveryList") return aggregated(document);
    return path === "/api"
      ? this.legacy([{ group: "", version: "v1" }])
      : this.legacy(groupVersionsOf(document as GroupList));
  }

  private async legacy(groupVersions: readonly GroupVersion[]): Promise<DiscoveredPart> {
    const resources: DiscoveredResource[] = [];
    const failures: (readonly [string, string])[] = [];
    for (const { group, version } of groupVersions) {
      const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      try {
        const { text } = await this.send({ method: "GET", path });
        const list = parseJsonText(text) as ResourceList;
        const all = list.resources ?? [];
        for (const { name: plural, namespaced, kind, verbs } of all) {
          if (plural.includes("/")) continue;
          const subresources = all.flatMap(({ name }) =>
            name.startsWith(`${plural}/`) ? [name.slice(plural.length + 1)] : [],
          );
          resources.push({ group, version, plural, kind, namespaced, verbs, subresources });
        }
      } catch (error) {
        failures.push([groupVersionOf(group, version), (error as Error).message]);
      }
    }
    return { resources, failures };
  }
}

function aggregated({ items = [] }: GroupDiscoveries): DiscoveredPart {
  const resources: DiscoveredResource[] = [];
  const failures: (readonly [string, string])[] = [];
  for (const { metadata, versions = [] } of items) {
    const group = metadata?.name ?? "";
    for (const { version, freshness, resources: served = [] } of versions) {
      const groupVersion = groupVersionOf(group, version);
      if (freshness === "Stale") {
        failures.push([groupVersion, `stale GroupVersion discovery: ${groupVersion}`]);
      }
      for (const each of served) {
        const { resource: plural, verbs } = each;
        const namespaced = each.scope === "Namespaced";
        const kind = each.responseKind?.kind ?? "";
        const subresources = (each.subresources ?? []).map(({ subresource }) => subresource);
        resources.push({ group, version, plural, kind, namespaced, verbs, subresources });
      }
    }
  }
  return { resources, failures };
}

function groupVersionsOf({ groups = [] }: GroupList): readonly GroupVersion[] {
  return groups.flatMap(({ name, versions }) =>
    versions.map(({ version }) => ({ group: name, version })),
  );
}
