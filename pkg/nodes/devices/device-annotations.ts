import { isJsonObject, parseJsonText } from "#base";
import type { Device, Node } from "#kinds";
import { prefix } from "../annotations.ts";

/** Name of the simulated DRA driver. */
export const deviceDriver = `devices.${prefix}`;

/** Maximum number of devices of a node. */
const maxDevices = 1_024;
const countPattern = /^([a-z]([-a-z0-9]{0,50}[a-z0-9])?)=(\d{1,4})$/;

/** An invalid device annotation of a node. */
export class DeviceAnnotationFault extends Error {
  override readonly name = "DeviceAnnotationFault";
}

/** Annotation that lists the devices of a node; undefined = none. */
export function devicesText({ metadata }: Node): string | undefined {
  const text = metadata.annotations?.[`${prefix}/devices`]?.trim();
  return text === "" ? undefined : text;
}

/**
 * Parses a list of devices: `gpu=2,nic=1` for `gpu-0`, `gpu-1` and `nic-0`, each with an attribute `type`; or
 * a JSON list of devices as in a ResourceSlice.
 * @throws DeviceAnnotationFault
 */
export function parseDevices(text: string): readonly Device[] {
  const devices = text.startsWith("[") ? listedDevices(text) : countedDevices(text);
  if (devices.length <= maxDevices) return devices;
  throw new DeviceAnnotationFault(`${devices.length} devices, at most ${maxDevices} are allowed`);
}

function listedDevices(text: string): readonly Device[] {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch (error) {
    throw new DeviceAnnotationFault(`not a JSON list: ${(error as Error).message}`);
  }
  const isList =
    Array.isArray(value) && value.every((each) => isJsonObject(each) && "name" in each);
  if (!isList) throw new DeviceAnnotationFault("not a list of objects with a name");
  return value as readonly Device[];
}

function countedDevices(text: string): readonly Device[] {
  return text.split(",").flatMap((each) => {
    const [, type = "", , count = ""] = countPattern.exec(each.trim()) ?? [];
    if (type === "") throw new DeviceAnnotationFault(`"${each.trim()}" is not like gpu=2`);
    const attributes = { type: { string: type } };
    return Array.from({ length: Number(count) }, (_, at) => ({
      name: `${type}-${at}`,
      attributes,
    }));
  });
}

/** Health of a device by the annotation `device-health` of its node; default `Healthy`. */
export function deviceHealth({ metadata }: Node, device: string): string {
  const text = metadata.annotations?.[`${prefix}/device-health`] ?? "";
  for (const pair of text.split(",")) {
    const [name = "", health = ""] = pair.split("=").map((part) => part.trim());
    if (name !== device) continue;
    return health === "Healthy" || health === "Unhealthy" ? health : "Unknown";
  }
  return "Healthy";
}
