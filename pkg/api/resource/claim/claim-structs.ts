/** Structs of ResourceClaim and ResourceClaimTemplate. */
import {
  required,
  bool,
  type Infer,
  inline,
  int64,
  list,
  pointer,
  value,
  string,
  type StructType,
} from "#schema";
import { objectMeta } from "#meta";
import { atomic, gates, shared, type Shared } from "../shared-structs.ts";
import { statusStruct } from "./claim-status-structs.ts";

/**
 * Fields of device requests whose numbers are the same in all versions.
 * @param from the first number
 */
const requestFields = (structs: Shared, from: number) => ({
  deviceClassName: required(from, string, "Name of the DeviceClass of the devices. Required."),
  selectors: value(
    from + 1,
    list(structs.deviceSelector),
    "Selectors that must all match a device, in addition to those of the class. At most 32.",
    atomic,
  ),
  allocationMode: value(
    from + 2,
    string,
    "Allocation mode: ExactCount (the number of devices in count) or All (all matching devices " +
      "in a pool; fails if any of them is already allocated). Defaults to ExactCount.",
  ),
  count: value(
    from + 3,
    int64,
    "Number of devices to allocate in mode ExactCount. Must be greater than 0. Defaults to 1.",
  ),
});

const adminAccess = (number: number) =>
  pointer(
    number,
    bool,
    "Whether the request is for administrative access to devices, regardless of their " +
      "allocation to other claims. Requires the admin-access label on the namespace. Beta: " +
      "feature gate DRAAdminAccess.",
    {
      gate: "DRAAdminAccess",
    },
  );

const neededFields = (structs: Shared, from: number) => ({
  tolerations: value(
    from,
    list(structs.deviceToleration),
    "Tolerations of the request for device taints. Alpha: requires the feature gate " +
      "DRADeviceTaints.",
    atomic,
  ),
  capacity: pointer(
    from + 1,
    structs.capacityRequirements,
    "Capacity that each device must provide for the request. Alpha: requires the feature gate " +
      "DRAConsumableCapacity.",
    {
      gate: gates.capacity,
    },
  ),
});

const firstAvailable = (structs: Shared, { number, from }: { number: number; from: number }) => {
  const way = structs.declare(
    "DeviceSubRequest",
    "Alternative of a DeviceRequest, in its list firstAvailable.",
    {
      name: required(
        1,
        string,
        "Name of the subrequest: a DNS label. Constraints, configuration and results refer to it " +
          "as `<request>/<subrequest>`.",
      ),
      ...requestFields(structs, 2),
      ...neededFields(structs, from),
    },
  );
  return value(
    number,
    list(way),
    "Alternative requests in order of preference, at most 8. The scheduler uses the first that " +
      "can be satisfied. Beta: feature gate DRAPrioritizedList.",
    {
      ...atomic,
      gate: "DRAPrioritizedList",
    },
  );
};

const requestName = required(
  1,
  string,
  "Name of the request: a DNS label, unique within the claim.",
);

const requestStruct = (structs: Shared) => {
  const exact = structs.declare("ExactDeviceRequest", "Exact request for devices of one class.", {
    ...requestFields(structs, 1),
    adminAccess: adminAccess(5),
    ...neededFields(structs, 6),
  });
  return structs.declare(
    "DeviceRequest",
    "Request for one or more devices, either exact or as a list of alternatives (firstAvailable).",
    {
      name: requestName,
      exactly: pointer(
        2,
        exact,
        "Exact request, which must be satisfied as specified. Mutually exclusive with " +
          "firstAvailable.",
      ),
      firstAvailable: firstAvailable(structs, { number: 3, from: 6 }),
    },
  );
};

const flatRequestStruct = (structs: Shared) => {
  const { deviceClassName, ...asked } = requestFields(structs, 2);
  return structs.declare(
    "DeviceRequest",
    "Request for one or more devices, either exact or as a list of alternatives (firstAvailable).",
    {
      name: requestName,
      deviceClassName: {
        ...deviceClassName,
        doc: "Name of the DeviceClass of the devices. Required, unless firstAvailable is set.",
        required: false,
      },
      ...asked,
      adminAccess: adminAccess(6),
      firstAvailable: firstAvailable(structs, { number: 7, from: 7 }),
      ...neededFields(structs, 8),
    },
  );
};

const specStruct = <R extends StructType<any>>(structs: Shared, request: R) => {
  const { declare, deviceConfiguration } = structs;
  const constraint = declare(
    "DeviceConstraint",
    "Constraint on a set of devices. Exactly one field besides requests must be set.",
    {
      requests: value(
        1,
        list(string),
        "Names of the requests, or `<request>/<subrequest>`, whose devices must satisfy the " +
          "constraint. If empty, all requests of the claim.",
        atomic,
      ),
      matchAttribute: pointer(
        2,
        string,
        "Fully qualified name of an attribute that must have the same value on all the " +
          "devices. Devices without the attribute are not allocated.",
      ),
      distinctAttribute: pointer(
        3,
        string,
        // Kubernetes keeps the field where the gate is off.
        "Fully qualified name of an attribute that must have different values on all the " +
          "devices. Alpha: has an effect with the feature gate DRAConsumableCapacity.",
      ),
    },
  );
  const configuration = declare(
    "DeviceClaimConfiguration",
    "Configuration of devices of a claim.",
    {
      requests: value(
        1,
        list(string),
        "Names of the requests, or `<request>/<subrequest>`, to which the configuration " +
          "applies. If empty, all requests.",
        atomic,
      ),
      deviceConfiguration: inline(
        2,
        deviceConfiguration,
        "Configuration parameters of the driver.",
        {
          protoName: "deviceConfiguration",
        },
      ),
    },
  );
  const devices = declare(
    "DeviceClaim",
    "Requests for devices, their constraints and configuration.",
    {
      requests: required(
        1,
        list(request),
        "Individual requests, all of which must be satisfied. At most 32.",
        { ...atomic, required: false },
      ),
      constraints: value(
        2,
        list(constraint),
        "Constraints that sets of allocated devices must satisfy. At most 32.",
        atomic,
      ),
      config: value(
        3,
        list(configuration),
        "Configuration parameters for the drivers of the devices. At most 32.",
        atomic,
      ),
    },
  );
  return declare("ResourceClaimSpec", "Specification of a ResourceClaim.", {
    devices: required(
      1,
      devices,
      "How devices are requested: requests, constraints and configuration.",
      { required: false },
    ),
  });
};

const claimStructs = <R extends StructType<any>>(structs: Shared, request: R) => {
  const { declare } = structs;
  const spec = specStruct(structs, request);
  const template = declare(
    "ResourceClaimTemplateSpec",
    "Metadata and specification of ResourceClaims created from a template.",
    {
      metadata: value(1, objectMeta, "Labels and annotations of the ResourceClaim."),
      spec: required(2, spec, "Specification of the ResourceClaim, copied unchanged."),
    },
  );
  return {
    resourceClaim: declare(
      "ResourceClaim",
      "ResourceClaim requests access to resources, such as devices, for use by pods (dynamic " +
        "resource allocation).",
      {
        metadata: value(1, objectMeta, "Standard object metadata."),
        spec: required(2, spec, "Requested devices and their configuration. Immutable."),
        status: value(
          3,
          statusStruct(structs),
          "Allocated devices, and the pods that may use them. Read-only.",
        ),
      },
    ),
    resourceClaimTemplate: declare(
      "ResourceClaimTemplate",
      "ResourceClaimTemplate is a template from which a ResourceClaim is created for each pod " +
        "that refers to it.",
      {
        metadata: value(1, objectMeta, "Standard object metadata."),
        spec: required(2, template, "ResourceClaim to create. Immutable."),
      },
    ),
  };
};

export const claimsV1 = claimStructs(shared.v1, requestStruct(shared.v1));
export const claimsV1beta1 = claimStructs(shared.v1beta1, flatRequestStruct(shared.v1beta1));
export const claimsV1beta2 = claimStructs(shared.v1beta2, requestStruct(shared.v1beta2));

export type ResourceClaim = Infer<typeof claimsV1beta2.resourceClaim>;
export type ClaimTemplate = Infer<typeof claimsV1beta2.resourceClaimTemplate>;
export type ResourceClaimV1beta1 = Infer<typeof claimsV1beta1.resourceClaim>;
export type ClaimTemplateV1beta1 = Infer<typeof claimsV1beta1.resourceClaimTemplate>;
export type ClaimSpec = ResourceClaim["spec"];
export type DeviceRequest = NonNullable<ClaimSpec["devices"]["requests"]>[number];
export type ClaimStatus = ResourceClaim["status"];
export type Allocation = NonNullable<ClaimStatus["allocation"]>;
export type ClaimSpecV1beta1 = ResourceClaimV1beta1["spec"];
export type DeviceRequestV1beta1 = NonNullable<ClaimSpecV1beta1["devices"]["requests"]>[number];
