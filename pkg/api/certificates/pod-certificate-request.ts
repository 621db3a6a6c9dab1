import { constants, createPublicKey, type KeyObject, verify } from "node:crypto";
import {
  required,
  bytes,
  type Infer,
  int32,
  list,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
  mergedBy,
} from "#schema";
import { condition, isDns1123Subdomain, kind, kubernetes, objectMeta, time } from "#meta";
import { column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusSubresource, invalidEach, mustNotChange } from "../strategy.ts";
import { checkSignerName } from "./signer.ts";

const v1alpha1 = structs("api/certificates/v1alpha1");

const podCertificateRequestSpec = v1alpha1(
  "PodCertificateRequestSpec",
  "Requested certificate, and the pod that it is for. Immutable.",
  {
    signerName: required(
      1,
      string,
      "Name of the requested signer, a domain-prefixed path such as `example.com/my-signer`.",
    ),
    podName: required(
      2,
      string,
      "Name of the pod that the certificate is for, in the same namespace.",
    ),
    podUID: required(3, string, "UID of the pod that the certificate is for."),
    serviceAccountName: required(4, string, "Name of the ServiceAccount of the pod."),
    serviceAccountUID: required(5, string, "UID of the ServiceAccount of the pod."),
    nodeName: required(6, string, "Name of the node that the pod is assigned to."),
    nodeUID: required(7, string, "UID of the node that the pod is assigned to."),
    maxExpirationSeconds: pointer(
      8,
      int32,
      "Maximum lifetime of the certificate, in seconds: 3600 to 7862400 (91 days), or to 86400 " +
        "for built-in signers. Defaults to 86400.",
      { default: 86_400 },
    ),
    pkixPublicKey: required(
      9,
      bytes,
      "Public key in PKIX format, DER-encoded: RSA 3072 or 4096, ECDSA P-256, P-384 or P-521, " +
        "or Ed25519.",
    ),
    proofOfPossession: required(
      10,
      bytes,
      "Signature of the pod UID with the private key, to prove possession of it.",
    ),
  },
);

const podCertificateRequestStatus = v1alpha1(
  "PodCertificateRequestStatus",
  "Observed state of a PodCertificateRequest. Immutable once it is Issued, Denied or Failed.",
  {
    conditions: value(
      1,
      list(condition),
      "Conditions of the request: at most one of Issued, Denied and Failed, with status True.",
      mergedBy("type"),
    ),
    certificateChain: value(
      2,
      string,
      "Issued certificate, followed by intermediates, in PEM. Required with condition Issued.",
    ),
    notBefore: pointer(
      4,
      time,
      "Time from which the certificate is valid. Must equal that in the certificate.",
    ),
    beginRefreshAt: pointer(
      5,
      time,
      "Time from which the kubelet begins to refresh the certificate. Must be at least 10 " +
        "minutes after notBefore, and before notAfter.",
    ),
    notAfter: pointer(
      6,
      time,
      "Time at which the certificate expires. Must equal that in the certificate.",
    ),
  },
);

const podCertificateRequestV1alpha1 = v1alpha1(
  "PodCertificateRequest",
  "PodCertificateRequest requests an X.509 certificate for a pod from a signer. The kubelet " +
    "creates it for projected volumes. Alpha: requires the feature gate PodCertificateRequest.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, podCertificateRequestSpec, "Signer, pod and public key for the certificate."),
    status: value(
      3,
      podCertificateRequestStatus,
      "Issued certificate, or denial or failure of the request.",
    ),
  },
);

type PodCertificateRequest = Infer<typeof podCertificateRequestV1alpha1>;
type Spec = PodCertificateRequest["spec"];

const path = Path.of("spec");
const maxUidLength = 128;
const maxKeyBytes = 10 * 1024;
const minSeconds = 60 * 60;
const daySeconds = 24 * 60 * 60;
const maxSeconds = 91 * daySeconds;
const outcomes = ["Denied", "Failed", "Issued"];

function checkSubjects(spec: Spec, problems: Problems): void {
  for (const subject of ["pod", "serviceAccount", "node"] as const) {
    const name = spec[`${subject}Name`];
    const messages = isDns1123Subdomain(name);
    invalidEach(problems, path.child(`${subject}Name`), { value: name, messages });
    const uid = spec[`${subject}UID`];
    const fieldPath = path.child(`${subject}UID`);
    if (uid === "") problems.invalid(fieldPath, uid, "must not be empty");
    if (uid.length > maxUidLength) problems.tooLong(fieldPath, uid, maxUidLength);
  }
}

/** Validates the lifetime, which Kubernetes' own signers limit to one day. */
function checkExpiry(
  { signerName, maxExpirationSeconds: seconds }: Spec,
  problems: Problems,
): void {
  const maxExpirationSecondsPath = path.child("maxExpirationSeconds");
  const longest = signerName.startsWith(`${kubernetes.label}/`) ? daySeconds : maxSeconds;
  if (seconds === undefined) return problems.required(maxExpirationSecondsPath, "must be set");
  if (seconds >= minSeconds && seconds <= longest) return;
  problems.invalid(
    maxExpirationSecondsPath,
    seconds,
    `must be in the range [${minSeconds}, ${longest}]`,
  );
}

function readKey(text: string): KeyObject | undefined {
  try {
    const key = Buffer.from(text, "base64");
    return createPublicKey({ key, format: "der", type: "spki" });
  } catch {
    return undefined;
  }
}

/** Whether the UID of the pod was signed with the private key. */
function holdsKey(key: KeyObject, { podUID, proofOfPossession }: Spec): boolean {
  const signature = Buffer.from(proofOfPossession, "base64");
  const message = Buffer.from(podUID);
  switch (key.asymmetricKeyType) {
    case "ed25519":
      return verify(null, message, key, signature);
    case "rsa": {
      const saltLength = constants.RSA_PSS_SALTLEN_AUTO;
      const padding = constants.RSA_PKCS1_PSS_PADDING;
      return verify("sha256", message, { key, padding, saltLength }, signature);
    }
    default:
      return verify("sha256", message, key, signature);
  }
}

const keyTypes = ["ec", "ed25519", "rsa"];

function checkKey(spec: Spec, problems: Problems): void {
  const [keyPath, proofPath] = [path.child("pkixPublicKey"), path.child("proofOfPossession")];
  for (const [fieldPath, text] of [
    [keyPath, spec.pkixPublicKey],
    [proofPath, spec.proofOfPossession],
  ] as const) {
    if (!text) problems.required(fieldPath, "must be non-empty");
    else if (Buffer.byteLength(text, "base64") > maxKeyBytes) {
      problems.tooLong(fieldPath, "", maxKeyBytes);
    }
  }
  if (!spec.pkixPublicKey || !spec.proofOfPossession) return;
  const key = readKey(spec.pkixPublicKey);
  if (key === undefined) {
    const detail = "must be a valid PKIX-serialized public key";
    return problems.invalid(keyPath, spec.pkixPublicKey, detail);
  }
  if (!keyTypes.includes(key.asymmetricKeyType ?? "")) {
    const detail = "unknown public key type; supported types are Ed25519, ECDSA, and RSA";
    return problems.invalid(keyPath, spec.pkixPublicKey, detail);
  }
  if (holdsKey(key, spec)) return;
  problems.invalid(proofPath, "<value omitted>", "could not verify proof-of-possession signature");
}

function validate({ spec }: PodCertificateRequest, problems: Problems): void {
  checkSignerName(spec.signerName, path.child("signerName"), problems);
  checkSubjects(spec, problems);
  checkExpiry(spec, problems);
  checkKey(spec, problems);
}

/** Allows one terminal condition, which is immutable. */
function checkStatus(
  { status }: PodCertificateRequest,
  old: PodCertificateRequest,
  problems: Problems,
): void {
  const conditionsPath = Path.of("status.conditions");
  const conditions = status.conditions ?? [];
  for (const [index, { type, status: value }] of conditions.entries()) {
    const typePath = conditionsPath.index(index).child("type");
    if (!outcomes.includes(type)) problems.notSupported(typePath, type, outcomes);
    else if (value !== "True") {
      problems.notSupported(conditionsPath.index(index).child("status"), value, ["True"]);
    }
  }
  const found = conditions.filter(({ type }) => outcomes.includes(type));
  if (found.length > 1) {
    const detail = 'There may be at most one condition with type "Issued", "Denied", or "Failed"';
    problems.invalid(
      conditionsPath,
      found.map(({ type }) => type),
      detail,
    );
  }
  if ((old.status.conditions ?? []).some(({ type }) => outcomes.includes(type))) {
    mustNotChange(problems, Path.of("status"), {
      now: status,
      before: old.status,
      type: podCertificateRequestStatus,
    });
  }
}

export const podCertificateRequest = kind(podCertificateRequestV1alpha1, {
  group: "certificates.{api}",
  kind: "PodCertificateRequest",
  plural: "podcertificaterequests",
  scope: "Namespaced",
  versions: [
    {
      version: "v1alpha1",
      struct: podCertificateRequestV1alpha1,
      onByDefault: false,
      gate: "PodCertificateRequest",
      convert: "hub",
    },
  ],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  // Kubernetes' strategy of the main resource names no reset fields, although it resets the status.
  rules: { unconditionalUpdate: false, resets: { "": [] } },
  hooks: {
    ...splitByStatusSubresource(() => ({})),
    validate,
    validateUpdate: (object, old, problems, { subresource }) => {
      mustNotChange(problems, path, {
        now: object.spec,
        before: old.spec,
        type: podCertificateRequestSpec,
      });
      if (subresource === "status") checkStatus(object, old, problems);
    },
  },
  columns: [
    nameColumn,
    column("PodName", "Pod that the certificate is for."),
    column("ServiceAccountName", "Service account that the pod runs as."),
    column("NodeName", "Node that the pod is assigned to."),
    column("SignerName", "Signer that should issue the certificate."),
    column("State", "Outcome of the request: Pending, Issued, Denied or Failed."),
  ],
  row: (object) => {
    const { podName, serviceAccountName, nodeName, signerName } = object.spec;
    const outcome = object.status.conditions?.find(({ type }) => outcomes.includes(type));
    const state = outcome?.type ?? "Pending";
    return [nameOf(object), podName, serviceAccountName, nodeName, signerName, state];
  },
  selectableFields: {
    "spec.nodeName": ({ spec }) => spec.nodeName,
    "spec.podName": ({ spec }) => spec.podName,
    "spec.signerName": ({ spec }) => spec.signerName,
  },
});
