/** Every check of the Pod Security Standards, in every place of a pod, at every version. */
import assert from "node:assert/strict";
import { testAdmission, type TestAdmission } from "../testing.ts";

type Place = "pod" | "container" | "init container" | "ephemeral container";

interface Row {
  readonly name: string;
  readonly place: Place;
  /** Merged into the security context of the place, or into the spec where `of` is `spec`. */
  readonly set: object;
  readonly of?: "spec" | "container" | "annotations";
  readonly reason: string;
  readonly detail: string;
  /** Minor versions in which `baseline` has the check; absent = none. */
  readonly baseline?: readonly [from: number, to?: number];
  readonly restricted?: readonly [from: number, to?: number];
}

const containers = ["container", "init container", "ephemeral container"] as const;
const anywhere = ["pod", ...containers] as const;
const nameOf = { container: "c", "init container": "i", "ephemeral container": "e" } as const;
const always: readonly [number] = [0];

function rows(
  places: readonly Place[],
  row: Omit<Row, "place" | "detail">,
  detail: (setter: string, place: Place) => string,
): readonly Row[] {
  return places.map((place) => {
    const setter = place === "pod" ? "pod" : `container "${nameOf[place]}"`;
    return { ...row, place, detail: detail(setter, place) };
  });
}

const both = { baseline: always, restricted: always };

function rowOfSpec(name: string, set: object, reason: string, detail: string): Row {
  return { name, place: "pod", of: "spec", set, reason, detail, ...both };
}

const sysctls: readonly (readonly [string, number])[] = [
  ["kernel.shm_rmid_forced", 0],
  ["net.ipv4.ip_local_reserved_ports", 27],
  ["net.ipv4.tcp_keepalive_time", 29],
  ["net.ipv4.tcp_fin_timeout", 29],
  ["net.ipv4.tcp_keepalive_intvl", 29],
  ["net.ipv4.tcp_keepalive_probes", 29],
  ["net.ipv4.tcp_rmem", 32],
  ["net.ipv4.tcp_wmem", 32],
  ["kernel.msgmax", Infinity],
];

const volumeTypes =
  "hostPath gcePersistentDisk awsElasticBlockStore gitRepo nfs iscsi glusterfs rbd flexVolume " +
  "cinder cephfs flocker fc azureFile vsphereVolume quobyte azureDisk photonPersistentDisk " +
  "portworxVolume scaleIO storageos";

const matrix: readonly Row[] = [
  ...rows(
    anywhere,
    {
      name: "AppArmor profile",
      set: { appArmorProfile: { type: "Unconfined" } },
      reason: "forbidden AppArmor profile",
      ...both,
    },
    (setter) => `${setter} must not set AppArmor profile type to "Unconfined"`,
  ),
  {
    name: "AppArmor annotation",
    place: "pod",
    of: "annotations",
    set: { "container.apparmor.security.beta.kubernetes.io/c": "unconfined" },
    reason: "forbidden AppArmor profile",
    detail:
      "annotation must not set AppArmor profile type to " +
      '"container.apparmor.security.beta.kubernetes.io/c="unconfined""',
    ...both,
  },
  ...rows(
    containers,
    {
      name: "added capability",
      set: { capabilities: { add: ["SYS_TIME", "NET_RAW"], drop: ["ALL"] } },
      reason: "non-default capabilities",
      baseline: always,
      restricted: [0, 21],
    },
    (setter) =>
      `${setter} must not include "NET_RAW", "SYS_TIME" in securityContext.capabilities.add`,
  ),
  ...rows(
    containers,
    {
      name: "added default capability",
      set: { capabilities: { add: ["CHOWN", "NET_BIND_SERVICE"], drop: ["ALL"] } },
      reason: "unrestricted capabilities",
      restricted: [22],
    },
    (setter) => `${setter} must not include "CHOWN" in securityContext.capabilities.add`,
  ),
  ...rows(
    containers,
    {
      name: "kept capabilities",
      set: { capabilities: { drop: ["NET_RAW"] } },
      reason: "unrestricted capabilities",
      restricted: [22],
    },
    (setter) => `${setter} must set securityContext.capabilities.drop=["ALL"]`,
  ),
  ...["hostNetwork", "hostPID", "hostIPC"].map((field) =>
    rowOfSpec(field, { [field]: true }, "host namespaces", `${field}=true`),
  ),
  {
    name: "hostPath",
    place: "pod",
    of: "spec",
    set: { volumes: [{ name: "v", hostPath: { path: "/" } }] },
    reason: "hostPath volumes",
    detail: 'volume "v"',
    baseline: always,
  },
  ...volumeTypes.split(" ").map((type): Row => ({
    name: `volume ${type}`,
    place: "pod",
    of: "spec",
    set: { volumes: [{ name: "v", [type]: {} }] },
    reason: "restricted volume types",
    detail: `volume "v" uses restricted volume type "${type}"`,
    restricted: always,
  })),
  ...rows(
    containers,
    {
      name: "hostPort",
      of: "container",
      set: { ports: [{ hostPort: 80 }, { hostPort: 0 }, { hostPort: 443 }] },
      reason: "hostPort",
      ...both,
    },
    (setter) => `${setter} uses hostPorts 443, 80`,
  ),
  ...["livenessProbe", "readinessProbe", "startupProbe"].flatMap((probe) =>
    ["httpGet", "tcpSocket"].flatMap((handler) =>
      rows(
        containers,
        {
          name: `${probe}.${handler}`,
          of: "container",
          set: { [probe]: { [handler]: { host: "h" } } },
          reason: "probe or lifecycle host",
          baseline: [34],
          restricted: [34],
        },
        (setter) => `${setter} uses probe or lifecycle host "h"`,
      ),
    ),
  ),
  ...["postStart", "preStop"].flatMap((hook) =>
    rows(
      containers,
      {
        name: `lifecycle.${hook}`,
        of: "container",
        set: { lifecycle: { [hook]: { httpGet: { host: "h" }, tcpSocket: { host: "g" } } } },
        reason: "probe or lifecycle host",
        baseline: [34],
        restricted: [34],
      },
      (setter) => `${setter} uses probe or lifecycle hosts "g", "h"`,
    ),
  ),
  ...rows(
    containers,
    { name: "privileged", set: { privileged: true }, reason: "privileged", ...both },
    (setter) => `${setter} must not set securityContext.privileged=true`,
  ),
  ...rows(
    containers,
    { name: "procMount", set: { procMount: "Unmasked" }, reason: "procMount", ...both },
    (setter) => `${setter} must not set securityContext.procMount to "Unmasked"`,
  ),
  ...(
    [
      [{ type: "t" }, 'type "t"', 0, undefined],
      [{ type: "container_engine_t" }, 'type "container_engine_t"', 0, 30],
      [{ user: "u" }, "user may not be set", 0, undefined],
      [{ role: "r" }, "role may not be set", 0, undefined],
      [
        { type: "t", user: "u", role: "r" },
        'type "t"; user may not be set; role may not be set',
        0,
        undefined,
      ],
    ] as const
  ).flatMap(([seLinuxOptions, what, ...between]) =>
    rows(
      anywhere,
      {
        name: `SELinux ${what}`,
        set: { seLinuxOptions },
        reason: "seLinuxOptions",
        baseline: between as unknown as [number],
        restricted: between as unknown as [number],
      },
      (setter) => `${setter} set forbidden securityContext.seLinuxOptions: ${what}`,
    ),
  ),
  ...rows(
    anywhere,
    {
      name: "seccomp profile",
      set: { seccompProfile: { type: "Unconfined" } },
      reason: "seccompProfile",
      baseline: [19],
      restricted: [19],
    },
    (setter) => `${setter} must not set securityContext.seccompProfile.type to "Unconfined"`,
  ),
  ...[
    "seccomp.security.alpha.kubernetes.io/pod",
    "container.seccomp.security.alpha.kubernetes.io/c",
  ].map((key): Row => ({
    name: key,
    place: "pod",
    of: "annotations",
    set: { [key]: "unconfined" },
    reason: "seccompProfile",
    detail: `forbidden annotation ${key}="unconfined"`,
    baseline: [0, 18],
    restricted: [0, 18],
  })),
  ...sysctls.map(([name, allowedSince]): Row => {
    const lastForbidden = allowedSince === Infinity ? undefined : allowedSince - 1;
    const between = [0, lastForbidden] as unknown as [number];
    return {
      name: `sysctl ${name}`,
      place: "pod",
      set: { sysctls: [{ name, value: "0" }] },
      reason: "forbidden sysctls",
      detail: name,
      ...(allowedSince === 0 ? {} : { baseline: between, restricted: between }),
    };
  }),
  ...rows(
    anywhere,
    {
      name: "hostProcess",
      set: { windowsOptions: { hostProcess: true } },
      reason: "hostProcess",
      ...both,
    },
    (setter) => `${setter} must not set securityContext.windowsOptions.hostProcess=true`,
  ),
  ...[true, undefined].flatMap((allowPrivilegeEscalation) =>
    rows(
      containers,
      {
        name: `allowPrivilegeEscalation ${allowPrivilegeEscalation}`,
        set: { allowPrivilegeEscalation },
        reason: "allowPrivilegeEscalation != false",
        restricted: [8],
      },
      (setter) => `${setter} must set securityContext.allowPrivilegeEscalation=false`,
    ),
  ),
  ...rows(
    anywhere,
    {
      name: "runAsNonRoot false",
      set: { runAsNonRoot: false },
      reason: "runAsNonRoot != true",
      restricted: always,
    },
    (setter) => `${setter} must not set securityContext.runAsNonRoot=false`,
  ),
  ...rows(
    containers,
    {
      name: "runAsNonRoot absent",
      set: { runAsNonRoot: undefined },
      reason: "runAsNonRoot != true",
      restricted: always,
    },
    (setter) => `pod or ${setter} must set securityContext.runAsNonRoot=true`,
  ),
  ...rows(
    anywhere,
    { name: "runAsUser 0", set: { runAsUser: 0 }, reason: "runAsUser=0", restricted: [23] },
    (setter) => `${setter} must not set runAsUser=0`,
  ),
  ...rows(
    containers,
    {
      name: "seccomp absent",
      set: { seccompProfile: undefined },
      reason: "seccompProfile",
      restricted: [19],
    },
    (setter) =>
      `pod or ${setter} must set securityContext.seccompProfile.type to "RuntimeDefault" or ` +
      '"Localhost"',
  ),
];

const conforming = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};

/** A pod that violates one check. */
function podOf({ place, of, set }: Row): any {
  const container = (name: string, own: Place) => ({
    name,
    image: "i",
    securityContext: { ...conforming, ...(place === own && of === undefined ? set : {}) },
    ...(place === own && of === "container" ? set : {}),
  });
  return {
    metadata: { name: "p", annotations: of === "annotations" ? set : {} },
    spec: {
      initContainers: [container("i", "init container")],
      containers: [container("c", "container")],
      ephemeralContainers: [container("e", "ephemeral container")],
      securityContext: place === "pod" && of === undefined ? set : {},
      ...(of === "spec" ? set : {}),
    },
  };
}

const lastMinor = 35;
const minors = Array.from({ length: lastMinor + 1 }, (_, minor) => minor);

describe("Pod Security Standards", function () {
  let test: TestAdmission;
  before(async () => {
    test = await testAdmission("PodSecurity");
    for (const level of ["baseline", "restricted"]) {
      for (const minor of minors) {
        const labels = {
          "pod-security.kubernetes.io/enforce": level,
          "pod-security.kubernetes.io/enforce-version":
            minor === lastMinor ? "latest" : `v1.${minor}`,
        };
        await test.post("v1/namespaces", { metadata: { name: `${level}-${minor}`, labels } });
      }
    }
  });

  /** Violations by minor version: the part of the message behind the level. */
  async function violationsOf(level: string, object: any): Promise<readonly string[]> {
    const texts: string[] = [];
    for (const minor of minors) {
      const text = await test.admit(`create v1/pods/${level}-${minor}`, { object });
      texts.push(text.replace(/^.*?violates PodSecurity "[^"]*": /, ""));
    }
    return texts;
  }

  for (const row of matrix) {
    for (const level of ["baseline", "restricted"] as const) {
      const [from, to = Infinity] = row[level] ?? [Infinity];
      it(`${level}: ${row.name} of the ${row.place}`, async () => {
        const found = await violationsOf(level, podOf(row));
        const expected = `${row.reason} (${row.detail})`;
        // In other versions the same pod may violate another check.
        const has = found.map((text) => (text === "accepted" ? false : text.includes(expected)));
        assert.deepEqual(
          has,
          minors.map((minor) => minor >= from && minor <= to),
        );
      });
    }
  }

  it("a conforming pod is accepted at every level and version", async () => {
    const row: Row = { name: "", place: "pod", set: {}, reason: "", detail: "" };
    for (const level of ["baseline", "restricted"]) {
      assert.deepEqual(new Set(await violationsOf(level, podOf(row))), new Set(["accepted"]));
    }
  });

  it("lists violations in the order of checks, baseline first", async () => {
    const object = podOf({ name: "", place: "pod", set: {}, reason: "", detail: "" });
    Object.assign(object.spec, { hostNetwork: true, volumes: [{ name: "v", nfs: {} }] });
    object.spec.containers[0].securityContext = { privileged: true };
    assert.equal(
      (await violationsOf("restricted", object))[lastMinor],
      'host namespaces (hostNetwork=true), privileged (container "c" must not set ' +
        'securityContext.privileged=true), allowPrivilegeEscalation != false (container "c" must ' +
        "set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container " +
        '"c" must set securityContext.capabilities.drop=["ALL"]), restricted volume types (volume ' +
        '"v" uses restricted volume type "nfs"), runAsNonRoot != true (pod or container "c" must ' +
        'set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set ' +
        'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    );
  });

  it("asks pods for Windows for no Linux settings since v1.25", async () => {
    const object = podOf({ name: "", place: "pod", set: {}, reason: "", detail: "" });
    const { spec } = object;
    for (const each of [...spec.initContainers, ...spec.containers, ...spec.ephemeralContainers]) {
      each.securityContext = { runAsNonRoot: true };
    }
    spec.os = { name: "windows" };
    const found = await violationsOf("restricted", object);
    assert.deepEqual(
      found.map((text) => text === "accepted"),
      minors.map((m) => m < 8 || m >= 25),
    );
  });
});
