/**
 * Maximum number of reported errors, and of unknown field paths, per object. A body with an error
 * every few bytes would otherwise produce a response of many megabytes.
 */
export const MOST_TOLD = 1_000;
