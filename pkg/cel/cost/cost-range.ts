/** Ranges of sizes and costs; Infinity = unbounded. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

export const nothing: Range = { min: 0, max: 0 };
export const unit: Range = { min: 1, max: 1 };
export const unbounded: Range = { min: 0, max: Infinity };

export function exactly(size: number): Range {
  return { min: size, max: size };
}

export function plus(left: Range, right: Range): Range {
  return { min: left.min + right.min, max: left.max + right.max };
}

export function times(left: Range, right: Range): Range {
  return { min: product(left.min, right.min), max: product(left.max, right.max) };
}

/** Multiplies both bounds by a factor, rounded up. */
export function scaled(range: Range, factor: number): Range {
  return { min: Math.ceil(range.min * factor), max: Math.ceil(range.max * factor) };
}

export function union(left: Range, right: Range): Range {
  return { min: Math.min(left.min, right.min), max: Math.max(left.max, right.max) };
}

/** Product where 0 × Infinity is 0. */
function product(left: number, right: number): number {
  return left === 0 || right === 0 ? 0 : left * right;
}
