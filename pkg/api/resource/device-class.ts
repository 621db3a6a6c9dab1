import { deepEqual } from "#base";
import {
  required,
  dropGated,
  type Infer,
  inline,
  list,
  pointer,
  Path,
  value,
  type Problems,
  string,
} from "#schema";
import { kind, objectMeta } from "#meta";
import { isExtendedName } from "../core/shared/resource-names.ts";
import { ageColumn, ageOf, nameColumn, nameOf } from "../printing.ts";
import { same } from "../strategy.ts";
import { checkConfigurations, checkSelectors } from "./device-rules.ts";
import { atomic, shared, type Shared } from "./shared-structs.ts";

const classStruct = ({ declare, deviceConfiguration, deviceSelector }: Shared) => {
  const configuration = declare(
    "DeviceClassConfiguration",
    "Configuration of devices of a class.",
    {
      deviceConfiguration: inline(
        1,
        deviceConfiguration,
        "Configuration parameters of the driver.",
        {
          protoName: "deviceConfiguration",
        },
      ),
    },
  );
  const spec = declare(
    "DeviceClassSpec",
    "Definition of a DeviceClass: which devices belong to it, and how they are configured.",
    {
      selectors: value(
        1,
        list(deviceSelector),
        "Selectors that must all match a device for it to belong to the class. At most 32.",
        atomic,
      ),
      config: value(
        2,
        list(configuration),
        "Configuration parameters that apply to every device claimed through the class. At " +
          "most 32.",
        atomic,
      ),
      extendedResourceName: pointer(
        4,
        string,
        "Name of an extended resource that the devices of the class back: containers can " +
          "request them by it. Alpha: requires the feature gate DRAExtendedResource.",
        {
          gate: "DRAExtendedResource",
        },
      ),
    },
  );
  return declare(
    "DeviceClass",
    "DeviceClass defines a class of devices that claims request by its name: selectors and " +
      "configuration. Created by administrators.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: required(2, spec, "Selectors for devices of the class, and their configuration."),
    },
  );
};

const deviceClassV1 = classStruct(shared.v1);
const deviceClassV1beta1 = classStruct(shared.v1beta1);
const deviceClassV1beta2 = classStruct(shared.v1beta2);

type DeviceClass = Infer<typeof deviceClassV1beta2>;

const path = Path.of("spec");

function check(
  { spec: { selectors, config, extendedResourceName: name } }: DeviceClass,
  old: DeviceClass | undefined,
  problems: Problems,
): void {
  checkSelectors(selectors, path.child("selectors"), problems);
  const isStored = old !== undefined && deepEqual(config, old.spec.config);
  checkConfigurations(config, path.child("config"), { problems, isStored });
  if (name === undefined || isExtendedName(name)) return;
  const detail = "must be a valid extended resource name";
  problems.invalid(path.child("extendedResourceName"), name, detail);
}

export const deviceClass = kind(deviceClassV1beta2, {
  group: "resource.{api}",
  kind: "DeviceClass",
  plural: "deviceclasses",
  scope: "Cluster",
  versions: [
    { version: "v1", struct: deviceClassV1, onByDefault: true, convert: same },
    { version: "v1beta2", struct: deviceClassV1beta2, onByDefault: false, convert: "hub" },
    { version: "v1beta1", struct: deviceClassV1beta1, onByDefault: false, convert: same },
  ],
  rules: {
    metadataOnUpdate: { "": ["object", "change"] },
    generation: true,
    deleteReturnsObject: true,
  },
  hooks: {
    prepareCreate: (object, { gate }) => dropGated(deviceClassV1beta2, object, { isOn: gate }),
    prepareUpdate: (object, old, { gate }) =>
      dropGated(deviceClassV1beta2, object, { old, isOn: gate }),
    validate: (object, problems) => check(object, undefined, problems),
    // Kubernetes validates updates also as creations, so that errors are reported twice.
    validateUpdate: (object, old, problems) => {
      check(object, undefined, problems);
      check(object, old, problems);
    },
  },
  columns: [nameColumn, ageColumn],
  row: (object, context) => [nameOf(object), ageOf(object, context)],
});
