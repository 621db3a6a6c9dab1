import { deepEqual } from "#base";
import {
  required,
  type Infer,
  int32,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import {
  checkObjectMeta,
  checkObjectMetaUpdate,
  type HookContext,
  isDns1123Subdomain,
  isQualifiedName,
  kind,
  microTime,
  objectMeta,
  time,
} from "#meta";
import { column, nameColumn, nameOf, timeSince } from "../printing.ts";
import { goShape } from "../go/go-shape.ts";
import { invalidEach, mustNotChange } from "../strategy.ts";
import { objectReference } from "./shared/references.ts";

const v1 = structs("api/core/v1");
const eventsV1 = structs("api/events/v1");

const eventSource = v1("EventSource", "Component that reports an event.", {
  component: value(1, string, "Name of the component that generates the event."),
  host: value(2, string, "Node on which the component runs."),
});

const eventSeries = v1(
  "EventSeries",
  "Series of events: something that happened repeatedly for some time.",
  {
    count: value(1, int32, "Number of occurrences up to the last heartbeat."),
    lastObservedTime: value(2, microTime, "Time of the last occurrence, with microseconds."),
  },
);

const eventV1 = v1(
  "Event",
  "Event reports something that happened in the cluster. Events are best-effort information, " +
    "and expire after the API server's --event-ttl (1 hour by default).",
  {
    metadata: required(
      1,
      objectMeta,
      "Standard object metadata. The namespace must be that of the object, or `default` for " +
        "a cluster-scoped one.",
    ),
    involvedObject: required(2, objectReference, "Object that the event is about."),
    reason: value(
      3,
      string,
      "Short machine-readable reason for the event. Required by the events API group, with at " +
        "most 128 characters.",
    ),
    message: value(
      4,
      string,
      "Human-readable description of the event. The events API group allows at most 1024 bytes.",
    ),
    source: value(
      5,
      eventSource,
      "Component that reports the event. Superseded by reportingComponent and reportingInstance.",
    ),
    firstTimestamp: value(6, time, "Time of the first occurrence."),
    lastTimestamp: value(7, time, "Time of the most recent occurrence."),
    count: value(8, int32, "Number of occurrences so far."),
    type: value(
      9,
      string,
      "Type of the event: Normal or Warning. More types may be added in the future.",
    ),
    eventTime: value(
      10,
      microTime,
      "Time of the first occurrence, with microseconds. Required by the events API group.",
    ),
    series: pointer(
      11,
      eventSeries,
      "Series that this event represents. Absent for a single occurrence.",
    ),
    action: value(
      12,
      string,
      "Action that was taken, or failed, regarding the object. Machine-readable, at most 128 " +
        "characters.",
    ),
    related: pointer(13, objectReference, "Secondary object, for more complex actions."),
    reportingComponent: required(
      14,
      string,
      "Name of the controller that emitted the event, for example `example.com/my-controller`.",
      { openApi: { required: false } },
    ),
    reportingInstance: required(
      15,
      string,
      "Instance of the controller, for example `my-controller-xyzf`. At most 128 characters.",
      { openApi: { required: false } },
    ),
  },
);

const newEventSeries = eventsV1(
  "EventSeries",
  "Series of events: something that happened repeatedly for some time.",
  {
    count: required(1, int32, "Number of occurrences up to the last heartbeat."),
    lastObservedTime: required(2, microTime, "Time of the last occurrence, with microseconds."),
  },
);

const newEventV1 = eventsV1(
  "Event",
  "Event reports something that happened in the cluster. Events are best-effort information, " +
    "and expire after the API server's --event-ttl (1 hour by default). Only metadata and " +
    "series can be updated.",
  {
    metadata: required(
      1,
      objectMeta,
      "Standard object metadata. The namespace must be that of the object, or `default` for " +
        "a cluster-scoped one.",
      { openApi: { required: false } },
    ),
    eventTime: required(2, microTime, "Time of the first occurrence, with microseconds. Required."),
    series: pointer(
      3,
      newEventSeries,
      "Series that this event represents. Absent for a single occurrence.",
    ),
    reportingController: value(
      4,
      string,
      "Name of the controller that emitted the event, for example `example.com/my-controller`. " +
        "Required.",
    ),
    reportingInstance: value(
      5,
      string,
      "Instance of the controller, for example `my-controller-xyzf`. Required, with at most " +
        "128 characters.",
    ),
    action: value(
      6,
      string,
      "Action that was taken, or failed, regarding the object. Machine-readable. Required, " +
        "with at most 128 characters.",
    ),
    reason: value(
      7,
      string,
      "Reason why the action was taken. Short and machine-readable. Required, with at most 128 " +
        "characters.",
    ),
    regarding: value(8, objectReference, "Object that the event is about."),
    related: pointer(9, objectReference, "Secondary object, for more complex actions."),
    note: value(10, string, "Human-readable description of the event, at most 1024 bytes."),
    type: value(
      11,
      string,
      "Type of the event: Normal or Warning. More types may be added in the future.",
    ),
    deprecatedSource: value(
      12,
      eventSource,
      "Deprecated: `source` of core/v1. Must be unset on creation.",
    ),
    deprecatedFirstTimestamp: value(
      13,
      time,
      "Deprecated: `firstTimestamp` of core/v1. Must be unset on creation.",
    ),
    deprecatedLastTimestamp: value(
      14,
      time,
      "Deprecated: `lastTimestamp` of core/v1. Must be unset on creation.",
    ),
    deprecatedCount: value(15, int32, "Deprecated: `count` of core/v1. Must be unset on creation."),
  },
);

type Event = Infer<typeof eventV1>;
type NewEvent = Infer<typeof newEventV1>;

/** Field of events.{api}/v1 -> field of core v1; all others have the same name. */
const renamed: readonly (readonly [keyof NewEvent & string, keyof Event & string])[] = [
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
  ["reportingController", "reportingComponent"],
];

function rename(object: object, names: ReadonlyMap<string, string>): object {
  const entries = Object.entries(object).map(([key, value]) => [names.get(key) ?? key, value]);
  return Object.fromEntries(entries);
}

const toCore = new Map(renamed);
const fromCore = new Map(renamed.map(([key, coreKey]) => [coreKey, key] as const));

/**
 * Converts to core/v1, which always serializes the reporting fields; events.{api} omits empty ones.
 */
function up(event: NewEvent): Event {
  return { reportingComponent: "", reportingInstance: "", ...rename(event, toCore) } as Event;
}

/** Converts to events.{api}/v1, which always serializes eventTime and the fields of a series. */
function down(event: Event): NewEvent {
  const renewed = { eventTime: null, ...rename(event, fromCore) } as NewEvent;
  const { series } = event;
  if (series === undefined) return renewed;
  const { count = 0, lastObservedTime = null } = series;
  return { ...renewed, series: { count, lastObservedTime } };
}

const isCore = (context: HookContext) => context.requestGroup === "";

const maxReasonLength = 128;
const maxNoteLength = 1024;

function checkLength(path: Path, text: string, { maximum, problems }: Limit): void {
  if (Array.from(text).length === 0) problems.required(path);
  if (Buffer.byteLength(text) <= maximum) return;
  problems.invalid(path, "", `can have at most ${maximum} characters`);
}

interface Limit {
  readonly maximum: number;
  readonly problems: Problems;
}

/** Validates Events without eventTime: only the namespaces must agree. */
function checkWithoutEventTime(event: Event, problems: Problems): void {
  const { namespace = "" } = event.metadata;
  const about = event.involvedObject.namespace ?? "";
  const agree = about === "" ? namespace === "" || namespace === "default" : namespace === about;
  if (!agree) disagree(about, problems);
}

function disagree(namespace: string, problems: Problems): void {
  const path = Path.of("involvedObject.namespace");
  problems.invalid(path, namespace, "does not match event.namespace");
}

/**
 * Validates Events of either group; the controller's field is named as in the group of the request.
 */
function checkCommon(event: Event, problems: Problems, context: HookContext): void {
  const { namespace = "" } = event.metadata;
  if (!event.eventTime) checkWithoutEventTime(event, problems);
  else {
    const about = event.involvedObject.namespace ?? "";
    if (about === "" && namespace !== "default" && namespace !== "kube-system") {
      disagree(about, problems);
    }
    const controller = event.reportingComponent;
    const path = Path.of(isCore(context) ? "reportingComponent" : "reportingController");
    if (controller === "") problems.required(path);
    invalidEach(problems, path, { value: controller, messages: isQualifiedName(controller) });
    const words = { maximum: maxReasonLength, problems };
    checkLength(Path.of("reportingInstance"), event.reportingInstance, words);
    checkLength(Path.of("action"), event.action ?? "", words);
    checkLength(Path.of("reason"), event.reason ?? "", words);
    if (event.message) {
      checkLength(Path.of("message"), event.message, { maximum: maxNoteLength, problems });
    }
  }
  const messages = isDns1123Subdomain(namespace);
  invalidEach(problems, Path.of("namespace"), { value: namespace, messages });
}

function checkSeries({ series }: Event, problems: Problems): void {
  if (series === undefined) return;
  if ((series.count ?? 0) < 2)
    problems.invalid(Path.of("series.count"), "", "should be at least 2");
  if (!series.lastObservedTime) problems.required(Path.of("series.lastObservedTime"));
}

/** Validates additional rules of new Events in events.{api}. */
function checkEventsGroup(event: Event, problems: Problems): void {
  const rules = { namespaced: true, name: "dns-subdomain" } as const;
  checkObjectMeta(event.metadata, rules, Path.of("metadata"), problems);
  checkSeries(event, problems);
  if (!event.eventTime) problems.required(Path.of("eventTime"));
  if (event.type !== "Normal" && event.type !== "Warning") {
    problems.invalid(Path.of("type"), "", `has invalid value: ${event.type ?? ""}`);
  }
  const unset = (field: string, isSet: unknown) => {
    if (isSet) problems.invalid(Path.of(field), "", "needs to be unset");
  };
  unset("firstTimestamp", event.firstTimestamp);
  unset("lastTimestamp", event.lastTimestamp);
  unset("count", event.count);
  unset("source", event.source.component || event.source.host);
}

/** Rejects changes through events.{api} other than of the series. */
function checkUnchanged(event: Event, old: Event, problems: Problems): void {
  if (!deepEqual(down(event).series, down(old).series)) checkSeries(event, problems);
  const keep = (field: keyof Event & string, shown: unknown, name: string = field) => {
    const values = { now: event[field] || null, before: old[field] || null, shown };
    mustNotChange(problems, Path.of(name), values);
  };
  keep("involvedObject", goShape(objectReference, event.involvedObject));
  keep("reason", event.reason ?? "");
  keep("message", event.message ?? "");
  keep("source", { Component: event.source.component ?? "", Host: event.source.host ?? "" });
  keep("firstTimestamp", event.firstTimestamp);
  keep("lastTimestamp", event.lastTimestamp);
  keep("count", event.count ?? 0);
  // Kubernetes validates the reason twice and reports its error twice.
  keep("reason", event.reason ?? "");
  keep("type", event.type ?? "");
  keep("eventTime", event.eventTime);
  keep("action", event.action ?? "");
  keep("related", event.related && goShape(objectReference, event.related));
  keep("reportingComponent", event.reportingComponent, "reportingController");
  keep("reportingInstance", event.reportingInstance);
}

/** Table cell of the object: `pod/web`, or `pod` without a name. */
function target({ kind: about = "", name }: Event["involvedObject"]): string {
  return name ? `${about.toLowerCase()}/${name}` : about.toLowerCase();
}

function source(event: Event): string {
  const component = event.source.component || event.reportingComponent;
  const instance = event.source.host || event.reportingInstance;
  return instance ? `${component}, ${instance}` : component;
}

/** Table cells of first and last occurrence; an event without a count occurred once. */
function times(event: Event, now: number): { first: string; last: string; count: number } {
  const first = timeSince(event.firstTimestamp ?? event.eventTime, now);
  const { series } = event;
  if (series !== undefined) {
    return { first, last: timeSince(series.lastObservedTime, now), count: series.count ?? 0 };
  }
  const last = event.lastTimestamp ? timeSince(event.lastTimestamp, now) : first;
  return { first, last, count: event.count || 1 };
}

const referenceFields = [
  "kind",
  "namespace",
  "name",
  "uid",
  "apiVersion",
  "resourceVersion",
  "fieldPath",
] as const;

/** Selectable fields, with the field names of one group. */
function selectable(about: string, controller: string): Record<string, (event: Event) => string> {
  const ofReference = referenceFields.map(
    (field) => [`${about}.${field}`, (event: Event) => event.involvedObject[field] ?? ""] as const,
  );
  return {
    ...Object.fromEntries(ofReference),
    reason: (event) => event.reason ?? "",
    [controller]: (event) => event.reportingComponent,
    type: (event) => event.type ?? "",
  };
}

export const event = kind(eventV1, {
  group: "",
  kind: "Event",
  plural: "events",
  shortNames: ["ev"],
  scope: "Namespaced",
  versions: [
    { version: "v1", struct: eventV1, onByDefault: true, convert: "hub" },
    {
      group: "events.{api}",
      version: "v1",
      struct: newEventV1,
      onByDefault: true,
      convert: { up, down },
      selectableFields: selectable("regarding", "reportingController"),
    },
  ],
  rules: {
    name: "path-segment",
    createOnUpdate: true,
    expires: true,
    metadataLastOnCreate: true,
    metadataOnUpdate: { "": [] },
  },
  hooks: {
    validate: (object, problems, context) => {
      checkCommon(object, problems, context);
      if (!isCore(context)) checkEventsGroup(object, problems);
    },
    validateUpdate: (object, old, problems, context) => {
      checkCommon(object, problems, context);
      if (isCore(context)) return;
      checkObjectMetaUpdate(object.metadata, old.metadata, Path.of("metadata"), problems);
      checkUnchanged(object, old, problems);
    },
  },
  columns: [
    column("Last Seen", "Time since the most recent occurrence."),
    column("Type", "Type of the event: Normal or Warning."),
    column("Reason", "Machine-readable reason for the event."),
    column("Object", "Object that the event is about."),
    column("Subobject", "Part of the object that the event is about.", { priority: 1 }),
    column("Source", "Component that reports the event.", { priority: 1 }),
    column("Message", "Human-readable description of the event."),
    column("First Seen", "Time since the first occurrence.", { priority: 1 }),
    column("Count", "Number of occurrences.", { priority: 1 }),
    { ...nameColumn, priority: 1 },
  ],
  row: (object, { now }) => {
    const { first, last, count } = times(object, now);
    return [
      last,
      object.type ?? "",
      object.reason ?? "",
      target(object.involvedObject),
      object.involvedObject.fieldPath ?? "",
      source(object),
      (object.message ?? "").trim(),
      first,
      count,
      nameOf(object),
    ];
  },
  selectableFields: {
    ...selectable("involvedObject", "reportingComponent"),
    source: (object) => object.source.component || object.reportingComponent,
  },
});
