/** Conversion from and to v1beta1, which lacks `exactly` and nests device properties. */
import type {
  ClaimSpec,
  ClaimSpecV1beta1,
  ClaimTemplate,
  ClaimTemplateV1beta1,
  DeviceRequest,
  DeviceRequestV1beta1,
  ResourceClaim,
  ResourceClaimV1beta1,
} from "./claim/claim-structs.ts";
import type { ResourceSlice, ResourceSliceV1beta1 } from "./slice/slice-structs.ts";

function requestUp(request: DeviceRequestV1beta1): DeviceRequest {
  const { name, firstAvailable, deviceClassName, ...rest } = request;
  const ways = firstAvailable === undefined ? {} : { firstAvailable };
  const { selectors, allocationMode = "", count = 0 } = rest;
  const { adminAccess, tolerations, capacity } = rest;
  const others = [selectors, adminAccess, tolerations, capacity];
  const isAsked = deviceClassName !== "" || allocationMode !== "" || BigInt(count) !== 0n;
  if (!isAsked && others.every((each) => each === undefined)) return { name, ...ways };
  return { name, exactly: { deviceClassName, ...rest }, ...ways };
}

function requestDown({ exactly, ...rest }: DeviceRequest): DeviceRequestV1beta1 {
  return { deviceClassName: "", ...exactly, ...rest };
}

const mapped = <A, B>(values: readonly A[] | null, change: (value: A) => B): B[] | null =>
  values === null ? null : values.map(change);

const specUp = ({ devices }: ClaimSpecV1beta1): ClaimSpec => ({
  devices: { ...devices, requests: mapped(devices.requests, requestUp) },
});

const specDown = ({ devices }: ClaimSpec): ClaimSpecV1beta1 => ({
  devices: { ...devices, requests: mapped(devices.requests, requestDown) },
});

export const claimUp = (claim: ResourceClaimV1beta1): ResourceClaim => ({
  ...claim,
  spec: specUp(claim.spec),
});

export const claimDown = (claim: ResourceClaim): ResourceClaimV1beta1 => ({
  ...claim,
  spec: specDown(claim.spec),
});

export const templateUp = ({ metadata, spec }: ClaimTemplateV1beta1): ClaimTemplate => ({
  metadata,
  spec: { ...spec, spec: specUp(spec.spec) },
});

export const templateDown = ({ metadata, spec }: ClaimTemplate): ClaimTemplateV1beta1 => ({
  metadata,
  spec: { ...spec, spec: specDown(spec.spec) },
});

export function sliceUp({ metadata, spec }: ResourceSliceV1beta1): ResourceSlice {
  const { nodeName = "", allNodes = false, devices, ...rest } = spec;
  return {
    metadata,
    spec: {
      ...rest,
      ...(nodeName === "" ? {} : { nodeName }),
      ...(allNodes ? { allNodes } : {}),
      devices: mapped(devices, ({ name, basic }) => ({ name, ...basic })),
    },
  };
}

export function sliceDown({ metadata, spec }: ResourceSlice): ResourceSliceV1beta1 {
  const { nodeName = "", allNodes = false, devices, ...rest } = spec;
  return {
    metadata,
    spec: {
      ...rest,
      nodeName,
      allNodes,
      devices: mapped(devices, ({ name, ...basic }) => ({ name, basic })),
    },
  };
}
