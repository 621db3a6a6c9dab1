import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../testing.ts";
import { event } from "./event.ts";

const time = "2024-01-01T00:00:00.000001Z";
const newer = { group: "events.{api}", version: "v1" };
const pod = { kind: "Pod", namespace: "default", name: "web" };
const parts = { reportingInstance: "i-1", action: "Do", reason: "Done", type: "Normal" };
const controller = "example.com/ctl";

const core = (rest: Sketch = {}) => ({ involvedObject: pod, ...rest });
const full = (rest: Sketch = {}) => ({
  regarding: pod,
  eventTime: time,
  reportingController: controller,
  ...parts,
  ...rest,
});

const namespaces = "does not match event.namespace";
const namePart =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
  "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

describe("Event", () => {
  const rows: readonly (readonly [string, Sketch, typeof newer | undefined, readonly string[]])[] =
    [
      [
        "without a time says little",
        core({ type: "Strange", message: "m".repeat(2000) }),
        undefined,
        [],
      ],
      [
        "of an object elsewhere",
        { involvedObject: { namespace: "b" } },
        undefined,
        [`Invalid involvedObject.namespace = "b": ${namespaces}`],
      ],
      ["of an object without namespace in default", { involvedObject: {} }, undefined, []],
      [
        "with a time must say all",
        core({ eventTime: time }),
        undefined,
        [
          "Required reportingComponent",
          'Invalid reportingComponent = "": name part must be non-empty',
          `Invalid reportingComponent = "": ${namePart}`,
          "Required reportingInstance",
          "Required action",
          "Required reason",
        ],
      ],
      ["of the newer group", full(), newer, []],
      [
        "of the newer group without anything",
        {},
        newer,
        ["Required eventTime", 'Invalid type = "": has invalid value: '],
      ],
      [
        "of the newer group without controller",
        full({ reportingController: "bad ctl!" }),
        newer,
        [`Invalid reportingController = "bad ctl!": ${namePart}`],
      ],
      [
        "with long words",
        full({
          reportingInstance: "i".repeat(129),
          action: "a".repeat(129),
          note: "n".repeat(1025),
        }),
        newer,
        [
          'Invalid reportingInstance = "": can have at most 128 characters',
          'Invalid action = "": can have at most 128 characters',
          'Invalid message = "": can have at most 1024 characters',
        ],
      ],
      [
        "with an empty series",
        full({ series: {} }),
        newer,
        ['Invalid series.count = "": should be at least 2', "Required series.lastObservedTime"],
      ],
      [
        "with core's fields",
        full({
          deprecatedCount: 1,
          deprecatedFirstTimestamp: "2024-01-01T00:00:00Z",
          deprecatedSource: { host: "h" },
        }),
        newer,
        [
          'Invalid firstTimestamp = "": needs to be unset',
          'Invalid count = "": needs to be unset',
          'Invalid source = "": needs to be unset',
        ],
      ],
      ["under any name in core", core({ metadata: { name: "Bad_Name!" } }), undefined, []],
    ];
  for (const [title, sketch, write, complaints] of rows) {
    it(title, () => assert.deepEqual(created(event, sketch, write).complaints, complaints));
  }

  it("requires a DNS subdomain as name in events.k8s.io", () => {
    const { complaints } = created(event, full({ metadata: { name: "N_1" } }), newer);
    assert.equal(complaints.length, 1);
    assert.match(complaints[0] ?? "", /^Invalid metadata.name = "N_1": a lowercase RFC 1123/);
  });

  it("is immutable in events.k8s.io, but not in core", () => {
    const metadata = { resourceVersion: "1" };
    const old = created(event, full({ metadata }), newer);
    const changed = full({
      metadata,
      reason: "Other",
      note: "x",
      deprecatedCount: 7,
      regarding: { name: "q", namespace: "default" },
    });
    assert.deepEqual(updated(event, old, changed, newer).complaints, [
      'Invalid involvedObject = {"Kind":"","Namespace":"default","Name":"q","UID":"",' +
        '"APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable',
      'Invalid reason = "Other": field is immutable',
      'Invalid message = "x": field is immutable',
      "Invalid count = 7: field is immutable",
      'Invalid reason = "Other": field is immutable',
    ]);
    const series = { count: 2, lastObservedTime: time };
    assert.deepEqual(updated(event, old, full({ metadata, series }), newer).complaints, []);
    const again = { eventTime: time, reportingComponent: controller, ...parts, reason: "Other" };
    assert.deepEqual(updated(event, old, core(again)).complaints, []);
  });

  it("round-trips through core", () => {
    const convert = event.versions[1]?.convert;
    assert.ok(convert !== undefined && convert !== "hub");
    const { object } = created(
      event,
      full({ note: "n", series: { count: 2 }, deprecatedCount: 3 }),
      newer,
    );
    assert.equal(object.message, "n");
    assert.equal(object.count, 3);
    assert.equal(object.reportingComponent, controller);
    assert.deepEqual(convert.up(convert.down(object)), object);
    const down = convert.down(created(event, core({ series: {} })).object);
    assert.deepEqual(down.series, { count: 0, lastObservedTime: null });
  });

  it("prints repetitions, sources and the object", () => {
    const now = Date.parse("2024-01-01T00:10:00Z");
    const row = (sketch: Sketch) => event.row(created(event, sketch).object, { now });
    assert.deepEqual(
      row(
        core({
          firstTimestamp: "2024-01-01T00:00:00Z",
          lastTimestamp: "2024-01-01T00:09:00Z",
          count: 7,
          source: { component: "kubelet", host: "n1" },
          message: " hello\n",
        }),
      ),
      ["60s", "", "", "pod/web", "", "kubelet, n1", "hello", "10m", 7, "x"],
    );
    const series = { count: 4, lastObservedTime: "2024-01-01T00:09:55.000000Z" };
    assert.deepEqual(
      row(core({ eventTime: time, reportingComponent: controller, ...parts, series })),
      ["5s", "Normal", "Done", "pod/web", "", "example.com/ctl, i-1", "", "10m", 4, "x"],
    );
    assert.deepEqual(row(core()), [
      "<unknown>",
      "",
      "",
      "pod/web",
      "",
      "",
      "",
      "<unknown>",
      1,
      "x",
    ]);
  });
});
