/** JSON.stringify fails for bigints, so it is closed to values whose types can hold one. */

type HoldsBigint<T> = T extends unknown ? MemberHoldsBigint<T> : never;

type MemberHoldsBigint<T> = 0 extends 1 & T
  ? true
  : unknown extends T
    ? true
    : T extends bigint
      ? true
      : T extends string | number | boolean | symbol | null | undefined
        ? false
        : T extends readonly (infer Item)[]
          ? HoldsBigint<Item>
          : T extends { toJSON(...parameters: never[]): infer Printed }
            ? HoldsBigint<Printed>
            : [keyof T] extends [never]
              ? true
              : true extends { [Name in keyof T]-?: HoldsBigint<T[Name]> }[keyof T]
                ? true
                : false;

interface JSON {
  /** Values that can hold an int64 beyond 2^53 are printed by `printJson`. */
  stringify<T>(
    value: T & (true extends HoldsBigint<T> ? unknown : never),
    ...options: unknown[]
  ): symbol;
}
