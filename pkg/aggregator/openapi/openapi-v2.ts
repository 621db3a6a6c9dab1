import { createHash } from "node:crypto";
import { yieldEvery } from "#base";
import type { User } from "#request";
import type { RemoteApiService } from "../api-services.ts";
import type { Downloader } from "../download/download.ts";
import { DownloadSchedule, type ScheduleOptions } from "./download-schedule.ts";
import { readSpec, type RemoteSpec } from "./remote-spec.ts";

export const specTimeoutMs = 60_000;
export const maxSpecBytes = 32 * 1024 * 1024;

/** User of OpenAPI requests, kube-aggregator's. */
export const specUser: User = { name: "system:aggregator", uid: "", groups: [], extra: new Map() };

interface DownloadedSpec {
  readonly apiService: RemoteApiService;
  readonly spec: RemoteSpec;
  /** "" if the server sends none. */
  readonly etag: string;
  /** SHA-256 of the document, where the server sends no entity tag; else "". */
  readonly hash: string;
}

/** Result of a conditional download of the Swagger 2.0 document. */
export type SpecDownload =
  | { readonly status: "absent" | "unchanged" }
  | ({ readonly status: "new" } & Pick<DownloadedSpec, "spec" | "etag" | "hash">);

/**
 * Downloads `/openapi/v2` of the server and extracts the APIService's group version.
 * @throws if the server does not respond with 200, 304 or 404, or the document exceeds a limit
 */
export async function downloadSpec(
  downloader: Downloader,
  apiService: RemoteApiService,
  known: Pick<DownloadedSpec, "etag" | "hash"> | undefined,
): Promise<SpecDownload> {
  const { status, header, body } = await downloader.get(apiService, {
    path: "/openapi/v2",
    accept: "application/json",
    ifNoneMatch: known?.etag ?? "",
    user: specUser,
    timeoutMs: specTimeoutMs,
    maxBytes: maxSpecBytes,
  });
  if (status === 404) return { status: "absent" };
  if (status === 304 && known !== undefined && known.etag !== "") return { status: "unchanged" };
  if (status !== 200) throw new Error(`/openapi/v2: the server responded with status ${status}`);
  const etag = header("etag");
  const hash = etag === "" ? await hashOf(body) : "";
  if (hash !== "" && hash === known?.hash) return { status: "unchanged" };
  const { group = "", version = "" } = apiService.spec;
  return { status: "new", spec: await readSpec(body, { group, version }), etag, hash };
}

const hashedBytes = 1024 * 1024;

/** SHA-256, hexadecimal; yields between slices. */
async function hashOf(body: Buffer): Promise<string> {
  const maybeYield = yieldEvery();
  const hash = createHash("sha256");
  for (let start = 0; start < body.length; start += hashedBytes) {
    hash.update(body.subarray(start, start + hashedBytes));
    await maybeYield();
  }
  return hash.digest("hex");
}

/** Swagger 2.0 documents of other servers. A failing server keeps its last document. */
export class OpenApiV2Specs {
  private readonly downloaded = new Map<string, DownloadedSpec>();
  private readonly schedule: DownloadSchedule;
  private specs: readonly RemoteSpec[] | undefined;

  constructor(options: ScheduleOptions & { readonly downloader: Downloader }) {
    const { downloader } = options;
    this.schedule = new DownloadSchedule(options, {
      name: "open_api_aggregation_controller",
      download: (apiService) => this.update(downloader, apiService),
      remove: (name) => this.remove(name),
    });
  }

  /** In the order in which they are merged; the array is replaced after each change. */
  get current(): readonly RemoteSpec[] {
    return (this.specs ??= this.ordered());
  }

  /** Downloads documents until the signal aborts. */
  run(): Promise<void> {
    return this.schedule.run();
  }

  private async update(downloader: Downloader, apiService: RemoteApiService): Promise<boolean> {
    const { name, uid } = apiService.metadata;
    const before = this.downloaded.get(name);
    const isOfOther = before?.apiService.metadata.uid !== uid;
    const known = isOfOther ? undefined : before;
    const found = await downloadSpec(downloader, apiService, known);
    if (found.status === "absent") this.remove(name);
    else if (found.status === "new") {
      this.downloaded.set(name, { apiService, ...found });
      this.specs = undefined;
    }
    return found.status !== "absent";
  }

  private remove(name: string): void {
    if (this.downloaded.delete(name)) this.specs = undefined;
  }

  /** By descending group priority, then by the name of the APIService. */
  private ordered(): readonly RemoteSpec[] {
    const ranks = new Map<string, number>();
    for (const { apiService } of this.downloaded.values()) {
      const { group = "", groupPriorityMinimum } = apiService.spec;
      ranks.set(group, Math.max(ranks.get(group) ?? 0, groupPriorityMinimum));
    }
    const rankOf = ({ apiService }: DownloadedSpec) => ranks.get(apiService.spec.group ?? "") ?? 0;
    const nameOf = ({ apiService }: DownloadedSpec) => apiService.metadata.name;
    return [...this.downloaded.values()]
      .sort((a, b) => rankOf(b) - rankOf(a) || (nameOf(a) < nameOf(b) ? -1 : 1))
      .map(({ spec }) => spec);
  }
}
