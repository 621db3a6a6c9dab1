import { assign, deepEqual } from "#base";
import {
  required,
  boxedList,
  bytes,
  type Infer,
  int32,
  list,
  map,
  named,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { type HookContext, kind, kubernetes, objectMeta, time } from "#meta";
import { checkSignerName } from "./signer.ts";
import { ageColumn, ageOf, column, humanDuration, nameColumn, nameOf } from "../printing.ts";
import { certificateFault } from "./issued-certificate.ts";
import { parseRequest } from "./pkcs10.ts";
import { goDiff } from "../go/go-diff.ts";
import { duplicateIndexes } from "../strategy.ts";

const v1 = structs("api/certificates/v1");

const usages = [
  "signing",
  "digital signature",
  "content commitment",
  "key encipherment",
  "key agreement",
  "data encipherment",
  "cert sign",
  "crl sign",
  "encipher only",
  "decipher only",
  "any",
  "server auth",
  "client auth",
  "code signing",
  "email protection",
  "s/mime",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "timestamping",
  "ocsp signing",
  "microsoft sgc",
  "netscape sgc",
] as const;

const certificateSigningRequestSpec = v1(
  "CertificateSigningRequestSpec",
  "Requested certificate and the user that requested it. Immutable.",
  {
    request: required(
      1,
      bytes,
      "X.509 certificate signing request: one PEM block of type `CERTIFICATE REQUEST`.",
      {
        listType: "atomic",
      },
    ),
    signerName: required(
      7,
      string,
      "Name of the requested signer, a domain-prefixed path such as `example.com/my-signer`. " +
        "Those in the domain of Kubernetes are built in.",
    ),
    expirationSeconds: pointer(
      8,
      int32,
      "Requested lifetime of the certificate in seconds, at least 600. The signer can issue it " +
        "for a different one, and decides if absent.",
    ),
    usages: value(
      5,
      list(named("v1.KeyUsage", ...usages)),
      "Key usages of the certificate: signing, digital signature, content commitment, key " +
        "encipherment, key agreement, data encipherment, cert sign, crl sign, encipher only, " +
        "decipher only, any, server auth, client auth, code signing, email protection, s/mime, " +
        "ipsec end system, ipsec tunnel, ipsec user, timestamping, ocsp signing, microsoft " +
        "sgc, netscape sgc. Required. Signers can restrict them.",
      { listType: "atomic" },
    ),
    username: value(2, string, "Name of the user that created the request. Set by the API server."),
    uid: value(3, string, "UID of the user that created the request. Set by the API server."),
    groups: value(
      4,
      list(string),
      "Groups of the user that created the request. Set by the API server.",
      {
        listType: "atomic",
      },
    ),
    extra: value(
      6,
      map(boxedList("api/certificates/v1", "ExtraValue", string)),
      "Extra attributes of that user, from the authenticator. Set by the API server.",
    ),
  },
);

const certificateSigningRequestCondition = v1(
  "CertificateSigningRequestCondition",
  "Condition of a CertificateSigningRequest: approval, denial or failure.",
  {
    type: required(
      1,
      named("v1.RequestConditionType", "Approved", "Denied", "Failed"),
      "Type of the condition: Approved, Denied, Failed, or one of the signer. Approved and " +
        "Denied are mutually exclusive, and none of the three can be removed once set.",
      { openApi: { enum: false } },
    ),
    status: required(
      6,
      named("v1.ConditionStatus", "True", "False", "Unknown"),
      "Status of the condition: one of True, False, Unknown. Must be True for Approved, Denied " +
        "and Failed.",
      { openApi: { enum: false } },
    ),
    reason: value(2, string, "Machine-readable CamelCase reason for the last transition."),
    message: value(3, string, "Human-readable message with details about the last transition."),
    lastUpdateTime: value(
      4,
      time,
      "Time at which the condition was last updated. Defaults to the current time.",
    ),
    lastTransitionTime: value(
      5,
      time,
      "Time at which `status` last changed. Defaults to the current time.",
    ),
  },
);

const certificateSigningRequestStatus = v1(
  "CertificateSigningRequestStatus",
  "Observed state of a CertificateSigningRequest.",
  {
    conditions: value(
      1,
      list(certificateSigningRequestCondition),
      "Conditions of the request. Approved and Denied are set through the subresource `approval`.",
      {
        listType: "map",
        listMapKeys: ["type"],
      },
    ),
    certificate: value(
      2,
      bytes,
      "Issued certificate, optionally followed by intermediates, in PEM. Set by the signer, " +
        "only on approved requests. Immutable once set.",
      {
        listType: "atomic",
      },
    ),
  },
);

const certificateSigningRequestV1 = v1(
  "CertificateSigningRequest",
  "CertificateSigningRequest requests an X.509 certificate from a signer. It must be approved " +
    "before it is signed.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(
      2,
      certificateSigningRequestSpec,
      "Certificate request, signer, usages and requester.",
    ),
    status: value(
      3,
      certificateSigningRequestStatus,
      "Approval or denial of the request, and the issued certificate.",
    ),
  },
);

type Request = Infer<typeof certificateSigningRequestV1>;
const conditionList = list(certificateSigningRequestCondition);

type Condition = Infer<typeof certificateSigningRequestCondition>;

const specPath = Path.of("spec");
const conditionsPath = Path.of("status.conditions");
const certificatePath = Path.of("status.certificate");

const minSeconds = 600;
const legacySigner = `${kubernetes.label}/legacy-unknown`;

/** Conditions that may only be True. */
const trueOnlyConditions = ["Approved", "Denied", "Failed"];
const approvals = ["Approved", "Denied"];

function conditionsOf({ status }: Request, type: string): readonly Condition[] {
  return (status.conditions ?? []).filter((each) => each.type === type);
}

function prepareCreate(request: Request, { user }: HookContext): void {
  const { spec } = request;
  for (const field of ["username", "uid", "groups", "extra"] as const) delete spec[field];
  request.status = {};
  if (user === undefined) return;
  if (user.name !== "") spec.username = user.name;
  if (user.uid !== "") spec.uid = user.uid;
  if (user.groups.length > 0) spec.groups = [...user.groups];
  if (user.extra.size === 0) return;
  const extra: Record<string, string[]> = {};
  for (const [key, values] of user.extra) assign(extra, key, [...values]);
  spec.extra = extra;
}

function prepareUpdate(request: Request, old: Request, context: HookContext): void {
  request.spec = old.spec;
  if (context.subresource === "") {
    request.status = old.status;
    return;
  }
  if (context.subresource === "status") {
    for (const type of approvals) keepConditions(request, old, type);
  } else {
    const { conditions } = request.status;
    const { conditions: _before, ...rest } = old.status;
    request.status = conditions === undefined ? rest : { ...rest, conditions };
  }
  fillTimes(request, old, context);
}

/** Restores the conditions of this type from the old object: signers cannot change approval. */
function keepConditions(request: Request, old: Request, type: string): void {
  const before = conditionsOf(old, type);
  if (conditionsOf(request, type).length !== before.length) return;
  let next = 0;
  request.status.conditions = (request.status.conditions ?? []).map((each) =>
    each.type === type ? (before[next++] ?? each) : each,
  );
}

function fillTimes(request: Request, old: Request, { now }: HookContext): void {
  const text = new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
  for (const each of request.status.conditions ?? []) {
    each.lastUpdateTime ||= text;
    const known = conditionsOf(old, each.type).find(
      ({ status, lastTransitionTime }) => status === each.status && lastTransitionTime,
    );
    each.lastTransitionTime ||= known?.lastTransitionTime ?? text;
  }
}

function checkRequest({ request }: Request["spec"], problems: Problems): void {
  const requestPath = specPath.child("request");
  const text = Buffer.from(request ?? "", "base64").toString("latin1");
  const parsed = parseRequest(text);
  const fault = "fault" in parsed ? parsed.fault : parsed.signatureFault;
  if (fault !== undefined) problems.invalid(requestPath, request ?? null, fault);
}

function checkUsages({ usages: wanted = [] }: Request["spec"], problems: Problems): void {
  const usagesPath = specPath.child("usages");
  if (wanted.length === 0) problems.required(usagesPath);
  for (const [index, usage] of wanted.entries()) {
    const isKnown = usages.some((each) => each === usage);
    if (!isKnown) problems.notSupported(usagesPath.index(index), usage, usages);
  }
  for (const index of duplicateIndexes(wanted, (usage) => usage)) {
    problems.duplicate(usagesPath.index(index), wanted[index]);
  }
}

function checkSpec({ spec }: Request, problems: Problems): void {
  checkRequest(spec, problems);
  checkUsages(spec, problems);
  const signerNamePath = specPath.child("signerName");
  if (spec.signerName === legacySigner) {
    const detail = "the legacy signerName is not allowed via this API version";
    problems.invalid(signerNamePath, spec.signerName, detail);
  } else checkSignerName(spec.signerName, signerNamePath, problems);
  const { expirationSeconds: seconds } = spec;
  if (seconds === undefined || seconds >= minSeconds) return;
  const detail = "may not specify a duration less than 600 seconds (10 minutes)";
  problems.invalid(specPath.child("expirationSeconds"), seconds, detail);
}

function checkConditions({ status }: Request, problems: Problems): void {
  const conditions = status.conditions ?? [];
  const earlier = new Set<string>();
  for (const [index, { type, status: value }] of conditions.entries()) {
    const itemPath = conditionsPath.index(index);
    const allowed = trueOnlyConditions.includes(type) ? ["True"] : ["False", "True", "Unknown"];
    if (type === "") problems.required(itemPath.child("type"));
    if (value === "") problems.required(itemPath.child("status"));
    else if (!allowed.includes(value)) {
      problems.notSupported(itemPath.child("status"), value, allowed);
    }
    const opposite = approvals.includes(type) && approvals.find((each) => each !== type);
    if (opposite && earlier.has(opposite)) {
      const detail = "Approved and Denied conditions are mutually exclusive";
      problems.invalid(conditionsPath, type, detail);
    }
    if (earlier.has(type)) problems.duplicate(itemPath.child("type"), type);
    earlier.add(type);
  }
}

function checkCertificate({ status }: Request, problems: Problems): void {
  if (!status.certificate) return;
  const fault = certificateFault(Buffer.from(status.certificate, "base64").toString("latin1"));
  if (fault !== undefined) problems.invalid(certificatePath, "<certificate data>", fault);
}

/**
 * Rejects removal of decisions; approvals and certificates change only through their subresources.
 */
function checkChange(
  request: Request,
  old: Request,
  { problems, context }: { readonly problems: Problems; readonly context: HookContext },
): void {
  const count = (of: Request, type: string) => conditionsOf(of, type).length;
  const forbid = (what: string, type: string, end = "") =>
    problems.forbidden(
      conditionsPath,
      `updates may not ${what} a condition of type "${type}"${end}`,
    );
  for (const type of trueOnlyConditions) {
    if (count(request, type) < count(old, type)) forbid("remove", type);
  }
  if (context.subresource !== "approval") {
    for (const type of approvals) {
      if (count(request, type) > count(old, type)) forbid("add", type);
      else if (
        count(request, type) === count(old, type) &&
        !deepEqual(conditionsOf(request, type), conditionsOf(old, type))
      ) {
        const diff = goDiff(conditionList, conditionsOf(old, type), conditionsOf(request, type));
        forbid("modify", type, `\n${diff}`);
      }
    }
  }
  if ((request.status.certificate ?? "") === (old.status.certificate ?? "")) return;
  if (context.subresource !== "status") {
    problems.forbidden(certificatePath, "updates may not set certificate content");
  } else if (old.status.certificate) {
    problems.forbidden(certificatePath, "updates may not modify existing certificate content");
  }
}

/** Table cell of the conditions, `Approved,Issued` for example. */
function conditionCell(request: Request): string {
  const has = (type: string) => conditionsOf(request, type).length > 0;
  const decision = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  const words = [decision];
  if (has("Failed")) words.push("Failed");
  if (request.status.certificate) words.push("Issued");
  return words.join(",");
}

export const certificateSigningRequest = kind(certificateSigningRequestV1, {
  group: "certificates.{api}",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  shortNames: ["csr"],
  scope: "Cluster",
  versions: [
    { version: "v1", struct: certificateSigningRequestV1, onByDefault: true, convert: "hub" },
  ],
  subresources: [
    { name: "approval", verbs: ["get", "patch", "update"] },
    { name: "status", verbs: ["get", "patch", "update"] },
  ],
  rules: {
    metadataOnUpdate: {
      "": ["object", "change"],
      status: ["object", "change"],
      approval: ["object", "change"],
    },
    name: "any",
    resets: {
      "": ["spec", "status"],
      status: ["spec", "status.conditions"],
      approval: ["spec", "status.certificate"],
    },
  },
  hooks: {
    prepareCreate,
    prepareUpdate,
    validate: (object, problems) => {
      checkSpec(object, problems);
      checkConditions(object, problems);
      checkCertificate(object, problems);
    },
    validateUpdate: (object, old, problems, context) => {
      // The spec is unchanged and was validated on creation.
      checkConditions(object, problems);
      if (object.status.certificate !== old.status.certificate) checkCertificate(object, problems);
      checkChange(object, old, { problems, context });
    },
  },
  columns: [
    nameColumn,
    ageColumn,
    column("SignerName", "Signer that should issue the certificate."),
    column("Requestor", "User that requests the certificate."),
    column("RequestedDuration", "Requested validity of the certificate."),
    column("Condition", "Outcome of the request so far."),
  ],
  row: (object, context) => {
    const { signerName, username = "", expirationSeconds: seconds } = object.spec;
    return [
      nameOf(object),
      ageOf(object, context),
      signerName || "<none>",
      username,
      seconds === undefined ? "<none>" : humanDuration(seconds * 1000),
      conditionCell(object),
    ];
  },
  selectableFields: { "spec.signerName": ({ spec }) => spec.signerName },
});
