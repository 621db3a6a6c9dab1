import type { Informer } from "#client";
import type { Device, DeviceClass, DeviceTaintRule, ResourceSlice } from "#kinds";
import { type DeviceSelectors, SelectorFault } from "./device-selectors.ts";

/** Applies the taints of DeviceTaintRules to ResourceSlices. */
export class TaintedSlices {
  private tainted = new WeakMap<ResourceSlice, ResourceSlice>();

  /** @param onChange called when rules or classes may have changed device taints */
  constructor(
    private readonly rules: Informer<DeviceTaintRule>,
    private readonly classes: Informer<DeviceClass>,
    private readonly selectors: DeviceSelectors,
    onChange: () => void,
  ) {
    const changed = () => {
      this.tainted = new WeakMap();
      onChange();
    };
    rules.subscribe(changed);
    classes.subscribe(changed);
  }

  /** Adds the taints of matching rules to the devices of a slice; returns `slice` itself if none match. */
  withRuleTaints(slice: ResourceSlice): ResourceSlice {
    const known = this.tainted.get(slice);
    if (known !== undefined) return known;
    const rules = [...this.rules.all()]
      .filter((rule) => this.selectsSlice(rule, slice))
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const result = rules.length === 0 ? slice : this.withTaints(slice, rules);
    this.tainted.set(slice, result);
    return result;
  }

  private selectsSlice({ spec }: DeviceTaintRule, slice: ResourceSlice): boolean {
    const { deviceSelector } = spec;
    if (deviceSelector === undefined) return false;
    const { driver = slice.spec.driver, pool = slice.spec.pool.name } = deviceSelector;
    return driver === slice.spec.driver && pool === slice.spec.pool.name;
  }

  private withTaints(slice: ResourceSlice, rules: readonly DeviceTaintRule[]): ResourceSlice {
    const devices = (slice.spec.devices ?? []).map((device): Device => {
      const added = rules.filter((rule) => this.selectsDevice(rule, device, slice.spec.driver));
      if (added.length === 0) return device;
      return {
        ...device,
        taints: [...(device.taints ?? []), ...added.map(({ spec }) => spec.taint)],
      };
    });
    return { ...slice, spec: { ...slice.spec, devices } };
  }

  private selectsDevice({ spec }: DeviceTaintRule, device: Device, driver: string): boolean {
    const { device: name, deviceClassName, selectors = [] } = spec.deviceSelector ?? {};
    if (name !== undefined && name !== device.name) return false;
    let ofClass: DeviceClass["spec"]["selectors"] = [];
    if (deviceClassName !== undefined) {
      const found = this.classes.get(deviceClassName);
      if (found === undefined) return false;
      ofClass = found.spec.selectors ?? [];
    }
    try {
      return [...ofClass, ...selectors].every(({ cel }) =>
        this.selectors.matches(cel?.expression ?? "", device, driver),
      );
    } catch (error) {
      // A rule whose selector fails on the device does not match.
      if (error instanceof SelectorFault) return false;
      throw error;
    }
  }
}
