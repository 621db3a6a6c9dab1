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
  const configuration = declare("DeviceClassConfiguration", "How devices are set up.", {
    deviceConfiguration: inline(1, deviceConfiguration, "The setup.", {
      protoName: "deviceConfiguration",
    }),
  });
  const spec = declare("DeviceClassSpec", "Which devices, and how they are set up.", {
    selectors: value(1, list(deviceSelector), "What must hold for all its devices.", atomic),
    config: value(2, list(configuration), "How all its devices are set up.", atomic),
    extendedResourceName: pointer(4, string, "Name that containers may ask for it by.", {
      gate: "DRAExtendedResource",
    }),
  });
  return declare("DeviceClass", "Devices to claim, as the administrator sees them.", {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, spec, "Which devices, and how they are set up."),
  });
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
  rules: { generation: true, deleteReturnsObject: true, metadataCheckedAgain: true },
  hooks: {
    prepareCreate: (object, { gate }) => dropGated(deviceClassV1beta2, object, { isOn: gate }),
    prepareUpdate: (object, old, { gate }) =>
      dropGated(deviceClassV1beta2, object, { old, isOn: gate }),
    validate: (object, problems) => check(object, undefined, problems),
    // Twice, like Kubernetes, where updates are also checked as if they were creations.
    validateUpdate: (object, old, problems) => {
      check(object, undefined, problems);
      check(object, old, problems);
    },
  },
  columns: [nameColumn, ageColumn],
  row: (object, context) => [nameOf(object), ageOf(object, context)],
});
