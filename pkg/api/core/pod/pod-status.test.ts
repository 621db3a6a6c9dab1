import assert from "node:assert/strict";
import { created, type Sketch, updated, type Write } from "../../testing.ts";
import { pod } from "./pod.ts";

const resources = { requests: { cpu: "1", "example.com/gpu": "1" }, claims: [{ name: "c" }] };
const spec = {
  restartPolicy: "Always",
  containers: [{ name: "c", image: "i", resources }],
  resourceClaims: [{ name: "c", resourceClaimName: "r" }],
};
const gates = [
  "DynamicResourceAllocation",
  "DRAExtendedResource",
  "InPlacePodVerticalScaling",
  "PodObservedGenerationTracking",
  "ResourceHealthStatus",
];
const first = created(pod, { spec }, { gates });
const write: Write = { subresource: "status", gates };

/** Writes a status over `before`, and returns the result. */
const over = (before: Sketch, status: Sketch) =>
  updated(pod, updated(pod, first, { spec, status: before }, write), { spec, status }, write);
const complaints = (status: Sketch, before: Sketch = {}) => over(before, status).complaints;

const notAnAddressMessage = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const negativeMessage = "must be a non-negative integer";
const idRange = "must be between 0 and 2147483647, inclusive";
const transitionMessage = "may not be transitioned to non-terminated state";
const unknownClaimMessage = "must match the name of an entry in `spec.resourceClaims`";
const one = { name: "c", ready: true, restartCount: 0, image: "i", imageID: "" };
const ended = { ...one, state: { terminated: { exitCode: 1 } } };
const running = { ...one, state: { running: {} } };
const lists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const;

type Row = readonly [status: Sketch, complaints: readonly string[], before?: Sketch];

const rows: readonly Row[] = [
  [{ hostIP: "10.0.0.1", hostIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] }, []],
  [
    { hostIP: "10.0.0.2", hostIPs: [{ ip: "10.0.0.1" }] },
    ['Invalid status.hostIPs[0].ip = "10.0.0.1": must be equal to `hostIP`'],
  ],
  [
    { hostIPs: [{ ip: "10.0.0.1" }] },
    ['Invalid status.hostIPs[0].ip = "10.0.0.1": must be equal to `hostIP`'],
  ],
  [{ observedGeneration: -1 }, [`Invalid status.observedGeneration = -1: ${negativeMessage}`]],
  [
    { conditions: [{ type: "Ready", status: "True", observedGeneration: -2 }] },
    [`Invalid status.conditions[0].observedGeneration = -2: ${negativeMessage}`],
  ],
  [{ resourceClaimStatuses: [{ name: "c", resourceClaimName: "a" }] }, []],
  [
    { resourceClaimStatuses: [{ name: "d" }, { name: "d" }] },
    [
      `Invalid status.resourceClaimStatuses[0].name = "d": ${unknownClaimMessage}`,
      `Invalid status.resourceClaimStatuses[1].name = "d": ${unknownClaimMessage}`,
      'Duplicate status.resourceClaimStatuses[1].name = "d"',
    ],
  ],
  [
    { extendedResourceClaimStatus: { requestMappings: [], resourceClaimName: "" } },
    [
      "Required status.extendedResourceClaimStatus.requestMappings: at least one request mapping " +
        "is required",
      "Required status.extendedResourceClaimStatus.resourceClaimName",
    ],
  ],
];

describe("Pod status", () => {
  for (const [status, expected, before] of rows) {
    it(JSON.stringify(status).slice(0, 100), () =>
      assert.deepEqual(complaints(status, before), expected),
    );
  }

  for (const [field, primary] of [
    ["hostIPs", "hostIP"],
    ["podIPs", "podIP"],
  ] as const) {
    const of = (...ips: string[]) => ({ [primary]: ips[0], [field]: ips.map((ip) => ({ ip })) });
    const familyMessage = "may specify no more than one IP for each IP family";
    it(`${field} have at most one address per family`, () => {
      const same = of("10.0.0.1", "10.0.0.1");
      const shown = '[{"IP":"10.0.0.1"},{"IP":"10.0.0.1"}]';
      assert.deepEqual(complaints(same), [`Invalid status.${field} = ${shown}: ${familyMessage}`]);
      assert.deepEqual(complaints(of("10.0.0.1", "x")), [
        `Invalid status.${field}[1] = "x": ${notAnAddressMessage}`,
        `InternalError status.${field}: failed to check for dual stack with error:invalid ` +
          "IP[1]: x",
        `Invalid status.${field} = [{"IP":"10.0.0.1"},{"IP":"x"}]: ${familyMessage}`,
      ]);
    });
    it(`${field} may stay malformed on update`, () => {
      assert.deepEqual(complaints(of("x")), [
        `Invalid status.${field}[0] = "x": ${notAnAddressMessage}`,
      ]);
      assert.deepEqual(complaints(of("x"), of("x")), []);
    });
  }

  for (const field of lists) {
    const place = `status.${field}[0]`;
    it(`${field}: validates the range of users and groups`, () => {
      const linux = { uid: -1, gid: 2 ** 31, supplementalGroups: [0, -5] };
      const at = `${place}.user.linux`;
      assert.deepEqual(complaints({ [field]: [{ ...running, user: { linux } }] }), [
        `Invalid ${at}.uid = -1: ${idRange}`,
        `Invalid ${at}.gid = 2147483648: ${idRange}`,
        `Invalid ${at}.supplementalGroups[1] = -5: ${idRange}`,
      ]);
    });
    it(`${field}: ${field.startsWith("e") ? "never start" : "start"} again`, () => {
      const found = complaints({ [field]: [running] }, { [field]: [ended] });
      const expected = field.startsWith("e")
        ? [`Forbidden ${place}.state: ${transitionMessage}`]
        : [];
      assert.deepEqual(found, expected);
    });
  }

  it("of devices must match requested resources, without duplicates", () => {
    const health = (name: string, ...devices: Sketch[]) => ({
      containerStatuses: [{ ...running, allocatedResourcesStatus: [{ name, resources: devices }] }],
    });
    const place = "status.containerStatuses[0].allocatedResourcesStatus[0]";
    const fine = { resourceID: "a", health: "Healthy" };
    assert.deepEqual(complaints(health("claim:c", fine)), []);
    assert.deepEqual(complaints(health("example.com/gpu", fine)), []);
    assert.deepEqual(complaints(health("example.com/nic", fine, { ...fine, health: "Ill" })), [
      `Invalid ${place}.name = "example.com/nic": must match one of the container's resource requests`,
      `NotSupported ${place}.resources[1].health = "Ill": supported values: "Healthy", ` +
        '"Unhealthy", "Unknown"',
      `Duplicate ${place}.resources[1].resourceID = "a"`,
    ]);
  });

  it("keeps observed generations that a client omits", () => {
    const ready = { type: "Ready", status: "True" };
    const before = {
      observedGeneration: 3,
      conditions: [
        { ...ready, observedGeneration: 1 },
        { ...ready, observedGeneration: 2 },
      ],
    };
    const { status } = over(before, {
      conditions: [ready, ready, { ...ready, type: "a/B" }],
    }).object;
    assert.equal(status.observedGeneration, 3);
    const kept = status.conditions.map((each: Sketch) => each["observedGeneration"] ?? 0);
    assert.deepEqual(kept.map(Number), [1, 2, 0]);
    assert.equal(
      Number(over(before, { observedGeneration: 4 }).object.status.observedGeneration),
      4,
    );
  });

  it("keeps allocated resources with InPlacePodVerticalScaling", () => {
    const status = { containerStatuses: [{ ...running, allocatedResources: { cpu: "1" } }] };
    const kept = over({}, status).object.status.containerStatuses[0].allocatedResources;
    assert.deepEqual(kept, { cpu: "1" });
  });
});
