/** Validation of request policies of device capacity. */
import type { Path, Problems } from "#schema";
import { Quantity } from "#meta";
import { checkSet } from "./device-rules.ts";
import type { DeviceCapacity } from "./shared-structs.ts";

const maxValues = 10;

type Policy = NonNullable<DeviceCapacity["requestPolicy"]>;
type Range = NonNullable<Policy["validRange"]>;

/** Bounds that the amounts are compared with. */
interface Bounds {
  readonly standard: Quantity;
  readonly capacity: Quantity;
}

export function checkCapacityPolicy(
  { value, requestPolicy: policy }: DeviceCapacity,
  path: Path,
  { isShared, problems }: { readonly isShared: boolean; readonly problems: Problems },
): void {
  if (policy === undefined) return;
  const requestPolicyPath = path.child("requestPolicy");
  if (!isShared)
    return problems.forbidden(requestPolicyPath, "allowMultipleAllocations must be true");
  const { validValues = [], validRange, default: standard } = policy;
  const kind = validValues.length > 0 ? "validValues" : "validRange";
  if (validValues.length > 0 && validRange !== undefined) {
    const detail =
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" ' +
      "at the same time";
    return problems.forbidden(requestPolicyPath, detail);
  }
  if (validValues.length === 0 && validRange === undefined) return;
  if (standard === null || standard === undefined) {
    return problems.required(
      requestPolicyPath.child("default"),
      `required when ${kind} is defined`,
    );
  }
  const bounds = { standard: Quantity.parse(standard), capacity: Quantity.parse(value) };
  const options = { bounds, problems };
  if (validRange === undefined) checkValues(validValues, requestPolicyPath.child(kind), options);
  else checkRange(validRange, requestPolicyPath.child(kind), options);
}

interface Options {
  readonly bounds: Bounds;
  readonly problems: Problems;
}

function checkValues(
  values: readonly string[],
  path: Path,
  { bounds: { standard, capacity }, problems }: Options,
): void {
  const amounts = values.map((value) => Quantity.parse(value));
  for (const [index, amount] of amounts.entries()) {
    const before = amounts[index - 1];
    if (before === undefined || before.compare(amount) <= 0) continue;
    problems.invalid(path.index(index), String(amount), "values must be sorted in ascending order");
  }
  checkSet(amounts, maxValues, {
    path,
    problems,
    check: (amount, itemPath) => {
      const detail = `option is larger than capacity value: ${capacity}`;
      if (amount.compare(capacity) > 0) problems.invalid(itemPath, String(amount), detail);
    },
    key: (amount) => String(amount.value()),
  });
  if (amounts.some((amount) => amount.compare(standard) === 0)) return;
  const detail = "default value is not valid according to the requestPolicy";
  problems.invalid(path, String(standard), detail);
}

function checkRange({ min, max, step }: Range, path: Path, options: Options): void {
  const { problems, bounds } = options;
  const { standard, capacity } = bounds;
  if (min === undefined) return;
  const least = Quantity.parse(min);
  const wrong = (field: string, amount: Quantity, detail: string) =>
    problems.invalid(path.child(field), String(amount), detail);
  if (least.compare(capacity) > 0) {
    wrong("min", least, `min is larger than capacity value: ${capacity}`);
  }
  if (standard.compare(least) < 0) wrong("default", standard, `default is less than min: ${least}`);
  const greatest = max === undefined ? undefined : Quantity.parse(max);
  if (greatest !== undefined) {
    if (least.compare(greatest) > 0) wrong("max", least, `min is larger than max: ${greatest}`);
    if (greatest.compare(capacity) > 0) {
      wrong("max", greatest, `max is larger than capacity value: ${capacity}`);
    }
    if (standard.compare(greatest) > 0) {
      wrong("default", standard, `default is more than max: ${greatest}`);
    }
  }
  if (step === undefined) return;
  checkStep(Quantity.parse(step), path.child("step"), { least, greatest, ...options });
}

function checkStep(
  step: Quantity,
  path: Path,
  options: Options & { readonly least: Quantity; readonly greatest: Quantity | undefined },
): void {
  const { least, greatest, bounds, problems } = options;
  const width = step.value();
  // Kubernetes divides by the step.
  if (width <= 0n) return problems.invalid(path, String(step), "must be greater than zero");
  const first = least.add(step);
  if (first.compare(bounds.capacity) > 0) {
    const detail = `one step ${first} is larger than capacity value: ${bounds.capacity}`;
    problems.invalid(path, String(step), detail);
  }
  for (const amount of greatest === undefined ? [bounds.standard] : [bounds.standard, greatest]) {
    if ((amount.value() - least.value()) % width === 0n) continue;
    const detail = `value is not a multiple of a given step (${step}) from (${least})`;
    problems.invalid(path, String(amount), detail);
  }
}
