import { parseRequest } from "#api";
import { deepEqual } from "#base";
import { type Domain, resolve } from "#meta";
import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import type { Authorizer, RequestInfo, User } from "#request";
import { isFor, refuse } from "../../objects.ts";

/** Who may have which certificate, approve it, or sign it. */

const group = "certificates.{api}";
const everythingGroup = "system:masters";

/** Nobody becomes an administrator by a certificate for clients of this API. */
export function certificateSubjects(domain: Domain): AdmissionHandler {
  const signer = resolve("{label}/kube-apiserver-client", domain);
  return async (attributes) => {
    const isNew = attributes.operation === "create";
    if (!isNew || !isFor(attributes, group, "certificatesigningrequests")) return [];
    const { spec } = attributes.object;
    if (spec.signerName !== signer) return [];
    const parsed = parseRequest(Buffer.from(spec.request ?? "", "base64").toString("latin1"));
    if ("fault" in parsed) throw refuse(attributes, `failed to parse CSR: ${parsed.fault}`);
    if (!parsed.organizations.includes(everythingGroup)) return [];
    const subject = `use of ${signer} signer with ${everythingGroup} group`;
    throw refuse(attributes, `${subject} is not allowed`);
  };
}

export interface SignerParts {
  readonly authorizer: Authorizer;
  readonly domain: Domain;
}

/** Approving and denying takes the right to `approve` for the signer. */
export function certificateApproval(parts: SignerParts): AdmissionHandler {
  return async (attributes) => {
    if (!isPart(attributes, "approval")) return [];
    const { signerName } = attributes.old.spec;
    await checkSigner(parts, attributes, { verb: "approve", signerName });
    return [];
  };
}

/** Handing a certificate out takes the right to `sign` for the signer, and so does failing to. */
export function certificateSigning(parts: SignerParts): AdmissionHandler {
  return async (attributes) => {
    if (!isPart(attributes, "status")) return [];
    const { object, old } = attributes;
    const sameCertificate = (object.status.certificate ?? "") === (old.status.certificate ?? "");
    if (sameCertificate && deepEqual(failures(object), failures(old))) return [];
    await checkSigner(parts, attributes, { verb: "sign", signerName: old.spec.signerName });
    return [];
  };
}

/** Publishing trust in a signer takes the right to `attest` for it. */
export function trustBundles(parts: SignerParts): AdmissionHandler {
  return async (attributes) => {
    const { object, old, operation } = attributes;
    if (operation === "delete" || !isFor(attributes, group, "clustertrustbundles")) return [];
    const { signerName = "" } = object.spec;
    const isSame = old !== undefined && deepEqual(old.spec, object.spec);
    if (signerName === "" || isSame) return [];
    await checkSigner(parts, attributes, { verb: "attest", signerName });
    return [];
  };
}

function isPart({ request, operation }: AdmissionAttributes, subresource: string): boolean {
  const { resource } = request;
  const isRequest = resource.plural === "certificatesigningrequests";
  const isOurs = isRequest && resource.kind.group === group;
  return isOurs && request.subresource === subresource && operation === "update";
}

function failures({ status }: any): readonly unknown[] {
  return (status.conditions ?? []).filter(({ type }: any) => type === "Failed");
}

const deeds = {
  approve: "approve requests with",
  sign: "sign requests with",
  attest: "attest for",
} as const;

interface SignerUse {
  readonly verb: keyof typeof deeds;
  readonly signerName: string;
}

async function checkSigner(
  parts: SignerParts,
  attributes: AdmissionAttributes,
  { verb, signerName }: SignerUse,
): Promise<void> {
  const { user } = attributes.request;
  // Whoever has the right for all signers of a domain has it for each.
  const names = [signerName, `${signerName.split("/", 1)[0]}/*`];
  for (const name of names) {
    if (await mayUse(parts, user, { verb, signerName: name })) return;
  }
  const whose = `signerName ${JSON.stringify(signerName)}`;
  throw refuse(attributes, `user not permitted to ${deeds[verb]} ${whose}`);
}

async function mayUse(
  { authorizer, domain }: SignerParts,
  user: User,
  { verb, signerName }: SignerUse,
): Promise<boolean> {
  const request: RequestInfo = {
    isResource: true,
    path: "",
    verb,
    apiPrefix: "apis",
    group: resolve(group, domain),
    version: "*",
    namespace: "",
    resource: "signers",
    subresource: "",
    name: signerName,
    rest: [],
  };
  return (await authorizer.authorize({ user, request })).verdict === "allow";
}
