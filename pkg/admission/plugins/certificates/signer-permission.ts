import { resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { resourceRequestInfo, type User } from "#request";
import { forbiddenRequest } from "../../objects.ts";
import type { PluginDependencies } from "../../plugin.ts";

export const certificatesGroup = "certificates.{api}";

type SignerParts = Pick<PluginDependencies, "authorizer" | "domain">;

const deeds = {
  approve: "approve requests with",
  sign: "sign requests with",
  attest: "attest for",
} as const;

interface SignerUse {
  readonly verb: keyof typeof deeds;
  readonly signerName: string;
}

/** @throws 403 if the user lacks the verb both for the signer and for all signers of its domain */
export async function checkSigner(
  parts: SignerParts,
  attributes: AdmissionAttributes,
  { verb, signerName }: SignerUse,
): Promise<readonly string[]> {
  const { user } = attributes.request;
  const names = [signerName, `${signerName.split("/", 1)[0]}/*`];
  for (const name of names) {
    if (await mayUse(parts, user, { verb, signerName: name })) return [];
  }
  const whose = `signerName ${JSON.stringify(signerName)}`;
  throw forbiddenRequest(attributes, `user not permitted to ${deeds[verb]} ${whose}`);
}

async function mayUse(
  { authorizer, domain }: SignerParts,
  user: User,
  { verb, signerName }: SignerUse,
): Promise<boolean> {
  const request = resourceRequestInfo({
    verb,
    group: resolve(certificatesGroup, domain),
    version: "*",
    resource: "signers",
    name: signerName,
  });
  return (await authorizer.authorize({ user, request })).verdict === "allow";
}

/** Whether a request updates this subresource of a CertificateSigningRequest. */
export function isRequestUpdate(
  { request, operation }: AdmissionAttributes,
  subresource: string,
): boolean {
  const { resource } = request;
  const isRequest = resource.plural === "certificatesigningrequests";
  const isOurs = isRequest && resource.kind.group === certificatesGroup;
  return isOurs && request.subresource === subresource && operation === "update";
}
