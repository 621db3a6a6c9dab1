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
    "Configuration of the devices of a class.",
    {
      deviceConfiguration: inline(1, deviceConfiguration, "Parameters for the driver.", {
        protoName: "deviceConfiguration",
      }),
    },
  );
  const spec = declare(
    "DeviceClassSpec",
    "Devices that belong to a DeviceClass, and their configuration.",
    {
      selectors: value(
        1,
        list(deviceSelector),
        "Criteria that a device must all meet to belong to the class. At most 32.",
        atomic,
      ),
      config: value(
        2,
        list(configuration),
        "Parameters for the driver of every device of the class. At most 32.",
        atomic,
      ),
      extendedResourceName: pointer(
        4,
        string,
        "Extended resource that containers can request for devices of this class. Alpha: " +
          "requires the feature gate DRAExtendedResource.",
        {
          gate: "DRAExtendedResource",
        },
      ),
    },
  );
  return declare(
    "DeviceClass",
    "DeviceClass is a class of devices that claims can request by name. Created by cluster " +
      "administrators.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: required(2, spec, "Selectors and configuration of the class."),
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
