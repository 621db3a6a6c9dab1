import type { Informer, Informers } from "#client";
import { type Pod, pods } from "#kinds";

const index = "spec.nodeName";

/** Shared informer of pods, with an index by `spec.nodeName`. */
export function podsByNode(informers: Informers): Informer<Pod> {
  const informer = informers.of(pods);
  informer.addIndex(index, ({ spec }) => (spec?.nodeName ? [spec.nodeName] : []));
  return informer;
}

export function podsOn(informer: Informer<Pod>, node: string): readonly Pod[] {
  return informer.indexed(index, node);
}
