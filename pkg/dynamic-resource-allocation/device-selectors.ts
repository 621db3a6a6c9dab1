/** CEL selectors of devices. */
import { maxSelectorCost, deviceEnvironment } from "#api";
import { setBounded } from "#base";
import {
  CelFault,
  compile,
  HashMap,
  MapValue,
  type Program,
  quantityValue,
  semverValue,
  type Value,
} from "#cel";
import type { Device, DeviceAttribute } from "#kinds";

/** Compile or run-time error of a selector. */
export class SelectorFault extends Error {
  override readonly name = "SelectorFault";
}

/** Maximum number of cached compiled expressions. */
const maxPrograms = 256;
/** Maximum number of cached results per device. */
const maxResults = 64;

/**
 * Evaluates CEL selectors on devices. Caches compiled expressions and, weakly per device, results: devices
 * are immutable.
 */
export class DeviceSelectors {
  private readonly programs = new Map<string, Program | SelectorFault>();
  private readonly results = new WeakMap<Device, Map<string, boolean>>();
  private readonly values = new WeakMap<Device, Value>();

  /** Whether the device matches the expression. @throws SelectorFault */
  matches(expression: string, device: Device, driver: string): boolean {
    const program = this.programOf(expression);
    if (program instanceof SelectorFault) throw program;
    const known = this.results.get(device)?.get(expression);
    if (known !== undefined) return known;
    const result = run(program, this.valueOf(device, driver));
    let results = this.results.get(device);
    if (results === undefined) this.results.set(device, (results = new Map()));
    setBounded(results, [expression, result], maxResults);
    return result;
  }

  private programOf(expression: string): Program | SelectorFault {
    const known = this.programs.get(expression);
    if (known !== undefined) return known;
    const { program, reason } = compile(expression, deviceEnvironment);
    const compiled = program ?? new SelectorFault(`CEL compile error: ${reason}`);
    setBounded(this.programs, [expression, compiled], maxPrograms);
    return compiled;
  }

  private valueOf(device: Device, driver: string): Value {
    const known = this.values.get(device);
    if (known !== undefined) return known;
    const value = deviceValue(device, driver);
    this.values.set(device, value);
    return value;
  }
}

/** @throws SelectorFault for a run-time error, or a result other than bool */
function run(program: Program, device: Value): boolean {
  const { value, error } = program.evaluate({ device }, maxSelectorCost);
  if (error !== undefined) throw new SelectorFault(`CEL runtime error: ${error}`);
  if (typeof value === "boolean") return value;
  throw new SelectorFault("CEL runtime error: CEL result could not be converted to bool");
}

/** CEL value of a device. @throws SelectorFault for an attribute without a value */
function deviceValue({ attributes = {}, capacity = {}, ...device }: Device, driver: string): Value {
  const shared = device.allowMultipleAllocations ?? false;
  const attributeValues = Object.entries(attributes).map(([name, each]) => {
    return [name, attributeValue(name, each)] as const;
  });
  const amounts = Object.entries(capacity).map(([name, { value }]) => {
    return [name, quantityValue(value)] as const;
  });
  return HashMap.of([
    ["driver", driver],
    ["allowMultipleAllocations", shared],
    ["attributes", new DomainMap(byDomain(attributeValues, driver))],
    ["capacity", new DomainMap(byDomain(amounts, driver))],
  ]);
}

function attributeValue(name: string, attribute: DeviceAttribute): Value {
  const value = attribute.int ?? attribute.bool ?? attribute.string;
  if (value !== undefined) return value;
  if (attribute.version === undefined) {
    throw new SelectorFault(`CEL runtime error: attribute ${name}: unsupported attribute value`);
  }
  try {
    return semverValue(attribute.version);
  } catch (error) {
    if (!(error instanceof CelFault)) throw error;
    const reason = `attribute ${name}: parse semantic version: ${error.message}`;
    throw new SelectorFault(`CEL runtime error: ${reason}`);
  }
}

/** Groups entries by domain; names without one are in the driver's domain. */
function byDomain(
  values: readonly (readonly [string, Value])[],
  driver: string,
): ReadonlyMap<string, HashMap> {
  const domains = new Map<string, HashMap>();
  for (const [name, value] of values) {
    const slash = name.indexOf("/");
    const domain = slash < 0 ? driver : name.slice(0, slash);
    let entries = domains.get(domain);
    if (entries === undefined) domains.set(domain, (entries = new HashMap()));
    const id = name.slice(slash + 1);
    // A driver may publish a name both with and without its domain.
    if (!entries.contains(id)) entries.add(id, value);
  }
  return domains;
}

const empty = new HashMap();

/** Entries by domain; an absent domain is an empty map instead of an error. */
class DomainMap extends MapValue {
  override readonly typeName = "map";

  constructor(private readonly domains: ReadonlyMap<string, HashMap>) {
    super();
  }
  override get size(): number {
    return this.domains.size;
  }
  override find(key: Value): Value | undefined {
    return typeof key === "string" ? this.field(key) : empty;
  }
  override field(name: string): Value {
    return this.domains.get(name) ?? empty;
  }
  override contains(key: Value): boolean {
    return typeof key === "string" && this.domains.has(key);
  }
  override keys(): Iterable<Value> {
    return this.domains.keys();
  }
}
