import {
  required,
  type Infer,
  int64,
  list,
  named,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { isDns1035Label, isDns1123Subdomain, kind, objectMeta, time } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusKeepingMetadata } from "../status-metadata.ts";
import { invalidEach, duplicateIndexes } from "../strategy.ts";

const v1alpha1 = structs("api/apiserverinternal/v1alpha1");

const storageVersionSpec = v1alpha1(
  "StorageVersionSpec",
  "Specification of a StorageVersion, which is empty.",
  {},
);

const serverStorageVersion = v1alpha1(
  "ServerStorageVersion",
  "Versions of a resource that an API server encodes, decodes and serves.",
  {
    apiServerID: value(1, string, "ID of the API server, as in its Lease."),
    encodingVersion: value(
      2,
      string,
      "Group and version in which the API server encodes objects for storage, for example apps/v1.",
    ),
    decodableVersions: value(
      3,
      list(string),
      "Group and versions that the API server can decode. Must include encodingVersion.",
      { listType: "set" },
    ),
    servedVersions: value(
      4,
      list(string),
      "Group and versions that the API server serves. All of them must be in decodableVersions.",
      { listType: "set" },
    ),
  },
);

const storageVersionCondition = v1alpha1(
  "StorageVersionCondition",
  "One observed condition of a StorageVersion.",
  {
    type: required(
      1,
      named("v1alpha1.StorageVersionConditionType", "AllEncodingVersionsEqual"),
      "Type of the condition: AllEncodingVersionsEqual (all API servers have the same encoding " +
        "version). Required.",
      { required: true, openApi: { enum: false } },
    ),
    status: required(
      2,
      named("v1alpha1.ConditionStatus", "True", "False", "Unknown"),
      "Status of the condition: one of True, False, Unknown.",
      { required: true, openApi: { enum: false } },
    ),
    observedGeneration: value(
      3,
      int64,
      "Value of metadata.generation that the condition describes.",
    ),
    lastTransitionTime: value(4, time, "Time at which `status` last changed to another value."),
    reason: required(5, string, "Machine-readable CamelCase reason for the last transition.", {
      required: true,
    }),
    message: value(6, string, "Human-readable message with details about the last transition.", {
      required: true,
    }),
  },
);

const storageVersionStatus = v1alpha1(
  "StorageVersionStatus",
  "Storage versions of a resource, reported by the API servers.",
  {
    storageVersions: value(1, list(serverStorageVersion), "Versions reported by each API server.", {
      listType: "map",
      listMapKeys: ["apiServerID"],
    }),
    commonEncodingVersion: pointer(
      2,
      string,
      "Encoding version that all API servers agree on. Absent while they differ.",
    ),
    conditions: value(
      3,
      list(storageVersionCondition),
      "Latest observed conditions, one entry per condition type.",
      {
        listType: "map",
        listMapKeys: ["type"],
      },
    ),
  },
);

const storageVersionV1alpha1 = v1alpha1(
  "StorageVersion",
  "StorageVersion records the storage version of a resource for each API server of the " +
    "cluster. Alpha: requires the feature gate StorageVersionAPI.",
  {
    metadata: value(1, objectMeta, "Standard object metadata. The name is `<group>.<resource>`."),
    spec: required(2, storageVersionSpec, "Empty: StorageVersions are reported in status only."),
    status: required(3, storageVersionStatus, "Storage versions, reported by the API servers."),
  },
);

type StorageVersion = Infer<typeof storageVersionV1alpha1>;
type Server = Infer<typeof serverStorageVersion>;

const path = Path.of("status.storageVersions");

/** `<group>.<resource>`. */
function checkName(name: string): readonly string[] {
  const dot = name.lastIndexOf(".");
  if (dot < 0) return ["name must be in the form of <group>.<resource>"];
  const group = isDns1123Subdomain(name.slice(0, dot));
  const resource = isDns1035Label(name.slice(dot + 1));
  return [
    ...group.map((message) => `the group segment ${message}`),
    ...resource.map((message) => `the resource segment ${message}`),
  ];
}

/** `v1`, `apps/v1`. */
function checkApiVersion(text: string): readonly string[] {
  const parts = text.split("/");
  if (text === "" || parts.length > 2) {
    return ["an apiVersion is a DNS-1035 label with an optional DNS subdomain prefix and '/'"];
  }
  const [group = "", version = ""] = parts.length === 2 ? parts : ["", text];
  const messages = parts.length === 2 ? isDns1123Subdomain(group) : [];
  return [
    ...messages.map((message) => `group part: ${message}`),
    ...isDns1035Label(version).map((message) => `version part: ${message}`),
  ];
}

function checkServer(server: Server, path: Path, problems: Problems): void {
  const { apiServerID = "", encodingVersion = "" } = server;
  const { decodableVersions = [], servedVersions = [] } = server;
  const idMessages = isDns1123Subdomain(apiServerID);
  invalidEach(problems, path.child("apiServerID"), { value: apiServerID, messages: idMessages });
  const messages = checkApiVersion(encodingVersion);
  invalidEach(problems, path.child("encodingVersion"), { value: encodingVersion, messages });
  for (const [index, value] of decodableVersions.entries()) {
    const itemPath = path.child("decodableVersions").index(index);
    invalidEach(problems, itemPath, { value, messages: checkApiVersion(value) });
  }
  if (!decodableVersions.includes(encodingVersion)) {
    const detail = `decodableVersions must include encodingVersion ${encodingVersion}`;
    problems.invalid(path.child("decodableVersions"), decodableVersions, detail);
  }
  for (const [index, value] of servedVersions.entries()) {
    const itemPath = path.child("servedVersions").index(index);
    invalidEach(problems, itemPath, { value, messages: checkApiVersion(value) });
    if (decodableVersions.includes(value)) continue;
    const all = decodableVersions.join(" ");
    const detail = `individual served version : ${value} must be included in decodableVersions`;
    problems.invalid(itemPath, value, `${detail} : [${all}]`);
  }
}

/** Encoding version that all servers agree on; undefined if they differ. */
function commonVersion(servers: readonly Server[]): string | undefined {
  const [first, ...rest] = servers.map(({ encodingVersion }) => encodingVersion);
  return rest.every((version) => version === first) ? first : undefined;
}

function checkStatus({ status }: StorageVersion, problems: Problems): void {
  const servers = status.storageVersions ?? [];
  const repeated = duplicateIndexes(servers, ({ apiServerID }) => apiServerID);
  for (const [index, server] of servers.entries()) {
    const itemPath = path.index(index);
    if (repeated.has(index)) {
      problems.duplicate(itemPath.child("apiServerID"), server.apiServerID ?? "");
    } else checkServer(server, itemPath, problems);
  }
  const common = commonVersion(servers);
  if (common === status.commonEncodingVersion) return;
  const commonEncodingVersionPath = Path.of("status.commonEncodingVersion");
  const reported = status.commonEncodingVersion ?? null;
  const detail =
    common === undefined
      ? "should be nil if servers do not agree on the same encoding version, or if there is " +
        "no server reporting the supported versions yet"
      : `the common encoding version is ${common}`;
  problems.invalid(commonEncodingVersionPath, reported, detail);
}

const maxPrintedServers = 3;

/** Table cell such as `a=apps/v1,b=apps/v1`: the first three servers and the number of others. */
function serversCell(servers: readonly Server[]): string {
  if (servers.length === 0) return "<unset>";
  const all = servers.map(
    ({ apiServerID, encodingVersion }) => `${apiServerID}=${encodingVersion}`,
  );
  const more = all.length - maxPrintedServers;
  return all.slice(0, maxPrintedServers).join(",") + (more > 0 ? ` + ${more} more...` : "");
}

export const storageVersion = kind(storageVersionV1alpha1, {
  group: "internal.apiserver.{api}",
  kind: "StorageVersion",
  plural: "storageversions",
  scope: "Cluster",
  versions: [
    { version: "v1alpha1", struct: storageVersionV1alpha1, onByDefault: false, convert: "hub" },
  ],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: {
    metadataOnUpdate: { "": [], status: [] },
    name: checkName,
    unconditionalUpdate: false,
    resets: { status: ["metadata", "spec"] },
  },
  hooks: {
    ...splitByStatusKeepingMetadata(() => ({})),
    validate: checkStatus,
    validateUpdate: (object, _old, problems) => checkStatus(object, problems),
  },
  columns: [
    nameColumn,
    column("CommonEncodingVersion", "Version that all API servers store."),
    column("StorageVersions", "Version that each API server stores."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.status.commonEncodingVersion ?? "<unset>",
    serversCell(object.status.storageVersions ?? []),
    ageOf(object, context),
  ],
});
