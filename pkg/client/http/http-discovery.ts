import { JsonTypeFault, parseJsonText, TypedFields } from "#base";
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
    const document = documentIn(text, "APIGroupList");
    if (document.text("kind") === "APIGroupDiscoveryList") return aggregated(document);
    if (path === "/api") return this.legacy([{ group: "", version: "v1" }]);
    if (document.text("kind") !== "APIGroupList") {
      throw new JsonTypeFault(
        `${path} is no APIGroupList, but ${document.text("kind") || "untyped"}`,
      );
    }
    return this.legacy(groupVersionsOf(document));
  }

  private async legacy(groupVersions: readonly GroupVersion[]): Promise<DiscoveredPart> {
    const resources: DiscoveredResource[] = [];
    const failures: (readonly [string, string])[] = [];
    for (const { group, version } of groupVersions) {
      const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      try {
        const { text } = await this.send({ method: "GET", path });
        const list = documentIn(text, "APIResourceList");
        const all = list.objects("resources").map((each) => ({
          name: each.text("name"),
          namespaced: each.boolean("namespaced"),
          kind: each.text("kind"),
          verbs: each.texts("verbs"),
        }));
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

function documentIn(text: string, type: string): TypedFields {
  return TypedFields.of(parseJsonText(text), type);
}

function aggregated(document: TypedFields): DiscoveredPart {
  const resources: DiscoveredResource[] = [];
  const failures: (readonly [string, string])[] = [];
  for (const item of document.objects("items")) {
    const group = item.object("metadata").text("name");
    for (const of of item.objects("versions")) {
      const version = of.text("version");
      const groupVersion = groupVersionOf(group, version);
      if (of.text("freshness") === "Stale") {
        failures.push([groupVersion, `stale GroupVersion discovery: ${groupVersion}`]);
      }
      for (const each of of.objects("resources")) {
        resources.push({
          group,
          version,
          plural: each.text("resource"),
          kind: each.object("responseKind").text("kind"),
          namespaced: each.text("scope") === "Namespaced",
          verbs: each.texts("verbs"),
          subresources: each.objects("subresources").map((below) => below.text("subresource")),
        });
      }
    }
  }
  return { resources, failures };
}

function groupVersionsOf(document: TypedFields): readonly GroupVersion[] {
  return document.objects("groups").flatMap((item) => {
    const group = item.text("name");
    return item.objects("versions").map((each) => ({ group, version: each.text("version") }));
  });
}
