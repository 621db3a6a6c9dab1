import { maxNodeScore, type Plugin } from "../framework/contract.ts";
import type { PluginHandle } from "../framework/handle.ts";

const mebibyte = 1024 * 1024;
const minThreshold = 23 * mebibyte;
const maxContainerThreshold = 1000 * mebibyte;

/**
 * ImageLocality: prefers nodes with the pod's images, by size, scaled by the fraction of nodes that have the
 * image, so that a few nodes do not attract all its pods.
 */
export function imageLocality({ snapshot }: PluginHandle): Plugin {
  return {
    name: "ImageLocality",
    score: ({ pod }, { images }) => {
      if (images.size === 0) return 0;
      const { containers = [], initContainers = [] } = pod.spec ?? {};
      const all = [...initContainers, ...containers];
      let sum = 0;
      for (const { image = "" } of all) {
        const state = images.get(normalized(image));
        if (state === undefined) continue;
        sum += Math.trunc((state.size * state.nodes.size) / snapshot.nodes.length);
      }
      const maxThreshold = maxContainerThreshold * all.length;
      const bounded = Math.min(Math.max(sum, minThreshold), maxThreshold);
      return Math.trunc((maxNodeScore * (bounded - minThreshold)) / (maxThreshold - minThreshold));
    },
  };
}

/** Normalizes an image name: adds `:latest` if it has no tag. */
function normalized(image: string): string {
  return image.lastIndexOf(":") <= image.lastIndexOf("/") ? `${image}:latest` : image;
}
