import { Quantity } from "#meta";

/** Quantities by the name of the resource, in canonical form. */
export type Amounts = Readonly<Record<string, string>>;

/** The amount with this name; undefined = none. */
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

/** By how much each amount is larger than before; other amounts are left out. */
export function increase(now: Amounts, before: Amounts): Amounts {
  const increased = Object.entries(minus(now, before)).filter(
    ([name, amount]) => Object.hasOwn(now, name) && Quantity.parse(amount).sign > 0,
  );
  return Object.fromEntries(increased);
}

/** The larger amount of each name. */
export function larger(left: Amounts, right: Amounts): Amounts {
  return combined(left, right, (a, b) => (a.compare(b) < 0 ? b : a));
}

/** Amounts of both sides; those with the same name are combined. */
function combined(
  left: Amounts,
  right: Amounts,
  combine: (a: Quantity, b: Quantity) => Quantity,
): Amounts {
  const all = new Map(Object.entries(left));
  for (const [name, amount] of Object.entries(right)) {
    const before = all.get(name);
    if (before === undefined) all.set(name, amount);
    else all.set(name, combine(Quantity.parse(before), Quantity.parse(amount)).toString());
  }
  return Object.fromEntries(all);
}

/** Amounts with one of the names. */
export function pick(amounts: Amounts, names: ReadonlySet<string>): Amounts {
  return Object.fromEntries(Object.entries(amounts).filter(([name]) => names.has(name)));
}
