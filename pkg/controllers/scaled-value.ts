/** Resolves an IntOrString: a number, or a percentage of `total` rounded up or down. */
export function scaledValue(
  value: number | string,
  total: number,
  round: "up" | "down" = "up",
): number {
  if (typeof value === "number") return value;
  const [, percent] = /^(\d+)%$/.exec(value) ?? [];
  if (percent === undefined) {
    throw new Error("invalid value for IntOrString: invalid type: string is not a percentage");
  }
  const scaled = (Number(percent) * total) / 100;
  return round === "up" ? Math.ceil(scaled) : Math.floor(scaled);
}
