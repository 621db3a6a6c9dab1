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
} from "#schema";
import {
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

const v1 = structs("kube_aggregator/pkg/apis/apiregistration/v1");

const serviceReference = v1("ServiceReference", "Points to a Service.", {
  namespace: value(1, string, "Its namespace."),
  name: value(2, string, "Its name."),
  port: pointer(3, int32, "Port that it serves HTTPS on.", { default: 443 }),
});

const apiServiceSpec = v1("APIServiceSpec", "Which API, and who serves it.", {
  service: pointer(1, serviceReference, "Who serves it; absent means this server itself."),
  group: value(2, string, "API group."),
  version: value(3, string, "Version of the group, as in `v1`."),
  insecureSkipTLSVerify: value(4, bool, "Take any certificate of the service; unsafe."),
  caBundle: value(5, bytes, "Authorities in PEM that the service's certificate must come from.", {
    listType: "atomic",
  }),
  groupPriorityMinimum: required(
    7,
    int32,
    "Rank of the group: those with the largest numbers come first; up to 20000.",
  ),
  versionPriority: required(
    8,
    int32,
    "Rank of the version within its group: the largest number comes first; up to 1000.",
  ),
});

const apiServiceCondition = v1("APIServiceCondition", "Something known of the API.", {
  type: required(
    1,
    named("v1.APIServiceConditionType", "Available"),
    "What it is about, as in Available.",
  ),
  status: required(
    2,
    named("v1.ConditionStatus", "True", "False", "Unknown"),
    "Whether it holds: True, False or Unknown.",
  ),
  lastTransitionTime: value(3, time, "When it last changed."),
  reason: value(4, string, "Why it last changed, as one word."),
  message: value(5, string, "Why it last changed, for people."),
});

const apiServiceStatus = v1("APIServiceStatus", "State of the API.", {
  conditions: value(1, list(apiServiceCondition), "What is known of the API.", {
    listType: "map",
    listMapKeys: ["type"],
    patchStrategy: ["merge"],
    patchMergeKey: "type",
  }),
});

const apiServiceV1 = v1(
  "APIService",
  "A version of an API group, and who serves it; named `<version>.<group>`.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, apiServiceSpec, "Which API, and who serves it."),
    status: value(3, apiServiceStatus, "State of the API."),
  },
);

type APIService = Infer<typeof apiServiceV1>;

const path = Path.of("spec");
const HIGHEST_GROUP = 20_000;
const HIGHEST_VERSION = 1000;
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

/** Whoever writes the status leaves what others use metadata for. */
const keptMetadata = ["labels", "annotations", "finalizers", "ownerReferences"] as const;

function prepareUpdate(service: APIService, old: APIService, context: HookContext): void {
  if (context.subresource === "") {
    service.status = old.status;
    return;
  }
  service.spec = old.spec;
  for (const field of keptMetadata) {
    const metadata: Record<string, unknown> = service.metadata;
    if (old.metadata[field] === undefined) delete metadata[field];
    else metadata[field] = old.metadata[field];
  }
}

function checkName({ metadata, spec }: APIService, problems: Problems): void {
  const { name = "" } = metadata;
  const required = `${spec.version ?? ""}.${spec.group ?? ""}`;
  if (name === required || isPathSegmentName(name).length > 0) return;
  const detail = `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(required)}`;
  problems.invalid(Path.of("metadata.name"), name, detail);
}

function checkRanks({ spec }: APIService, problems: Problems): void {
  const check = (field: "groupPriorityMinimum" | "versionPriority", highest: number) => {
    const value = spec[field];
    if (value > 0 && value <= highest) return;
    problems.invalid(path.child(field), value, `must be positive and less than ${highest}`);
  };
  check("groupPriorityMinimum", HIGHEST_GROUP);
  check("versionPriority", HIGHEST_VERSION);
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
  const place = path.child("service");
  for (const field of ["namespace", "name"] as const) {
    if (!service[field]) problems.required(place.child(field));
  }
  const { port = 443 } = service;
  for (const message of isPortNumber(port)) {
    problems.invalid(place.child("port"), port, `port is not valid: ${message}`);
  }
  if (!insecureSkipTLSVerify || caBundle === "") return;
  problems.invalid(insecurePath, true, "may not be true if caBundle is present");
}

function validate(service: APIService, problems: Problems): void {
  checkName(service, problems);
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
    const place = Path.of("status.conditions").index(index).child("status");
    unsupported(problems, place, { value, supported: statuses });
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
  versions: [{ version: "v1", struct: apiServiceV1, onByDefault: true, convert: "hub" }],
  storagePrefix: "apiregistration.{api}/apiservices",
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: { name: "path-segment", metadataCheckedAgain: true, freeFinalizers: true },
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
    column("Service", "Who serves it."),
    column("Available", "Whether it can be reached."),
    ageColumn,
  ],
  row: (object, context) => {
    const { service } = object.spec;
    const place = service && `${service.namespace ?? ""}/${service.name ?? ""}`;
    return [nameOf(object), place ?? "Local", availability(object), ageOf(object, context)];
  },
});
