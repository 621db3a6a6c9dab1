import {
  required,
  bool,
  bytes,
  type Infer,
  int32,
  list,
  named,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
  mergedBy,
} from "#schema";
import {
  goQuote,
  type HookContext,
  isDns1035Label,
  isDns1123Subdomain,
  isPathSegmentName,
  isPortNumber,
  kind,
  objectMeta,
  time,
} from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { invalidEach, unsupported } from "../strategy.ts";

const v1 = structs("kube-aggregator/pkg/apis/apiregistration/v1");

const serviceReference = v1(
  "ServiceReference",
  "Reference to the Service that fronts an extension API server.",
  {
    namespace: value(1, string, "Namespace of the Service. Required."),
    name: value(2, string, "Name of the Service. Required."),
    port: pointer(3, int32, "Port of the Service for HTTPS, 1 to 65535. Defaults to 443.", {
      default: 443,
    }),
  },
);

const apiServiceSpec = v1("APIServiceSpec", "Specification of an APIService.", {
  service: pointer(
    1,
    serviceReference,
    "Service of the extension API server. If absent, this API server handles the group " +
      "version locally.",
  ),
  group: value(2, string, "API group that is registered. Empty for the core group."),
  version: value(3, string, "API version that is registered, for example v1. Required."),
  insecureSkipTLSVerify: value(
    4,
    bool,
    "Whether to skip verification of the serving certificate. Insecure; mutually exclusive " +
      "with caBundle. Defaults to false.",
  ),
  caBundle: value(
    5,
    bytes,
    "CA bundle in PEM to validate the serving certificate with. Defaults to the system trust " +
      "roots of the API server.",
    {
      listType: "atomic",
    },
  ),
  groupPriorityMinimum: required(
    7,
    int32,
    "Minimum priority of the group in discovery, 1 to 20000. Groups with a higher priority " +
      "come first; a group has the highest of its APIServices.",
  ),
  versionPriority: required(
    8,
    int32,
    "Priority of the version within its group, 1 to 1000. Versions with a higher priority " +
      "come first, and equal ones by stability and number: v10, v2, v1beta1.",
  ),
});

const apiServiceCondition = v1("APIServiceCondition", "One observed condition of an APIService.", {
  type: required(
    1,
    named("v1.APIServiceConditionType", "Available"),
    "Type of the condition: Available (the extension API server is reachable).",
    { openApi: { enum: false } },
  ),
  status: required(
    2,
    named("v1.ConditionStatus", "True", "False", "Unknown"),
    "Status of the condition: one of True, False, Unknown.",
    { openApi: { enum: false } },
  ),
  lastTransitionTime: value(3, time, "Time at which `status` last changed to another value."),
  reason: value(4, string, "Machine-readable CamelCase reason for the last transition."),
  message: value(5, string, "Human-readable message with details about the last transition."),
});

const apiServiceStatus = v1("APIServiceStatus", "Observed state of an APIService.", {
  conditions: value(
    1,
    list(apiServiceCondition),
    "Latest observed conditions, one entry per condition type.",
    mergedBy("type"),
  ),
});

const apiServiceV1 = v1(
  "APIService",
  "APIService registers a group version of the API, and the extension API server to which " +
    "requests for it are proxied.",
  {
    metadata: value(
      1,
      objectMeta,
      "Standard object metadata. The name must be `<version>.<group>`.",
    ),
    spec: value(2, apiServiceSpec, "Group version, its priorities and the Service of its server."),
    status: value(3, apiServiceStatus, "Availability of the extension API server. Read-only."),
  },
);

type APIService = Infer<typeof apiServiceV1>;

const path = Path.of("spec");
const maxGroupPriority = 20_000;
const maxVersionPriority = 1000;
/** In the order in which messages list them. */
const statuses = ["True", "False", "Unknown"];

function prepareCreate(service: APIService, { now }: HookContext): void {
  service.status = {};
  if (service.spec.service !== undefined) return;
  const condition = {
    type: "Available",
    status: "True",
    lastTransitionTime: new Date(now).toISOString().replace(/\.\d+Z$/, "Z"),
    reason: "Local",
    message: "Local APIServices are always available",
  };
  service.status = { conditions: [condition] };
}

/** Metadata that an update of the status subresource cannot change. */
const specMetadata = ["labels", "annotations", "finalizers", "ownerReferences"] as const;

function prepareUpdate(service: APIService, old: APIService, context: HookContext): void {
  if (context.subresource === "") {
    service.status = old.status;
    return;
  }
  service.spec = old.spec;
  for (const field of specMetadata) {
    const metadata: Record<string, unknown> = service.metadata;
    if (old.metadata[field] === undefined) delete metadata[field];
    else metadata[field] = old.metadata[field];
  }
}

function checkName(name: string, _prefix: boolean, { spec }: APIService): readonly string[] {
  const messages = isPathSegmentName(name);
  const required = `${spec.version ?? ""}.${spec.group ?? ""}`;
  if (messages.length > 0 || name === required) return messages;
  return [`must be \`spec.version+"."+spec.group\`: ${goQuote(required)}`];
}

function checkRanks({ spec }: APIService, problems: Problems): void {
  const check = (field: "groupPriorityMinimum" | "versionPriority", highest: number) => {
    const value = spec[field];
    if (value > 0 && value <= highest) return;
    problems.invalid(path.child(field), value, `must be positive and less than ${highest}`);
  };
  check("groupPriorityMinimum", maxGroupPriority);
  check("versionPriority", maxVersionPriority);
}

function checkService({ spec }: APIService, problems: Problems): void {
  const { service, caBundle = "", insecureSkipTLSVerify = false } = spec;
  const bundlePath = path.child("caBundle");
  const insecurePath = path.child("insecureSkipTLSVerify");
  if (service === undefined) {
    if (caBundle !== "") {
      const size = `${Buffer.byteLength(caBundle, "base64")} bytes`;
      problems.invalid(bundlePath, size, "local APIServices may not have a caBundle");
    }
    const detail = "local APIServices may not have insecureSkipTLSVerify";
    if (insecureSkipTLSVerify) problems.invalid(insecurePath, true, detail);
    return;
  }
  const servicePath = path.child("service");
  for (const field of ["namespace", "name"] as const) {
    if (!service[field]) problems.required(servicePath.child(field));
  }
  const { port = 443 } = service;
  for (const message of isPortNumber(port)) {
    problems.invalid(servicePath.child("port"), port, `port is not valid: ${message}`);
  }
  if (!insecureSkipTLSVerify || caBundle === "") return;
  problems.invalid(insecurePath, true, "may not be true if caBundle is present");
}

function validate(service: APIService, problems: Problems): void {
  const { group = "", version = "" } = service.spec;
  const groupPath = path.child("group");
  if (group !== "") {
    invalidEach(problems, groupPath, { value: group, messages: isDns1123Subdomain(group) });
  } else if (version !== "v1") {
    const detail = "only v1 may have an empty group and it better be legacy kube";
    problems.required(groupPath, detail);
  }
  const messages = isDns1035Label(version);
  invalidEach(problems, path.child("version"), { value: version, messages });
  checkRanks(service, problems);
  checkService(service, problems);
}

function checkStatus({ status }: APIService, problems: Problems): void {
  for (const [index, { status: value }] of (status.conditions ?? []).entries()) {
    if (statuses.includes(value)) continue;
    const statusPath = Path.of("status.conditions").index(index).child("status");
    unsupported(problems, statusPath, { value, supported: statuses });
  }
}

/** `True`, `False (FailedDiscoveryCheck)`. */
function availability({ status }: APIService): string {
  const condition = status.conditions?.find(({ type }) => type === "Available");
  if (condition === undefined) return "Unknown";
  if (condition.status === "True") return condition.status;
  return `${condition.status} (${condition.reason ?? ""})`;
}

export const apiService = kind(apiServiceV1, {
  group: "apiregistration.{api}",
  kind: "APIService",
  plural: "apiservices",
  categories: ["api-extensions"],
  scope: "Cluster",
  formerVersions: ["v1beta1"],
  versions: [{ version: "v1", struct: apiServiceV1, onByDefault: true, convert: "hub" }],
  storagePrefix: "apiregistration.{api}/apiservices",
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: {
    metadataOnUpdate: { "": ["change", "object"] },
    name: checkName,
    freeFinalizers: true,
    unconditionalUpdate: false,
    resets: { status: ["metadata", "spec"] },
  },
  hooks: {
    prepareCreate,
    prepareUpdate,
    validate,
    validateUpdate: (object, _old, problems, { subresource }) => {
      if (subresource === "") validate(object, problems);
      else checkStatus(object, problems);
    },
  },
  columns: [
    nameColumn,
    column("Service", "Service of the extension API server, or Local."),
    column("Available", "Whether the extension API server can be reached."),
    ageColumn,
  ],
  row: (object, context) => {
    const { service } = object.spec;
    const serviceCell = service && `${service.namespace ?? ""}/${service.name ?? ""}`;
    return [nameOf(object), serviceCell ?? "Local", availability(object), ageOf(object, context)];
  },
});
