/** request: the words of a request and the contracts of those who judge it. */
export type * from "./types.ts";
