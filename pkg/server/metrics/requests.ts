import type { ClassifiedRequest } from "#flowcontrol";
import { requestMetrics } from "./definitions.ts";
import type { Family, Series } from "./family.ts";
import type { ServerInstruments } from "./instruments.ts";

/** A request for metrics and the access log; names are "" for a path without resource. */
export interface RequestRecord {
  verb: string;
  group: string;
  version: string;
  resource: string;
  subresource: string;
  scope: "" | "cluster" | "namespace" | "resource";
  dryRun: boolean;
  longRunning: boolean;
  /** Release that removes the requested API, "" = not decided; absent = it is not deprecated. */
  removedRelease?: string;
  code: number;
  /** Size of the response body in bytes. */
  bytes: number;
  /** Time in ms that the request waited for seats. */
  queueWaitMs: number;
  /** Time in ms for which the request held its seats. */
  seatedMs: number;
  /** Absent = API Priority and Fairness has not classified the request. */
  flow?: ClassifiedRequest;
}

/** The record of a request that has not been parsed yet. */
export function emptyRecord(): RequestRecord {
  return {
    verb: "",
    group: "",
    version: "",
    resource: "",
    subresource: "",
    scope: "",
    dryRun: false,
    longRunning: false,
    code: 0,
    bytes: 0,
    queueWaitMs: 0,
    seatedMs: 0,
  };
}

/** The series of requests with the same labels. */
interface RequestSeries {
  /** Totals by response code. */
  readonly codes: Map<number, Series>;
  readonly duration: Series;
  readonly sli: Series;
  /** Absent for requests that do not read. */
  readonly sizes: Series | undefined;
}

const verbNames: Readonly<Record<string, string>> = {
  create: "POST",
  update: "PUT",
  head: "GET",
};
const knownVerbs: ReadonlySet<string> = new Set([
  "GET",
  "LIST",
  "WATCH",
  "POST",
  "PUT",
  "PATCH",
  "APPLY",
  "DELETE",
  "DELETECOLLECTION",
  "CONNECT",
]);
const reads: ReadonlySet<string> = new Set(["GET", "LIST"]);
const component = "apiserver";

/** Metrics of requests. Series are cached by labels, so that a request only adds to numbers. */
export class RequestMetrics {
  private readonly cached = new Map<string, RequestSeries>();
  private readonly families: Readonly<Record<keyof typeof requestMetrics, Family>>;

  constructor(instruments: ServerInstruments) {
    const entries = Object.entries(requestMetrics);
    const families = entries.map(
      ([name, definition]) => [name, instruments.family(definition)] as const,
    );
    this.families = Object.fromEntries(families) as typeof this.families;
    for (const kind of ["readOnly", "mutating"]) this.seats(kind, 0);
  }

  /** Counts a finished request; the latency of long-running requests is not observed. */
  finished(record: RequestRecord, seconds: number): void {
    const series = this.seriesOf(record);
    const { code, longRunning } = record;
    let total = series.codes.get(code);
    if (total === undefined) {
      total = this.families.total.with([...labelsOf(record), String(code)]);
      series.codes.set(code, total);
      if (record.removedRelease !== undefined) this.setDeprecated(record);
    }
    total.value++;
    if (code === 429 || code === 504) this.countTermination(record);
    if (longRunning) return;
    series.duration.observe(seconds);
    series.sli.observe(Math.max(0, seconds - record.queueWaitMs / 1000));
    series.sizes?.observe(record.bytes);
  }

  /** Counts a long-running request when it starts (1) and when it ends (-1). */
  longRunning(record: RequestRecord, by: 1 | -1): void {
    this.families.long.with([verbLabel(record.verb), ...resourceLabels(record)]).value += by;
  }

  seats(kind: string, taken: number): void {
    this.families.inflight.with([kind]).value = taken;
  }

  /** Observer of a filter's latency in milliseconds. */
  filter(name: string): (milliseconds: number) => void {
    const series = this.families.filter.with([name]);
    return (milliseconds) => series.observe(milliseconds / 1000);
  }

  private seriesOf(record: RequestRecord): RequestSeries {
    const { verb, group, version, resource, subresource, scope, dryRun } = record;
    const key = `${verb} ${group}/${version}/${resource}/${subresource} ${scope}${dryRun}`;
    const cached = this.cached.get(key);
    if (cached !== undefined) return cached;
    const labels = labelsOf(record);
    const isRead = reads.has(labels[0]!);
    const series: RequestSeries = {
      codes: new Map(),
      duration: this.families.duration.with(labels),
      sli: this.families.sli.with(labels),
      sizes: isRead ? this.families.sizes.with([labels[0]!, ...resourceLabels(record)]) : undefined,
    };
    // Clients may send any verb: unknown verbs are not cached and share one series.
    if (labels[0] !== otherVerb) this.cached.set(key, series);
    return series;
  }

  private countTermination(record: RequestRecord): void {
    const labels = [String(record.code), verbLabel(record.verb), ...resourceLabels(record)];
    this.families.terminations.with(labels).value++;
  }

  private setDeprecated(record: RequestRecord): void {
    const { group, version, resource, subresource, removedRelease = "" } = record;
    const labels = [group, version, resource, subresource, removedRelease];
    this.families.deprecated.with(labels).value = 1;
  }
}

const otherVerb = "other";

/** The label of a verb; unknown verbs share one to bound the number of series. */
function verbLabel(verb: string): string {
  const upper = verbNames[verb] ?? verb.toUpperCase();
  return knownVerbs.has(upper) ? upper : otherVerb;
}

function resourceLabels({ group, version, resource, subresource, scope }: RequestRecord): string[] {
  return [group, version, resource, subresource, scope, component];
}

function labelsOf(record: RequestRecord): string[] {
  return [verbLabel(record.verb), record.dryRun ? "All" : "", ...resourceLabels(record)];
}
