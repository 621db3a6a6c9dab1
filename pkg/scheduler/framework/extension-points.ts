import type { Plugin } from "./contract.ts";

/** Extension points of a plugin configuration, in the order of their validation. */
export const extensionPoints = [
  "preFilter",
  "filter",
  "postFilter",
  "reserve",
  "preScore",
  "score",
  "preBind",
  "bind",
  "postBind",
  "permit",
  "preEnqueue",
  "queueSort",
] as const;

export type ExtensionPoint = (typeof extensionPoints)[number];

/** One value per extension point. */
export type ByExtensionPoint<T> = Readonly<Record<ExtensionPoint, T>>;

/** Plugins of a profile by extension point, in execution order. */
export interface ResolvedPlugins {
  readonly points: ByExtensionPoint<readonly string[]>;
  readonly weights: ReadonlyMap<string, number>;
}

export function byExtensionPoint<T>(valueOf: (point: ExtensionPoint) => T): ByExtensionPoint<T> {
  const entries = extensionPoints.map((point) => [point, valueOf(point)] as const);
  return Object.fromEntries(entries) as unknown as ByExtensionPoint<T>;
}

/** Name of an extension point in metrics and errors: `PreFilter`. */
export function titleOf(point: string): string {
  return `${point[0]!.toUpperCase()}${point.slice(1)}`;
}

/** Whether the plugin implements the extension point. */
export function has(plugin: Plugin, point: ExtensionPoint): boolean {
  if (point === "queueSort") return plugin.less !== undefined;
  if (point === "reserve") return (plugin.reserve ?? plugin.unreserve) !== undefined;
  return plugin[point] !== undefined;
}
