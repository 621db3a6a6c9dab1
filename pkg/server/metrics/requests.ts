import type { ClassifiedRequest } from "#flowcontrol";
import { requestMetrics } from "./definitions.ts";
import type { Family, Series } from "./family.ts";
import type { ServerInstruments } from "./instruments.ts";

/** What is known of a request when it is over; names are "" where the path led to no resource. */
export interface RequestRecord {
  verb: string;
  group: string;
  version: string;
  resource: string;
  subresource: string;
  scope: "" | "cluster" | "namespace" | "resource";
  dryRun: boolean;
  longRunning: boolean;
  /** Release without the API that was asked for, "" = none yet; absent = it is not deprecated. */
  removedRelease?: string;
  code: number;
  /** Size of the response's body in bytes. */
  bytes: number;
  /** Time in ms that the request waited for seats. */
  queueWaitMs: number;
  /** Time in ms from then on until it released them. */
  seatedMs: number;
  /** Absent = API Priority and Fairness has not classified the request. */
  flow?: ClassifiedRequest;
}

/** The record of a request before anything of it is known. */
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

/** Requests that have the same labels. */
interface Alike {
  readonly codes: Map<number, Series>;
  readonly duration: Series;
  readonly sli: Series;
  /** Absent for what does not read. */
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

/** Counts requests. All that happens per request is a few additions to plain numbers. */
export class RequestMetrics {
  private readonly known = new Map<string, Alike>();
  private readonly families: Readonly<Record<keyof typeof requestMetrics, Family>>;

  constructor(instruments: ServerInstruments) {
    const entries = Object.entries(requestMetrics);
    const families = entries.map(([name, each]) => [name, instruments.family(each)] as const);
    this.families = Object.fromEntries(families) as typeof this.families;
    for (const kind of ["readOnly", "mutating"]) this.seats(kind, 0);
  }

  /** A finished request; watches count, but their time is not observed. */
  finished(record: RequestRecord, seconds: number): void {
    const alike = this.alike(record);
    const { code, longRunning } = record;
    let total = alike.codes.get(code);
    if (total === undefined) {
      total = this.families.total.with([...labelsOf(record), String(code)]);
      alike.codes.set(code, total);
      if (record.removedRelease !== undefined) this.noteDeprecated(record);
    }
    total.value++;
    if (code === 429 || code === 504) this.noteTermination(record);
    if (longRunning) return;
    alike.duration.observe(seconds);
    alike.sli.observe(Math.max(0, seconds - record.queueWaitMs / 1000));
    alike.sizes?.observe(record.bytes);
  }

  /** Counts a long-running request when it starts (1) and when it ends (-1). */
  longRunning(record: RequestRecord, by: 1 | -1): void {
    this.families.long.with([verbLabel(record.verb), ...placeOf(record)]).value += by;
  }

  seats(kind: string, taken: number): void {
    this.families.inflight.with([kind]).value = taken;
  }

  /** Observer of a filter's latency, which takes milliseconds. */
  filter(name: string): (milliseconds: number) => void {
    const series = this.families.filter.with([name]);
    return (milliseconds) => series.observe(milliseconds / 1000);
  }

  private alike(record: RequestRecord): Alike {
    const { verb, group, version, resource, subresource, scope, dryRun } = record;
    const key = `${verb} ${group}/${version}/${resource}/${subresource} ${scope}${dryRun}`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const labels = labelsOf(record);
    const isRead = reads.has(labels[0]!);
    const made: Alike = {
      codes: new Map(),
      duration: this.families.duration.with(labels),
      sli: this.families.sli.with(labels),
      sizes: isRead ? this.families.sizes.with([labels[0]!, ...placeOf(record)]) : undefined,
    };
    // Verbs come from clients; what they make up shares its series and need not be known.
    if (labels[0] !== otherVerb) this.known.set(key, made);
    return made;
  }

  private noteTermination(record: RequestRecord): void {
    const labels = [String(record.code), verbLabel(record.verb), ...placeOf(record)];
    this.families.terminations.with(labels).value++;
  }

  private noteDeprecated(record: RequestRecord): void {
    const { group, version, resource, subresource, removedRelease = "" } = record;
    const labels = [group, version, resource, subresource, removedRelease];
    this.families.deprecated.with(labels).value = 1;
  }
}

const otherVerb = "other";

/** What clients make up must not grow the metrics. */
function verbLabel(verb: string): string {
  const upper = verbNames[verb] ?? verb.toUpperCase();
  return knownVerbs.has(upper) ? upper : otherVerb;
}

function placeOf({ group, version, resource, subresource, scope }: RequestRecord): string[] {
  return [group, version, resource, subresource, scope, component];
}

function labelsOf(record: RequestRecord): string[] {
  return [verbLabel(record.verb), record.dryRun ? "All" : "", ...placeOf(record)];
}
