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

/** The positive differences of an update. */
export function increase(now: Amounts, before: Amounts): Amounts {
  const added = Object.entries(minus(now, before)).filter(
    ([name, amount]) => Object.hasOwn(now, name) && Quantity.parse(amount).sign > 0,
  );
  return Object.fromEntries(added);
}

/** The larger amount for each name. */
export function larger(left: Amounts, right: Amounts): Amounts {
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

/** The amounts whose names are in `names`. */
export function pick(amounts: Amounts, names: ReadonlySet<string>): Amounts {
  return Object.fromEntries(Object.entries(amounts).filter(([name]) => names.has(name)));
}
