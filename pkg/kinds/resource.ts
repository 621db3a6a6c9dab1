/** ResourceClaims and their templates. */
import type { ApiObject, Handle, Metadata } from "#client";
import { type Domain, resolve } from "#meta";

/** A user of a claim. */
export interface ConsumerReference {
  readonly apiGroup?: string;
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
}

export interface ClaimSpec {
  readonly devices?: {
    readonly requests?: readonly {
      readonly name: string;
      readonly exactly?: { readonly adminAccess?: boolean };
      readonly firstAvailable?: readonly object[];
    }[];
  };
}

export interface ResourceClaim extends ApiObject {
  readonly spec: ClaimSpec;
  readonly status?: {
    readonly allocation?: object;
    readonly reservedFor?: readonly ConsumerReference[];
  };
}

export interface ResourceClaimTemplate extends ApiObject {
  readonly spec: {
    readonly metadata?: Pick<Metadata, "labels" | "annotations">;
    readonly spec: ClaimSpec;
  };
}

function handleOf<T extends ApiObject>(domain: Domain, plural: string, kind: string): Handle<T> {
  const group = resolve("resource.{api}", domain);
  return { group, version: "v1", plural, kind, namespaced: true };
}

export const resourceClaims = (domain: Domain) =>
  handleOf<ResourceClaim>(domain, "resourceclaims", "ResourceClaim");

export const resourceClaimTemplates = (domain: Domain) =>
  handleOf<ResourceClaimTemplate>(domain, "resourceclaimtemplates", "ResourceClaimTemplate");
