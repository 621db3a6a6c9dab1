import {
  required,
  type Infer,
  list,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { kind, objectMeta } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf, timeSince } from "../printing.ts";
import {
  checkDriver,
  checkLabel,
  checkPool,
  checkSelectors,
  checkSubdomain,
  checkTaint,
} from "./device-rules.ts";
import { atomic, selectorStructs, taintStruct } from "./shared-structs.ts";
import { stampTaint } from "./taint-time.ts";

const v1alpha3 = structs("api/resource/v1alpha3");

const taintSelector = v1alpha3(
  "DeviceTaintSelector",
  "Selector for the devices to taint: its fields are ANDed. An empty selector matches all devices.",
  {
    deviceClassName: pointer(
      1,
      string,
      "Name of a DeviceClass, whose selectors must match the device.",
    ),
    driver: pointer(2, string, "Name of the DRA driver of the device."),
    pool: pointer(
      3,
      string,
      "Name of the pool of the device. Pools of different drivers can have the same name.",
    ),
    device: pointer(
      4,
      string,
      "Name of the device. Devices of different drivers and pools can have the same name.",
    ),
    selectors: value(
      5,
      list(selectorStructs(v1alpha3)),
      "Selectors that must all match the device, at most 32.",
      atomic,
    ),
  },
);

const spec = v1alpha3("DeviceTaintRuleSpec", "Specification of a DeviceTaintRule.", {
  deviceSelector: pointer(
    1,
    taintSelector,
    "Selector for the devices to taint. {} selects all; absent selects none.",
  ),
  taint: value(2, taintStruct(v1alpha3, "v1alpha3"), "Taint to apply to the devices. Required.", {
    required: true,
  }),
});

const deviceTaintRuleV1alpha3 = v1alpha3(
  "DeviceTaintRule",
  "DeviceTaintRule adds a taint to all devices that match its selector, as if the driver had " +
    "set it. Alpha: requires the feature gate DRADeviceTaints.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, spec, "Selector for the devices, and the taint to apply to them."),
  },
);

type DeviceTaintRule = Infer<typeof deviceTaintRuleV1alpha3>;
type Selector = NonNullable<DeviceTaintRule["spec"]["deviceSelector"]>;

const path = Path.of("spec");

function checkSelector(selector: Selector, problems: Problems): void {
  const deviceSelectorPath = path.child("deviceSelector");
  const { deviceClassName, driver, pool, device, selectors } = selector;
  if (deviceClassName !== undefined) {
    checkSubdomain(deviceClassName, deviceSelectorPath.child("deviceClassName"), problems);
  }
  if (driver !== undefined) checkDriver(driver, deviceSelectorPath.child("driver"), problems);
  if (pool !== undefined) checkPool(pool, deviceSelectorPath.child("pool"), problems);
  if (device !== undefined) checkLabel(device, deviceSelectorPath.child("device"), problems);
  checkSelectors(selectors, deviceSelectorPath.child("selectors"), problems);
}

export const deviceTaintRule = kind(deviceTaintRuleV1alpha3, {
  group: "resource.{api}",
  kind: "DeviceTaintRule",
  plural: "devicetaintrules",
  scope: "Cluster",
  versions: [
    { version: "v1alpha3", struct: deviceTaintRuleV1alpha3, onByDefault: false, convert: "hub" },
  ],
  rules: { generation: true, deleteReturnsObject: true },
  hooks: {
    default: (object, context) => stampTaint(object.spec.taint, context),
    validate: (object, problems) => {
      const { deviceSelector, taint } = object.spec;
      if (deviceSelector !== undefined) checkSelector(deviceSelector, problems);
      checkTaint(taint, path.child("taint"), problems);
    },
  },
  columns: [
    nameColumn,
    column("Key", "Key of the taint."),
    column("Value", "Value of the taint."),
    column("Effect", "Effect of the taint."),
    column("TimeAdded", "Time since the taint was added."),
    ageColumn,
  ],
  row: (object, context) => {
    const { key, value = "", effect, timeAdded } = object.spec.taint;
    const since = timeSince(timeAdded, context.now);
    return [nameOf(object), key, value, effect, since, ageOf(object, context)];
  },
});
