import type { Node } from "#kinds";
import { nothing, parseLabelSelector } from "#meta";
import type { ManagedNodes } from "../settings.ts";

/**
 * Whether to simulate a Node that a client has created.
 * @throws StatusError for an invalid selector
 */
export function nodeSelection(managed: ManagedNodes): (node: Node) => boolean {
  const { all, annotationSelector, labelSelector } = managed;
  const annotations = selectorOf(annotationSelector);
  const labels = selectorOf(labelSelector);
  return ({ metadata }) =>
    all || annotations.matches(metadata.annotations ?? {}) || labels.matches(metadata.labels ?? {});
}

function selectorOf(text: string): ReturnType<typeof parseLabelSelector> {
  return text === "" ? nothing : parseLabelSelector(text);
}
