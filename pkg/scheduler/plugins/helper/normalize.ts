import { maxNodeScore, type Scores } from "../../framework/contract.ts";

/** kube-scheduler's DefaultNormalizeScore: scales the maximum to 100; reversed, the maximum to 0. */
export function scaleScores(scores: Scores, isReversed = false): void {
  const highest = scores.reduce((most, score) => Math.max(most, score), 0);
  for (let at = 0; at < scores.length; at++) {
    const scaled = highest === 0 ? 0 : Math.trunc((maxNodeScore * scores[at]!) / highest);
    scores[at] = isReversed ? maxNodeScore - scaled : scaled;
  }
}
