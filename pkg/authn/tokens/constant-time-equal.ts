import { createHash, timingSafeEqual } from "node:crypto";

/** Whether two texts are the same, told in the same time however much of a guess is right. */
export function constantTimeEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
