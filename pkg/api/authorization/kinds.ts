import type { Kind } from "#meta";
import {
  localSubjectAccessReview,
  selfSubjectAccessReview,
  subjectAccessReview,
} from "./access-reviews.ts";
import { selfSubjectRulesReview } from "./self-subject-rules-review.ts";

export const authorizationKinds: readonly Kind[] = [
  localSubjectAccessReview,
  selfSubjectAccessReview,
  selfSubjectRulesReview,
  subjectAccessReview,
];
