import { required, type Infer, Path, value, type Problems, string, structs } from "#schema";
import { isDns1123Subdomain, kind, objectMeta } from "#meta";
import { column, nameColumn, nameOf } from "../printing.ts";
import { invalidEach, mustNotChange, same } from "../strategy.ts";
import { parseCertificate } from "./issued-certificate.ts";
import { pemBlocks } from "./pem.ts";
import { checkSignerName } from "./signer.ts";

/** Struct of one version; all versions have the same fields. */
function structOf(version: string) {
  const declare = structs(`api/certificates/${version}`);
  const spec = declare("ClusterTrustBundleSpec", "Specification of a ClusterTrustBundle.", {
    signerName: value(
      1,
      string,
      "Name of the signer that the bundle belongs to, or empty. Writes then require the verb " +
        "`attest` on the signer. Immutable.",
    ),
    trustBundle: required(
      2,
      string,
      "X.509 trust anchors: PEM blocks of type `CERTIFICATE`, at least one, without " +
        "duplicates. Their order is not significant.",
    ),
  });
  return declare(
    "ClusterTrustBundle",
    "ClusterTrustBundle is a cluster-scoped bundle of X.509 trust anchors, which pods can " +
      "mount through projected volumes.",
    {
      metadata: value(
        1,
        objectMeta,
        "Standard object metadata. With signerName, the name must begin with it, `/` replaced " +
          "by `:`, and a colon; without, it must not contain colons.",
      ),
      spec: required(2, spec, "Trust anchors, and the signer that they belong to."),
    },
  );
}

const clusterTrustBundleV1beta1 = structOf("v1beta1");
const clusterTrustBundleV1alpha1 = structOf("v1alpha1");

type ClusterTrustBundle = Infer<typeof clusterTrustBundleV1beta1>;

const signerPath = Path.of("spec.signerName");
const bundlePath = Path.of("spec.trustBundle");
const omittedValue = "<value omitted>";

/** Requires the name to begin with that of the signer, with `:` instead of `/`. */
function checkName({ metadata, spec }: ClusterTrustBundle, problems: Problems): void {
  const { name = "" } = metadata;
  const namePath = Path.of("metadata.name");
  const { signerName = "" } = spec;
  const prefix = signerName === "" ? "" : `${signerName.replaceAll("/", ":")}:`;
  if (prefix === "" && name.includes(":")) {
    const detail = 'ClusterTrustBundle without signer name must not have ":" in its name';
    return problems.invalid(namePath, name, detail);
  }
  if (!name.startsWith(prefix)) {
    const subject = `ClusterTrustBundle for signerName ${signerName}`;
    const detail = `${subject} must be named with prefix ${prefix}`;
    return problems.invalid(namePath, name, detail);
  }
  const messages = isDns1123Subdomain(name.slice(prefix.length));
  invalidEach(problems, namePath, { value: name, messages });
}

function blockFault(block: ReturnType<typeof pemBlocks>[number]): string | undefined {
  if (block.type !== "CERTIFICATE") return `has bad block type: ${block.type}`;
  if (block.hasHeaders) return "has PEM block headers";
  const certificate = parseCertificate(block.text);
  if (certificate === undefined) return "does not parse as X.509";
  return certificate.ca ? undefined : "does not have the CA bit set";
}

function checkBundle({ trustBundle }: ClusterTrustBundle["spec"], problems: Problems): void {
  const blocks = pemBlocks(trustBundle);
  const before = problems.list.length;
  for (const [index, block] of blocks.entries()) {
    const fault = blockFault(block);
    if (fault !== undefined) problems.invalid(bundlePath, omittedValue, `entry ${index} ${fault}`);
  }
  if (problems.list.length > before) return;
  if (blocks.length === 0) {
    problems.invalid(bundlePath, omittedValue, "at least one trust anchor must be provided");
  }
  const places = new Map<string, number[]>();
  for (const [index, { bytes }] of blocks.entries()) {
    const key = Buffer.from(bytes).toString("base64");
    places.set(key, [...(places.get(key) ?? []), index]);
  }
  for (const indices of places.values()) {
    if (indices.length < 2) continue;
    const detail = `duplicate trust anchor (indices [${indices.join(" ")}])`;
    problems.invalid(bundlePath, omittedValue, detail);
  }
}

function validate(bundle: ClusterTrustBundle, problems: Problems, old?: ClusterTrustBundle): void {
  const { signerName = "", trustBundle } = bundle.spec;
  checkName(bundle, problems);
  if (signerName !== "") checkSignerName(signerName, signerPath, problems);
  if (trustBundle !== old?.spec.trustBundle) checkBundle(bundle.spec, problems);
}

export const clusterTrustBundle = kind(clusterTrustBundleV1beta1, {
  group: "certificates.{api}",
  kind: "ClusterTrustBundle",
  plural: "clustertrustbundles",
  scope: "Cluster",
  versions: [
    {
      version: "v1beta1",
      struct: clusterTrustBundleV1beta1,
      onByDefault: false,
      gate: "ClusterTrustBundle",
      convert: "hub",
    },
    {
      version: "v1alpha1",
      struct: clusterTrustBundleV1alpha1,
      onByDefault: false,
      gate: "ClusterTrustBundle",
      convert: same,
      deprecationWarning:
        "certificates.{api}/v1alpha1 ClusterTrustBundle is deprecated in v1.34+, " +
        "unavailable in v1.37+",
    },
  ],
  // Which names are valid depends on the signer.
  rules: {
    metadataOnUpdate: { "": ["object", "change"] },
    name: () => [],
    unconditionalUpdate: false,
  },
  hooks: {
    validate: (object, problems) => validate(object, problems),
    validateUpdate: (object, old, problems) => {
      validate(object, problems, old);
      const names = { now: object.spec.signerName ?? "", before: old.spec.signerName ?? "" };
      mustNotChange(problems, signerPath, names);
    },
  },
  columns: [nameColumn, column("SignerName", "Signer whose certificates the bundle verifies.")],
  row: (object) => [nameOf(object), object.spec.signerName || "<none>"],
  selectableFields: { "spec.signerName": ({ spec }) => spec.signerName ?? "" },
});
