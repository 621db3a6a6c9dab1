import { Quantity } from "#meta";

/** Quantities by the name of the resource, in canonical form. */
export type Amounts = Readonly<Record<string, string>>;

export function amountOf(amounts: Amounts | undefined, name: string): Quantity | undefined {
  if (amounts === undefined || !Object.hasOwn(amounts, name)) return undefined;
  return Quantity.parse(amounts[name]!);
}

export function plus(left: Amounts, right: Amounts): Amounts {
  return combined(left, right, (a, b) => a.add(b));
}

export function minus(left: Amounts, right: Amounts): Amounts {
  const negated = Object.fromEntries(
    Object.entries(right).map(([name, amount]) => [name, `${Quantity.parse(amount).negate()}`]),
  );
  return plus(left, negated);
}

function larger(left: Amounts, right: Amounts): Amounts {
  return combined(left, right, (a, b) => (a.compare(b) < 0 ? b : a));
}

function combined(
  left: Amounts,
  right: Amounts,
  combine: (a: Quantity, b: Quantity) => Quantity,
): Amounts {
  const all = new Map(Object.entries(left));
  for (const [name, amount] of Object.entries(right)) {
    const before = all.get(name);
    const both = () => combine(Quantity.parse(before!), Quantity.parse(amount)).toString();
    all.set(name, before === undefined ? amount : both());
  }
  return Object.fromEntries(all);
}

/** Only those that `names` has. */
export function masked(amounts: Amounts, names: ReadonlySet<string>): Amounts {
  return Object.fromEntries(Object.entries(amounts).filter(([name]) => names.has(name)));
}

/**
 * What the containers of a pod need together: the sum of those that run at once, or what one init
 * container needs beside the sidecars before it, if that is more.
 */
export function podTotal(spec: any, field: "requests" | "limits"): Amounts {
  const own = (container: any): Amounts => container.resources?.[field] ?? {};
  let total: Amounts = {};
  for (const container of spec.containers ?? []) total = plus(total, own(container));
  let sidecars: Amounts = {};
  let starting: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === "Always") {
      total = plus(total, own(container));
      sidecars = plus(sidecars, own(container));
      starting = larger(starting, sidecars);
    } else starting = larger(starting, plus(sidecars, own(container)));
  }
  return larger(total, starting);
}
