/** Growth of costs with a size: exponents of power laws, and tables of them. */

/** Costs at one size, by the names of columns. */
export interface Point {
  readonly size: number;
  readonly costs: Readonly<Record<string, number>>;
}

/**
 * Exponent between adjacent sizes above which growth counts as worse than linear; above 1 because
 * measurements vary.
 */
const worseThanLinear = 1.25;

/**
 * Exponent b of the power law `cost = a * size^b` that fits best: 0 = level, 1 = linear. NaN with
 * fewer than two points.
 */
export function exponentOf(points: readonly (readonly [size: number, cost: number])[]): number {
  const logs = points.map(([size, cost]) => [Math.log(size), Math.log(cost)] as const);
  const mean = (of: (log: readonly [number, number]) => number): number =>
    logs.reduce((sum, log) => sum + of(log), 0) / logs.length;
  const [meanSize, meanCost] = [mean(([size]) => size), mean(([, cost]) => cost)];
  const spread = mean(([size]) => (size - meanSize) ** 2);
  return mean(([size, cost]) => (size - meanSize) * (cost - meanCost)) / spread;
}

/** The smallest size from which a cost grows faster than linearly; undefined = none. */
export function kneeOf(points: readonly Point[], column: string): number | undefined {
  const at = points.findIndex(({ size, costs }, index) => {
    const before = points[index - 1];
    if (before === undefined) return false;
    const pair = [before, { size, costs }].map(
      (point) => [point.size, point.costs[column] as number] as const,
    );
    return exponentOf(pair) > worseThanLinear;
  });
  return points[at - 1]?.size;
}

/** A table whose rows are printed as they are measured. */
export class GrowthTable {
  private readonly points: Point[] = [];

  constructor(
    private readonly sizeName: string,
    private readonly print: (line: string) => void,
  ) {}

  add(point: Point): void {
    this.points.push(point);
    const columns = this.columns();
    if (this.points.length === 1) this.row(this.sizeName, columns);
    this.row(
      `${point.size}`,
      columns.map((column) => show(point.costs[column] as number)),
    );
  }

  /** Prints the exponent and the knee of every column. */
  end(): void {
    const costs = (column: string) =>
      this.points.map(({ size, costs: all }) => [size, all[column] as number] as const);
    const columns = this.columns();
    this.row(
      "exponent",
      columns.map((column) => exponentOf(costs(column)).toFixed(2)),
    );
    this.row(
      "knee",
      columns.map((column) => kneeOf(this.points, column)?.toString() ?? "none"),
    );
  }

  private columns(): readonly string[] {
    return Object.keys(this.points[0]?.costs ?? {});
  }

  private row(head: string, cells: readonly string[]): void {
    const widths = this.columns().map((column) => Math.max(column.length, 9));
    const padded = cells.map((cell, n) => cell.padStart(widths[n] as number));
    this.print([head.padStart(12), ...padded].join("  "));
  }
}

function show(value: number): string {
  return value.toFixed(value < 1 ? 3 : value < 100 ? 1 : 0);
}
